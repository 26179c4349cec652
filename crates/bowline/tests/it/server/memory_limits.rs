//! Limits on the bytes that a client can make a server hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::Limits;
use bowline::server::Server;
use serde_json::json;
use tokio::time::sleep;

use super::raw_client::{RawClient, cancelled, request, stateless};

const KIB: usize = 1024;

/// A server of a tool that waits and answers 64 KiB, of which 1 MiB may wait to be read.
/// How often it has answered.
fn large_answers(wait: Duration) -> (Server, Arc<AtomicUsize>) {
    let mut limits = Limits::server();
    limits.max_queued_bytes(1024 * KIB);
    let answered = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&answered);
    let server = Server::new("large", "1")
        .limits(limits)
        .tool("large", "", move || {
            let answered = Arc::clone(&of_tool);
            async move {
                if !wait.is_zero() {
                    sleep(wait).await;
                }
                answered.fetch_add(1, Ordering::SeqCst);
                "x".repeat(64 * KIB)
            }
        });
    (server, answered)
}

async fn check_answers(wait: Duration) {
    let (server, answered) = large_answers(wait);
    let mut client = RawClient::new(server);
    client.initialize().await;
    let calls = (1..=200).map(|id| request(id, "tools/call", json!({"name": "large"})));
    let calls: Vec<_> = calls.collect();
    client.write_line(&calls.join("\n")).await;
    // Time passes when there is nothing left to do.
    sleep(Duration::from_secs(10)).await;
    // 16 wait, one more passes the limit, and a few are on their way through the pipe.
    let most = answered.load(Ordering::SeqCst);
    assert!((17..=24).contains(&most), "{most} answers are held");
    // They were late, but none is lost.
    for _ in 1..=200 {
        assert!(client.receive().await["result"].is_object());
    }
    assert_eq!(answered.load(Ordering::SeqCst), 200);
}

// proves: SV-6
#[tokio::test(start_paused = true)]
async fn no_handler_starts_while_responses_are_not_read() {
    check_answers(Duration::ZERO).await;
}

// proves: SV-6
#[tokio::test(start_paused = true)]
async fn no_handler_continues_while_responses_are_not_read() {
    check_answers(Duration::from_secs(1)).await;
}

/// A client that has called a tool twice that answers 2 MiB, of which 1 MiB may wait, and how
/// often that has answered.
async fn called_twice() -> (RawClient, Arc<AtomicUsize>) {
    let (server, answered) = larger_answers();
    (twice(server).await, answered)
}

async fn twice(server: Server) -> RawClient {
    let mut client = RawClient::new(server);
    client.initialize().await;
    client.call(1, "larger").await;
    client.call(2, "larger").await;
    client
}

fn larger_answers() -> (Server, Arc<AtomicUsize>) {
    let mut limits = Limits::server();
    limits.max_queued_bytes(1024 * KIB);
    let answered = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&answered);
    let server = Server::new("larger", "1").limits(limits).tool(
        "larger",
        "",
        move |_: serde_json::Value| {
            of_tool.fetch_add(1, Ordering::SeqCst);
            async { "x".repeat(2048 * KIB) }
        },
    );
    (server, answered)
}

