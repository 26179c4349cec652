//! How many sessions there are over HTTP, and how long.

use std::time::Duration;

use bowline::server::{Context, HttpConfig, Principal, Server};
use serde_json::json;
use tokio::time::sleep;

use super::support::{HttpClient, call, request};

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("slow", "Takes long", || async {
            sleep(Duration::from_secs(100)).await;
            "done"
        })
        .tool(
            "who",
            "Returns the client's name",
            |cx: Context| async move { cx.client_info().map(|info| info.name).unwrap_or_default() },
        )
        .resource("file:///a", "a", || async { "text" })
}

// proves: F-SE-06, MO-4
#[tokio::test(start_paused = true)]
async fn beyond_the_limit_there_is_no_session() {
    let config = HttpConfig::new().max_sessions(2);
    let client = HttpClient::with_config(server(), config);
    let first = client.open_session("2025-11-25", json!({})).await;
    client.open_session("2025-11-25", json!({})).await;
    let refused = client.initialize("2025-11-25", json!({})).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after").as_deref(), Some("60"));
    assert_eq!(refused.json().await["error"]["data"]["reason"], "busy");
    first.delete().await;
    client.open_session("2025-11-25", json!({})).await;
    assert_eq!(client.service.session_count(), 2);
}

// proves: TP-6
#[tokio::test(start_paused = true)]
async fn a_session_expires_when_nothing_uses_it() {
    let config = HttpConfig::new().session_idle_timeout(Duration::from_secs(50));
    let client = HttpClient::with_config(server(), config);
    let session = client.open_session("2025-11-25", json!({})).await;
    // A request that goes on counts as use, and so does an open stream.
    let mut reply = session.post(call(1, "slow", json!({}))).await;
    assert_eq!(reply.next().await.unwrap()["id"], 1);
    drop(reply);
    let stream = session.get().await;
    sleep(Duration::from_secs(200)).await;
    assert_eq!(session.post(call(2, "echo", json!({}))).await.status, 200);
    drop(stream);
    sleep(Duration::from_secs(49)).await;
    assert_eq!(session.post(call(3, "echo", json!({}))).await.status, 200);
    sleep(Duration::from_secs(51)).await;
    assert_eq!(session.post(call(4, "echo", json!({}))).await.status, 404);
    assert_eq!(client.service.session_count(), 0);
}

// proves: F-SE-07
#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_finished_expires_sooner() {
    let client = HttpClient::new(server());
    assert_eq!(client.initialize("2025-11-25", json!({})).await.status, 200);
    assert_eq!(client.service.session_count(), 1);
    sleep(Duration::from_secs(62)).await;
    assert_eq!(client.service.session_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_keeps_what_was_agreed() {
    let built = server().build().unwrap();
    let client = HttpClient::of(built.http_service(HttpConfig::new()));
    let session = client.open_session("2025-06-18", json!({})).await;
    let subscribe = request(1, "resources/subscribe", json!({"uri": "file:///a"}));
    assert_eq!(session.post(subscribe).await.status, 200);
    // Long enough to be reduced to its record.
    sleep(Duration::from_secs(100)).await;
    let body = session.post(call(2, "who", json!({}))).await.json().await;
    assert_eq!(body["result"]["content"][0]["text"], "test");
    let mut stream = session.get().await;
    stream.next_chunk().await;
    built.features().notify_resource_updated("file:///a");
    let event = stream.next().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated");
}

// proves: SE-22
#[tokio::test]
async fn a_session_is_that_of_its_principal() {
    let client = HttpClient::new(server());
    let as_user = |user: &str, id: Option<&str>, message: serde_json::Value| {
        let mut client = client.clone();
        if let Some(id) = id {
            client = client.header("mcp-session-id", id);
        }
        let mut request = client.request(http::Method::POST, message.to_string());
        request.extensions_mut().insert(Principal::new(user));
        async move { client.send(request).await }
    };
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opened = as_user("ann", None, request(0, "initialize", params)).await;
    let id = opened.header("mcp-session-id").unwrap();
    let echo = || call(1, "echo", json!({}));
    assert_eq!(as_user("ann", Some(&id), echo()).await.status, 200);
    assert_eq!(as_user("eve", Some(&id), echo()).await.status, 404);
    let anonymous = client.clone().header("mcp-session-id", &*id);
    assert_eq!(anonymous.post(echo()).await.status, 404);
    assert_eq!(anonymous.delete().await.status, 404);
    assert_eq!(client.service.session_count(), 1);
}
