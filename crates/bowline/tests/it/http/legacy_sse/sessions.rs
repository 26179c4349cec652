//! Sessions, from their first event to their end.

use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, PublicUrl, Server};
use serde_json::json;
use tokio::sync::Notify;

use super::{LegacyClient, server};
use crate::http::support::{call, request};

// proves: TP-7, TR-20, TR-21, TR-22, TR-23, F-SE-16
#[tokio::test]
async fn all_messages_of_the_server_arrive_on_one_stream() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = LegacyClient::new(server());
        let mut session = client.connect(revision, json!({})).await;
        let (_, id) = session.uri.split_once("?sessionId=").unwrap();
        assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        session.post(&call(1, "echo", json!({}))).await;
        let answer = session.next().await;
        assert_eq!(answer["id"], 1, "{revision}");
        assert_eq!(answer["result"]["content"][0]["text"], "hello");
        assert_eq!(client.service.session_count(), 1);
    }
}

#[tokio::test]
async fn each_stream_is_a_session_of_its_own() {
    let client = LegacyClient::new(server());
    let mut one = client.connect("2024-11-05", json!({})).await;
    let mut other = client.connect("2024-11-05", json!({})).await;
    assert_ne!(one.uri, other.uri);
    one.post(&call(7, "echo", json!({}))).await;
    other.post(&request(7, "ping", json!({}))).await;
    assert_eq!(other.next().await["result"], json!({}));
    assert!(one.next().await["result"]["content"].is_array());
}

// proves: TR-23
#[tokio::test]
async fn progress_precedes_its_response() {
    let client = LegacyClient::new(server());
    let mut session = client.connect("2024-11-05", json!({})).await;
    let params = json!({"name": "count", "_meta": {"progressToken": "p"}});
    session.post(&request(5, "tools/call", params)).await;
    let progress = session.next().await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(session.next().await["id"], 5);
}

// proves: SV-4
#[tokio::test]
async fn a_question_is_answered_with_a_post() {
    let client = LegacyClient::new(server());
    let mut session = client
        .connect("2025-06-18", json!({"elicitation": {}}))
        .await;
    session.post(&call(5, "ask", json!({}))).await;
    let question = session.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ann"}},
    });
    session.post(&answer).await;
    let response = session.next().await;
    assert_eq!(response["id"], 5);
    assert_eq!(response["result"]["content"][0]["text"], "true");
}

#[tokio::test]
async fn changes_are_announced() {
    let built = server().build().unwrap();
    let client = LegacyClient::of(&built, HttpConfig::new());
    let mut session = client.connect("2024-11-05", json!({})).await;
    built.features().remove_tool("count");
    let changed = session.next().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

// proves: TR-34
#[tokio::test]
async fn a_batch_is_answered_with_an_array() {
    let client = LegacyClient::new(server());
    let mut session = client.connect("2025-03-26", json!({})).await;
    let batch = json!([call(1, "echo", json!({})), request(2, "ping", json!({}))]);
    session.post(&batch).await;
    assert_eq!(session.next().await.as_array().unwrap().len(), 2);
}

/// A server whose tool waits until its request is cancelled.
fn waiting() -> (Server, Arc<Notify>, Arc<Notify>) {
    let (began, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_handler = (Arc::clone(&began), Arc::clone(&cancelled));
    let server = server().tool("wait", "Waits", move |cx: Context| {
        let (began, cancelled) = of_handler.clone();
        async move {
            began.notify_one();
            cx.cancelled().await;
            cancelled.notify_one();
        }
    });
    (server, began, cancelled)
}

#[tokio::test]
async fn a_request_is_cancelled_with_a_post() {
    let (server, began, cancelled) = waiting();
    let client = LegacyClient::new(server);
    let mut session = client.connect("2024-11-05", json!({})).await;
    session.post(&call(1, "wait", json!({}))).await;
    began.notified().await;
    let params = json!({"requestId": 1});
    session.notify("notifications/cancelled", params).await;
    cancelled.notified().await;
    // The session goes on, and no answer precedes the next one.
    session.post(&call(2, "echo", json!({}))).await;
    assert_eq!(session.next().await["id"], 2);
}

// proves: TR-26
#[tokio::test]
async fn a_lost_stream_ends_its_session_and_cancels_its_handlers() {
    let (server, began, cancelled) = waiting();
    let client = LegacyClient::new(server);
    let session = client.connect("2024-11-05", json!({})).await;
    session.post(&call(1, "wait", json!({}))).await;
    began.notified().await;
    let uri = session.uri.clone();
    drop(session);
    cancelled.notified().await;
    assert_eq!(client.service.session_count(), 0);
    let late = client.post(&uri, &call(2, "echo", json!({}))).await;
    assert_eq!(late.status, 404);
}

// proves: F-SE-07
#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_is_disconnected() {
    let client = LegacyClient::new(server().handshake_timeout(Duration::from_secs(10)));
    let mut silent = client.open().await;
    assert!(silent.stream.next_event().await.is_none());
    drop(silent);
    assert_eq!(client.service.session_count(), 0);
}

// proves: TR-110, TR-111, F-HT-17
#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive() {
    let client = LegacyClient::new(server());
    let mut session = client.connect("2024-11-05", json!({})).await;
    let headers = &session.stream.headers;
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["x-accel-buffering"], "no");
    assert_eq!(headers["cache-control"], "no-cache, no-transform");
    let start = tokio::time::Instant::now();
    for count in 1..=4 {
        assert_eq!(session.stream.next_chunk().await.unwrap(), ":\n\n");
        assert_eq!(start.elapsed(), Duration::from_secs(15 * count));
    }
}

#[tokio::test]
async fn the_first_bytes_are_the_endpoint() {
    let client = LegacyClient::new(server());
    let mut stream = client.get().await;
    let first = stream.next_chunk().await.unwrap();
    assert!(
        first.starts_with("event: endpoint\ndata: ?sessionId="),
        "{first}"
    );
}

#[tokio::test]
async fn the_endpoint_is_where_clients_see_it() {
    let listed = HttpConfig::new().legacy_sse("/base/sse/");
    let url = PublicUrl::new("https://mcp.example/tools/").unwrap();
    for (config, expected) in [
        (HttpConfig::new(), "?sessionId="),
        (listed.clone(), "/base/sse?sessionId="),
        (listed.public_url(url), "/tools/base/sse?sessionId="),
    ] {
        let client = LegacyClient::with_config(server(), config);
        let (_, reference) = client.get().await.next_event().await.unwrap();
        let (path, id) = reference.split_at(expected.len());
        assert_eq!(path, expected);
        assert_eq!(id.len(), 32);
    }
}

// proves: AU-65
#[tokio::test]
async fn handlers_see_headers_but_no_credentials() {
    let client = LegacyClient::new(server())
        .header("authorization", "Bearer secret")
        .header("cookie", "a=b")
        .header("x-trace", "1");
    let mut session = client.connect("2024-11-05", json!({})).await;
    session.post(&call(1, "headers", json!({}))).await;
    let answer = session.next().await;
    let names = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(names.contains("x-trace"), "{names}");
    assert!(
        !names.contains("authorization") && !names.contains("cookie"),
        "{names}"
    );
}
