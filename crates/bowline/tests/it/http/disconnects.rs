//! Clients that disconnect, over real sockets.

use std::time::{Duration, Instant};

use bowline::server::{Context, HttpConfig, Server};
use http_body_util::BodyExt as _;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::socket::{RawClient, RawRequest, SocketServer, patiently};

/// What a handler reports.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Begun,
    Cancelled,
    Finished,
}

/// A server whose tools report when they begin and when they are cancelled.
async fn server() -> (SocketServer, mpsc::Receiver<Seen>) {
    let (sender, seen) = mpsc::channel(16);
    let progress = sender.clone();
    let slow = sender.clone();
    let server = Server::new("test", "1.0.0")
        .tool("wait", "Waits", move |cx: Context| {
            wait(cx, sender.clone(), false)
        })
        .tool("stream", "Sends and waits", move |cx: Context| {
            wait(cx, progress.clone(), true)
        })
        .tool("slow", "Takes a while", move || {
            let seen = slow.clone();
            async move {
                seen.send(Seen::Begun).await.unwrap();
                tokio::time::sleep(Duration::from_millis(300)).await;
                seen.send(Seen::Finished).await.unwrap();
            }
        });
    (SocketServer::start(server, HttpConfig::new()).await, seen)
}

async fn wait(cx: Context, seen: mpsc::Sender<Seen>, sends: bool) {
    if sends {
        cx.progress(1, None, None);
    }
    seen.send(Seen::Begun).await.unwrap();
    cx.cancelled().await;
    seen.send(Seen::Cancelled).await.unwrap();
}

async fn next(seen: &mut mpsc::Receiver<Seen>) -> Seen {
    patiently(seen.recv()).await.unwrap()
}

/// Waits for the cancellation after a client has gone. The handler must learn of it within 100 ms.
async fn check_cancelled(seen: &mut mpsc::Receiver<Seen>, what: &str) {
    let gone = Instant::now();
    assert_eq!(next(seen).await, Seen::Cancelled, "{what}");
    let took = gone.elapsed();
    assert!(took < Duration::from_millis(100), "{what}: {took:?}");
}

// proves: TR-112
#[tokio::test]
async fn a_client_that_is_gone_cancels_its_request_within_100_ms() {
    let (server, mut seen) = server().await;
    for tool in ["wait", "stream"] {
        let mut client = server.connect().await;
        client
            .write(RawRequest::call_with_progress(1, tool).bytes())
            .await;
        if tool == "stream" {
            assert!(client.head().await.unwrap().is_stream());
            client.event().await.unwrap();
        }
        assert_eq!(next(&mut seen).await, Seen::Begun);
        drop(client);
        check_cancelled(&mut seen, tool).await;
    }
    server.shut_down().await;
}

// proves: TR-112
#[tokio::test]
async fn a_reset_stream_of_http2_cancels_its_request_within_100_ms() {
    let (server, mut seen) = server().await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let request = |tool: &str| RawRequest::call_with_progress(1, tool).for_http2();
    let pending = client.send_request(request("wait"));
    let pending = tokio::spawn(pending);
    assert_eq!(next(&mut seen).await, Seen::Begun);
    pending.abort();
    check_cancelled(&mut seen, "before the response").await;

    let mut response = client.send_request(request("stream")).await.unwrap();
    response.frame().await.unwrap().unwrap();
    assert_eq!(next(&mut seen).await, Seen::Begun);
    drop(response);
    check_cancelled(&mut seen, "within the response").await;

    // The connection goes on.
    assert!(!connection.is_finished());
    drop(client);
    server.shut_down().await;
}

// proves: TR-42
#[tokio::test]
async fn in_the_handshake_era_a_handler_goes_on() {
    let (server, mut seen) = server().await;
    let mut client = server.connect().await;
    let opened = client
        .ask(RawRequest::initialize("2025-11-25").bytes())
        .await;
    let session = opened.head.header("mcp-session-id").unwrap().to_owned();
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "slow", "arguments": {}},
    });
    let request = RawRequest::post(&call).header("Mcp-Session-Id", session);
    client.write(request.bytes()).await;
    assert_eq!(next(&mut seen).await, Seen::Begun);
    drop(client);
    assert_eq!(next(&mut seen).await, Seen::Finished);
    server.shut_down().await;
}

// proves: F-CA-12
#[tokio::test]
async fn handlers_that_ignore_their_cancellation_are_dropped() {
    let (sender, mut seen) = mpsc::channel(16);
    let server = Server::new("test", "1.0.0").tool("hang", "Never ends", move || {
        let seen = sender.clone();
        async move {
            let _dropped = Dropped(seen.clone());
            seen.send(Seen::Begun).await.unwrap();
            std::future::pending::<()>().await;
        }
    });
    let server = SocketServer::start(server, HttpConfig::new()).await;
    for _ in 0..3 {
        let mut client = RawClient::connect(server.address).await;
        client.write(RawRequest::call(1, "hang").bytes()).await;
        assert_eq!(next(&mut seen).await, Seen::Begun);
        drop(client);
        assert_eq!(next(&mut seen).await, Seen::Cancelled);
    }
    server.shut_down().await;
}

struct Dropped(mpsc::Sender<Seen>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.try_send(Seen::Cancelled);
    }
}
