//! Several streams at once, and where each message is sent.

use bowline::server::{Context, HttpConfig, Server};
use bowline::types::RawJson;
use bowline::types::logging::LoggingLevel;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::support::{HttpClient, request};

/// A server with a tool that reports its name on its stream each time that it is told to.
fn server() -> (Server, mpsc::Sender<()>) {
    let (go, turns) = mpsc::channel::<()>(16);
    let turns = std::sync::Arc::new(tokio::sync::Mutex::new(turns));
    let server = Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("report", "Reports", move |cx: Context| {
            let turns = std::sync::Arc::clone(&turns);
            async move {
                cx.progress(1, None, None);
                turns.lock().await.recv().await;
                cx.progress(2, None, None);
                "done"
            }
        });
    (server, go)
}

fn report(id: u64) -> Value {
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": id}});
    request(id, "tools/call", params)
}

// proves: TR-55, TR-56, TR-52, F-SE-13
#[tokio::test]
async fn several_streams_carry_each_its_own_messages() {
    let (server, go) = server();
    let built = server.build().unwrap();
    let client = HttpClient::of(built.http_service(HttpConfig::new()));
    let session = client.open_session("2025-11-25", json!({})).await;
    let mut changes = session.get().await;
    changes.priming().await;
    let mut streams = Vec::new();
    for id in 1..=3 {
        streams.push((id, session.post(report(id)).await));
    }
    // A change goes to none of them.
    built.features().remove_tool("echo");
    for _ in 0..3 {
        go.send(()).await.unwrap();
    }
    for (id, stream) in &mut streams {
        for step in 1..=2 {
            let event = stream.next().await.unwrap();
            assert_eq!(event["params"]["progressToken"], *id);
            assert_eq!(event["params"]["progress"], step);
        }
        assert_eq!(stream.next().await.unwrap()["id"], *id);
        assert_eq!(stream.next().await, None);
    }
    let changed = changes.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    // And nothing else: the next message is the next change.
    built.features().remove_tool("report");
    let changed = changes.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

// proves: F-SE-16, SE-21, TR-71
#[tokio::test]
async fn ids_of_sessions_can_not_be_guessed() {
    const SESSIONS: usize = 2000;
    let client = HttpClient::new(server().0);
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..SESSIONS {
        let reply = client.initialize("2025-11-25", json!({})).await;
        ids.insert(reply.header("mcp-session-id").unwrap());
    }
    assert_eq!(ids.len(), SESSIONS, "each is another one");
    assert!(
        ids.iter()
            .all(|id| id.bytes().all(|byte| byte.is_ascii_graphic()))
    );
    // The information in the characters: for each place the entropy of what was seen there. 2000
    // samples of 64 characters show more than 5.9 of the 6 bits.
    let length = ids.first().unwrap().len();
    let mut bits = 0.0;
    for place in 0..length {
        let mut counts = std::collections::BTreeMap::<u8, f64>::new();
        for id in &ids {
            *counts.entry(id.as_bytes()[place]).or_default() += 1.0;
        }
        let total = SESSIONS as f64;
        bits -= counts
            .values()
            .map(|count| count / total * (count / total).log2())
            .sum::<f64>();
    }
    assert!(bits > 126.0, "{bits} bits in {length} characters");
}

// proves: F-SS-02, F-SS-08
#[tokio::test]
async fn json_with_line_ends_is_one_event() {
    let server = Server::new("test", "1.0.0").tool("log", "Logs", |cx: Context| async move {
        let data = "{\n\"a\":\r\n[1,\r2]}\n";
        for _ in 0..100 {
            cx.log(LoggingLevel::Error, RawJson::parse(data).unwrap());
        }
        "line\r\nend\u{2028}"
    });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-11-25", json!({})).await;
    let params = json!({"name": "log", "arguments": {}});
    let mut reply = session.post(request(1, "tools/call", params)).await;
    for _ in 0..100 {
        let event = reply.next().await.unwrap();
        assert_eq!(event["params"]["data"], json!({"a": [1, 2]}));
    }
    let response = reply.next().await.unwrap();
    let text = &response["result"]["content"][0]["text"];
    assert_eq!(text, "line\r\nend\u{2028}");
}

// proves: HS-9, F-HD-01, F-HD-04
#[tokio::test]
async fn errors_of_handlers_are_answers() {
    let server = Server::new("test", "1.0.0")
        .tool("panic", "Panics", || async { panic!("secret") as &str })
        .tool("large", "Answers", || async {
            "x".repeat(17 * 1024 * 1024)
        })
        .tool("echo", "Answers", || async { "hello" });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-11-25", json!({})).await;
    for (name, code) in [("panic", -32603), ("large", -32603), ("unknown", -32602)] {
        let params = json!({"name": name, "arguments": {}});
        for reply in [
            client.stateless(1, "tools/call", params.clone()).await,
            session.post(request(1, "tools/call", params)).await,
        ] {
            assert_eq!(reply.status, 200, "{name}");
            let body = reply.json().await;
            assert_eq!(body["error"]["code"], code, "{name}: {body}");
            assert_eq!(body["id"], 1);
            assert!(!body.to_string().contains("secret"), "{body}");
        }
    }
    let reply = client
        .stateless(2, "tools/call", json!({"name": "echo"}))
        .await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "hello");
}

