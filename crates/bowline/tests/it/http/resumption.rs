//! Event streams that are cut and resumed, within the process. Over sockets: `cuts`.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Principal, Server};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use super::support::{HttpClient, Reply, request};

/// A server whose tool sends progress when it is allowed to, and answers when no more is allowed.
struct Steps {
    server: Server,
    allow: mpsc::Sender<()>,
}

fn steps() -> Steps {
    let (allow, allowed) = mpsc::channel::<()>(64);
    let allowed = Arc::new(Mutex::new(allowed));
    let server = Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("steps", "Sends progress", move |cx: Context| {
            let allowed = Arc::clone(&allowed);
            async move {
                let mut step = 0;
                while let Some(()) = allowed.lock().await.recv().await {
                    step += 1;
                    cx.progress(step, None, None);
                    if step == 3 {
                        break;
                    }
                }
                format!("after {step}")
            }
        })
        .tool("poll", "Closes its stream", |cx: Context| async move {
            let closed = cx.close_stream(Duration::from_millis(250));
            cx.progress(1, None, None);
            closed.to_string()
        })
        .tool("large", "Sends much", |cx: Context| async move {
            for step in 1..=20 {
                cx.progress(step, None, Some(&"x".repeat(1000)));
            }
            "done"
        });
    Steps { server, allow }
}

fn call(id: u64, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": id}});
    request(id, "tools/call", params)
}

/// Reads the rest of a stream: the progress, and the id of the response.
async fn rest(reply: &mut Reply) -> String {
    let mut out = Vec::new();
    while let Some(message) = reply.next().await {
        out.push(match message.get("id") {
            Some(id) => format!("response {id}"),
            None => message["params"]["progress"].to_string(),
        });
    }
    out.join(" ")
}

/// Returns the message of a refusal with this status.
async fn refusal(reply: Reply, status: u16) -> String {
    assert_eq!(reply.status, status);
    let body = reply.json().await;
    assert_eq!(body.get("id"), None);
    body["error"]["message"].as_str().unwrap().to_owned()
}

// proves: HS-18, F-SE-11, TR-40, TR-63, TR-65
#[tokio::test(start_paused = true)]
async fn a_response_waits_for_a_client_that_was_cut_off() {
    let Steps { server, allow } = steps();
    let client = HttpClient::with_config(server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "steps")).await;
    let first = reply.priming().await;
    drop(reply);
    for _ in 0..3 {
        allow.send(()).await.unwrap();
    }
    // Fetched twice: the first connection is cut as well.
    for _ in 0..2 {
        let mut resumed = session.get_after(&first).await;
        assert_eq!(resumed.priming().await, first);
        assert_eq!(rest(&mut resumed).await, "1 2 3 response 1");
    }
    let stats = client.service.kept_event_bytes();
    assert!(stats > 0, "the events are kept until they are too old");
    sleep(Duration::from_secs(302)).await;
    let error = refusal(session.get_after(&first).await, 400).await;
    assert!(
        error.contains("expired") || error.contains("no stream"),
        "{error}"
    );
    assert_eq!(client.service.kept_event_bytes(), 0);
    assert_eq!(session.post(call(2, "echo")).await.status, 200);
}

