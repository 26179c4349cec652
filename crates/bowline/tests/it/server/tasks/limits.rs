//! Everything that a client can make grow, at its limit and one past it; and times.

use std::time::Duration;

use bowline::client::features::{TaskHandle, TaskOrResult};
use bowline::server::{Server, State, TaskConfig, tool};
use bowline::types::tools::TaskSupport;
use bowline::{Client, Error};
use serde_json::json;

use super::super::line_client::LineClient;
use super::{Gate, NEW, OLD, World, code, started};

pub(super) fn server(gate: &Gate, tasks: &TaskConfig) -> Server {
    let waits = tool("waits", |State(gate): State<Gate>| async move {
        gate.pass().await;
        "x".repeat(1000)
    });
    let slow = tool("slow", |State(gate): State<Gate>| async move {
        gate.pass().await;
        "done"
    });
    Server::new("tasks", "1")
        .state(gate.clone())
        .tasks(tasks.clone())
        .add_tool(waits.task_support(TaskSupport::Required))
        .add_tool(slow.as_task_after(Duration::from_secs(1)))
}

pub(super) async fn for_so_long(client: &Client, ttl: Duration) -> Result<TaskHandle, Error> {
    let call = client.tools().call("waits", ()).as_task(Some(ttl));
    match call.start_task().await? {
        TaskOrResult::Task(handle) => Ok(handle),
        TaskOrResult::Result(result) => panic!("it is no task: {result:?}"),
    }
}

fn is_busy(error: &Error) {
    assert_eq!(code(error), -32603, "{error}");
    assert!(error.is_recoverable(), "MO-4: {error}");
}

// proves: SV-3, SV-6, MO-4
#[tokio::test(start_paused = true)]
async fn running_tasks_are_limited() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let mut tasks = TaskConfig::new();
        tasks.max_tasks(2);
        let world = World::new(server(&gate, &tasks));
        let (one, other) = (world.client(revision).await, world.client(revision).await);
        let first = started(&one, "waits").await.expect("a task");
        started(&other, "waits").await.expect("a task");
        is_busy(&started(&one, "waits").await.unwrap_err());
        is_busy(&started(&other, "waits").await.unwrap_err());
        // What may be a task and need not is served.
        gate.open();
        first.wait().await.expect("a result");
        started(&one, "waits").await.expect("there is room again");
        let slow = one.tools().call("slow", ()).await;
        assert_eq!(slow.expect("a result").text(), "done");
    }
}

/// Longer than a thread takes to return on a busy machine.
const LONG: Duration = Duration::from_secs(60);

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_handler_on_a_thread_counts_until_it_returns_also_when_its_task_is_gone() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    let (starts, started) = std::sync::mpsc::channel();
    let blocks = tool("waits", move || {
        let (starts, released) = (starts.clone(), std::sync::Arc::clone(&released));
        async move {
            // The test may have ended.
            let _ = starts.send(());
            // Until it is released, or the test has ended.
            let _ = released.lock().expect("ours").recv();
            "done"
        }
    });
    let blocks = blocks.blocking().task_support(TaskSupport::Required);
    let mut tasks = TaskConfig::new();
    tasks.max_tasks(1);
    let server = Server::new("tasks", "1").tasks(tasks).add_tool(blocks);
    let world = World::new(server);
    let client = world.client(OLD).await;
    let second = Duration::from_secs(1);
    let handle = for_so_long(&client, second).await.expect("a task");
    // The thread starts in real time. A handler that is cancelled before is never run.
    let called = std::time::Instant::now();
    while started.try_recv().is_err() {
        assert!(called.elapsed() < LONG, "the thread has started");
        tokio::task::yield_now().await;
    }
    handle.cancel().await.expect("it runs");
    tokio::time::sleep(100 * second).await;
    assert_eq!(code(&handle.get().await.unwrap_err()), -32602);
    let listed = client.tools().call("waits", ()).as_task(Some(second));
    is_busy(&listed.start_task().await.unwrap_err());
    release.send(()).expect("it waits");
    // The thread has to return first, which takes real time.
    let released = std::time::Instant::now();
    while let Err(error) = for_so_long(&client, second).await {
        is_busy(&error);
        assert!(released.elapsed() < LONG, "the thread has returned");
        std::thread::yield_now();
    }
    drop(release);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_task_may_be_kept_and_waited_for_for_ever() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let mut tasks = TaskConfig::new();
        tasks.ttl(Duration::MAX).max_ttl(Duration::MAX);
        let world = World::new(server(&gate, &tasks));
        let client = world.client(revision).await;
        let call = client.tools().call("waits", ()).max_total(Duration::MAX);
        let call = tokio::spawn(call.as_task(None).send());
        tokio::time::sleep(Duration::from_secs(5)).await;
        gate.open();
        let result = call.await.expect("no panic").expect("a result");
        assert_eq!(result.text().len(), 1000);
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_handler_timeout_ends_neither_a_task_nor_tasks_result() {
    let (gate, second) = (Gate::new(), Duration::from_secs(1));
    let server = server(&gate, &TaskConfig::new()).handler_timeout(Some(5 * second));
    let mut client = LineClient::open(&server.build().expect("it can be served"));
    client.begin(OLD).await;
    let call = r#"{"name":"waits","arguments":{},"task":{}}"#;
    let task = client.ask("tools/call", call).await;
    let task = json!({"taskId": task["result"]["task"]["taskId"]}).to_string();
    let waiting = client.send("tasks/result", &task).await;
    tokio::time::sleep(60 * second).await;
    gate.open();
    let result = client.answer(waiting).await;
    assert!(result["result"]["content"].is_array(), "{result}");
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn an_optional_task_is_a_plain_call_when_the_store_is_full() {
    let gate = Gate::new();
    let mut tasks = TaskConfig::new();
    tasks.max_tasks(0);
    let world = World::new(server(&gate, &tasks));
    let client = world.client(NEW).await;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    tokio::time::sleep(Duration::from_secs(5)).await;
    gate.open();
    let result = call.await.expect("it runs").expect("a result");
    assert_eq!(result.text(), "done");
}

// proves: SV-3, SV-6, SE-109
#[tokio::test(start_paused = true)]
async fn one_client_cannot_keep_out_the_others() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        tasks.max_per_client(2);
        let world = World::new(server(&Gate::new(), &tasks));
        let greedy = world.client(revision).await;
        for _ in 0..2 {
            for_so_long(&greedy, Duration::from_secs(60))
                .await
                .expect("a task");
        }
        is_busy(&started(&greedy, "waits").await.unwrap_err());
        let modest = world.client(revision).await;
        started(&modest, "waits").await.expect("a task");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    #[expect(dead_code, reason = "it is only heavy")]
    text: String,
}

