//! Sessions of the handshake era over HTTP.

use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Server, ToolError};
use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use http::Method;
use serde_json::json;
use tokio::sync::Notify;

use super::support::{HttpClient, call, request};

async fn ask(cx: Context) -> Result<String, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx
        .elicit("name", ElicitFormParams::new("Who?", form))
        .await?;
    Ok(format!("{:?}", answer.is_accepted()))
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("count", "Counts", |cx: Context| async move {
            cx.progress(1, None, None);
            "counted"
        })
        .tool("ask", "Asks", ask)
        .resource("file:///a", "a", || async { "text" })
}

// proves: TR-70, TR-72, TR-73, TR-74, TR-76, F-SE-16, HS-1
#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = HttpClient::new(server());
        let session = client.open_session(revision, json!({})).await;
        let reply = session.post(call(1, "echo", json!({}))).await;
        assert_eq!(reply.status, 200, "{revision}");
        let body = reply.json().await;
        assert_eq!(body["result"]["content"][0]["text"], "hello");
        assert_eq!(session.service.session_count(), 1);

        let missing = session.clone().without("mcp-session-id");
        assert_eq!(missing.post(call(2, "echo", json!({}))).await.status, 400);
        let unknown = session.clone().header("mcp-session-id", "0123456789abcdef");
        let reply = unknown.post(call(3, "echo", json!({}))).await;
        assert_eq!(reply.status, 404);
        assert_eq!(reply.json().await["id"], 3);

        assert_eq!(session.delete().await.status, 204);
        assert_eq!(session.service.session_count(), 0);
        assert_eq!(session.delete().await.status, 404);
        assert_eq!(session.post(call(4, "echo", json!({}))).await.status, 404);
    }
}

// proves: TR-80, TR-81, TR-82
#[tokio::test]
async fn the_version_header_is_checked() {
    let client = HttpClient::new(server());
    let session = client.open_session("2025-06-18", json!({})).await;
    let wrong = session.clone().header("mcp-protocol-version", "1999-01-01");
    assert_eq!(wrong.post(call(1, "echo", json!({}))).await.status, 400);
    let absent = session.without("mcp-protocol-version");
    assert_eq!(absent.post(call(1, "echo", json!({}))).await.status, 200);
}

// proves: TR-37, TR-41, TR-39
#[tokio::test]
async fn progress_arrives_on_the_stream_of_its_request() {
    let client = HttpClient::new(server());
    let session = client.open_session("2025-11-25", json!({})).await;
    let params = json!({"name": "count", "_meta": {"progressToken": 1}});
    let mut reply = session.post(request(5, "tools/call", params)).await;
    assert_eq!(
        reply.next().await.unwrap()["method"],
        "notifications/progress"
    );
    assert_eq!(reply.next().await.unwrap()["id"], 5);
    assert_eq!(reply.next().await, None);
}

// proves: SV-4, TR-35
#[tokio::test]
async fn a_question_is_answered_with_another_post() {
    let client = HttpClient::new(server());
    let session = client
        .open_session("2025-06-18", json!({"elicitation": {}}))
        .await;
    let mut reply = session.post(call(5, "ask", json!({}))).await;
    let question = reply.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ann"}},
    });
    assert_eq!(session.post(answer).await.status, 202);
    let response = reply.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "true");
    assert_eq!(reply.next().await, None);
}

// proves: TR-50, TR-52, TR-53, F-SE-13, TR-30, TR-51, HS-11
#[tokio::test]
async fn changes_arrive_on_the_stream_of_a_get_and_a_second_one_takes_over() {
    let built = server().build().unwrap();
    let client = HttpClient::of(built.http_service(HttpConfig::new()));
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut first = session.get().await;
    first.priming().await;
    built.features().remove_tool("count");
    let changed = first.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");

    let mut second = session.get().await;
    assert_eq!(first.next().await, None);
    second.priming().await;
    built.features().remove_tool("ask");
    let changed = second.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

// proves: TR-42, TR-54
#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_cancels_nothing() {
    let done = Arc::new(Notify::new());
    let of_handler = Arc::clone(&done);
    let server = Server::new("test", "1.0.0").tool("slow", "Takes long", move || {
        let done = Arc::clone(&of_handler);
        async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            done.notify_one();
        }
    });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-11-25", json!({})).await;
    drop(session.post(call(1, "slow", json!({}))).await);
    done.notified().await;
}

