//! Tasks from their creation to their end.

use std::time::Duration;

use bowline::ErrorKind;
use bowline::client::features::TaskOrResult;
use bowline::server::{Context, Server, State, ToolError, tool};
use bowline::types::logging::LoggingLevel;
use bowline::types::tasks::TaskStatus;
use bowline::types::tools::TaskSupport;
use bowline::types::{ErrorObject, Revision};
use serde_json::json;
use tokio::time::Instant;

use super::super::line_client::LineClient;
use super::{Gate, NEW, OLD, World, code, started};

/// Tools that run as tasks, and end as their names say.
fn server(gate: &Gate) -> Server {
    let waits = tool(
        "waits",
        |State(gate): State<Gate>, cx: Context| async move {
            cx.progress(1, None, Some("at the gate"));
            gate.pass().await;
            if cx.is_task() { "a task" } else { "a call" }
        },
    );
    let fails = tool("fails", || async { Err::<(), _>(ToolError::new("no")) });
    let breaks = tool("breaks", || async {
        let error = ErrorObject::new(-32000, "broken");
        Err::<(), _>(ToolError::protocol(error))
    });
    let panics = tool("panics", || async {
        assert!(!std::hint::black_box(true), "a secret");
    });
    let server = Server::new("tasks", "1").state(gate.clone());
    [waits, fails, breaks, panics]
        .into_iter()
        .map(|tool| tool.task_support(TaskSupport::Required))
        .fold(server, Server::add_tool)
}

// proves: FT-12, SV-3
#[tokio::test(start_paused = true)]
async fn a_task_is_awaited_like_any_other_call() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        // The older generation has to know that the tool demands it.
        client.tools().list_all().await.expect("tools");
        let call = tokio::spawn(client.tools().call("waits", ()).send());
        tokio::time::sleep(Duration::from_secs(3)).await;
        gate.open();
        let result = call.await.expect("it runs").expect("a result");
        assert_eq!(result.text(), "a task", "{revision}");
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_task_outlives_the_last_tool_of_its_kind() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let server = server(&gate);
        let features = server.features();
        let world = World::new(server);
        let client = world.client(revision).await;
        let handle = started(&client, "waits").await.expect("a task");
        for name in ["waits", "fails", "breaks", "panics"] {
            assert!(features.remove_tool(name));
        }
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status, TaskStatus::Working, "{revision}");
        gate.open();
        let result = handle.wait().await.expect("a result");
        assert_eq!(result.text(), "a task", "{revision}");
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_client_of_a_revision_without_tasks_is_served_as_always() {
    let gate = Gate::new();
    gate.open();
    let world = World::new(server(&gate));
    let client = world.client(Revision::V2025_06_18).await;
    let result = client.tools().call("waits", ()).await.expect("a result");
    assert_eq!(result.text(), "a call");
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn progress_messages_become_the_status_message() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        let handle = started(&client, "waits").await.expect("a task");
        let begun = handle.initial_state().expect("it was begun here").clone();
        assert_eq!(begun.status, TaskStatus::Working);
        assert_eq!(begun.ttl, Some(3_600_000));
        assert_eq!(begun.poll_interval, Some(500));
        assert!(begun.created_at.ends_with('Z') && begun.task_id.len() >= 32);
        // The handler runs when its client knows of the task.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status_message.as_deref(), Some("at the gate"));
        gate.open();
        assert_eq!(handle.wait().await.expect("a result").text(), "a task");
        // The result is kept: a second request for it gets the same.
        assert_eq!(handle.wait().await.expect("a result").text(), "a task");
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status, TaskStatus::Completed);
        assert_eq!(task.result.is_some(), revision == NEW);
    }
}

