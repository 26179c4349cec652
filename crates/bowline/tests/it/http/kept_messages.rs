//! Messages that reach their client: whatever else is sent and kept, however long a call takes, and
//! while the server shuts down.

use std::time::Duration;

use bowline::server::{Context, HttpConfig, Server};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::socket::SocketServer;
use super::support::{HttpClient, Reply, request};

/// More than any limit.
const FOREVER: Duration = Duration::MAX;

fn call(id: u64, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": id}});
    request(id, "tools/call", params)
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("slow", "Takes long", |cx: Context| async move {
            cx.progress(1, None, None);
            sleep(Duration::from_secs(100)).await;
            "done"
        })
        .tool("silent", "Takes long and sends nothing", || async {
            sleep(Duration::from_secs(100)).await;
            "done"
        })
        .tool("fill", "Sends much", |cx: Context| async move {
            for step in 1..=20 {
                cx.progress(step, None, Some(&"x".repeat(1000)));
            }
            "done"
        })
        .tool("large", "Answers with much", |cx: Context| async move {
            cx.progress(1, None, None);
            "x".repeat(100_000)
        })
        .tool("ask", "Asks its client", |cx: Context| async move {
            let answer = cx.list_roots("roots").await;
            answer.map_or_else(|error| error.to_string(), |_| "answered".to_owned())
        })
}

/// A server whose tool sends as many messages without a pause, and returns how many were taken.
fn burst(messages: u32, bytes: usize) -> Server {
    Server::new("test", "1.0.0").tool("burst", "Sends much", move |cx: Context| async move {
        let text = "x".repeat(bytes);
        let taken = (1..=messages).filter(|step| cx.progress(*step, None, Some(&text)));
        taken.count().to_string()
    })
}

