//! Handlers that panic, hang, flood, outlive their requests, or ask without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::client::PendingCall;
use bowline::server::{Context, Server, ToolError, tool};
use bowline::types::capabilities::{ClientCapabilities, RootsCapability, SamplingCapability};
use bowline::types::logging::LoggingLevel;
use bowline::types::method::requests;
use bowline::types::roots::{ListRootsResult, Root};
use bowline::types::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
use bowline::types::{RawJson, Revision};
use bowline::{Client, ErrorKind};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::line_client::LineClient;
use super::raw_client::{RawClient, cancelled, request, stateless};
use super::support::{call, connected, connected_with, tool as called};

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

fn send(client: &Client, name: &str) -> PendingCall {
    let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
    client.call("tools/call", params).send()
}

async fn code_of(answer: PendingCall) -> Option<i64> {
    let error = answer.await.expect_err("an error");
    error.server_error().map(|error| error.code)
}

struct Bad;

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

/// Every call panics, and the calls are counted.
fn panicking(received: &Arc<AtomicUsize>) -> Server {
    let received = Arc::clone(received);
    Server::new("panics", "1")
        .tool("before", "", || async {
            panic!("before");
            #[allow(unreachable_code)]
            ()
        })
        .tool("after", "", || async {
            tokio::task::yield_now().await;
            std::panic::panic_any(7);
            #[allow(unreachable_code)]
            ()
        })
        .tool("dropping", "", || async {
            let _bad = Bad;
            tokio::task::yield_now().await;
        })
        .tool("fine", "", || async { "fine" })
        .resource("r:", "r", || async {
            panic!("reading");
            #[allow(unreachable_code)]
            ""
        })
        .prompt("p", "", |_: Name| async { "p" })
        .completion("p", "name", || async {
            panic!("completing");
            #[allow(unreachable_code)]
            Vec::<String>::new()
        })
        .on_notification(move |_, _| {
            received.fetch_add(1, Ordering::SeqCst);
            panic!("notified");
        })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    #[allow(dead_code, reason = "it is only asked for")]
    name: String,
}

// proves: F-HD-01, F-HD-02, SE-105
#[tokio::test]
async fn a_panic_is_answered_and_harms_no_other_request() {
    for revision in [OLD, NEW] {
        let received = Arc::default();
        let client = connected(panicking(&received), revision).await;
        for name in ["before", "after", "dropping"] {
            assert_eq!(code_of(send(&client, name)).await, Some(-32603), "{name}");
        }
        let read = client.call("resources/read", r#"{"uri":"r:"}"#).send();
        assert_eq!(code_of(read).await, Some(-32603));
        let typed =
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"name","value":""}}"#;
        let completed = client.call("completion/complete", typed).send();
        assert_eq!(code_of(completed).await, Some(-32603));
        if revision == OLD {
            let notification = client.notify("notifications/roots/list_changed", ());
            notification.expect("it is sent");
        }
        assert_eq!(called(&client, "fine", "{}").await, "fine");
        assert_eq!(
            received.load(Ordering::SeqCst),
            usize::from(revision == OLD)
        );
    }
}

// proves: F-HD-04
#[tokio::test]
async fn a_result_that_is_too_large_is_an_error() {
    let server = Server::new("large", "1")
        .tool("large", "", || async { "x".repeat(17 << 20) })
        .tool("fine", "", || async { "fine" });
    let client = connected(server, NEW).await;
    assert_eq!(code_of(send(&client, "large")).await, Some(-32603));
    assert_eq!(called(&client, "fine", "{}").await, "fine");
}