// proves: TR-60, TR-61, TR-64, F-SE-10
#[tokio::test]
async fn a_stream_is_resumed_without_events_of_others() {
    let Steps { server, allow } = steps();
    let client = HttpClient::with_config(server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut large = session.post(call(1, "large")).await;
    let mut steps = session.post(call(2, "steps")).await;
    let beginning = steps.priming().await;
    let mut ids = BTreeSet::from([beginning.clone()]);
    let stream = |id: &str| id.split_once('-').unwrap().0.to_owned();
    while large.next().await.is_some() {
        let id = large.last_id.clone().unwrap();
        assert_ne!(stream(&id), stream(&beginning));
        assert!(ids.insert(id), "each id is another one");
    }
    assert_eq!(ids.len(), 22);
    allow.send(()).await.unwrap();
    assert_eq!(steps.next().await.unwrap()["params"]["progress"], 1);
    let after_one = steps.last_id.clone().unwrap();
    drop(steps);
    // Cut a second time before anything was replayed.
    let mut resumed = session.get_after(&after_one).await;
    assert_eq!(resumed.priming().await, after_one);
    drop(resumed);
    let mut resumed = session.get_after(&after_one).await;
    resumed.priming().await;
    allow.send(()).await.unwrap();
    allow.send(()).await.unwrap();
    assert_eq!(rest(&mut resumed).await, "2 3 response 2");
    let mut again = session.get_after(&beginning).await;
    assert_eq!(rest(&mut again).await, "1 2 3 response 2");
}

#[tokio::test]
async fn a_connection_that_resumes_takes_the_place_of_the_one_before() {
    let Steps { server, allow } = steps();
    let client = HttpClient::with_config(server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut first = session.post(call(1, "steps")).await;
    let beginning = first.priming().await;
    let waiting = tokio::spawn(async move { first.next().await });
    let mut second = session.get_after(&beginning).await;
    second.priming().await;
    assert_eq!(waiting.await.unwrap(), None, "the first connection ends");
    for _ in 0..3 {
        allow.send(()).await.unwrap();
    }
    assert_eq!(rest(&mut second).await, "1 2 3 response 1");
}

// proves: TR-54, TR-66
#[tokio::test]
async fn a_handler_lets_its_client_poll() {
    let client = HttpClient::with_config(steps().server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "poll")).await;
    assert!(reply.is_stream());
    assert_eq!(reply.next().await, None, "no message is on it");
    assert_eq!(reply.retry, Some(250));
    let mut resumed = session.get_after(&reply.last_id.unwrap()).await;
    assert_eq!(resumed.next().await.unwrap()["params"]["progress"], 1);
    let response = resumed.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "true");
    assert_eq!(resumed.next().await, None);
}

// proves: HS-19
#[tokio::test]
async fn where_a_client_can_not_come_back_its_stream_is_not_closed() {
    let client = HttpClient::with_config(steps().server, HttpConfig::new());
    for revision in ["2025-03-26", "2025-06-18"] {
        let session = client.open_session(revision, json!({})).await;
        let mut reply = session.post(call(1, "poll")).await;
        assert_eq!(reply.next().await.unwrap()["params"]["progress"], 1);
        // These revisions have ids, and no events without data.
        assert!(reply.last_id.is_some());
        assert_eq!(reply.retry, None);
        let response = reply.next().await.unwrap();
        assert_eq!(response["result"]["content"][0]["text"], "false");
    }
    let params = json!({"name": "poll", "arguments": {}, "_meta": {"progressToken": 1}});
    let mut reply = client.stateless(1, "tools/call", params).await;
    reply.next().await.unwrap();
    let response = reply.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "false");
    assert_eq!(reply.last_id, None);

    for config in [
        HttpConfig::new().without_resumption(),
        HttpConfig::new().without_sessions(),
    ] {
        let has_sessions = !format!("{config:?}").contains("has_sessions: false");
        let client = HttpClient::with_config(steps().server, config);
        let session = if has_sessions {
            client.open_session("2025-11-25", json!({})).await
        } else {
            client.header("mcp-protocol-version", "2025-11-25")
        };
        let mut reply = session.post(call(1, "poll")).await;
        reply.next().await.unwrap();
        let response = reply.next().await.unwrap();
        assert_eq!(response["result"]["content"][0]["text"], "false");
        assert_eq!((reply.last_id, reply.retry), (None, None));
    }
}

