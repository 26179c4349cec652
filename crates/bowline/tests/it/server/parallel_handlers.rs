//! Handlers that block their threads on a runtime with several: none of them holds up the
//! others of its connection.

use std::fmt::Debug;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bowline::server::{Context, Server, tool};
use bowline::transport::Stream;
use bowline::types::Number;
use bowline::types::tools::TaskSupport;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::raw_client::{RawClient, cancelled, request};

/// Longer than anything takes on a busy machine. A handler that waits for longer panics, so that
/// a test that fails ends.
const LONG: Duration = Duration::from_secs(15);

/// A place where threads wait for each other, and for the test. Clones are the same one.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<Counts>, Condvar)>);

#[derive(Default)]
struct Counts {
    arrived: usize,
    opened: usize,
}

impl Gate {
    /// Blocks the thread until so many have arrived.
    fn meet(&self, number: usize) {
        self.lock().arrived += 1;
        self.0.1.notify_all();
        self.wait(|counts| counts.arrived >= number);
    }

    /// Blocks the thread until the test has opened the gate so often.
    fn pass(&self, number: usize) {
        self.lock().arrived += 1;
        self.wait(|counts| counts.opened >= number);
    }

    fn open(&self) {
        self.lock().opened += 1;
        self.0.1.notify_all();
    }