// proves: SV-6
#[tokio::test]
async fn notifications_of_a_client_that_does_not_read_are_delivered_not_kept() {
    let received = Arc::new(AtomicUsize::new(0));
    let (server, answered) = larger_answers();
    let server = server.on_notification({
        let received = Arc::clone(&received);
        move |_, _| {
            received.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut client = twice(server).await;
    let before = received.load(Ordering::SeqCst);
    let meta = json!({"_meta": {"example.com/x": "x".repeat(100 * KIB)}});
    let notification = json!({
        "jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": meta,
    });
    for _ in 0..100 {
        client.write_line(&notification.to_string()).await;
    }
    // All but those in the pipe were delivered, and a request still waits.
    tokio::task::yield_now().await;
    let notified = received.load(Ordering::SeqCst) - before;
    assert!(notified >= 98, "{notified}");
    assert_eq!(answered.load(Ordering::SeqCst), 1);
}

// proves: SV-6
#[tokio::test(start_paused = true)]
async fn a_response_counts_until_it_is_written() {
    let (mut client, answered) = called_twice().await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(answered.load(Ordering::SeqCst), 1);
    // It is still listened to, and may have to be: some write before they read.
    client
        .send(
            3,
            "tools/call",
            json!({"name": "larger", "arguments": {"x": "x".repeat(256 * KIB)}}),
        )
        .await;
    for id in 1..=3 {
        assert_eq!(client.receive().await["id"], id);
    }
    assert_eq!(answered.load(Ordering::SeqCst), 3);
}

// proves: SV-6
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_disconnected() {
    let (mut client, _) = called_twice().await;
    sleep(Duration::from_secs(29)).await;
    // A slow client is not a dead one.
    for _ in 0..10 {
        assert_eq!(client.receive_bytes(64 * KIB).await, 64 * KIB);
        sleep(Duration::from_secs(29)).await;
    }
    sleep(Duration::from_secs(40)).await;
    // What has left, and the end.
    let mut left = 0;
    while let received @ 1.. = client.receive_bytes(64 * KIB).await {
        left += received;
    }
    assert!(left < 256 * KIB, "{left}");
}

// proves: SV-6, MO-4
#[tokio::test(start_paused = true)]
async fn handlers_that_wait_for_room_learn_that_the_client_is_gone() {
    let (server, answered) = large_answers(Duration::from_secs(1));
    let mut client = RawClient::new(server);
    client.initialize().await;
    for id in 1..=40 {
        client.call(id, "large").await;
    }
    sleep(Duration::from_secs(2)).await;
    let held = answered.load(Ordering::SeqCst);
    assert!(held < 40);
    // Nothing is read for 30 s: the session is over, and they end.
    sleep(Duration::from_secs(40)).await;
    assert_eq!(answered.load(Ordering::SeqCst), 40);
}

// proves: SV-6, MO-4
#[tokio::test]
async fn calls_are_busy_when_running_ones_hold_too_much() {
    let mut limits = Limits::server();
    limits.max_peer_request_bytes(1024 * KIB);
    let server =
        Server::new("hang", "1")
            .limits(limits)
            .tool("hang", "", |_: serde_json::Value| {
                std::future::pending::<()>()
            });
    let mut client = RawClient::new(server);
    client.initialize().await;
    let params = json!({"name": "hang", "arguments": {"x": "x".repeat(250 * KIB)}});
    for id in 1..=5 {
        client.send(id, "tools/call", params.clone()).await;
    }
    let refused = client.answer(5).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(refused["error"]["data"]["reason"], "busy");
    client.write_line(&cancelled(1)).await;
    // There is room again as soon as the handler is gone.
    for id in 6.. {
        client.send(id, "tools/call", params.clone()).await;
        client.send(1000 + id, "ping", json!({})).await;
        let received = client.receive().await;
        if received["id"] == 1000 + id {
            break;
        }
        client.receive().await;
    }
}

// proves: SV-6
#[tokio::test]
async fn the_uris_of_subscriptions_are_bounded_together() {
    let server = Server::new("uris", "1").resource("r:", "r", || async { "" });
    let mut client = RawClient::new(server);
    let long = "x".repeat(10_000);
    let listen = |number: u64| {
        let uris: Vec<_> = (0..30)
            .map(|index| format!("r:{number}/{index}/{long}"))
            .collect();
        stateless(json!({"notifications": {"resourceSubscriptions": uris}}))
    };
    let mut opened = 0;
    for id in 1..=5 {
        client.send(id, "subscriptions/listen", listen(id)).await;
        let received = client.receive().await;
        opened += usize::from(received["method"] == "notifications/subscriptions/acknowledged");
    }
    assert_eq!(opened, 3, "of 300 kB each, in 1 MiB");
}