// proves: F-SE-12, F-RD-14, SE-22, HS-17
#[tokio::test]
async fn each_id_that_can_not_be_resumed_is_refused_with_its_reason() {
    let config = HttpConfig::new().max_session_events(10, 1024 * 1024);
    let client = HttpClient::with_config(steps().server, config);
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "large")).await;
    let first = {
        reply.next().await.unwrap();
        reply.last_id.clone().unwrap()
    };
    while reply.next().await.is_some() {}
    let last = reply.last_id.clone().unwrap();
    let (stream, newest) = last.split_once('-').unwrap();
    let evicted = refusal(session.get_after(&first).await, 400).await;
    let kept = format!("(first available: {stream}-13)");
    assert!(
        evicted.contains("evicted") && evicted.contains(&kept),
        "{evicted}"
    );
    let beyond = newest.parse::<u64>().unwrap() + 1;
    for (id, expected) in [
        (format!("{stream}-{beyond}"), "never issued"),
        ("1-1".to_owned(), "no stream 1"),
        ("garbage".to_owned(), "does not have the form"),
        (String::new(), "is empty"),
        ("9".repeat(100), "longer than"),
        (format!("{}-1", u64::MAX as u128 + 1), "too large"),
    ] {
        let error = refusal(session.get_after(&id).await, 400).await;
        assert!(error.contains(expected), "{id:?}: {error}");
        assert!(error.contains("Last-Event-ID"), "{error}");
    }
    let twice = session.clone().header("last-event-id", last.clone());
    let mut repeated = twice.request(http::Method::GET, "");
    repeated
        .headers_mut()
        .append("last-event-id", "1-1".parse().unwrap());
    let error = refusal(twice.send(repeated).await, 400).await;
    assert!(error.contains("more than once"), "{error}");
    // Another session has no such stream, and the session of another principal doesn't exist.
    let other = client.open_session("2025-11-25", json!({})).await;
    let error = refusal(other.get_after(&last).await, 400).await;
    assert!(error.contains("no stream"), "{error}");
    let stranger = session.clone().extension(Principal::new("eve"));
    assert_eq!(stranger.get_after(&last).await.status, 404);
    // Nothing of this has ended the session, and the newest id can still be resumed from.
    let mut resumed = session.get_after(&last).await;
    assert_eq!(resumed.next().await, None);
}

