//! The end of a server with open sessions.

use std::sync::Arc;
use std::time::Duration;

use bowline::server::HttpConfig;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{LegacyClient, server};
use crate::http::support::call;

#[tokio::test]
async fn idle_streams_end_at_once() {
    let built = server().build().unwrap();
    let client = LegacyClient::of(&built, HttpConfig::new());
    let mut ready = client.connect("2024-11-05", json!({})).await;
    let mut new = client.open().await;
    built.shut_down();
    assert!(ready.stream.next_event().await.is_none());
    assert!(new.stream.next_event().await.is_none());
    let refused = client.get().await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test(start_paused = true)]
async fn requests_are_finished_before_the_stream_ends() {
    let go = Arc::new(Notify::new());
    let of_handler = Arc::clone(&go);
    let server = server().tool("slow", "Waits", move || {
        let go = Arc::clone(&of_handler);
        async move {
            go.notified().await;
            "finished"
        }
    });
    let built = server.build().unwrap();
    let client = LegacyClient::of(&built, HttpConfig::new());
    let mut session = client
        .connect("2025-06-18", json!({"elicitation": {}}))
        .await;
    session.post(&call(1, "slow", json!({}))).await;
    session.post(&call(2, "ask", json!({}))).await;
    let question = session.next().await;
    let start = Instant::now();
    built.shut_down();
    let refused = session.try_post(&call(3, "echo", json!({}))).await;
    assert_eq!(refused.status, 503);
    // The handler that waits for an answer still gets it.
    let answer = json!({
        "jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"},
    });
    session.post(&answer).await;
    assert_eq!(session.next().await["id"], 2);
    go.notify_one();
    let response = session.next().await;
    assert_eq!(response["result"]["content"][0]["text"], "finished");
    assert!(session.stream.next_event().await.is_none());
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "before the deadline"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_answered_with_an_error() {
    let server = server().shutdown_deadline(Duration::from_secs(3)).tool(
        "hang",
        "Hangs",
        std::future::pending::<String>,
    );
    let built = server.build().unwrap();
    let client = LegacyClient::of(&built, HttpConfig::new());
    let mut session = client.connect("2024-11-05", json!({})).await;
    session.post(&call(1, "hang", json!({}))).await;
    built.shut_down();
    let response = session.next().await;
    assert_eq!(response["id"], 1);
    assert!(response["error"]["code"].is_i64(), "{response}");
    assert!(session.stream.next_event().await.is_none());
}

#[tokio::test]
async fn closing_the_server_ends_everything() {
    let built = server().build().unwrap();
    let client = LegacyClient::of(&built, HttpConfig::new());
    let mut session = client
        .connect("2025-06-18", json!({"elicitation": {}}))
        .await;
    session.post(&call(1, "ask", json!({}))).await;
    assert_eq!(session.next().await["method"], "elicitation/create");
    built.close();
    assert!(session.stream.next_event().await.is_none());
    let late = session.try_post(&call(2, "echo", json!({}))).await;
    assert_eq!(late.status, 404);
}
