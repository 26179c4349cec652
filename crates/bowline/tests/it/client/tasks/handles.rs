//! Tasks that outlive the call, the connection and the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline::client::features::{TaskOrResult, TaskRef};
use bowline::types::elicitation::ElicitResult;
use bowline::types::input::InputResponse;
use bowline::types::tasks::TaskStatus;
use bowline::{Error, ErrorKind};

use super::extension::{asks, result};
use super::{DONE, able, begin, connected, connected_with, expect_cancel, look, old_task};
use crate::client::support::{NEW, OLD, Test};

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_is_handed_out_and_another_program_goes_on_with_it() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let (started, begun) = tokio::join!(
        client.tools().call("slow", ()).start_task(),
        begin(&mut server, "")
    );
    begun?;
    let TaskOrResult::Task(handle) = started? else {
        panic!("it is a task");
    };
    assert_eq!((handle.id(), handle.tool()), ("t1", "slow"));
    assert_eq!(
        handle.initial_state().and_then(|task| task.ttl),
        Some(60_000)
    );
    let (found, looked) = tokio::join!(handle.get(), look(&mut server, "working", ""));
    looked?;
    assert_eq!(found?.task.status, TaskStatus::Working);

    // The program ends: nothing is cancelled.
    let saved = handle.task_ref().to_string();
    let json = serde_json::to_string(handle.task_ref())?;
    drop(handle);
    client.stop().await;
    server.expect_end().await?;

    // Another one begins.
    let (client, mut server, _peer) = connected(NEW).await?;
    let resumed: TaskRef = saved.parse()?;
    assert_eq!(resumed, serde_json::from_str(&json)?);
    let handle = client.tasks().resume(resumed);
    assert!(handle.initial_state().is_none());
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.wait().await }
    });
    look(&mut server, "working", "").await?;
    // Dropping the wait leaves the task alone.
    waiting.abort();
    assert!(waiting.await.is_err());
    let failure = r#","result":{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    let (result, looked) = tokio::join!(handle.wait(), look(&mut server, "completed", failure));
    looked?;
    let words = result?.into_result().unwrap_err().to_string();
    assert!(words.contains("slow: no"), "the tool is known: {words}");

    let (cancelled, expected) = tokio::join!(handle.cancel(), expect_cancel(&mut server));
    expected?;
    assert!(cancelled?.task.is_none());
    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_answered_input_request_is_not_answered_again_by_the_next_wait() -> Test {
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let mut config = able();
    config.elicitation(move |_| {
        asking.fetch_add(1, Ordering::Relaxed);
        async { Ok(ElicitResult::accept([("name", "Ann")])) }
    });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let handle = client.tasks().resume("t1");
    let wait = || {
        let handle = handle.clone();
        tokio::spawn(async move { handle.wait().await })
    };
    // Two at a time: one asks, and the other knows.
    let (first, second) = (wait(), wait());
    look(&mut server, "input_required", &asks(&["one"])).await?;
    look(&mut server, "input_required", &asks(&["one"])).await?;
    let update = server.expect("tasks/update").await?;
    server
        .reply(&update, r#"{"resultType":"complete"}"#)
        .await?;
    look(&mut server, "input_required", &asks(&["one"])).await?;
    for waiting in [first, second] {
        waiting.abort();
        assert!(waiting.await.is_err());
    }
    // And one after them.
    let third = wait();
    look(&mut server, "input_required", &asks(&["one"])).await?;
    look(&mut server, "completed", &result(DONE)).await?;
    assert_eq!(third.await??.text(), "done");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_result_at_once_is_distinguished_from_a_task() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let (started, answered) = tokio::join!(client.tools().call("quick", ()).start_task(), async {
        let request = server.expect("tools/call").await?;
        server.reply(&request, DONE).await
    });
    answered?;
    let started = started?;
    assert!(matches!(started, TaskOrResult::Result(_)));
    assert_eq!(started.wait().await?.text(), "done");

    // A call that is refused is no task.
    let (started, answered) = tokio::join!(client.tools().call("none", ()).start_task(), async {
        let request = server.expect("tools/call").await?;
        let error = bowline::types::ErrorObject::new(-32602, "no such tool");
        server.reply_error(&request, &error).await
    });
    answered?;
    assert_eq!(started.unwrap_err().kind(), ErrorKind::JsonRpc);
    let unfit = client.tools().call("odd", 5).start_task().await;
    assert_eq!(unfit.unwrap_err().kind(), ErrorKind::InvalidParams);
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn tasks_can_be_looked_at_by_their_ids() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let answer = bowline::types::JsonObject::parse(r#"{"action":"cancel"}"#)?;
    let answers = [("one", InputResponse::from(answer))];
    let (updated, expected) = tokio::join!(client.tasks().update("t1", answers), async {
        let request = server.expect("tasks/update").await?;
        let params = request.params().as_str();
        assert!(params.contains(r#""inputResponses":{"one":{"action":"cancel"}}"#));
        server.reply(&request, r#"{"resultType":"complete"}"#).await
    });
    expected?;
    updated?;
    let handle = client.tasks().resume("t1");
    let (result, looked) = tokio::join!(handle.wait(), look(&mut server, "failed", ""));
    looked?;
    assert!(
        result.unwrap_err().to_string().contains("t1"),
        "the id alone"
    );

    let (client, mut server, _peer) = connected(OLD).await?;
    let tasks = client.tasks();
    let (listed, expected) = tokio::join!(tasks.list_all(), async {
        for next in [r#","nextCursor":"2""#, ""] {
            let request = server.expect("tasks/list").await?;
            let page = old_task("working", "");
            server
                .reply(&request, format!(r#"{{"tasks":[{page}]{next}}}"#))
                .await?;
        }
        Ok::<_, bowline::testing::Unexpected>(())
    });
    expected?;
    assert_eq!(listed?.len(), 2);
    let (result, expected) = tokio::join!(tasks.result("t1"), async {
        let request = server.expect("tasks/result").await?;
        server.reply(&request, r#"{"content":[]}"#).await
    });
    expected?;
    assert!(result?.content.is_empty());
    let (cancelled, expected) = tokio::join!(tasks.cancel("t1"), async {
        let request = server.expect("tasks/cancel").await?;
        server.reply(&request, old_task("cancelled", "")).await
    });
    expected?;
    let cancelled = cancelled?.task.expect("2025-11-25 has it");
    assert_eq!(cancelled.status, TaskStatus::Cancelled);
    Ok(())
}

#[test]
fn a_text_that_is_no_task_reference_is_refused_with_a_reason() {
    for odd in ["", "t1", "{}", "[]"] {
        let error: Error = odd.parse::<TaskRef>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.to_string().contains("not a task reference"),
            "{error}"
        );
    }
    let id_only: TaskRef = r#"{"id":"t1"}"#.parse().expect("the id is enough");
    assert_eq!(id_only, TaskRef::from("t1".to_owned()));
}

// proves: MO-1
#[tokio::test(start_paused = true)]
async fn a_list_of_tasks_is_never_kept() -> Test {
    let mut config = able();
    let minute = std::time::Duration::from_secs(60);
    config.cache(bowline::client::CachePolicy::new().default_ttl(minute));
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    for _ in 0..2 {
        let (listed, answered) = tokio::join!(client.tasks().list(), async {
            let request = server.expect("tasks/list").await?;
            server.reply(&request, r#"{"tasks":[]}"#).await
        });
        answered?;
        assert!(listed?.tasks.is_empty());
    }
    Ok(())
}
