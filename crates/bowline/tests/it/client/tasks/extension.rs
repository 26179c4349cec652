//! The extension of 2026-07-28: the server decides.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::types::elicitation::ElicitResult;
use bowline::types::tasks::EXTENSION;
use bowline::types::{ErrorObject, Revisions};
use bowline::{ConnectionState, ErrorKind, Recovery};
use tokio::time::Instant;

use super::{
    DONE, able, about, begin, connected, connected_with, expect_cancel, look, shaken, task,
};
use crate::client::support::{NEW, Test};

pub(super) fn result(result: &str) -> String {
    format!(r#","result":{result}"#)
}

pub(super) fn asks(keys: &[&str]) -> String {
    let question = r#"{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let questions: Vec<_> = keys
        .iter()
        .map(|key| format!(r#""{key}":{question}"#))
        .collect();
    format!(r#","inputRequests":{{{}}}"#, questions.join(","))
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_is_followed_to_its_end() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = client.tools().call("slow", ()).as_task(None).send();
    let call = tokio::spawn(call);
    let request = begin(&mut server, r#","pollIntervalMs":300"#).await?;
    let params = request.params().as_str();
    // TX-1: it is declared with each request, and nothing asks for a task.
    assert!(params.contains(EXTENSION), "{params}");
    assert!(!params.contains(r#""task":"#), "{params}");
    // TX-9: the interval is honoured, and it may change; without one it is a second.
    about(
        look(&mut server, "working", r#","pollIntervalMs":700"#).await?,
        300,
    );
    about(look(&mut server, "working", "").await?, 700);
    about(look(&mut server, "completed", &result(DONE)).await?, 1000);
    let result = call.await??;
    assert_eq!(result.text(), "done");
    assert!(result.into_result().is_ok());
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn how_a_task_ends_is_how_the_call_ends() -> Test {
    let failure = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    for (status, more, kind) in [
        // TX-8: the tool failed, and the task completed.
        ("completed", result(failure), None),
        (
            "failed",
            r#","error":{"code":-32000,"message":"broken"}"#.to_owned(),
            Some(ErrorKind::JsonRpc),
        ),
        ("cancelled", String::new(), Some(ErrorKind::Cancelled)),
        (
            "cancelled",
            r#","statusMessage":"by an operator""#.to_owned(),
            Some(ErrorKind::Cancelled),
        ),
    ] {
        let (client, mut server, _peer) = connected(NEW).await?;
        let call = tokio::spawn(client.tools().call("slow", ()).send());
        begin(&mut server, "").await?;
        look(&mut server, status, &more).await?;
        match (call.await?, kind) {
            (Ok(result), None) => assert!(result.is_failure()),
            (Err(error), Some(kind)) => {
                assert_eq!(error.kind(), kind, "{error}");
                if status == "failed" {
                    assert_eq!(error.server_error().map(|error| error.code), Some(-32000));
                }
                if more.contains("operator") {
                    assert!(error.to_string().contains("by an operator"), "{error}");
                }
            }
            (ended, _) => panic!("{ended:?}"),
        }
        // What has ended is not cancelled.
        assert_eq!(client.pending(), 0);
        client.stop().await;
        server.expect_end().await?;
    }
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn input_requests_of_a_task_are_answered_once_by_the_clients_handlers() -> Test {
    let mut config = able();
    config.elicitation(|form| async move {
        assert_eq!(form.message, "Who?");
        Ok(ElicitResult::accept([("name", "Ann")]))
    });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    begin(&mut server, "").await?;
    look(&mut server, "input_required", &asks(&["one", "two"])).await?;
    let update = server.expect("tasks/update").await?;
    let params = update.params().as_str();
    let answer = r#"{"action":"accept","content":{"name":"Ann"}}"#;
    for key in ["one", "two"] {
        let expected = format!(r#""{key}":{answer}"#);
        assert!(params.contains(&expected), "{params}");
    }
    server
        .reply(&update, r#"{"resultType":"complete"}"#)
        .await?;
    // The server is slow to notice (TX-12): what was answered is not answered again.
    look(&mut server, "input_required", &asks(&["one", "two"])).await?;
    look(&mut server, "input_required", &asks(&["two", "three"])).await?;
    let update = server.expect("tasks/update").await?;
    let params = update.params().as_str();
    assert!(params.contains(r#""three":"#) && !params.contains(r#""two":"#));
    server
        .reply(&update, r#"{"resultType":"complete"}"#)
        .await?;
    look(&mut server, "completed", &result(DONE)).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_whose_question_has_no_answer_is_cancelled() -> Test {
    for refuses in [false, true] {
        let mut config = able();
        if refuses {
            config.elicitation(|_| async { Err(ErrorObject::new(-1, "not now")) });
        }
        let (client, mut server, _peer) = connected_with(config, NEW).await?;
        let call = tokio::spawn(client.tools().call("slow", ()).send());
        begin(&mut server, "").await?;
        look(&mut server, "input_required", &asks(&["one"])).await?;
        expect_cancel(&mut server).await?;
        let error = call.await?.unwrap_err();
        let (kind, words) = if refuses {
            (ErrorKind::Cancelled, "this client rejected")
        } else {
            (ErrorKind::CapabilityNotSupported, "by this client")
        };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("elicitation/create"), "{error}");
    }
    Ok(())
}

// proves: FT-12, CN-10
#[tokio::test(start_paused = true)]
async fn dropping_or_cancelling_the_call_cancels_the_task() -> Test {
    // Dropping the future.
    let (client, mut server, _peer) = connected(NEW).await?;
    let mut call = Box::pin(client.tools().call("slow", ()).send());
    let polled = tokio::time::timeout(Duration::from_millis(10), &mut call);
    let (polled, begun) = tokio::join!(polled, begin(&mut server, ""));
    begun?;
    assert!(polled.is_err(), "it works");
    let polled = tokio::time::timeout(Duration::from_millis(10), &mut call);
    assert!(polled.await.is_err());
    drop(call);
    expect_cancel(&mut server).await?;

    // Before the call was polled.
    let mut call = client.tools().call("slow", ()).with_progress().send();
    begin(&mut server, "").await?;
    assert!(call.progress().await.is_none(), "it is a task");
    drop(call);
    expect_cancel(&mut server).await?;

    // A handle.
    let call = client.tools().call("slow", ()).send();
    let (handle, call) = (call.cancel_handle(), tokio::spawn(call));
    begin(&mut server, "").await?;
    look(&mut server, "working", "").await?;
    assert!(handle.cancel("enough"));
    assert!(!handle.cancel("enough"), "once is enough");
    expect_cancel(&mut server).await?;
    assert_eq!(call.await?.unwrap_err().kind(), ErrorKind::Cancelled);

    // Too long altogether, from the call on.
    let call = client.tools().call("slow", ());
    let call = tokio::spawn(call.max_total(Duration::from_millis(2500)).send());
    begin(&mut server, "").await?;
    look(&mut server, "working", "").await?;
    look(&mut server, "working", "").await?;
    expect_cancel(&mut server).await?;
    let error = call.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    about(error.elapsed().expect("a time"), 2500);

    // No answer to a look.
    let call = client.tools().call("slow", ());
    let call = tokio::spawn(call.timeout(Duration::from_secs(3)).send());
    begin(&mut server, "").await?;
    server.expect("tasks/get").await?;
    server
        .expect_notification("notifications/cancelled")
        .await?;
    expect_cancel(&mut server).await?;
    assert_eq!(call.await?.unwrap_err().kind(), ErrorKind::Timeout);
    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn following_goes_on_when_the_connection_is_there_again() -> Test {
    let mut config = able();
    config.connection().revisions(Revisions::only(NEW));
    let (client, mut server, mut peer) = connected_with(config, NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    begin(&mut server, "").await?;
    look(&mut server, "working", "").await?;
    // It is lost between two looks.
    server.hang_up();
    let mut server = shaken(&client, &mut peer, NEW).await?;
    look(&mut server, "working", "").await?;
    // It is lost in the middle of one, and for longer than a call may take.
    server.expect("tasks/get").await?;
    server.hang_up();
    let lost = Instant::now();
    while lost.elapsed() < Duration::from_secs(40) {
        peer.accept().await?.hang_up();
    }
    let mut server = shaken(&client, &mut peer, NEW).await?;
    look(&mut server, "completed", &result(DONE)).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_and_a_stopped_client_ends_it() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    begin(&mut server, "").await?;
    // Less and less often.
    for millis in [0, 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] {
        let since = tokio::time::Instant::now();
        let request = server.expect("tasks/get").await?;
        if millis > 0 {
            about(since.elapsed(), millis);
        }
        let busy = ErrorObject::new(-32603, "busy");
        let reason = bowline::types::JsonObject::parse(r#"{"reason":"busy"}"#)?;
        server.reply_error(&request, &busy.data(reason)).await?;
    }
    look(&mut server, "working", "").await?;
    client.stop().await;
    assert_eq!(call.await?.unwrap_err().kind(), ErrorKind::Shutdown);
    Ok(())
}

// proves: FT-12, CN-10
#[tokio::test(start_paused = true)]
async fn a_task_that_is_on_its_way_to_a_caller_who_leaves_is_cancelled() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = Arc::new(Mutex::new(Some(client.tools().call("slow", ()).send())));
    // The caller leaves while the events before its response are delivered.
    let leaving = Arc::clone(&call);
    let method = "notifications/message";
    client.notifications().on_inline(Some(method), move |_| {
        drop(leaving.lock().unwrap().take());
    });
    let request = server.expect("tools/call").await?;
    let log =
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"level":"info","data":1}}}}"#);
    let (id, begun) = (request.id(), task("task", "working", ""));
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{begun}}}"#);
    server.send_raw(format!("{log}\n{reply}\n")).await?;
    expect_cancel(&mut server).await?;
    assert!(call.lock().unwrap().is_none());
    Ok(())
}

// proves: CN-7, ER-2
#[tokio::test(start_paused = true)]
async fn a_call_that_has_become_a_task_may_have_run_however_it_ends() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = || {
        client
            .tools()
            .call("slow", ())
            .timeout(Duration::from_secs(2))
    };
    let late = call().send();
    begin(&mut server, "").await?;
    // The task is asked for, and the server doesn't answer.
    let (late, asked) = tokio::join!(late, server.expect("tasks/get"));
    asked?;
    let late = late.unwrap_err();
    assert_eq!(
        (late.kind(), late.may_have_run(), late.recovery()),
        (ErrorKind::Timeout, Some(true), Recovery::Abort)
    );

    let (client, mut server, _peer) = connected(NEW).await?;
    let stopped = client.tools().call("slow", ()).send();
    begin(&mut server, "").await?;
    let (stopped, ()) = tokio::join!(stopped, async {
        server.expect("tasks/get").await.expect("it is looked at");
        server.hang_up();
        // It waits for a connection to ask again, and has nothing under way.
        let mut changes = client.state_changes();
        while client.state() == ConnectionState::Ready {
            changes.next().await;
        }
        client.stop().await;
    });
    let stopped = stopped.unwrap_err();
    assert_eq!(
        (stopped.kind(), stopped.may_have_run()),
        (ErrorKind::Shutdown, Some(true))
    );
    Ok(())
}
