//! `mcp-server-fetch`: pages, of a server of ours.

use std::net::SocketAddr;

use bowline::ErrorKind;
use bowline::client::Retry;
use bowline::types::Revision;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::ecosystem::processes::kill;
use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Server, config};

/// A small site.
struct Site {
    address: SocketAddr,
    /// A page that was asked for and is not answered, until this is dropped.
    held: mpsc::Receiver<TcpStream>,
}

impl Site {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let (hold, held) = mpsc::channel(16);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, hold.clone()));
            }
        });
        Self { address, held }
    }

    fn page(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

/// Answers one request.
async fn answer(mut stream: TcpStream, hold: mpsc::Sender<TcpStream>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match path {
        "/robots.txt" => (
            "200 OK",
            "text/plain",
            "User-agent: *\nDisallow: /private\n",
        ),
        "/knots" => ("200 OK", "text/plain", "bowline – 結び目"),
        "/page" => ("200 OK", "text/html", PAGE),
        "/slow" => {
            // The test may have ended.
            let _ = hold.send(stream).await;
            return;
        }
        _ => ("404 Not Found", "text/plain", "not here"),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\n");
    let head = format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n");
    // Who asked may have been killed.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

const PAGE: &str = "<!doctype html><html><head><title>Knots</title></head><body>
    <h1>Knots</h1><p>A bowline holds under <em>any</em> load.</p></body></html>";

async fn connect() -> Connected {
    let server = Server::python_2("mcp-server-fetch").args(["--allow-private-ips"]);
    // Where it finds Node, it installs packages for it, from the network.
    server.env("PATH", "/nonexistent").connect(config()).await
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_fetches_pages() {
    let site = Site::open().await;
    let server = connect().await;
    let client = &server.client;
    assert_eq!(client.revision(), Some(Revision::V2026_07_28));
    assert_eq!(server.tool_names().await, ["fetch"]);
    let text = server
        .text("fetch", json!({"url": site.page("knots")}))
        .await;
    assert!(text.contains("bowline – 結び目"), "{text}");
    let part = json!({"url": site.page("knots"), "max_length": 4});
    let part = server.text("fetch", part).await;
    assert!(part.contains("bowl") && !part.contains("bowline"), "{part}");
    let page = json!({"url": site.page("page"), "raw": true});
    let page = server.text("fetch", page).await;
    assert!(page.contains("<em>any</em>"), "{page}");
    let markdown = server
        .text("fetch", json!({"url": site.page("page")}))
        .await;
    assert!(
        markdown.contains("holds under any load") && !markdown.contains('<'),
        "{markdown}"
    );

    let prompts = client.prompts().list_all().await.expect("prompts");
    assert_eq!(prompts[0].name, "fetch");
    let url = site.page("knots");
    let prompt = server.prompt("fetch", &[("url", &url)]).await;
    assert!(prompt.contains("bowline – 結び目"), "{prompt}");

    for (path, words) in [("private", "robots.txt"), ("nothing", "404")] {
        let refused = client
            .tools()
            .call("fetch", json!({"url": site.page(path)}));
        let error = refused.await.expect("an answer").into_result();
        let error = error.expect_err("it can't be fetched");
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains(words), "{error}");
    }
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let mut site = Site::open().await;
    let server = connect().await;
    let client = &server.client;
    let knots = site.page("knots");
    survives(client, &server.mark, |client| {
        client.tools().call("fetch", json!({"url": knots}))
    })
    .await;

    // While it fetches, as our site knows.
    let slow = json!({"url": site.page("slow")});
    let call = client.tools().call("fetch", &slow).send();
    let held = site.held.recv().await.expect("it asks for the page");
    kill(server.mark.server().await);
    let error = call.await.expect_err("it was killed");
    assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    assert_eq!(error.may_have_run(), Some(true));
    drop(held);

    let call = client.tools().call("fetch", &slow);
    let call = call.retry(Retry::Idempotent).send();
    let first = site.held.recv().await.expect("it asks for the page");
    kill(server.mark.server().await);
    let mut again = site.held.recv().await.expect("the next one asks, too");
    let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nat last";
    again.write_all(page).await.expect("it waits");
    drop((first, again));
    let fetched = call.await.expect("it is made again").text();
    assert!(fetched.contains("at last"), "{fetched}");
    server.stop().await;
}