    fn wait(&self, is_enough: impl Fn(&Counts) -> bool) {
        let waited = self
            .0
            .1
            .wait_timeout_while(self.lock(), LONG, |counts| !is_enough(counts));
        let (counts, timeout) = waited.expect("no thread panicked");
        drop(counts);
        assert!(!timeout.timed_out(), "a handler blocked for too long");
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server with the tools `block`, which blocks its thread until the gate is open, and `quick`.
struct World {
    gate: Gate,
    started: mpsc::UnboundedReceiver<()>,
    server: Server,
}

impl World {
    fn new() -> Self {
        let gate = Gate::default();
        let (sender, started) = mpsc::unbounded_channel();
        let of_tool = gate.clone();
        let server = Server::new("parallel", "1")
            .tool("block", "", move || {
                let (gate, sender) = (of_tool.clone(), sender.clone());
                async move {
                    sender.send(()).expect("the test listens");
                    gate.pass(1);
                    "unblocked"
                }
            })
            .tool("quick", "", || async { "quick" });
        Self {
            gate,
            started,
            server,
        }
    }
}

/// What comes next.
async fn next<T>(receiver: &mut mpsc::UnboundedReceiver<T>) -> T {
    let received = timeout(LONG, receiver.recv()).await;
    received.expect("it comes").expect("its sender is there")
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"))
}

fn call(id: u64, tool: &str) -> String {
    request(id, "tools/call", json!({"name": tool}))
}

/// A call that asks for progress.
fn call_with_progress(id: u64, tool: &str) -> String {
    let params = json!({"name": tool, "_meta": {"progressToken": id}});
    request(id, "tools/call", params)
}

async fn quick(client: &mut RawClient, id: u64) {
    let answer = client.ask(id, "tools/call", json!({"name": "quick"})).await;
    assert_eq!(text(&answer), "quick");
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_of_one_connection_run_in_parallel() {
    let gate = Gate::default();
    let server = Server::new("parallel", "1").tool("meet", "", move || {
        let gate = gate.clone();
        async move {
            // Neither of two goes on before the other one is here.
            gate.meet(2);
            "met"
        }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client
        .write_line(&[call(1, "meet"), call(2, "meet")].join("\n"))
        .await;
    for _ in 1..=2 {
        assert_eq!(text(&client.receive().await), "met");
    }
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_answered_while_another_handler_blocks() {
    let mut world = World::new();
    let mut client = RawClient::new(world.server);
    client.initialize().await;
    client
        .write_line(&[call(1, "block"), call(2, "quick")].join("\n"))
        .await;
    next(&mut world.started).await;
    assert_eq!(text(&client.answer(2).await), "quick");
    for id in 3..100 {
        quick(&mut client, id).await;
    }
    world.gate.open();
    assert_eq!(text(&client.answer(1).await), "unblocked");
    quick(&mut client, 100).await;
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_starts_as_soon_as_the_connection_goes_on_beside_one_that_blocks() {
    let mut world = World::new();
    let has_started = Arc::new(AtomicBool::new(false));
    let of_tool = Arc::clone(&has_started);
    let server = world.server.tool("start", "", move || {
        of_tool.store(true, Ordering::SeqCst);
        async { "started" }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client.write_line(&call(1, "block")).await;
    next(&mut world.started).await;
    // The session itself answers a ping. What it read before the first ping is run before it reads
    // the second one, so that no clock is needed here.
    let requests = [call(2, "start"), request(3, "ping", json!({}))];
    client.write_line(&requests.join("\n")).await;
    client.answer(3).await;
    client.ask(4, "ping", json!({})).await;
    assert!(has_started.load(Ordering::SeqCst), "the handler waits");
    world.gate.open();
    assert_eq!(text(&client.answer(1).await), "unblocked");
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_handler_continues_while_another_one_blocks() {
    let mut world = World::new();
    let (sender, receiver) = oneshot::channel::<()>();
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let server = world.server.tool("wait", "", move |context: Context| {
        let receiver = receiver.lock().expect("no thread panicked").take();
        async move {
            receiver.expect("called once").await.expect("it is sent");
            context.progress(1, None, None);
            "waited"
        }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    // Both are read together: the first is moved to a task before the second one blocks.
    let calls = [call_with_progress(1, "wait"), call(2, "block")];
    client.write_line(&calls.join("\n")).await;
    next(&mut world.started).await;
    sender.send(()).expect("it waits");
    let received = client.receive().await;
    assert_eq!(received["method"], "notifications/progress", "{received}");
    assert_eq!(text(&client.answer(1).await), "waited");
    world.gate.open();
    assert_eq!(text(&client.answer(2).await), "unblocked");
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_after_it_has_waited_holds_up_no_other() {
    for waits in [true, false] {
        let world = World::new();
        let gate = world.gate.clone();
        let (reached, mut has_reached) = mpsc::unbounded_channel();
        let server = world.server.tool("work", "", move |context: Context| {
            let (gate, reached) = (gate.clone(), reached.clone());
            async move {
                if waits {
                    tokio::task::yield_now().await;
                }
                // Each wakes the connection from a thread that then blocks.
                for step in 1..=3 {
                    let step_number = u32::try_from(step).expect("small");
                    context.progress(Number::from(step_number), None, None);
                    reached.send(()).expect("the test listens");
                    gate.pass(step);
                }
                "worked"
            }
        });
        let mut client = RawClient::new(server);
        client.initialize().await;
        client.write_line(&call_with_progress(1, "work")).await;
        for step in 1..=3_u64 {
            next(&mut has_reached).await;
            let received = client.receive().await;
            assert_eq!(received["params"]["progress"], step, "{received}");
            for id in 0..20 {
                quick(&mut client, step * 100 + id).await;
            }
            world.gate.open();
        }
        assert_eq!(text(&client.answer(1).await), "worked");
    }
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_begin_in_the_order_in_which_they_came() {
    let world = World::new();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let (of_tool, gate) = (Arc::clone(&begun), world.gate.clone());
    let server = world.server.tool("number", "", move |context: Context| {
        let id = context.request_id().map(|id| id.to_string());
        of_tool.lock().expect("no thread panicked").push(id);
        let gate = gate.clone();
        async move {
            if context.request_id().is_some_and(|id| id.to_string() == "1") {
                gate.pass(1);
            }
        }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    let calls: Vec<_> = (1..=50).map(|id| call(id, "number")).collect();
    client.write_line(&calls.join("\n")).await;
    for id in 2..=50 {
        assert_eq!(client.receive().await["id"], id);
    }
    world.gate.open();
    assert_eq!(client.receive().await["id"], 1);
    let begun = begun.lock().expect("no thread panicked").clone();
    let expected: Vec<_> = (1..=50).map(|id| Some(id.to_string())).collect();
    assert_eq!(begun, expected);
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notification_keeps_its_place_while_its_handler_blocks() {
    let mut world = World::new();
    let (sender, receiver) = oneshot::channel::<()>();
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let is_notified = Arc::new(AtomicBool::new(false));
    let (notified, of_tool, gate) = (
        Arc::clone(&is_notified),
        Arc::clone(&is_notified),
        world.gate.clone(),
    );
    let (blocks, mut has_blocked) = mpsc::unbounded_channel();
    let server = world
        .server
        .tool("wait", "", move || {
            let receiver = receiver.lock().expect("no thread panicked").take();
            async move {
                receiver.expect("called once").await.expect("it is sent");
            }
        })
        .tool("after", "", move || {
            let is_notified = of_tool.load(Ordering::SeqCst);
            async move { is_notified.to_string() }
        })
        .on_notification(move |method, _| {
            if method == bowline::types::Method::RootsListChanged {
                blocks.send(()).expect("the test listens");
                gate.pass(1);
                notified.store(true, Ordering::SeqCst);
            }
        });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client.call(1, "wait").await;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    client
        .write_line(&[changed, &call(2, "after")].join("\n"))
        .await;
    next(&mut has_blocked).await;
    // What was begun before it is answered meanwhile, and what came after it waits.
    sender.send(()).expect("it waits");
    assert_eq!(client.receive().await["id"], 1);
    world.gate.open();
    let answer = client.receive().await;
    assert_eq!(answer["id"], 2);
    assert_eq!(text(&answer), "true");
    assert!(world.started.try_recv().is_err());
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_learns_that_it_is_cancelled() {
    let world = World::new();
    let (started, mut has_started) = mpsc::unbounded_channel();
    let (ended, mut has_ended) = mpsc::unbounded_channel();
    let server = world.server.tool("look", "", move |context: Context| {
        let (started, ended) = (started.clone(), ended.clone());
        async move {
            started.send(()).expect("the test listens");
            let until = Instant::now() + LONG;
            while !context.is_cancelled() {
                assert!(Instant::now() < until, "it is never cancelled");
                std::thread::yield_now();
            }
            ended.send(()).expect("the test listens");
        }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client.call(1, "look").await;
    next(&mut has_started).await;
    client.write_line(&cancelled(1)).await;
    next(&mut has_ended).await;
    client.call(2, "quick").await;
    assert_eq!(
        client.receive().await["id"],
        2,
        "and nothing else is answered"
    );
}

// proves: SV-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_shuts_down_waits_for_a_handler_that_blocks() {
    let mut world = World::new();
    let running = world.server.build().expect("it can be served");
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.call(1, "block").await;
    next(&mut world.started).await;
    quick(&mut client, 2).await;
    running.shut_down();
    // It is refused since the session drains, which it does although a handler blocks.
    let refused = client.ask(3, "tools/call", json!({"name": "quick"})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    world.gate.open();
    assert_eq!(text(&client.answer(1).await), "unblocked");
    assert!(client.receive().await.is_null(), "it has ended");
}

// proves: SV-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_past_the_deadline_is_answered_for() {
    let mut world = World::new();
    let server = world.server.shutdown_deadline(Duration::ZERO);
    let running = server.build().expect("it can be served");
    let (mut client, serving) = RawClient::connect_with_task(&running);
    client.initialize().await;
    client.call(1, "block").await;
    next(&mut world.started).await;
    running.shut_down();
    let answer = client.answer(1).await;
    assert_eq!(answer["error"]["data"]["reason"], "shutdown", "{answer}");
    assert!(client.receive().await.is_null(), "it has ended");
    world.gate.open();
    serving.await.expect("no panic").expect("it ends");
}

// proves: SV-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_hears_the_answer_of_a_handler_that_blocks() {
    let mut world = World::new();
    let running = world.server.build().expect("it can be served");
    let (mut client, serving) = RawClient::connect_with_task(&running);
    client.initialize().await;
    client
        .write_line(&[call(1, "block"), call(2, "quick")].join("\n"))
        .await;
    next(&mut world.started).await;
    client.close_sending().await;
    assert_eq!(client.receive().await["id"], 2);
    world.gate.open();
    assert_eq!(client.receive().await["id"], 1);
    assert!(client.receive().await.is_null(), "it has ended");
    serving.await.expect("no panic").expect("it ends");
}

// proves: SV-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_serving_future_ends_the_connection_whichever_task_drives_it() {
    struct Dropped(mpsc::UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            // The test may be over.
            let _ = self.0.send(());
        }
    }
    let mut world = World::new();
    let (dropped, mut is_dropped) = mpsc::unbounded_channel();
    let server = world.server.tool("hang", "", move || {
        let dropped = Dropped(dropped.clone());
        async move {
            let _dropped = dropped;
            std::future::pending::<()>().await;
        }
    });
    let running = server.build().expect("it can be served");
    let (mut client, serving) = RawClient::connect_with_task(&running);
    client.initialize().await;
    client
        .write_line(&[call(1, "block"), call(2, "hang")].join("\n"))
        .await;
    next(&mut world.started).await;
    // Another task drives the connection now, and goes on doing so.
    quick(&mut client, 3).await;
    world.gate.open();
    assert_eq!(text(&client.answer(1).await), "unblocked");
    quick(&mut client, 4).await;
    serving.abort();
    assert!(client.receive().await.is_null(), "it has ended");
    assert!(serving.await.is_err_and(|error| error.is_cancelled()));
    next(&mut is_dropped).await;
}

// proves: F-HD-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_after_a_handler_has_blocked_is_its_answer_alone() {
    let mut world = World::new();
    let gate = world.gate.clone();
    let server = world.server.tool("panic", "", move || {
        let gate = gate.clone();
        async move {
            gate.pass(1);
            panic!("as it should");
            #[allow(unreachable_code)]
            ()
        }
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client.call(1, "panic").await;
    quick(&mut client, 2).await;
    world.gate.open();
    assert_eq!(client.answer(1).await["error"]["code"], -32603);
    quick(&mut client, 3).await;
    client.call(4, "block").await;
    next(&mut world.started).await;
    assert_eq!(text(&client.answer(4).await), "unblocked");
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_waited_for_although_a_handler_blocks() {
    let mut world = World::new();
    let answered = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&answered);
    let server = world.server.tool("large", "", move || {
        of_tool.fetch_add(1, Ordering::SeqCst);
        async { "x".repeat(1 << 20) }
    });
    let mut limits = bowline::Limits::server();
    limits.max_queued_bytes(4 << 20);
    let mut client = RawClient::new(server.limits(limits));
    client.initialize().await;
    client.call(1, "block").await;
    next(&mut world.started).await;
    let calls: Vec<_> = (2..=200).map(|id| call(id, "large")).collect();
    client.write_line(&calls.join("\n")).await;
    for received in 1..200 {
        let answer = client.receive().await;
        assert_eq!(text(&answer).len(), 1 << 20);
        let held = answered.load(Ordering::SeqCst) - received;
        assert!(held <= 8, "{held} answers are held after {received}");
    }
    world.gate.open();
    assert_eq!(text(&client.receive().await), "unblocked");
}

// proves: SV-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_handler_blocks_holds_up_no_call() {
    let mut world = World::new();
    let (gate, (sender, mut started)) = (world.gate.clone(), mpsc::unbounded_channel());
    let work = tool("work", move |context: Context| {
        let (gate, sender) = (gate.clone(), sender.clone());
        async move {
            // It wakes the connection from a thread that then blocks.
            context.progress(1, None, None);
            sender.send(()).expect("the test listens");
            gate.pass(1);
        }
    });
    let server = world
        .server
        .add_tool(work.task_support(TaskSupport::Required));
    let mut client = RawClient::new(server);
    client.initialize().await;
    let params = json!({"name": "work", "task": {}, "_meta": {"progressToken": 1}});
    client.send(1, "tools/call", params).await;
    next(&mut started).await;
    for id in 2..20 {
        quick(&mut client, id).await;
    }
    world.gate.open();
    assert!(world.started.try_recv().is_err());
}

// proves: SV-6
#[test]
fn a_server_on_the_main_thread_of_a_multi_thread_runtime_continues_too() {
    let gate = Gate::default();
    let server = Server::new("main", "1").tool("meet", "", move || {
        let gate = gate.clone();
        async move {
            gate.meet(3);
            "met"
        }
    });
    let running = server.build().expect("it can be served");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // As `#[tokio::main]` does: what serves is no task of a worker.
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut client = RawClient::from_stream(ours);
            client.initialize().await;
            let calls = [1, 2, 3].map(|id| call(id, "meet"));
            client.write_line(&calls.join("\n")).await;
            for _ in 1..=3 {
                assert_eq!(text(&client.receive().await), "met");
            }
        });
    });
    let (reader, writer) = tokio::io::split(theirs);
    let served =
        runtime.block_on(async { running.serve_stream(Stream::new(reader, writer)).await });
    served.expect("it ends");
    client.join().expect("the client is content");
}

// proves: SV-6
#[tokio::test]
async fn on_a_single_thread_handlers_that_block_run_one_after_the_other() {
    let own_thread = std::thread::current().id();
    let server = Server::new("sequential", "1").tool("alone", "", move || async move {
        // What runs on the thread of the test runs alone, however long it blocks.
        (std::thread::current().id() == own_thread).to_string()
    });
    let mut client = RawClient::new(server);
    client.initialize().await;
    client
        .write_line(&[call(1, "alone"), call(2, "alone")].join("\n"))
        .await;
    for id in 1..=2 {
        let answer = client.receive().await;
        assert_eq!(answer["id"], id);
        assert_eq!(text(&answer), "true");
    }
}

/// Set for the process of a test that has the log to itself.
const OWN_LOG: &str = "BOWLINE_TEST_OWN_LOG";

/// The warnings that are logged, a line each.
struct Warnings(mpsc::UnboundedSender<String>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        // The test may be over.
        let _ = self.0.send(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

// proves: F-HD-03
#[test]
fn a_handler_that_blocks_is_reported_by_the_name_of_its_tool_also_while_it_does() {
    if std::env::var_os(OWN_LOG).is_none() {
        let own = "server::parallel_handlers::a_handler_that_blocks_is_reported_by_the_name_of_its_tool_also_while_it_does";
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        let ran = command.args(["--exact", own]).env(OWN_LOG, "1").output();
        let ran = ran.expect("it starts");
        let words = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{words}");
        assert!(words.contains("1 passed"), "{words}");
        return;
    }
    let (sender, mut warnings) = mpsc::unbounded_channel();
    tracing::subscriber::set_global_default(Warnings(sender)).expect("there is no other");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let world = World::new();
        let mut client = RawClient::new(world.server);
        client.initialize().await;
        client.call(1, "block").await;
        let line = next(&mut warnings).await;
        assert!(line.contains("handler is blocking its thread"), "{line}");
        assert!(line.contains("tool=\"block\""), "{line}");
        world.gate.open();
        let line = next(&mut warnings).await;
        assert!(line.contains("handler blocked its thread"), "{line}");
        assert!(line.contains("tool=\"block\""), "{line}");
        assert_eq!(text(&client.answer(1).await), "unblocked");
        // One that is not registered is a word of the client.
        client.ask(2, "tools/call", json!({"name": "secret"})).await;
        assert!(warnings.try_recv().is_err(), "and no more");
    });
}
