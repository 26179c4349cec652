//! Large responses that clients don't read stay within a limit, whichever way they leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Server};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tracing::Level;
use tracing::subscriber::DefaultGuard;

use crate::event_collector::Collected;

use super::socket::{RawClient, RawRequest, SocketServer, patiently};
use super::support::{HttpClient, Reply, call, request};

const MIB: usize = 1024 * 1024;

/// The limit of all tests.
const LIMIT: usize = 4 * MIB;

/// The text of a tool's result, in which a piece that is lost or moved is seen.
fn text(length: usize) -> String {
    (0..length)
        .map(|at| char::from(b'a' + (at / 7 % 26) as u8))
        .collect()
}

/// Answers with text. With a progress token its response is an event stream.
async fn large(cx: Context, length: usize) -> String {
    cx.progress(1, None, None);
    text(length)
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("one", "Answers with 1 MiB", |cx: Context| large(cx, MIB))
        .tool("eight", "Answers with 8 MiB", |cx: Context| {
            large(cx, 8 * MIB)
        })
        .tool("small", "Answers", |cx: Context| large(cx, 1000))
}

fn config() -> HttpConfig {
    HttpConfig::new().max_unread_response_bytes(LIMIT)
}

/// Collects warnings. Each test here that causes one does: an event that first occurs on a thread
/// without a subscriber may be disabled for the other threads.
fn collect_events() -> (Collected, DefaultGuard) {
    let logged = Collected::up_to(Level::WARN);
    let guard = tracing::subscriber::set_default(logged.clone());
    (logged, guard)
}

/// Calls a tool in the stateless era.
async fn stateless(client: &HttpClient, tool: &str, has_stream: bool) -> Reply {
    let mut params = json!({"name": tool, "arguments": {}});
    if has_stream {
        params["_meta"] = json!({"progressToken": "t"});
    }
    let reply = client.stateless(1, "tools/call", params).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.is_stream(), has_stream);
    reply
}