/// Reads a stream to its end. Returns how many messages there were, and the last one.
async fn read_all(mut reply: Reply) -> (usize, Value) {
    let mut count = 0;
    let mut last = Value::Null;
    while let Some(message) = reply.next().await {
        count += 1;
        last = message;
    }
    (count, last)
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_handler_that_sends_much_at_once_loses_no_response() {
    // 1000 messages and 1 MiB can wait where a stream can't be resumed.
    for (messages, bytes, taken) in [(1000, 0, 1000), (1001, 0, 1000), (20, 100_000, 10)] {
        let client = HttpClient::new(burst(messages, bytes));
        let params = json!({"name": "burst", "arguments": {}, "_meta": {"progressToken": 1}});
        let reply = client.stateless(1, "tools/call", params).await;
        let (count, last) = read_all(reply).await;
        assert_eq!((count, text(&last)), (taken + 1, &*taken.to_string()));
        let messages = messages as usize;
        let session = client.open_session("2025-11-25", json!({})).await;
        let (count, last) = read_all(session.post(call(1, "burst")).await).await;
        assert_eq!((count, text(&last)), (messages + 1, &*messages.to_string()));
    }
}

// proves: TP-6, HS-18
#[tokio::test(start_paused = true)]
async fn a_call_keeps_its_session_while_the_client_is_away() {
    let config = HttpConfig::new().session_idle_timeout(Duration::from_secs(50));
    // While the call goes on, and after it.
    for away in [60, 120] {
        let client = HttpClient::with_config(server(), config.clone());
        let session = client.open_session("2025-11-25", json!({})).await;
        let mut reply = session.post(call(1, "slow")).await;
        let id = reply.priming().await;
        drop(reply);
        sleep(Duration::from_secs(away)).await;
        let resumed = session.get_after(&id).await;
        assert_eq!(resumed.status, 200, "{away}");
        assert_eq!(read_all(resumed).await.1["id"], 1);
        sleep(Duration::from_secs(200)).await;
        assert_eq!(client.service.session_count(), 0, "{away}");
    }
}

// proves: TR-63
#[tokio::test(start_paused = true)]
async fn changes_wait_for_a_client_that_is_away() {
    // Before and after the session would become no more than a record.
    for (before, after) in [(0, 90), (90, 0)] {
        let server = server().build().unwrap();
        let client = HttpClient::of(server.http_service(HttpConfig::new()));
        let session = client.open_session("2025-11-25", json!({})).await;
        let mut stream = session.get().await;
        let id = stream.priming().await;
        // So long that no event is kept.
        let silence = timeout(Duration::from_secs(400), stream.next()).await;
        assert!(silence.is_err());
        drop(stream);
        sleep(Duration::from_secs(before)).await;
        server.features().remove_tool("echo");
        sleep(Duration::from_secs(after)).await;
        let mut stream = session.get_after(&id).await;
        let changed = timeout(Duration::from_secs(5), stream.next()).await;
        let changed = changed.expect("the change is not lost").unwrap();
        assert_eq!(changed["method"], "notifications/tools/list_changed");
    }
}

// proves: TR-40
#[tokio::test(start_paused = true)]
async fn a_stream_does_not_end_early_where_its_client_may_know_no_id() {
    let config = HttpConfig::new().max_stream_age(Some(Duration::from_secs(50)));
    for revision in ["2025-03-26", "2025-06-18"] {
        let client = HttpClient::with_config(server(), config.clone());
        let session = client.open_session(revision, json!({})).await;
        let (_, last) = read_all(session.post(call(1, "silent")).await).await;
        assert_eq!(last["id"], 1, "{revision}");
        let mut reply = session.post(call(2, "slow")).await;
        reply.next().await.unwrap();
        let resumed = session.get_after(&reply.last_id.clone().unwrap()).await;
        assert_eq!(read_all(resumed).await.1["id"], 2, "{revision}");
        // A stream without an end of its own does.
        assert_eq!(read_all(session.get().await).await.0, 0);
    }
}

// proves: SE-12
#[tokio::test]
async fn what_other_sessions_keep_costs_no_client_its_response() {
    let config = HttpConfig::new().max_event_bytes(256 * 1024);
    let client = HttpClient::with_config(server(), config);
    for _ in 0..8 {
        let session = client.open_session("2025-11-25", json!({})).await;
        for id in 0..4 {
            read_all(session.post(call(id, "fill")).await).await;
        }
    }
    assert!(client.service.kept_event_bytes() > 256 * 1024);
    let session = client.open_session("2025-11-25", json!({})).await;
    let before = client.service.kept_event_bytes();
    let (_, last) = read_all(session.post(call(1, "large")).await).await;
    assert_eq!(text(&last).len(), 100_000);
    // It isn't kept after that.
    let kept = client.service.kept_event_bytes() - before;
    assert!(kept <= 64 * 1024, "{kept}");
}

// proves: SE-12
#[tokio::test]
async fn streams_that_are_remembered_count_as_kept() {
    const STREAMS: usize = 200;
    let config = HttpConfig::new().max_session_events(0, 0);
    for (config, kept) in [
        (config.clone(), STREAMS * 512),
        // One of them is over the limit, and the rest within the 64 KiB that each session may keep.
        (config.max_event_bytes(1), 64 * 1024),
    ] {
        let client = HttpClient::with_config(burst(1, 1), config);
        let session = client.open_session("2025-11-25", json!({})).await;
        for id in 1..=STREAMS as u64 {
            read_all(session.post(call(id, "burst")).await).await;
        }
        assert_eq!(client.service.kept_event_bytes(), kept);
    }
}

#[tokio::test(start_paused = true)]
async fn durations_may_be_the_longest_there_are() {
    let config = HttpConfig::new()
        .keep_alive(FOREVER)
        .body_timeout(FOREVER)
        .stream_after(FOREVER)
        .session_idle_timeout(FOREVER)
        .event_age(FOREVER)
        .reconnect_delay(FOREVER)
        .max_stream_age(Some(FOREVER));
    let client = HttpClient::with_config(server(), config);
    let session = client.open_session("2025-11-25", json!({})).await;
    let (_, last) = read_all(session.post(call(1, "slow")).await).await;
    assert_eq!(last["id"], 1);
}

#[tokio::test]
async fn durations_of_connections_may_be_the_longest_there_are() {
    let config = HttpConfig::new()
        .head_timeout(FOREVER)
        .idle_timeout(FOREVER)
        .authentication_timeout(FOREVER);
    let server = SocketServer::start(server().shutdown_deadline(FOREVER), config).await;
    let mut client = server.connect().await;
    let health = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(client.ask(health).await.head.status, 200);
    drop(client);
    server.shut_down().await;
}

// proves: HS-20
#[tokio::test(start_paused = true)]
async fn a_question_can_be_answered_while_the_server_shuts_down() {
    let server = server().build().unwrap();
    let client = HttpClient::of(server.http_service(HttpConfig::new()));
    let session = client
        .open_session("2025-11-25", json!({"roots": {}}))
        .await;
    let mut reply = session.post(call(1, "ask")).await;
    let question = reply.next().await.unwrap();
    server.shut_down();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    assert_eq!(session.post(answer).await.status, 202);
    assert_eq!(text(&reply.next().await.unwrap()), "answered");
    // Nothing new is begun.
    assert_eq!(session.post(call(2, "echo")).await.status, 503);
    assert_eq!(session.get().await.status, 503);
}

// proves: TR-39
#[tokio::test(start_paused = true)]
async fn a_request_that_is_open_when_the_server_ends_is_answered() {
    for revision in ["2025-06-18", "2025-11-25"] {
        for config in [HttpConfig::new(), HttpConfig::new().without_resumption()] {
            let server = server().build().unwrap();
            let client = HttpClient::of(server.http_service(config));
            let session = client.open_session(revision, json!({})).await;
            let mut reply = session.post(call(1, "slow")).await;
            reply.next().await.unwrap();
            server.shut_down();
            let last = reply.next().await.expect("an answer");
            assert_eq!(last["id"], 1, "{last}");
            assert!(last["error"].is_object(), "{last}");
        }
    }
}