// proves: HS-11, TR-52, TR-56
#[tokio::test(start_paused = true)]
async fn the_stream_of_a_get_goes_on_after_a_cut_with_or_without_an_id() {
    let server = steps().server.build().unwrap();
    let client = HttpClient::of(server.http_service(HttpConfig::new()));
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut stream = session.get().await;
    let beginning = stream.priming().await;
    server.features().remove_tool("echo");
    let method = "notifications/tools/list_changed";
    assert_eq!(stream.next().await.unwrap()["method"], method);
    let id = stream.last_id.clone().unwrap();
    drop(stream);
    server.features().remove_tool("large");
    sleep(Duration::from_millis(500)).await;
    // A client that knows no ids gets what it has missed, and only that.
    let mut stream = session.get().await;
    assert_eq!(stream.priming().await, id);
    assert_eq!(stream.next().await.unwrap()["method"], method);
    drop(stream);
    let mut stream = session.get_after(&beginning).await;
    stream.priming().await;
    for _ in 0..2 {
        assert_eq!(stream.next().await.unwrap()["method"], method);
    }
    let last = stream.last_id.clone().unwrap();
    drop(stream);
    // Long after its events are gone, when the session is no more than a record, its client comes
    // back.
    sleep(Duration::from_secs(600)).await;
    assert_eq!(client.service.kept_event_bytes(), 0);
    let mut stream = session.get_after(&last).await;
    assert_eq!(stream.priming().await, last);
    server.features().remove_tool("poll");
    assert_eq!(stream.next().await.unwrap()["method"], method);
    let error = refusal(session.get_after(&id).await, 400).await;
    assert!(error.contains("expired"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn messages_before_the_first_get_wait_for_it() {
    for config in [HttpConfig::new(), HttpConfig::new().without_resumption()] {
        let server = steps().server.build().unwrap();
        let client = HttpClient::of(server.http_service(config));
        let session = client.open_session("2025-11-25", json!({})).await;
        server.features().remove_tool("echo");
        session.post(request(7, "ping", json!({}))).await;
        sleep(Duration::from_millis(500)).await;
        session.post(request(8, "ping", json!({}))).await;
        let mut stream = session.get().await;
        let message = stream.next().await.unwrap();
        assert_eq!(message["method"], "notifications/tools/list_changed");
    }
}

// proves: SE-12
#[tokio::test]
async fn all_sessions_together_keep_no_more_than_the_limit() {
    const LIMIT: usize = 256 * 1024;
    const UNSHARED: usize = 64 * 1024;
    let config = HttpConfig::new().max_event_bytes(LIMIT);
    let client = HttpClient::with_config(steps().server, config);
    let mut sessions = Vec::new();
    for _ in 0..8 {
        let session = client.open_session("2025-11-25", json!({})).await;
        let mut first = None;
        for id in 0..4 {
            let mut reply = session.post(call(id, "large")).await;
            reply.next().await.unwrap();
            first = first.or(reply.last_id.clone());
            while reply.next().await.is_some() {}
        }
        sessions.push((session, first.unwrap()));
    }
    // Each session has sent 80,000 bytes and more: all of them were too much.
    let kept = client.service.kept_event_bytes();
    assert!(kept <= LIMIT + 8 * UNSHARED, "{kept}");
    assert!(kept > LIMIT, "{kept}");
    let (first, last) = (sessions.first().unwrap(), sessions.last().unwrap());
    assert_eq!(first.0.get_after(&first.1).await.status, 200);
    let error = refusal(last.0.get_after(&last.1).await, 400).await;
    // A stream of which nothing is left may be forgotten.
    let is_known = error.contains("evicted") || error.contains("no stream");
    assert!(is_known, "{error}");
    for (session, _) in &sessions {
        assert_eq!(session.delete().await.status, 204);
    }
    assert_eq!(client.service.kept_event_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_old_ends_and_is_resumed() {
    let Steps { server, allow } = steps();
    let config = HttpConfig::new().max_stream_age(Some(Duration::from_secs(100)));
    let config = config.reconnect_delay(Duration::from_millis(1500));
    let client = HttpClient::with_config(server, config);
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "steps")).await;
    assert_eq!(reply.next().await, None, "it ends without a message");
    assert_eq!(reply.retry, Some(1500));
    for _ in 0..3 {
        allow.send(()).await.unwrap();
    }
    let mut resumed = session.get_after(&reply.last_id.unwrap()).await;
    assert_eq!(rest(&mut resumed).await, "1 2 3 response 1");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_its_stream_while_its_client_is_away() {
    let Steps { server, allow } = steps();
    let client = HttpClient::with_config(server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(1, "steps")).await;
    let first = reply.priming().await;
    allow.send(()).await.unwrap();
    assert_eq!(reply.next().await.unwrap()["params"]["progress"], 1);
    drop(reply);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    assert_eq!(session.post(cancel).await.status, 202);
    let mut resumed = session.get_after(&first).await;
    assert_eq!(rest(&mut resumed).await, "1");
}

// proves: TR-40
#[tokio::test(start_paused = true)]
async fn a_stream_that_can_not_be_resumed_does_not_end_before_its_response() {
    let slow = Server::new("test", "1.0.0").tool("slow", "Takes long", || async {
        sleep(Duration::from_secs(500)).await;
        "done"
    });
    let config = HttpConfig::new().max_stream_age(Some(Duration::from_secs(100)));
    let client = HttpClient::with_config(slow, config.without_resumption());
    let params = json!({"name": "slow", "arguments": {}});
    let mut reply = client.stateless(1, "tools/call", params).await;
    assert_eq!(reply.next().await.unwrap()["id"], 1);
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut reply = session.post(call(2, "slow")).await;
    assert_eq!(reply.next().await.unwrap()["id"], 2);
    // A stream without an end of its own does.
    let mut stream = session.get().await;
    assert_eq!(stream.next().await, None);
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = client.stateless(3, "subscriptions/listen", params).await;
    let acknowledged = listening.next().await.unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(listening.next().await, None);
}

#[tokio::test]
async fn a_request_that_is_dropped_while_its_stream_begins_keeps_its_response() {
    let (go, gone) = mpsc::channel::<()>(1);
    let gone = Arc::new(Mutex::new(gone));
    let (done, mut is_done) = mpsc::channel::<()>(1);
    let server = Server::new("test", "1.0.0").tool("poll", "Polls", move |cx: Context| {
        let (gone, done) = (Arc::clone(&gone), done.clone());
        async move {
            gone.lock().await.recv().await;
            assert!(cx.close_stream(Duration::from_secs(1)));
            done.send(()).await.unwrap();
            "x".repeat(1000)
        }
    });
    let client = HttpClient::with_config(server, HttpConfig::new());
    let session = client.open_session("2025-11-25", json!({})).await;
    let request = session.request(http::Method::POST, call(1, "poll").to_string());
    let mut responding = session.service.clone().call(request);
    assert!(poll_once(&mut responding).await.is_pending());
    go.send(()).await.unwrap();
    is_done.recv().await.unwrap();
    drop(responding);
    let kept = async {
        while client.service.kept_event_bytes() < 1000 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), kept)
        .await
        .expect("the response is kept");
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}
