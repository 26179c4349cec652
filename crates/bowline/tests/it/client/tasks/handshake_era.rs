//! 2025-11-25: the client asks for tasks.

use std::time::Duration;

use bowline::ErrorKind;
use bowline::testing::{Conversation, ReceivedRequest, Unexpected};
use bowline::types::elicitation::ElicitResult;
use bowline::types::{ErrorObject, Map, Revision};

use super::{
    able, about, connected, connected_with, expect_cancel, hello, old_look, old_task, shaken,
};
use crate::client::support::{OLD, Test, all_is_read};

const DONE: &str = r#"{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}"#;

/// Answers the next call with a task.
async fn begin(server: &mut Conversation) -> Result<ReceivedRequest, Unexpected> {
    let request = server.expect("tools/call").await?;
    let begun = old_task("working", r#","pollInterval":200"#);
    server
        .reply(&request, format!(r#"{{"task":{begun}}}"#))
        .await?;
    Ok(request)
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_that_was_asked_for_is_followed_and_its_result_fetched() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = client.tools().call("slow", ());
    let call = call.as_task(Some(Duration::from_secs(60)));
    let call = tokio::spawn(call.send());
    let request = begin(&mut server).await?;
    let params = request.params().as_str();
    assert!(params.contains(r#""task":{"ttl":60000}"#), "{params}");
    about(
        old_look(&mut server, "working", r#","pollInterval":0"#).await?,
        200,
    );
    about(old_look(&mut server, "completed", "").await?, 50);
    let request = server.expect("tasks/result").await?;
    server.reply(&request, DONE).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_that_asks_is_waited_for_while_its_questions_are_answered() -> Test {
    let mut config = able();
    config.elicitation(|_| async { Ok(ElicitResult::accept([("name", "Ann")])) });
    let (client, mut server, mut peer) = connected_with(config, OLD).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).as_task(None).send());
    begin(&mut server).await?;
    old_look(&mut server, "input_required", "").await?;
    let request = server.expect("tasks/result").await?;
    let question = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}"#;
    let reply = server.request("elicitation/create", question).await?;
    assert!(reply.is_ok_and(|reply| reply.as_str().contains("Ann")));
    // Longer than a call may take without an answer: it is the task that takes the time.
    tokio::time::sleep(Duration::from_secs(120)).await;
    server.reply(&request, DONE).await?;
    assert_eq!(call.await??.text(), "done");

    // The connection is lost meanwhile.
    let call = tokio::spawn(client.tools().call("slow", ()).as_task(None).send());
    begin(&mut server).await?;
    old_look(&mut server, "input_required", "").await?;
    server.expect("tasks/result").await?;
    server.hang_up();
    let mut server = shaken(&client, &mut peer, OLD).await?;
    let request = server.expect("tasks/result").await?;
    server.reply(&request, DONE).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn the_result_of_a_completed_task_is_fetched_on_the_next_connection() -> Test {
    for status in ["completed", "failed"] {
        let (client, mut server, mut peer) = connected(OLD).await?;
        let call = tokio::spawn(client.tools().call("slow", ()).as_task(None).send());
        begin(&mut server).await?;
        old_look(&mut server, status, "").await?;
        server.hang_up();
        let mut server = shaken(&client, &mut peer, OLD).await?;
        let request = server.expect("tasks/result").await?;
        server.reply(&request, DONE).await?;
        assert_eq!(call.await??.text(), "done");
    }
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn the_end_of_a_task_is_reported() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = || tokio::spawn(client.tools().call("slow", ()).as_task(None).send());
    // TK-10: the tool failed, or the request did.
    let failed = call();
    begin(&mut server).await?;
    old_look(&mut server, "failed", "").await?;
    let request = server.expect("tasks/result").await?;
    let failure = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    server.reply(&request, failure).await?;
    assert!(failed.await??.is_failure());

    let failed = call();
    begin(&mut server).await?;
    old_look(&mut server, "failed", "").await?;
    let request = server.expect("tasks/result").await?;
    let error = ErrorObject::new(-32000, "broken");
    server.reply_error(&request, &error).await?;
    let error = failed.await?.unwrap_err();
    assert_eq!(error.server_error().map(|error| error.code), Some(-32000));

    // TK-9: these may be the words of the task, which are not asked for without end.
    let failed = call();
    begin(&mut server).await?;
    old_look(&mut server, "failed", "").await?;
    let mut busy = ErrorObject::new(-32603, "busy");
    busy.data = Some(bowline::types::RawJson::parse(r#"{"reason":"busy"}"#)?);
    for _ in 0..3 {
        let request = server.expect("tasks/result").await?;
        server.reply_error(&request, &busy).await?;
    }
    let error = failed.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JsonRpc);

    let cancelled = call();
    begin(&mut server).await?;
    old_look(&mut server, "cancelled", "").await?;
    assert_eq!(cancelled.await?.unwrap_err().kind(), ErrorKind::Cancelled);

    // It is gone: its time is over, or the server was begun again.
    let gone = call();
    begin(&mut server).await?;
    let request = server.expect("tasks/get").await?;
    let unknown = ErrorObject::new(-32602, "no such task");
    server.reply_error(&request, &unknown).await?;
    assert_eq!(gone.await?.unwrap_err().kind(), ErrorKind::JsonRpc);

    // A server that answers at once.
    let quick = call();
    let request = server.expect("tools/call").await?;
    server.reply(&request, DONE).await?;
    assert_eq!(quick.await??.text(), "done");

    // The result is no longer needed.
    let dropped = call();
    begin(&mut server).await?;
    old_look(&mut server, "working", "").await?;
    dropped.abort();
    expect_cancel(&mut server).await?;
    Ok(())
}

/// Lets the client learn what the tools say of tasks.
async fn list(client: &bowline::Client, server: &mut Conversation) -> Test {
    let listing = tokio::spawn(client.tools().list().send());
    let request = server.expect("tools/list").await?;
    let tools = r#"{"tools":[
        {"name":"must","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
        {"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
        {"name":"plain","inputSchema":{"type":"object"}}]}"#;
    server.reply(&request, tools).await?;
    listing.await??;
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn the_declared_task_support_of_a_tool_is_respected() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    list(&client, &mut server).await?;
    for (name, asks, starts) in [
        ("must", true, true),
        ("may", false, true),
        ("plain", false, false),
    ] {
        let call = tokio::spawn(client.tools().call(name, ()).send());
        let request = server.expect("tools/call").await?;
        let params = request.params().as_str();
        assert_eq!(params.contains(r#""task":{}"#), asks, "{params}");
        server.reply(&request, DONE).await?;
        call.await??;

        let (started, request) = tokio::join!(client.tools().call(name, ()).start_task(), async {
            let request = server.expect("tools/call").await?;
            server.reply(&request, DONE).await?;
            Ok::<_, Unexpected>(request)
        });
        let (request, _) = (request?, started?);
        let params = request.params().as_str();
        assert_eq!(params.contains(r#""task":{}"#), starts, "{params}");
    }
    let forbidden = client.tools().call("plain", ()).as_task(None).await;
    let error = forbidden.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert!(error.to_string().contains("plain"), "{error}");
    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

// proves: FT-12, CN-26
#[tokio::test(start_paused = true)]
async fn a_tool_that_came_with_a_change_may_run_as_a_task() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    list(&client, &mut server).await?;
    server
        .notify("notifications/tools/list_changed", ())
        .await?;
    all_is_read(&client, &mut server).await?;
    let call = tokio::spawn(client.tools().call("new", ()).as_task(None).send());
    begin(&mut server).await?;
    old_look(&mut server, "completed", "").await?;
    let request = server.expect("tasks/result").await?;
    server.reply(&request, DONE).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_unlisted_tool_is_listed_before_a_task_is_requested() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    for is_known in [false, true] {
        let call = client.tools().call("plain", ()).start_task();
        let (started, request) = tokio::join!(call, async {
            if !is_known {
                let request = server.expect("tools/list").await?;
                let tools = r#"{"tools":[{"name":"plain","inputSchema":{"type":"object"}}]}"#;
                server.reply(&request, tools).await?;
            }
            let request = server.expect("tools/call").await?;
            server.reply(&request, DONE).await?;
            Ok::<_, Unexpected>(request)
        });
        let (request, started) = (request?, started?);
        let params = request.params().as_str();
        assert!(!params.contains(r#""task""#), "{params}");
        assert_eq!(started.wait().await?.text(), "done");
    }
    Ok(())
}

// proves: FT-12, PV-5
#[tokio::test(start_paused = true)]
async fn a_server_or_a_revision_without_tasks_is_not_asked_for_one() -> Test {
    let (transport, mut peer) = bowline::testing::peer();
    let client = bowline::Client::start(transport, able());
    let mut server = peer.accept().await?;
    let mut bare = hello(OLD);
    let tools = bowline::types::capabilities::ToolsCapability::new();
    bare.capabilities(bowline::types::capabilities::ServerCapabilities::new().tools(tools));
    server.handshake(bare).await?;
    client.ready().await?;
    let error = client.tools().call("slow", ()).as_task(None).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert!(error.to_string().contains("tasks.requests"), "{error}");
    let tasks = client.tasks();
    for error in [
        tasks.get("t1").await.unwrap_err(),
        tasks.result("t1").await.unwrap_err(),
        tasks.cancel("t1").await.unwrap_err(),
        tasks.list().await.unwrap_err(),
        tasks.update("t1", Map::new()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported, "{error}");
    }

    let (client, mut server, _peer) = connected(Revision::V2025_06_18).await?;
    let error = client.tools().call("slow", ()).as_task(None).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert!(error.to_string().contains("2025-11-25"), "{error}");
    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

#[cfg(feature = "validate")]
#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_checked_unless_its_call_was_not_to_be() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let listing = client.clone();
    let listing = tokio::spawn(async move { listing.tools().list_all().await });
    let request = server.expect("tools/list").await?;
    let tool = r#"{"name":"slow","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}"#;
    server
        .reply(&request, format!(r#"{{"tools":[{tool}]}}"#))
        .await?;
    listing.await??;
    for is_checked in [true, false] {
        let calling = client.clone();
        let started = tokio::spawn(async move {
            let call = calling.tools().call("slow", ());
            if is_checked {
                call.start_task().await
            } else {
                call.without_output_validation().start_task().await
            }
        });
        begin(&mut server).await?;
        let started = started.await??;
        // It is held to what was known when its call was made.
        let changed = "notifications/tools/list_changed";
        server.notify(changed, ()).await?;
        let result = tokio::spawn(started.wait());
        old_look(&mut server, "completed", "").await?;
        let request = server.expect("tasks/result").await?;
        server.reply(&request, DONE).await?;
        match result.await? {
            Ok(result) => assert!(!is_checked, "{result:?}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
                assert!(is_checked);
            }
        }
    }
    Ok(())
}

// proves: FT-9, FT-12
#[tokio::test(start_paused = true)]
async fn progress_goes_on_until_the_task_has_ended() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let call = client.tools().call("slow", ()).as_task(None);
    let call = call.on_progress(move |report| {
        let _ = sender.send(report.progress.as_i64());
    });
    let call = tokio::spawn(call.send());
    let request = server.expect("tools/call").await?;
    server.report_progress(&request, 1).await?;
    let begun = old_task("working", "");
    let begun = format!(r#"{{"task":{begun}}}"#);
    server.reply(&request, begun).await?;
    for number in 2..=4 {
        server.report_progress(&request, number).await?;
    }
    for number in 1..=4 {
        assert_eq!(reports.recv().await, Some(Some(number)));
    }
    old_look(&mut server, "working", "").await?;
    server.report_progress(&request, 5).await?;
    old_look(&mut server, "completed", "").await?;
    let result = server.expect("tasks/result").await?;
    server.report_progress(&request, 6).await?;
    server.reply(&result, DONE).await?;
    assert_eq!(call.await??.text(), "done");
    for number in 5..=6 {
        assert_eq!(reports.recv().await, Some(Some(number)));
    }
    assert_eq!(reports.recv().await, None, "the callback is gone");

    // No caller waits any more: progress is only counted.
    server.report_progress(&request, 7).await?;
    all_is_read(&client, &mut server).await?;
    assert_eq!(client.stats().unmatched_notifications, 1);
    Ok(())
}

// proves: FT-9, FT-12
#[tokio::test(start_paused = true)]
async fn progress_of_a_dropped_task_is_not_delivered() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    for is_started in [true, false] {
        let call = client.tools().call("slow", ()).as_task(None);
        let call = call.on_progress(|_| panic!("it was given up"));
        let before = client.stats().unmatched_notifications;
        let request = if is_started {
            let (started, request) = tokio::join!(call.start_task(), begin(&mut server));
            started?;
            request?
        } else {
            let call = tokio::spawn(call.send());
            let request = begin(&mut server).await?;
            old_look(&mut server, "working", "").await?;
            call.abort();
            expect_cancel(&mut server).await?;
            request
        };
        server.report_progress(&request, 1).await?;
        all_is_read(&client, &mut server).await?;
        assert_eq!(client.stats().unmatched_notifications, before + 1);
    }
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_whose_list_of_tools_does_not_come_was_not_sent() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = client.tools().call("slow", ());
    let call = call.timeout(Duration::from_secs(2)).start_task();
    let (started, asked) = tokio::join!(call, server.expect("tools/list"));
    asked?;
    let error = started.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::Timeout, Some(false))
    );
    Ok(())
}