// proves: F-HD-05
#[tokio::test]
async fn a_result_that_can_not_be_serialized_is_an_error() {
    use std::collections::BTreeMap;
    let server = Server::new("odd", "1").tool("odd", "", || async {
        let keys: BTreeMap<(u8, u8), u8> = [((1, 2), 3)].into();
        bowline::server::Json(Odd(keys))
    });
    let client = connected(server, NEW).await;
    assert_eq!(code_of(send(&client, "odd")).await, Some(-32603));
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Measure {
    area: f64,
}

// proves: F-HD-05
#[tokio::test]
async fn a_result_that_is_not_finite_is_an_error() {
    let server = Server::new("odd", "1").tool("measure", "", || async {
        let area = f64::NAN;
        bowline::server::Json(Measure { area })
    });
    let client = connected(server, OLD).await;
    assert_eq!(code_of(send(&client, "measure")).await, Some(-32603));
}

#[derive(serde::Serialize)]
struct Odd(std::collections::BTreeMap<(u8, u8), u8>);

impl schemars::JsonSchema for Odd {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Odd".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }
}

// proves: F-HD-06, F-HD-07
#[tokio::test]
async fn notifications_after_the_response_are_not_sent() {
    let (sender, mut receiver) = mpsc::channel(1);
    let server = Server::new("late", "1").tool("late", "", move |cx: Context| {
        let sender = sender.clone();
        async move {
            assert!(cx.progress(1, None, None), "while it runs");
            assert!(cx.log(LoggingLevel::Info, RawJson::from("running")));
            sender.send(cx).await.expect("the test listens");
        }
    });
    let client = connected(server, OLD).await;
    let params = r#"{"name":"late","arguments":{}}"#;
    client
        .call("tools/call", params)
        .with_progress()
        .await
        .expect("an answer");
    let cx = receiver.recv().await.expect("its context");
    assert!(!cx.progress(2, None, None));
    assert!(!cx.log(LoggingLevel::Info, RawJson::from("late")));
    assert!(cx.request_id().is_none());
    let asked = cx.list_roots("late").await.expect_err("it is over");
    assert_ne!(asked.kind(), ErrorKind::Timeout);
}

// proves: FT-9
#[tokio::test]
async fn progress_that_does_not_rise_is_not_sent() {
    let server = Server::new("steps", "1").tool("steps", "", |cx: Context| async move {
        let steps = [0.0, 0.0, -1.0, f64::NAN, 1.5, 1.5, 1.0, 2.0];
        let sent = steps.map(|step| cx.progress(step, None, None));
        format!("{sent:?}")
    });
    let server = server.build().expect("it can be served");
    for revision in [OLD, NEW] {
        let mut client = LineClient::open(&server);
        client.begin(revision).await;
        let params = json!({"name": "steps", "_meta": {"progressToken": "t"}});
        client.send("tools/call", &params.to_string()).await;
        for step in [0.0, 1.5, 2.0] {
            let received = client.receive().await;
            assert_eq!(received["params"]["progress"], step, "{received}");
        }
        let done = client.receive().await;
        let sent = "[true, false, false, false, true, false, false, true]";
        assert_eq!(done["result"]["content"][0]["text"], sent, "{done}");
    }
}

// proves: F-CA-12, F-SD-04, FT-10
#[tokio::test(start_paused = true)]
async fn a_cancelled_handler_may_tidy_up_and_is_then_dropped() {
    struct Gone(Arc<AtomicUsize>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicUsize::new(0));
    let tidied = Arc::new(AtomicUsize::new(0));
    let (of_hang, of_tidy) = (Arc::clone(&gone), Arc::clone(&tidied));
    let server = Server::new("cancel", "1")
        .tool("hang", "", move || {
            let guard = Gone(Arc::clone(&of_hang));
            async move {
                std::future::pending::<()>().await;
                drop(guard);
            }
        })
        .tool("tidy", "", move |cx: Context| {
            let tidied = Arc::clone(&of_tidy);
            async move {
                cx.cancelled().await;
                tidied.fetch_add(1, Ordering::SeqCst);
            }
        });
    for revision in [OLD, NEW] {
        let client = connected(
            Server::with_shared_features("cancel", "1", &server.features()),
            revision,
        )
        .await;
        for name in ["hang", "tidy"] {
            let answer = send(&client, name);
            // It is there before it is given up.
            client.ping().await.expect("a sign of life");
            drop(answer);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(gone.load(Ordering::SeqCst), 2);
    assert_eq!(tidied.load(Ordering::SeqCst), 2);
}

// proves: F-CA-12
#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_is_not_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&ran);
    let server = Server::new("pays", "1").tool("pay", "", move || {
        of_tool.fetch_add(1, Ordering::SeqCst);
        async { "paid" }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    // They are read together.
    let pay = request(1, "tools/call", json!({"name": "pay"}));
    client.write_line(&[pay, cancelled(1)].join("\n")).await;
    client.ask(2, "ping", json!({})).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    // Its place is free, and its id.
    client.call(1, "pay").await;
    assert!(client.answer(1).await["result"].is_object());
}

// proves: F-TO-10
#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_answered_for() {
    let server = Server::new("slow", "1")
        .handler_timeout(Some(Duration::from_secs(5)))
        .tool("hang", "", std::future::pending::<()>);
    let client = connected(server, NEW).await;
    let started = Instant::now();
    assert!(code_of(send(&client, "hang")).await.is_some());
    assert!(started.elapsed() < Duration::from_secs(6));
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_handler_timeout_does_not_end_subscriptions() {
    let server = Server::new("slow", "1")
        .handler_timeout(Some(Duration::from_secs(5)))
        .declare_tools();
    let features = server.features();
    let mut client = RawClient::new(server);
    let wanted = stateless(json!({"notifications": {"toolsListChanged": true}}));
    client.send(1, "subscriptions/listen", wanted).await;
    client.receive().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    features
        .add_tool(tool("new", || async {}))
        .expect("it is right");
    let notification = client.receive().await;
    assert_eq!(
        notification["method"], "notifications/tools/list_changed",
        "{notification}"
    );
}

// proves: SV-6, MO-4, F-CA-11, SE-108
#[tokio::test]
async fn requests_beyond_the_limit_are_busy_and_cancels_still_count() {
    let mut limits = bowline::Limits::server();
    limits.max_peer_requests(4);
    let server = Server::new("busy", "1")
        .limits(limits)
        .tool("hang", "", std::future::pending::<()>)
        .tool("fine", "", || async { "fine" });
    let client = connected(server, OLD).await;
    let mut hanging: Vec<_> = (0..4).map(|_| send(&client, "hang")).collect();
    let error = send(&client, "fine").await.expect_err("it is busy");
    assert_eq!(error.recovery(), bowline::Recovery::Retry, "{error}");
    hanging.pop();
    // The cancel overtakes nothing, but the place is free soon.
    let freed = async {
        loop {
            if let Ok(result) = send(&client, "fine").await {
                return result;
            }
            tokio::task::yield_now().await;
        }
    };
    let freed = tokio::time::timeout(Duration::from_secs(10), freed).await;
    assert!(freed.expect("a place is free").as_str().contains("fine"));
    drop(hanging);
}

fn asks_for_roots(config: &mut bowline::ClientConfig) {
    let capabilities = ClientCapabilities::new()
        .roots(RootsCapability::new())
        .sampling(SamplingCapability::new());
    config.connection().capabilities(capabilities);
    config.on_request::<requests::ListRoots, _, _>(|_| async {
        Ok(ListRootsResult::new([Root::new("file:///work")]))
    });
}

// proves: F-HD-08
#[tokio::test]
async fn handlers_that_ask_back_don_t_wait_for_each_other() {
    let asks = tool("asks", |cx: Context| async move {
        for round in 0..4 {
            let roots = cx.list_roots(&format!("round {round}")).await?;
            assert_eq!(roots.roots.len(), 1);
        }
        Ok::<_, ToolError>("done")
    });
    let server = Server::new("asks", "1").add_tool(asks);
    for revision in [OLD, NEW] {
        let server = Server::with_shared_features("asks", "1", &server.features());
        let client = connected_with(server, revision, asks_for_roots).await;
        let answers: Vec<_> = (0..32).map(|_| send(&client, "asks")).collect();
        for answer in answers {
            let answer = answer.await.expect("it is answered");
            assert!(answer.as_str().contains("done"));
        }
    }
}

// proves: F-HD-09
#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_is_not_waited_for_for_ever() {
    let server = Server::new("asks", "1").tool("asks", "", |cx: Context| async move {
        let message = SamplingMessage::new(bowline::types::common::Role::User, "hello");
        let asked = cx
            .sample("m", CreateMessageParams::new([message], 10))
            .await;
        asked
            .map_err(|error| error.kind())
            .err()
            .map_or("answered".to_owned(), |kind| format!("{kind:?}"))
    });
    let client = connected_with(server, OLD, |config| {
        let capabilities = ClientCapabilities::new().sampling(SamplingCapability::new());
        config.connection().capabilities(capabilities);
        config.on_request::<requests::CreateMessage, _, _>(|_| {
            std::future::pending::<Result<CreateMessageResult, _>>()
        });
    })
    .await;
    let params = r#"{"name":"asks","arguments":{}}"#;
    let patient = client
        .call("tools/call", params)
        .timeout(Duration::from_secs(900));
    let answer = patient
        .max_total(Duration::from_secs(900))
        .await
        .expect("an answer");
    assert!(answer.as_str().contains("Timeout"), "{}", answer.as_str());
}

// proves: F-HD-10
#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_sends_few_notifications() {
    let server = Server::new("storm", "1").declare_tools();
    let features = server.features();
    let seen = Arc::new(AtomicUsize::new(0));
    let of_handler = Arc::clone(&seen);
    let client = connected_with(server, OLD, move |config| {
        config
            .router()
            .on_inline(Some("notifications/tools/list_changed"), move |_| {
                of_handler.fetch_add(1, Ordering::SeqCst);
            });
    })
    .await;
    for number in 0..10_000 {
        features
            .add_tool(tool(format!("t{}", number % 10), || async {}))
            .expect("it is right");
        if number % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = seen.load(Ordering::SeqCst);
    assert!((1..=4).contains(&seen), "{seen}");
    let listed = call(&client, "tools/list", "{}").await;
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(10));
}

// proves: F-HD-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_holds_up_its_own_client_alone() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = Arc::new(std::sync::Mutex::new(receiver));
    let server = Server::new("blocks", "1")
        .tool("block", "", move || {
            let receiver = Arc::clone(&receiver);
            async move {
                let receiver = receiver.lock().expect("no panic");
                receiver.recv().expect("the test lets it go");
            }
        })
        .tool("fine", "", || async { "fine" });
    let features = server.features();
    let blocked = connected(server, OLD).await;
    let other = connected(Server::with_shared_features("blocks", "1", &features), OLD).await;
    let answer = send(&blocked, "block");
    for _ in 0..100 {
        assert_eq!(called(&other, "fine", "{}").await, "fine");
    }
    sender.send(()).expect("it waits");
    answer.await.expect("it goes on");
}

// proves: F-HD-03
#[tokio::test]
async fn a_blocking_tool_has_a_thread_of_its_own() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = Arc::new(std::sync::Mutex::new(receiver));
    let block = tool("block", move || {
        let receiver = Arc::clone(&receiver);
        async move {
            let receiver = receiver.lock().expect("no panic");
            receiver.recv().expect("the test lets it go");
        }
    });
    let server = Server::new("blocks", "1")
        .add_tool(block.blocking())
        .add_tool(
            tool("panic", || async {
                panic!("on a thread");
                #[allow(unreachable_code)]
                ()
            })
            .blocking(),
        )
        .tool("fine", "", || async { "fine" });
    // One thread runs the client, the server and this test.
    let client = connected(server, NEW).await;
    let answer = send(&client, "block");
    assert_eq!(called(&client, "fine", "{}").await, "fine");
    assert_eq!(code_of(send(&client, "panic")).await, Some(-32603));
    sender.send(()).expect("it waits");
    answer.await.expect("it goes on");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Counts {
    #[allow(dead_code, reason = "it is only asked for")]
    counts: std::collections::BTreeMap<String, u64>,
}

// proves: SV-5
#[tokio::test]
async fn invalid_arguments_are_truncated_in_the_error() {
    let server = Server::new("wrong", "1").tool("it", "", |_: Counts| async {});
    let client = connected(server, OLD).await;
    let long = "é".repeat(1 << 20);
    for arguments in [
        format!(r#"{{"counts":{{"one":"{long}"}}}}"#),
        format!(r#"{{"counts":{{"{long}":"two"}}}}"#),
    ] {
        let words = called(&client, "it", &arguments).await;
        assert!(words.len() < 2000, "{} bytes", words.len());
        assert!(words.contains("counts."), "{words}");
        assert!(words.contains("expected u64"), "{words}");
    }
}