/// Reads a response to its end. Returns its text, or the error that it ends with.
async fn read(mut reply: Reply) -> Result<String, String> {
    let mut body = String::new();
    loop {
        match reply.try_next_chunk().await {
            Ok(Some(chunk)) => {
                assert!(chunk.len() <= 128 * 1024, "{}", chunk.len());
                body += &chunk;
            }
            Ok(None) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    let response = if reply.is_stream() {
        let mut data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.next_back().unwrap()
    } else {
        assert_eq!(reply.header("content-length"), None, "the listener adds it");
        &body
    };
    let response: Value = serde_json::from_str(response).unwrap();
    Ok(response["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned())
}

// proves: SE-12, HS-21, F-BP-08
#[tokio::test]
async fn unread_responses_stay_within_the_limit_and_the_oldest_are_cut() {
    for has_stream in [false, true] {
        let (logged, _logged) = collect_events();
        let client = HttpClient::with_config(server(), config());
        let service = client.service.clone();
        let mut unread = Vec::new();
        for count in 0..20 {
            unread.push(stateless(&client, "one", has_stream).await);
            let kept = service.unread_response_bytes();
            assert!((MIB..=LIMIT).contains(&kept), "{kept} after {count}");
        }
        // Three are whole: each is larger than its text.
        let whole = unread.split_off(17);
        assert_eq!(service.stats().cut_responses, 17);
        for cut in unread {
            let error = read(cut).await.unwrap_err();
            assert_eq!(error, "the client doesn't read its response");
        }
        for whole in whole {
            assert!(read(whole).await.unwrap() == text(MIB));
        }
        assert_eq!(service.unread_response_bytes(), 0);
        let events = logged.messages(Level::WARN);
        let cuts = events
            .iter()
            .filter(|event| event.contains("unread responses cut"));
        assert_eq!(cuts.count(), 17, "{events:?}");
    }
}

// proves: SE-12, HS-21
#[tokio::test]
async fn a_client_that_reads_gets_all_of_it() {
    for has_stream in [false, true] {
        let client = HttpClient::with_config(server(), config());
        let service = &client.service;
        // The newest may be larger than the limit.
        let reply = stateless(&client, "eight", has_stream).await;
        assert!(service.unread_response_bytes() > 8 * MIB);
        assert!(read(reply).await.unwrap() == text(8 * MIB));
        assert_eq!(service.unread_response_bytes(), 0);
        // What is dropped is given back, and what is small isn't counted.
        drop(stateless(&client, "eight", has_stream).await);
        assert_eq!(service.unread_response_bytes(), 0);
        let small = stateless(&client, "small", has_stream).await;
        assert_eq!(service.unread_response_bytes(), 0);
        assert_eq!(read(small).await.unwrap(), text(1000));
        assert_eq!(service.stats().cut_responses, 0);
    }
}

/// Also those that come when the stream is open already, and that nothing reads.
// proves: SE-12
#[tokio::test]
async fn responses_that_come_late_on_a_stream_count_too() {
    let _logged = collect_events();
    let gate = Arc::new(Semaphore::new(0));
    let done = Arc::new(AtomicUsize::new(0));
    let server = {
        let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
        Server::new("test", "1.0.0").tool("late", "Answers when it may", move |_: Context| {
            let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
            async move {
                gate.acquire().await.unwrap().forget();
                done.fetch_add(1, Ordering::Relaxed);
                text(MIB)
            }
        })
    };
    let client = HttpClient::with_config(server, config().stream_after(Duration::ZERO));
    let mut unread = Vec::new();
    for _ in 0..10 {
        unread.push(stateless_stream(&client).await);
    }
    for count in 1..=10 {
        gate.add_permits(1);
        while done.load(Ordering::Relaxed) < count
            || client.service.unread_response_bytes() < count.min(3) * MIB
        {
            tokio::task::yield_now().await;
        }
        assert!(client.service.unread_response_bytes() <= LIMIT);
    }
    let mut results = Vec::new();
    for reply in unread {
        results.push(read(reply).await.is_ok());
    }
    assert_eq!(results.iter().filter(|is_whole| **is_whole).count(), 3);
    assert_eq!(client.service.stats().cut_responses, 7);
}

async fn stateless_stream(client: &HttpClient) -> Reply {
    let reply = client.stateless(1, "tools/call", json!({"name": "late", "arguments": {}}));
    let reply = reply.await;
    assert!(reply.is_stream());
    reply
}

/// A large event that can be resumed leaves in pieces as well, so that no connection keeps it.
#[tokio::test]
async fn a_large_event_of_a_session_leaves_in_pieces() {
    let client = HttpClient::with_config(server(), config());
    let session = client.open_session("2025-11-25", json!({})).await;
    let params = json!({"name": "eight", "arguments": {}, "_meta": {"progressToken": "t"}});
    let reply = session.post(request(1, "tools/call", params)).await;
    assert!(reply.is_stream());
    assert!(read(reply).await.unwrap() == text(8 * MIB));
    assert_eq!(client.service.unread_response_bytes(), 0);
    // The response that is no stream is one of JSON.
    let reply = session.post(call(2, "one", json!({}))).await;
    assert!(client.service.unread_response_bytes() > MIB);
    assert!(read(reply).await.unwrap() == text(MIB));
}

// proves: SE-12, HS-21
#[tokio::test]
async fn clients_of_http1_that_read_nothing_are_cut() {
    let _logged = collect_events();
    let server = SocketServer::start(server(), config()).await;
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let mut client = RawClient::connect_small(server.address).await;
        client.write(RawRequest::call(1, "eight").bytes()).await;
        assert_eq!(client.head().await.unwrap().status, 200);
        deaf.push(client);
    }
    assert_eq!(server.running.http_stats().cut_responses, 3);
    // A client that reads is served meanwhile.
    let mut reader = server.connect().await;
    let answer = reader.ask(RawRequest::call(1, "eight").bytes()).await;
    assert!(answer.json()["result"]["content"][0]["text"] == text(8 * MIB));
    for mut deaf in deaf {
        assert!(deaf.rest().await.len() < 8 * MIB);
    }
    server.shut_down().await;
}

// proves: SE-12, HS-21
#[tokio::test]
async fn streams_of_http2_that_are_not_read_are_reset() {
    let _logged = collect_events();
    let server = SocketServer::start(server(), config()).await;
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let executor = hyper_util::rt::TokioExecutor::new();
    let mut builder = hyper::client::conn::http2::Builder::new(executor);
    builder.initial_stream_window_size(65_535);
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut client, connection) = builder.handshake(io).await.unwrap();
    tokio::spawn(connection);
    let mut unread = Vec::new();
    for id in 0..10 {
        let request = match id % 2 {
            0 => RawRequest::call(id, "one"),
            _ => RawRequest::call_with_progress(id, "one"),
        };
        let response = patiently(client.send_request(request.for_http2())).await;
        unread.push(response.unwrap());
    }
    let last = unread.pop().unwrap();
    assert!(server.running.http_stats().cut_responses >= 6);
    let first = patiently(unread.remove(0).into_body().collect()).await;
    first.expect_err("the stream is reset");
    // The connection goes on.
    let last = patiently(last.into_body().collect()).await.unwrap();
    let last = String::from_utf8(last.to_bytes().to_vec()).unwrap();
    assert!(last.contains(&text(MIB)));
    drop((unread, client));
    server.shut_down().await;
}
