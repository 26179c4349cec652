//! Tasks that have ended: how long, how many and how many bytes of them are kept.

use std::time::Duration;

use bowline::Client;
use bowline::client::features::{TaskHandle, TaskOrResult};
use bowline::server::{Context, Server, TaskConfig, ToolError, tool};
use bowline::types::elicitation::ElicitResult;
use bowline::types::tasks::TaskStatus;
use bowline::types::tools::TaskSupport;

use super::limits::{for_so_long, server};
use super::{Gate, NEW, OLD, World, code, started, task_input};

/// A world whose handlers are done at once.
fn quick(tasks: &TaskConfig) -> World {
    let gate = Gate::new();
    gate.open();
    World::new(server(&gate, tasks))
}

/// A task of a client that has ended, with its 1,000 characters.
async fn ended(client: &Client) -> TaskHandle {
    let handle = started(client, "waits").await.expect("a task");
    assert_eq!(handle.wait().await.expect("it fits").text().len(), 1000);
    handle
}

async fn is_kept(handle: &TaskHandle) -> bool {
    match handle.get().await {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(code(&error), -32602, "{error}");
            false
        }
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn tasks_that_have_ended_keep_out_no_others() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        tasks.max_tasks(2).max_per_client(1);
        let world = quick(&tasks);
        let client = world.client(revision).await;
        let first = ended(&client).await;
        for _ in 0..10 {
            ended(&client).await;
        }
        assert!(is_kept(&first).await);
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn beyond_the_limit_of_a_client_its_oldest_task_is_evicted() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        tasks.max_ended(3).max_ended_per_client(2);
        let world = quick(&tasks);
        let (one, other) = (world.client(revision).await, world.client(revision).await);
        let of_other = ended(&other).await;
        let first = ended(&one).await;
        let second = ended(&one).await;
        assert!(is_kept(&first).await && is_kept(&second).await);
        let third = ended(&one).await;
        assert!(!is_kept(&first).await);
        assert!(is_kept(&second).await && is_kept(&third).await);
        assert!(is_kept(&of_other).await, "it is older, and another's");
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn beyond_the_limit_of_a_server_the_oldest_task_is_evicted() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        tasks.max_ended(2);
        let world = quick(&tasks);
        let mut handles = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(world.client(revision).await);
            handles.push(ended(&clients[clients.len() - 1]).await);
        }
        assert!(is_kept(&handles[0]).await && is_kept(&handles[1]).await);
        let client = world.client(revision).await;
        let last = ended(&client).await;
        assert!(!is_kept(&handles[0]).await);
        assert!(is_kept(&handles[1]).await && is_kept(&last).await);
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn results_beyond_the_share_of_a_client_are_evicted() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        // Two fit into a quarter, with what is around their 1,000 characters.
        tasks.max_result_bytes(4 * 2200);
        let world = quick(&tasks);
        let client = world.client(revision).await;
        let (first, second) = (ended(&client).await, ended(&client).await);
        assert!(is_kept(&first).await && is_kept(&second).await);
        let third = ended(&client).await;
        assert!(!is_kept(&first).await);
        assert!(is_kept(&second).await && is_kept(&third).await);
    }
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_result_beyond_a_clients_share_evicts_no_others() {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        // One of them fits, with what is around its 1,000 characters, and is beyond a quarter.
        tasks.max_result_bytes(1500).ttl(Duration::from_secs(60));
        let world = quick(&tasks);
        let client = world.client(revision).await;
        let first = ended(&client).await;
        let second = ended(&client).await;
        assert!(!is_kept(&first).await && is_kept(&second).await);
        let other = world.client(revision).await;
        let third = started(&other, "waits").await.expect("a task");
        let error = third.wait().await.unwrap_err();
        assert_eq!(code(&error), -32603);
        assert!(error.to_string().contains("too large"), "{error}");
        // The room is free again when the time of the other one is over.
        tokio::time::sleep(Duration::from_secs(61)).await;
        ended(&other).await;
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_task_that_ends_in_time_is_kept_until_its_time_is_over() {
    let world = quick(TaskConfig::new().ttl(Duration::from_secs(600)));
    let client = world.client(OLD).await;
    let handle = ended(&client).await;
    tokio::time::sleep(Duration::from_secs(598)).await;
    assert!(is_kept(&handle).await);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!is_kept(&handle).await);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_longer_than_its_ttl_continues() {
    let second = Duration::from_secs(1);
    let gate = Gate::new();
    let world = World::new(server(&gate, &TaskConfig::new()));
    let client = world.client(OLD).await;
    let handle = for_so_long(&client, second).await.expect("a task");
    assert_eq!(
        handle.initial_state().and_then(|task| task.ttl),
        Some(1_000)
    );
    tokio::time::sleep(100_000 * second).await;
    let task = handle.get().await.expect("it is there").task;
    assert_eq!((task.status, gate.count()), (TaskStatus::Working, 0));
    let waiting = client.clone();
    let id = handle.id().to_owned();
    let waiting = tokio::spawn(async move { waiting.tasks().result(&id).await });
    tokio::time::sleep(second).await;
    gate.open();
    waiting.await.expect("no panic").expect("a result");
    // There is time to fetch it, and not for ever.
    tokio::time::sleep(58 * second).await;
    assert!(is_kept(&handle).await);
    tokio::time::sleep(4 * second).await;
    assert!(!is_kept(&handle).await);
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_task_whose_client_never_answers_gives_its_place_back() {
    let mut tasks = TaskConfig::new();
    tasks.max_tasks(1).ttl(Duration::from_secs(100));
    let world = World::new(task_input::server().tasks(tasks));
    let client = world.client_with(NEW, task_input::accepts).await;
    let handle = started(&client, "asks").await.expect("a task");
    tokio::time::sleep(Duration::from_secs(98)).await;
    let task = handle.get().await.expect("it is there").task;
    assert_eq!(task.status, TaskStatus::InputRequired);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let task = handle.get().await.expect("it is there").task;
    assert_eq!(task.status, TaskStatus::Failed);
    started(&client, "asks").await.expect("there is room again");
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_client_that_answers_each_question_in_time_may_take_its_time() {
    let asks = tool("asks", |cx: Context| async move {
        for question in ["one", "two", "three"] {
            let form = task_input::form(question);
            cx.elicit(question, form).await?;
        }
        Ok::<_, ToolError>("done")
    });
    let mut tasks = TaskConfig::new();
    tasks.ttl(Duration::from_secs(60));
    let server = Server::new("patient", "1").tasks(tasks);
    let world = World::new(server.add_tool(asks.task_support(TaskSupport::Required)));
    let client = world.client_with(NEW, |config| {
        config.elicitation(|_| async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            Ok(ElicitResult::accept([("name", "Ann")]))
        });
    });
    let client = client.await;
    let handle = started(&client, "asks").await.expect("a task");
    let result = handle.wait().await.expect("each answer came in time");
    assert_eq!(result.text(), "done");
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_call_that_asks_just_when_it_would_become_a_task_takes_no_place() {
    let after = Duration::from_secs(1);
    let asks = tool("asks", move |cx: Context| async move {
        tokio::time::sleep(after).await;
        let form = task_input::form("?");
        cx.elicit("key", form).await?;
        Ok::<_, ToolError>("done")
    });
    let mut tasks = TaskConfig::new();
    tasks.max_tasks(1);
    let server = Server::new("late", "1").tasks(tasks);
    let server = server
        .add_tool(asks.as_task_after(after))
        .add_tool(tool("is_task", || async { "done" }).task_support(TaskSupport::Required));
    let world = World::new(server);
    let client = world.client_with(NEW, task_input::accepts).await;
    for _ in 0..3 {
        // A question, or a task: which of them depends on who is looked at first.
        let asked = client.tools().call("asks", ()).await.expect("a result");
        assert_eq!(asked.text(), "done");
        let handle = started(&client, "is_task").await.expect("there is room");
        handle.wait().await.expect("a result");
    }
}

// proves: SV-7
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_begins_no_task() {
    let after = Duration::from_secs(1);
    let slow = tool("slow", |cx: Context| async move {
        cx.shutting_down().await;
        "in time"
    });
    let server = Server::new("ending", "1").shutdown_deadline(Duration::from_secs(3));
    let world = World::new(server.add_tool(slow.as_task_after(after)));
    let client = world.client(NEW).await;
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.tools().call("slow", ()).start_task().await });
    tokio::time::sleep(after / 2).await;
    world.running.shut_down();
    let TaskOrResult::Result(result) = call.await.expect("no panic").expect("an answer") else {
        panic!("the task was not known to the client");
    };
    assert_eq!(result.text(), "in time");
}

// proves: SV-3, SV-6
#[tokio::test(start_paused = true)]
async fn a_task_that_was_cancelled_takes_no_room_from_others() {
    let mut tasks = TaskConfig::new();
    tasks.max_result_bytes(4 * 2200).max_ended_per_client(10);
    let gate = Gate::new();
    gate.open();
    // It goes on for a moment, and returns all the same.
    let stubborn = tool("stubborn", |cx: Context| async move {
        cx.cancelled().await;
        "x".repeat(2000)
    });
    let server = server(&gate, &tasks).add_tool(stubborn.task_support(TaskSupport::Required));
    let world = World::new(server);
    let client = world.client(NEW).await;
    let (first, second) = (ended(&client).await, ended(&client).await);
    let cancelled = started(&client, "stubborn").await.expect("a task");
    cancelled.cancel().await.expect("it is cancelled");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(is_kept(&first).await && is_kept(&second).await);
}

// proves: SV-3, MO-2
#[tokio::test(start_paused = true)]
async fn a_request_that_is_served_twice_is_one_task() {
    let mut tasks = TaskConfig::new();
    tasks.max_tasks(2);
    let gate = Gate::new();
    gate.open();
    let twice = server(&gate, &tasks).middleware(|request, next| async move {
        match request.method() {
            "tools/call" => {
                let first = next.clone().run(request.clone()).await?;
                let again = next.run(request).await?;
                assert_eq!(first.as_str(), again.as_str());
                Ok(again)
            }
            _ => next.run(request).await,
        }
    });
    let world = World::new(twice);
    for revision in [OLD, NEW] {
        let client = world.client(revision).await;
        for _ in 0..3 {
            ended(&client).await;
        }
    }
    assert_eq!(gate.count(), 6, "each ran once");
}
