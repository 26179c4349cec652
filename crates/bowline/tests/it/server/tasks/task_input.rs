//! Handlers that ask while they run as tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::ErrorKind;
use bowline::server::{Context, Server, State, TaskConfig, ToolError, tool};
use bowline::types::elicitation::{ElicitFormParams, ElicitResult, FormSchema, PrimitiveSchema};
use bowline::types::tasks::TaskStatus;
use bowline::types::tools::TaskSupport;
use bowline::{ClientConfig, Error};

use super::{Gate, NEW, OLD, World, started};

pub(super) fn form(message: &str) -> ElicitFormParams {
    ElicitFormParams::new(
        message,
        FormSchema::new([("name", PrimitiveSchema::string())]),
    )
}

/// Asks twice under one key, and once more if it can.
async fn asks(cx: Context) -> Result<String, ToolError> {
    let one = cx.elicit("who", form("One?")).await?;
    let other = cx.elicit("who", form("Other?")).await?;
    let accepted = [one, other]
        .iter()
        .filter(|answer| answer.is_accepted())
        .count();
    Ok(format!("{accepted} accepted"))
}

pub(super) fn server() -> Server {
    let asks_once = |cx: Context| async move {
        let answer = cx.elicit("who", form("Once?")).await?;
        Ok::<_, ToolError>(format!("{}", answer.is_accepted()))
    };
    let tools = [
        tool("asks", asks),
        tool("asks_blocking", asks).blocking(),
        tool("asks_once", asks_once),
    ];
    let tools = tools.map(|tool| tool.task_support(TaskSupport::Required));
    tools
        .into_iter()
        .fold(Server::new("asking", "1"), Server::add_tool)
}

pub(super) fn accepts(config: &mut ClientConfig) {
    config.elicitation(|_| async { Ok(ElicitResult::accept([("name", "Ann")])) });
}

async fn is_answered(name: &str) {
    for revision in [OLD, NEW] {
        let mut tasks = TaskConfig::new();
        tasks.poll_interval(Duration::from_millis(50));
        let world = World::new(server().tasks(tasks));
        let client = world.client_with(revision, accepts).await;
        client.tools().list_all().await.expect("tools");
        let result = client.tools().call(name, ()).await.expect("a result");
        assert_eq!(result.text(), "2 accepted", "{name} in {revision}");
    }
}

// proves: SV-3, SV-4, FT-12
#[tokio::test(start_paused = true)]
async fn questions_of_a_task_are_answered_in_both_generations() {
    is_answered("asks").await;
}

/// Paused time stands still while a thread is used, so this one takes its time.
// proves: SV-3, SV-4, FT-12
#[tokio::test]
async fn a_task_on_a_thread_of_its_own_asks_in_both_generations() {
    is_answered("asks_blocking").await;
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn questions_are_listed_in_the_task_under_unique_keys() {
    let world = World::new(server());
    let client = world.client_with(NEW, accepts).await;
    let handle = started(&client, "asks").await.expect("a task");
    let mut seen = Vec::new();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status, TaskStatus::InputRequired);
        let questions = task.input_requests.expect("it asks");
        let keys: Vec<_> = questions.iter().map(|(key, _)| key.to_owned()).collect();
        assert_eq!(keys.len(), 1);
        // TX-12: answers to nothing, and to what was answered, are ignored.
        let decline = || bowline::types::input::InputResponse::try_from(ElicitResult::decline());
        let mut answers = bowline::types::Map::new();
        answers.insert("unknown key", decline().expect("an encodable answer"));
        answers.insert(&*keys[0], decline().expect("an encodable answer"));
        for _ in 0..2 {
            let updated = client.tasks().update(handle.id(), answers.clone()).await;
            updated.expect("it is taken");
        }
        seen.extend(keys);
    }
    assert_ne!(seen[0], seen[1]);
    let result = handle.wait().await.expect("a result");
    assert_eq!(result.text(), "0 accepted");
}

// proves: SV-3, FT-12
#[tokio::test(start_paused = true)]
async fn a_question_that_was_lost_with_its_connection_is_asked_again() {
    let gate = Gate::new();
    let world = World::new(server());
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, person) = (Arc::clone(&asked), gate.clone());
    let client = world
        .client_with(OLD, move |config| {
            config.elicitation(move |_| {
                let (count, person) = (Arc::clone(&count), person.clone());
                async move {
                    // The first time the user doesn't answer.
                    if count.fetch_add(1, Ordering::SeqCst) == 0 {
                        person.pass().await;
                    }
                    Ok(ElicitResult::decline())
                }
            });
        })
        .await;
    let handle = started(&client, "asks_once").await.expect("a task");
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.wait().await }
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let task = handle.get().await.expect("it is there").task;
    assert_eq!(task.status, TaskStatus::InputRequired);
    world.cut();
    let result = waiting.await.expect("it runs").expect("a result");
    assert_eq!(result.text(), "false");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

// proves: SV-3, SV-4
#[tokio::test(start_paused = true)]
async fn a_task_fails_for_a_client_that_cannot_be_asked() {
    for revision in [OLD, NEW] {
        let world = World::new(server());
        let client = world.client(revision).await;
        client.tools().list_all().await.expect("tools");
        let call = client.tools().call("asks", ()).await;
        match (call, revision == OLD) {
            (Ok(result), true) => {
                assert!(result.is_failure());
                assert!(result.text().contains("elicitation"), "{}", result.text());
            }
            (Err(error), false) => {
                let refusal = error.server_error().expect("an error of the server");
                assert_eq!(refusal.code, -32021);
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn rounds_of_input_come_before_the_task() {
    // TX-18: what is asked at once ends the request, and what is asked later stands in the task.
    let asks = |State(gate): State<Gate>, cx: Context| async move {
        let first = cx.elicit("first", form("First?")).await?;
        let is_new = cx.once("paid");
        gate.pass().await;
        let second = cx.elicit("second", form("Second?")).await?;
        let both = first.is_accepted() && second.is_accepted();
        Ok::<_, ToolError>(format!("{both} {is_new} {}", cx.is_task()))
    };
    let gate = Gate::new();
    let server = Server::new("asking", "1")
        .state(gate.clone())
        .add_tool(tool("asks", asks).as_task_after(Duration::from_secs(5)));
    let world = World::new(server);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let client = world
        .client_with(NEW, move |config| {
            config.elicitation(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                async { Ok(ElicitResult::accept([("name", "Ann")])) }
            });
        })
        .await;
    let handle = started(&client, "asks").await.expect("a task");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "one round before");
    gate.open();
    let result = handle.wait().await.expect("a result");
    assert_eq!(result.text(), "true true true");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_an_answer_can_be_cancelled() {
    for revision in [OLD, NEW] {
        let world = World::new(server());
        let never = |config: &mut ClientConfig| {
            config.elicitation(|_| std::future::pending());
        };
        let client = world.client_with(revision, never).await;
        let handle = started(&client, "asks").await.expect("a task");
        tokio::time::sleep(Duration::from_millis(1)).await;
        let task = handle.get().await.expect("it is there").task;
        assert_eq!(task.status, TaskStatus::InputRequired);
        handle.cancel().await.expect("it is cancelled");
        let waited: Result<_, Error> = handle.wait().await;
        assert_eq!(waited.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
