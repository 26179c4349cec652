//! `@modelcontextprotocol/server-filesystem`: files, where the client's roots allow it.

use std::fs;

use bowline::types::Revision;
use bowline::types::content::ContentBlock;
use bowline::{ClientConfig, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::server_kills::{replaced, survives};
use crate::ecosystem::support::{Connected, Folder, LONG, Server, config, only, root};

async fn connect(folder: &Folder, config: ClientConfig) -> Connected {
    let server = Server::official("filesystem").args([folder.path()]);
    server.connect(config).await
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_reads_and_writes_in_its_folder() {
    let folder = Folder::new();
    let server = connect(&folder, config()).await;
    let client = &server.client;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let tools = server.tool_names().await;
    assert!(tools.contains(&"directory_tree".to_owned()), "{tools:?}");
    let tool = server.tool("read_text_file").await;
    let annotations = tool.annotations.expect("it has some");
    assert_eq!(annotations.read_only_hint, Some(true));

    let notes = folder.join("notes.txt");
    let words = "Knoten – 結び目 – 🪢\nsecond line\nthird";
    let written = json!({"path": notes, "content": words});
    let output = server.text("write_file", written).await;
    assert!(output.contains("notes.txt"), "{output}");
    assert_eq!(fs::read_to_string(&notes).expect("it is there"), words);
    let read = server.text("read_text_file", json!({"path": notes})).await;
    assert_eq!(read, words);
    let head = json!({"path": notes, "tail": 1});
    assert_eq!(server.text("read_text_file", head).await, "third");

    let edits = json!([{"oldText": "second line", "newText": "2nd line"}]);
    let edit = json!({"path": notes, "edits": edits});
    let diff = server.text("edit_file", edit).await;
    assert!(diff.contains("+2nd line"), "{diff}");
    let inner = folder.join("inner");
    server
        .text("create_directory", json!({"path": inner}))
        .await;
    let listed = json!({"path": folder.path()});
    let listed = server.text("list_directory", listed).await;
    assert_eq!(listed, "[DIR] inner\n[FILE] notes.txt");
    let moved = json!({"source": notes, "destination": inner.join("moved.txt")});
    server.text("move_file", moved).await;
    let found = json!({"path": folder.path(), "pattern": "**/*.txt"});
    let found = server.text("search_files", found).await;
    assert_eq!(found, inner.join("moved.txt").display().to_string());
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn much_and_bytes_are_as_they_were() {
    let folder = Folder::new();
    let server = connect(&folder, config()).await;
    let client = &server.client;
    let much: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    let path = folder.join("much.txt");
    let written = json!({"path": path, "content": much});
    server.text("write_file", written).await;
    let read = client.tools().call("read_text_file", json!({"path": path}));
    let read: Value = read.await.expect("an answer").structured().expect("JSON");
    assert!(read["content"] == much.as_str(), "it came as it went");

    let image = folder.join("dot.gif");
    fs::write(&image, b"GIF89a").expect("written");
    let read = client
        .tools()
        .call("read_media_file", json!({"path": image}));
    let read = read.await.expect("an answer");
    let ContentBlock::Image(image) = only(&read.content) else {
        panic!("an image: {:?}", read.content);
    };
    assert_eq!(image.mime_type, "image/gif");
    assert_eq!(image.data, "R0lGODlh");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn paths_outside_of_the_folder_are_refused() {
    let folder = Folder::new();
    let server = connect(&folder, config()).await;
    for path in ["/etc/hostname", "../outside"] {
        let path = folder.path().join(path);
        let read = server
            .client
            .tools()
            .call("read_text_file", json!({"path": path}));
        let error = read
            .await
            .expect("an answer")
            .into_result()
            .expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains("Access denied"), "{error}");
    }
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_roots_say_where_it_may_work() {
    let (first, second) = (Folder::new(), Folder::new());
    let mut config = config();
    config.roots([root(first.path())]);
    let server = Server::official("filesystem").connect(config).await;
    let client = &server.client;
    allowed(&server, &first).await;

    // It asks anew when it is notified, and a new process does, too.
    client.roots().set([root(second.path())]).expect("roots");
    allowed(&server, &second).await;
    replaced(client, &server.mark).await;
    allowed(&server, &second).await;
    let path = first.join("x");
    let written = json!({"path": path, "content": ""});
    let refused = client.tools().call("write_file", written).await;
    let refused = refused
        .expect("an answer")
        .into_result()
        .expect_err("no longer");
    assert!(refused.to_string().contains("Access denied"), "{refused}");
    server.stop().await;
}

/// Waits until this is the one folder in which the server may work: it asks for roots after
/// it has reported that it is ready.
async fn allowed(server: &Connected, folder: &Folder) {
    let expected = format!("Allowed directories:\n{}", folder.path().display());
    let all = async {
        while server.text("list_allowed_directories", json!({})).await != expected {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(LONG, all).await;
    in_time.expect("it asks for the roots");
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let folder = Folder::new();
    fs::write(folder.join("notes.txt"), "still here").expect("written");
    let server = connect(&folder, config()).await;
    survives(&server.client, &server.mark, |client| {
        let path = folder.join("notes.txt");
        client.tools().call("read_text_file", json!({"path": path}))
    })
    .await;
    let read = json!({"path": folder.join("notes.txt")});
    assert_eq!(server.text("read_text_file", read).await, "still here");
    server.stop().await;
}
