//! Limits on sessions, and on what waits in one.

use bowline::server::{Context, HttpConfig, Server};
use serde_json::json;

use super::{LegacyClient, server};
use crate::http::support::call;

// proves: F-SE-06, MO-4
#[tokio::test]
async fn beyond_the_limit_there_is_no_session() {
    let config = HttpConfig::new().max_sessions(2);
    let client = LegacyClient::with_config(server(), config);
    let first = client.open().await;
    let _second = client.open().await;
    let refused = client.get().await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after").as_deref(), Some("10"));
    assert_eq!(refused.json().await["error"]["data"]["reason"], "busy");
    assert_eq!(client.service.session_count(), 2);
    drop(first);
    client.open().await;
}

// proves: MO-4
#[tokio::test]
async fn open_requests_and_unread_responses_are_limited() {
    let config = HttpConfig::new().max_streams_per_session(2);
    let client = LegacyClient::with_config(server(), config);
    let mut session = client
        .connect("2025-06-18", json!({"elicitation": {}}))
        .await;
    // One waits for an answer, the response to the other is not read.
    session.post(&call(1, "ask", json!({}))).await;
    let question = session.next().await;
    session.post(&call(2, "echo", json!({}))).await;
    let refused = session.try_post(&call(3, "echo", json!({}))).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json().await["error"]["data"]["reason"], "busy");
    // Answers and notifications are still taken: what waits for them could never end.
    let answer = json!({
        "jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"},
    });
    session.post(&answer).await;
    assert_eq!(session.next().await["id"], 2);
    assert_eq!(session.next().await["id"], 1);
    session.post(&call(4, "echo", json!({}))).await;
    assert_eq!(session.next().await["id"], 4);
}

#[tokio::test]
async fn unread_bytes_are_limited() {
    let server =
        Server::new("test", "1.0.0").tool("large", "Answers", || async { "a".repeat(600 * 1024) });
    let client = LegacyClient::new(server);
    let mut session = client.connect("2024-11-05", json!({})).await;
    for id in 1..=2 {
        session.post(&call(id, "large", json!({}))).await;
    }
    let refused = session.try_post(&call(3, "large", json!({}))).await;
    assert_eq!(refused.status, 503);
    assert_eq!(session.next().await["id"], 1);
    session.post(&call(4, "large", json!({}))).await;
    assert_eq!(session.next().await["id"], 2);
    assert_eq!(session.next().await["id"], 4);
}

/// A server whose tool sends many notifications.
fn chatty(count: u64, text: usize) -> Server {
    Server::new("test", "1.0.0").tool("talk", "Talks", move |cx: Context| async move {
        let text = "a".repeat(text);
        for step in 1..=count {
            cx.progress(step as f64, None, Some(&text));
        }
        "done"
    })
}

#[tokio::test]
async fn a_stream_that_is_not_read_is_cut() {
    for (count, text, is_cut) in [
        (1000, 10, false),
        (1001, 10, true),
        (9, 100_000, false),
        (11, 100_000, true),
    ] {
        let client = LegacyClient::new(chatty(count, text));
        let mut session = client.connect("2025-11-25", json!({})).await;
        let params = json!({"name": "talk", "_meta": {"progressToken": 1}});
        let talk = crate::http::support::request(1, "tools/call", params);
        session.post(&talk).await;
        if is_cut {
            assert!(session.stream.try_next_chunk().await.is_err(), "{count}");
            drop(session);
            assert_eq!(client.service.session_count(), 0);
            continue;
        }
        for step in 1..=count {
            assert_eq!(session.next().await["params"]["progress"], step as f64);
        }
        assert_eq!(session.next().await["id"], 1);
    }
}
