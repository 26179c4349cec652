//! Every revision with a handshake, agreed on with an official SDK that knows no later one.

use std::sync::{Arc, Mutex};

use bowline::client::SubscriptionEvent;
use bowline::types::Revision;
use bowline::types::logging::LoggingLevel;
use bowline::{ClientConfig, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Folder, Server, able, hear, uri};

const NOTES: &str = "note://all";

/// A client that offers all revisions gets the only one that the server has in common.
async fn connect(revision: Revision, config: ClientConfig) -> Connected {
    let server = Server::node("old.mjs").args([revision.as_str()]);
    let server = server.connect(config).await;
    assert_eq!(server.client.revision(), Some(revision));
    let info = server.client.server_info().expect("it says who it is");
    assert_eq!(info.name, format!("old-{revision}"));
    server
}

async fn everything(revision: Revision) {
    let folder = Folder::new();
    let config = able(folder.path());
    let mut log = hear(&config, "notifications/message");
    let server = connect(revision, config).await;
    let client = &server.client;
    client.ping().await.expect("it is there");
    tools(&server, revision).await;
    resources_and_prompts(&server).await;

    client
        .logging()
        .set_level(LoggingLevel::Warning)
        .await
        .expect("a log");
    assert_eq!(server.text("log", ()).await, "logged");
    assert_eq!(log.next().await["data"], "look out");
    assert_eq!(server.text("think", ()).await, "a-model says Paris");
    assert_eq!(server.text("where", ()).await, uri(folder.path()));
    if revision >= Revision::V2025_06_18 {
        assert_eq!(server.text("greet", ()).await, "hello Ann");
    }

    let mut changes = client.resources().subscribe(NOTES).await.expect("watched");
    server.text("write", ()).await;
    assert_eq!(
        changes.next().await,
        Some(SubscriptionEvent::Resource(NOTES.to_owned()))
    );
    survives(client, &server.mark, |client| {
        client.tools().call("add", json!({"a": 1, "b": 2}))
    })
    .await;
    assert_eq!(client.revision(), Some(revision));
    assert_eq!(changes.next().await, Some(SubscriptionEvent::Unknown));
    drop(changes);
    server.stop().await;
}

async fn tools(server: &Connected, revision: Revision) {
    let client = &server.client;
    // Each on a page of its own.
    let names = server.tool_names().await;
    assert!(
        names.len() >= 7 && names.contains(&"add".to_owned()),
        "{names:?}"
    );
    let first = client.tools().list().await.expect("a page");
    assert_eq!(first.tools.len(), 1);
    let add = server.tool("add").await;
    assert_eq!(add.annotations.is_some(), revision >= Revision::V2025_03_26);
    assert_eq!(
        add.output_schema.is_some(),
        revision >= Revision::V2025_06_18
    );
    let sum = client.tools().call("add", json!({"a": 2, "b": 3.5}));
    let sum: Value = sum.await.expect("an answer").structured().expect("JSON");
    assert_eq!(sum, json!({"sum": 5.5}));
    let failed = client.tools().call("fail", ()).await.expect("an answer");
    let failed = failed.into_result().expect_err("it fails");
    assert_eq!(failed.kind(), ErrorKind::Tool);

    let heard = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&heard);
    let counted = client.tools().call("count", json!({"steps": 3}));
    let counted = counted.on_progress(move |_| *seen.lock().expect("whole") += 1);
    assert_eq!(counted.await.expect("an answer").text(), "counted to 3");
    assert_eq!(*heard.lock().expect("whole"), 3);
}

async fn resources_and_prompts(server: &Connected) {
    let client = &server.client;
    let resources = client.resources().list_all().await.expect("resources");
    assert_eq!(resources[0].uri, NOTES);
    assert_eq!(server.read(NOTES).await, "first");
    let templates = client.resources().templates_all().await.expect("templates");
    assert_eq!(templates[0].uri_template, "word://{word}");
    let missing = client.resources().read("note://none").await;
    let missing = missing.expect_err("there is no such resource");
    assert_eq!(missing.server_error().map(|error| error.code), Some(-32002));
    let words = server.prompt("review", &[("language", "Rust")]).await;
    assert_eq!(words, "Review this Rust.");
    let languages = client.prompts().complete("review", "language", "T").await;
    assert_eq!(languages.expect("values").completion.values, ["TypeScript"]);
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn revision_2024_11_05() {
    everything(Revision::V2024_11_05).await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn revision_2025_03_26() {
    everything(Revision::V2025_03_26).await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn revision_2025_06_18() {
    everything(Revision::V2025_06_18).await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn revision_2025_11_25() {
    everything(Revision::V2025_11_25).await;
}