// proves: F-HD-06, F-HD-07
#[tokio::test]
async fn nothing_follows_a_response() {
    let (contexts, mut ended) = mpsc::channel(4);
    let server =
        Server::new("test", "1.0.0").tool("leave", "Leaves its context", move |cx: Context| {
            let contexts = contexts.clone();
            async move {
                cx.progress(1, None, None);
                contexts.send(cx.clone()).await.unwrap();
                "done"
            }
        });
    let client = HttpClient::new(server);
    let session = client.open_session("2025-11-25", json!({})).await;
    let params = json!({"name": "leave", "arguments": {}, "_meta": {"progressToken": 1}});
    for mut reply in [
        client.stateless(1, "tools/call", params.clone()).await,
        session.post(request(1, "tools/call", params)).await,
    ] {
        let cx = ended.recv().await.unwrap();
        assert_eq!(
            reply.next().await.unwrap()["method"],
            "notifications/progress"
        );
        assert_eq!(reply.next().await.unwrap()["id"], 1);
        assert!(!cx.progress(2, None, None), "it is refused");
        assert_eq!(reply.next().await, None);
    }
}

// proves: F-HD-09
#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_answered_ends() {
    use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
    let server = Server::new("test", "1.0.0").tool("ask", "Asks", |cx: Context| async move {
        let form = FormSchema::new([("name", PrimitiveSchema::string())]);
        let question = ElicitFormParams::new("Who?", form);
        match cx.elicit("name", question).await {
            Ok(_) => "answered".to_owned(),
            Err(error) => format!("{:?}", error.kind()),
        }
    });
    let client = HttpClient::new(server);
    let session = client
        .open_session("2025-11-25", json!({"elicitation": {}}))
        .await;
    let params = json!({"name": "ask", "arguments": {}});
    let mut reply = session.post(request(1, "tools/call", params)).await;
    assert_eq!(reply.next().await.unwrap()["method"], "elicitation/create");
    // The question is cancelled, which its stream carries as well.
    let cancelled = reply.next().await.unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    let response = reply.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "Timeout");
}

// proves: F-HD-10
#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_sends_few_messages() {
    let server = Server::new("test", "1.0.0").resource("file:///a", "a", || async { "text" });
    let built = server.build().unwrap();
    let client = HttpClient::of(built.http_service(HttpConfig::new()));
    let params = json!({"notifications": {"resourcesListChanged": true}});
    let mut stream = client.stateless(1, "subscriptions/listen", params).await;
    stream.next().await.unwrap();
    let begun = tokio::time::Instant::now();
    let storm = async {
        for _ in 0..10_000 {
            built.features().notify_resources_changed();
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        built.shut_down();
    };
    let reading = async {
        let mut count = 0;
        while let Some(event) = stream.next().await {
            count += usize::from(event.get("method").is_some());
        }
        count
    };
    let ((), count) = tokio::join!(storm, reading);
    // At most one in 100 ms.
    let most = begun.elapsed().as_millis() as usize / 100 + 1;
    assert!((1..=most).contains(&count), "{count}, at most {most}");
}