async fn heavy(client: &Client, bytes: usize) -> Result<TaskHandle, Error> {
    let call = client
        .tools()
        .call("heavy", json!({"text": "x".repeat(bytes)}));
    match call.start_task().await? {
        TaskOrResult::Task(handle) => Ok(handle),
        TaskOrResult::Result(result) => panic!("it is no task: {result:?}"),
    }
}

// proves: SV-3, SV-6, MO-4
#[tokio::test(start_paused = true)]
async fn parameters_of_tasks_count_until_their_handlers_are_gone() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let mut tasks = TaskConfig::new();
        tasks.max_request_bytes(100_000);
        let heavy_tool = tool("heavy", |State(gate): State<Gate>, _: Text| async move {
            gate.pass().await;
        });
        let heavy_tool = heavy_tool.task_support(TaskSupport::Required);
        let world = World::new(server(&gate, &tasks).add_tool(heavy_tool));
        let one = world.client(revision).await;
        let first = heavy(&one, 22_000).await.expect("it is within the share");
        is_busy(&heavy(&one, 22_000).await.unwrap_err());
        let other = world.client(revision).await;
        heavy(&other, 60_000)
            .await
            .expect("the only one always fits");
        let third = world.client(revision).await;
        is_busy(&heavy(&third, 22_000).await.unwrap_err());
        started(&third, "waits")
            .await
            .expect("one that is light fits");
        gate.open();
        first.wait().await.expect("a result");
        // Its handler is gone, and it is still kept.
        heavy(&one, 22_000).await.expect("there is room again");
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_large_meta_of_a_task_is_not_kept() {
    let meta = tool("meta", |cx: bowline::server::Context| async move {
        assert!(cx.is_task());
        cx.meta().iter().count().to_string()
    });
    let meta = meta.task_support(TaskSupport::Required);
    let world = World::new(Server::new("tasks", "1").add_tool(meta));
    for (bytes, kept) in [(15_000, "1"), (17_000, "0")] {
        let mut client = LineClient::open(&world.running);
        client.begin(OLD).await;
        let meta = json!({"example.com/x": "x".repeat(bytes)});
        let params = json!({"name": "meta", "task": {}, "_meta": meta});
        let begun = client.ask("tools/call", &params.to_string()).await;
        let id = json!({"taskId": begun["result"]["task"]["taskId"]});
        let result = client.ask("tasks/result", &id.to_string()).await;
        let text = &result["result"]["content"][0]["text"];
        assert_eq!(text, kept, "{result}");
    }
}

// proves: SV-3, SE-109
#[tokio::test(start_paused = true)]
async fn the_time_that_a_client_wants_is_granted_within_limits() {
    let mut tasks = TaskConfig::new();
    tasks.max_ttl(Duration::from_secs(100));
    let world = World::new(server(&Gate::new(), &tasks));
    let client = world.client(OLD).await;
    for (asked, granted) in [(0, 1_000), (50_000, 50_000), (100_001, 100_000)] {
        let asked = Duration::from_millis(asked);
        let handle = for_so_long(&client, asked).await.expect("a task");
        assert_eq!(
            handle.initial_state().and_then(|task| task.ttl),
            Some(granted)
        );
    }
    let handle = started(&client, "waits").await.expect("a task");
    assert_eq!(
        handle.initial_state().and_then(|task| task.ttl),
        Some(100_000)
    );
}
