//! Clients that send slowly or read slowly, while others are served.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline::server::{Context, HttpConfig, Server};
use http_body_util::BodyExt as _;
use tokio::sync::Notify;
use tracing::Level;

use crate::event_collector::Collected;

use super::socket::{RawClient, RawRequest, SocketServer, patiently};

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("flood", "Sends progress until it is cancelled", flood)
}

/// Sends about 10 MB/s.
async fn flood(cx: Context) {
    let text = "x".repeat(10_000);
    for step in 0_u32.. {
        cx.progress(step, None, Some(&text));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn echo() -> Vec<u8> {
    RawRequest::call(1, "echo").bytes()
}

async fn is_served(server: &SocketServer) -> bool {
    server.connect().await.ask(echo()).await.head.status == 200
}

// proves: F-HT-14, SE-12
#[tokio::test]
async fn bodies_that_arrive_slowly_keep_no_client_out() {
    let config = HttpConfig::new().max_connections(32);
    let server = SocketServer::start(server(), config).await;
    let mut honest = server.connect().await;
    assert_eq!(honest.ask(echo()).await.head.status, 200);
    let mut slow = Vec::new();
    for count in 0..300 {
        let mut client = server.connect().await;
        let body = echo();
        // All but its last byte. One whose place is taken may be closed before.
        client.write(&body[..body.len() - 1]).await;
        slow.push(client);
        if count % 50 == 49 {
            assert!(is_served(&server).await, "at {count}");
        }
    }
    assert!(is_served(&server).await);
    // The ones that were closed were closed without an answer, the last ones are still served.
    let last = slow.last_mut().unwrap();
    last.write(b"}").await;
    assert_eq!(last.answer().await.unwrap().head.status, 200);
    assert!(slow[0].rest().await.is_empty());
    server.shut_down().await;
}

// proves: F-HT-12, SE-12, MO-4
#[tokio::test]
async fn bodies_that_are_being_received_are_limited_together() {
    const LIMIT: usize = 1024 * 1024;
    let config = HttpConfig::new()
        .max_body_bytes(LIMIT)
        .max_pending_body_bytes(2 * LIMIT)
        // Those that wait must not give up before the last one has come, however busy the machine.
        .body_timeout(Duration::from_secs(600));
    let server = SocketServer::start(server(), config).await;
    let blanks = vec![b' '; LIMIT - 1];
    let large = RawRequest::call(1, "echo").replace("Content-Length", LIMIT.to_string());
    let mut open = Vec::new();
    // Two wait for their last byte. They are complete as far as they were sent when they were read.
    for _ in 0..2 {
        let mut client = server.connect().await;
        client
            .write(large.clone().body(blanks.clone()).bytes())
            .await;
        open.push(client);
    }
    // A third one has no room, as soon as the others have used theirs.
    let refused = loop {
        let mut client = server.connect().await;
        client
            .write(large.clone().body(blanks.clone()).bytes())
            .await;
        client.write(b" ").await;
        let answer = client.answer().await.unwrap();
        if answer.head.status != 400 {
            break answer;
        }
    };
    assert_eq!(refused.head.status, 503, "{refused:?}");
    assert_eq!(refused.head.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["error"]["data"]["reason"], "busy");
    // Small ones are served, and large ones when there is room again.
    assert!(is_served(&server).await);
    drop(open.pop());
    let mut client = server.connect().await;
    loop {
        client
            .write(
                large
                    .clone()
                    .body([blanks.clone(), b" ".to_vec()].concat())
                    .bytes(),
            )
            .await;
        match client.answer().await.unwrap().head.status {
            // Blanks are no message, but they were read.
            400 => break,
            503 => client = server.connect().await,
            status => panic!("{status}"),
        }
    }
    server.shut_down().await;
}

// proves: F-HT-14
#[tokio::test]
async fn a_body_that_takes_too_long_is_answered_and_its_connection_closed() {
    let config = HttpConfig::new().body_timeout(Duration::from_millis(200));
    let server = SocketServer::start(server(), config).await;
    let mut client = server.connect().await;
    let request = echo();
    let (begin, end) = request.split_at(request.len() - 4);
    client.write(begin).await;
    // One byte after the other is no progress either.
    for byte in end.chunks(1).take(3) {
        client.write(byte).await;
    }
    let answer = client.answer().await.unwrap();
    assert_eq!(answer.head.status, 408);
    assert_eq!(answer.head.header("connection"), Some("close"));
    assert!(client.rest().await.is_empty());
    server.shut_down().await;
}

// proves: F-HT-14
#[tokio::test]
async fn a_head_that_takes_too_long_closes_its_connection() {
    let config = HttpConfig::new().head_timeout(Duration::from_millis(200));
    let server = SocketServer::start(server(), config).await;
    let mut client = server.connect().await;
    assert_eq!(client.ask(echo()).await.head.status, 200);
    // Also of a second request.
    client.write(&echo()[..40]).await;
    assert!(client.rest().await.is_empty());
    assert!(is_served(&server).await);
    server.shut_down().await;
}

// proves: F-BP-08, F-BP-03
#[tokio::test]
async fn a_stream_that_is_not_read_is_cut_and_holds_up_no_other() {
    let logged = Collected::up_to(Level::WARN);
    let _logged = tracing::subscriber::set_default(logged.clone());
    let config = HttpConfig::new().idle_timeout(Duration::from_secs(1));
    let gone = Arc::new(Notify::new());
    let is_gone = Arc::clone(&gone);
    let server = server().tool(
        "observed",
        "Sends until it is cancelled",
        move |cx: Context| {
            let is_gone = Arc::clone(&is_gone);
            async move {
                let ended = cx.clone();
                tokio::select! {
                    () = flood(cx) => {}
                    () = ended.cancelled() => is_gone.notify_one(),
                }
            }
        },
    );
    let server = SocketServer::start(server, config).await;
    let mut deaf = RawClient::connect_small(server.address).await;
    let request = RawRequest::call_with_progress(1, "observed");
    deaf.write(request.bytes()).await;
    assert!(deaf.head().await.unwrap().is_stream());
    let mut neighbour = server.connect().await;
    let cut = gone.notified();
    let mut cut = std::pin::pin!(cut);
    let mut longest = Duration::ZERO;
    while futures_now(cut.as_mut()).await.is_none() {
        let begun = Instant::now();
        assert_eq!(neighbour.ask(echo()).await.head.status, 200);
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    assert!(deaf.is_cut().await);
    let reasons = logged.messages(Level::WARN);
    let is_known = |reason: &String| reason.ends_with("the client doesn't read from it");
    assert!(reasons.iter().any(is_known), "{reasons:?}");
    server.shut_down().await;
}

/// A client of HTTP/2 that never takes more than the first window, and goes on reading everything
/// else: the connection is not blocked, but the response is.
// proves: F-BP-08, F-HT-15
#[tokio::test]
async fn a_stream_of_http2_that_is_not_read_is_cut() {
    let config = HttpConfig::new().idle_timeout(Duration::from_secs(1));
    let gone = Arc::new(Notify::new());
    let is_gone = Arc::clone(&gone);
    let server = Server::new("test", "1.0.0").tool("flood", "Sends", move |cx: Context| {
        let is_gone = Arc::clone(&is_gone);
        async move {
            let ended = cx.clone();
            tokio::select! {
                () = flood(cx) => {}
                () = ended.cancelled() => is_gone.notify_one(),
            }
        }
    });
    let server = SocketServer::start(server, config).await;
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let (mut client, connection) = hyper::client::conn::http2::handshake(
        hyper_util::rt::TokioExecutor::new(),
        hyper_util::rt::TokioIo::new(stream),
    )
    .await
    .unwrap();
    let connection = tokio::spawn(connection);
    // Its body is not read: hyper doesn't widen the window of the stream.
    let request = RawRequest::call_with_progress(1, "flood").for_http2();
    let _response = patiently(client.send_request(request)).await.unwrap();
    patiently(gone.notified()).await;
    let _ended = patiently(connection).await.unwrap();
    server.shut_down().await;
}

#[tokio::test]
async fn a_large_response_over_http2_is_whole() {
    const LENGTH: usize = 1_000_000;
    let server =
        Server::new("test", "1.0.0").tool("large", "Answers", || async { "x".repeat(LENGTH) });
    let server = SocketServer::start(server, HttpConfig::new()).await;
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let (mut client, connection) = hyper::client::conn::http2::handshake(
        hyper_util::rt::TokioExecutor::new(),
        hyper_util::rt::TokioIo::new(stream),
    )
    .await
    .unwrap();
    tokio::spawn(connection);
    let request = RawRequest::call(1, "large").for_http2();
    let response = patiently(client.send_request(request)).await.unwrap();
    let length: usize = response.headers()["content-length"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let body = patiently(response.into_body().collect())
        .await
        .unwrap()
        .to_bytes();
    assert_eq!(body.len(), length);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let text = body["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), LENGTH);
    drop(client);
    server.shut_down().await;
}

/// Polls a future once.
async fn futures_now<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    patiently(std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match future.as_mut().poll(cx) {
            std::task::Poll::Ready(done) => Some(done),
            std::task::Poll::Pending => None,
        })
    }))
    .await
}