// proves: HS-10
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_ends_its_stream_without_an_answer() {
    let cancelled = Arc::new(Notify::new());
    let of_handler = Arc::clone(&cancelled);
    let server = Server::new("test", "1.0.0").tool("wait", "Waits", move |cx: Context| {
        let cancelled = Arc::clone(&of_handler);
        async move {
            cx.cancelled().await;
            cancelled.notify_one();
        }
    });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "wait", json!({}))).await;
    let params = json!({"requestId": 1});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(session.post(note).await.status, 202);
    assert_eq!(reply.next().await, None);
    cancelled.notified().await;
}

// proves: TR-34
#[tokio::test]
async fn a_batch_is_answered_with_an_array() {
    let client = HttpClient::new(server());
    let session = client.open_session("2025-03-26", json!({})).await;
    let batch = json!([call(1, "echo", json!({})), request(2, "ping", json!({}))]);
    let reply = session.post(batch).await;
    let body = reply.json().await;
    assert_eq!(body.as_array().unwrap().len(), 2);
    let newer = client.open_session("2025-11-25", json!({})).await;
    let batch = json!([request(2, "ping", json!({}))]);
    let reply = newer.post(batch).await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json().await["error"]["code"], -32600);
}

// proves: TR-36, F-JR-12
#[tokio::test]
async fn a_batch_with_too_many_messages_is_refused() {
    let client = HttpClient::new(server());
    let session = client.open_session("2025-03-26", json!({})).await;
    for (count, status) in [(1000, 200), (1001, 400)] {
        let pings: Vec<_> = (0..count)
            .map(|id| request(id, "ping", json!({})))
            .collect();
        let reply = session.post(json!(pings)).await;
        assert_eq!(reply.status, status, "{count}");
    }
}

// proves: HS-10
#[tokio::test]
async fn a_batch_that_cancels_all_its_requests_ends_its_stream() {
    let server = Server::new("test", "0").tool("wait", "", || async {
        std::future::pending::<()>().await;
    });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-03-26", json!({})).await;
    let cancel = |id| {
        let params = json!({"requestId": id});
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    };
    let wait = |id| call(id, "wait", json!({}));
    for batch in [
        json!([wait(1), cancel(1)]),
        json!([wait(1), wait(2), cancel(2), cancel(1)]),
    ] {
        let mut reply = session.post(batch).await;
        assert_eq!(reply.next().await, None);
    }
}

#[tokio::test]
async fn without_sessions_each_request_stands_alone() {
    let client = HttpClient::with_config(server(), HttpConfig::new().without_sessions());
    let reply = client.initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(
        reply.json().await["result"]["protocolVersion"],
        "2025-11-25"
    );
    let client = client.header("mcp-protocol-version", "2025-11-25");
    let reply = client.post(call(1, "echo", json!({}))).await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "hello");
    assert_eq!(client.get().await.status, 405);
    assert_eq!(client.delete().await.status, 405);
}

// proves: F-HT-12
#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let config = HttpConfig::new().max_body_bytes(100);
    let client = HttpClient::with_config(server(), config);
    for (size, status) in [(100, 400), (101, 413)] {
        let body = vec![b' '; size];
        let reply = client.send(client.request(Method::POST, body)).await;
        assert_eq!(reply.status, status);
    }
}

// proves: HS-3
#[tokio::test]
async fn an_empty_body_is_named_as_such() {
    let client = HttpClient::new(server());
    let reply = client.send(client.request(Method::POST, "")).await;
    assert_eq!(reply.status, 400);
    let error = reply.json().await;
    assert_eq!(error["error"]["code"], -32700);
    let expected = "the request body is empty (send a JSON-RPC message)";
    assert_eq!(error["error"]["message"], expected);
}