// proves: SV-3, ER-4
#[tokio::test(start_paused = true)]
async fn failures_have_the_form_of_each_generation() {
    for revision in [OLD, NEW] {
        let world = World::new(server(&Gate::new()));
        let client = world.client(revision).await;
        for (name, status) in [
            // TK-10 and TX-8.
            (
                "fails",
                if revision == OLD {
                    TaskStatus::Failed
                } else {
                    TaskStatus::Completed
                },
            ),
            ("breaks", TaskStatus::Failed),
            ("panics", TaskStatus::Failed),
        ] {
            let handle = started(&client, name).await.expect("a task");
            let waited = handle.wait().await;
            match (name, waited) {
                ("fails", Ok(result)) => assert!(result.is_failure()),
                ("breaks", Err(error)) => assert_eq!(code(&error), -32000),
                ("panics", Err(error)) => {
                    assert_eq!(code(&error), -32603);
                    assert!(!error.to_string().contains("secret"), "{error}");
                }
                (_, other) => panic!("{name} in {revision}: {other:?}"),
            }
            let task = handle.get().await.expect("it is there").task;
            assert_eq!(task.status, status, "{name} in {revision}");
        }
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_its_handler_and_stays_cancelled() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        let handle = started(&client, "waits").await.expect("a task");
        let waiting = tokio::spawn({
            let handle = handle.clone();
            async move { handle.wait().await }
        });
        tokio::time::sleep(Duration::from_millis(700)).await;
        let cancelled = handle.cancel().await.expect("it is cancelled");
        // TK-13: in 2025-11-25 it is so before the answer.
        let status = cancelled.task.map(|task| task.status);
        assert_eq!(status, (revision == OLD).then_some(TaskStatus::Cancelled));
        gate.left(1).await;
        gate.open();
        let error = waiting.await.expect("it runs").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status, TaskStatus::Cancelled);
        // TK-12, TX-14.
        match (handle.cancel().await, revision == OLD) {
            (Err(error), true) => assert_eq!(code(&error), -32602),
            (Ok(_), false) => {}
            (again, _) => panic!("{again:?}"),
        }
    }
}

// proves: F-HD-07
#[tokio::test(start_paused = true)]
async fn no_notification_is_sent_for_an_ended_task() {
    let late = tool("late", |cx: Context| async move {
        assert!(cx.progress(1, None, Some("before")), "it lasts");
        cx.cancelled().await;
        assert!(!cx.progress(2, None, Some("after")), "it has ended");
        assert!(!cx.log(LoggingLevel::Error, "after"), "it has ended");
    });
    let late = late.task_support(TaskSupport::Required);
    let world = World::new(Server::new("tasks", "1").add_tool(late));
    let mut client = LineClient::open(&world.running);
    client.begin(OLD).await;
    let params = json!({"name": "late", "task": {}, "_meta": {"progressToken": "t"}});
    let begun = client.ask("tools/call", &params.to_string()).await;
    let before = client.receive().await;
    assert_eq!(before["params"]["message"], "before");
    let id = json!({"taskId": begun["result"]["task"]["taskId"]}).to_string();
    let cancelled = client.ask("tasks/cancel", &id).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send("ping", "{}").await;
    let next = client.receive().await;
    assert!(next["result"].is_object(), "{next}");
}

// proves: FT-12, SV-3
#[tokio::test(start_paused = true)]
async fn dropping_the_call_ends_the_handler() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        client.tools().list_all().await.expect("tools");
        let call = tokio::spawn(client.tools().call("waits", ()).send());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(gate.count(), 0, "it runs");
        call.abort();
        gate.left(1).await;
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn with_the_extension_only_long_calls_become_tasks() {
    let gate = Gate::new();
    let slow = tool("slow", |State(gate): State<Gate>, cx: Context| async move {
        gate.pass().await;
        if cx.is_task() { "a task" } else { "a call" }
    });
    let after = Duration::from_secs(5);
    let server = Server::new("tasks", "1")
        .state(gate.clone())
        .add_tool(slow.as_task_after(after))
        .add_tool(tool("quick", || async { "quick" }).as_task_after(after));
    let world = World::new(server);
    let client = world.client(NEW).await;
    let quick = client.tools().call("quick", ()).start_task().await;
    assert!(matches!(quick, Ok(TaskOrResult::Result(_))));

    let since = Instant::now();
    let handle = started(&client, "slow").await.expect("a task");
    assert_eq!(since.elapsed().as_secs(), 5);
    gate.open();
    assert_eq!(handle.wait().await.expect("a result").text(), "a task");

    // In 2025-11-25 the client decides.
    let client = world.client(OLD).await;
    let call = client.tools().call("slow", ()).await;
    assert_eq!(call.expect("a result").text(), "a call");
    let call = client.tools().call("slow", ()).as_task(None).await;
    assert_eq!(call.expect("a result").text(), "a task");
}

// proves: SV-3, SV-7
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_cancels_its_tasks() {
    for is_sudden in [false, true] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(NEW).await;
        let _handle = started(&client, "waits").await.expect("a task");
        tokio::time::sleep(Duration::from_millis(1)).await;
        if is_sudden {
            world.running.close()
        } else {
            world.running.shut_down()
        }
        gate.left(1).await;
    }
}
