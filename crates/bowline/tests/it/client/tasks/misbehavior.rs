//! Odd servers.

use std::time::Duration;

use bowline::ErrorKind;
use bowline::types::Revision;
use bowline::types::elicitation::ElicitResult;

use super::{
    DONE, able, about, begin, connected, connected_with, expect_cancel, look, old_task, task,
};
use crate::client::support::{NEW, OLD, Test, config};

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_interval_of_nothing_or_less_is_no_loop() -> Test {
    for interval in ["0", "-5", "-9007199254740991", "1"] {
        let (client, mut server, _peer) = connected(NEW).await?;
        let call = tokio::spawn(client.tools().call("slow", ()).send());
        let more = format!(r#","pollIntervalMs":{interval}"#);
        begin(&mut server, &more).await?;
        for _ in 0..3 {
            about(look(&mut server, "working", &more).await?, 50);
        }
        call.abort();
    }
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_interval_of_a_million_years_is_an_hour() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    server.timeout(Duration::from_secs(100_000));
    let call = client.tools().call("slow", ());
    let day = Duration::from_secs(24 * 60 * 60);
    let call = tokio::spawn(call.max_total(day).send());
    begin(&mut server, r#","pollIntervalMs":9007199254740991"#).await?;
    let done = format!(r#","result":{DONE}"#);
    about(look(&mut server, "completed", &done).await?, 3_600_000);
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_unknown_status_does_not_end_a_task() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    let request = server.expect("tools/call").await?;
    server.reply(&request, task("task", "thinking", "")).await?;
    look(&mut server, "dreaming", "").await?;
    look(&mut server, "completed", &format!(r#","result":{DONE}"#)).await?;
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn an_end_without_what_it_brings_is_invalid() -> Test {
    for (status, more) in [
        ("completed", ""),
        ("failed", ""),
        ("completed", r#","result":{"content":5}"#),
        (
            "completed",
            r#","result":{"resultType":"task","content":[]}"#,
        ),
    ] {
        let (client, mut server, _peer) = connected(NEW).await?;
        let call = tokio::spawn(client.tools().call("slow", ()).send());
        begin(&mut server, "").await?;
        look(&mut server, status, more).await?;
        let error = call.await?.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        client.stop().await;
        server.expect_end().await?;
    }
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_that_has_ended_already_is_fetched_at_once() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    let request = server.expect("tools/call").await?;
    server
        .reply(&request, task("task", "completed", ""))
        .await?;
    let done = format!(r#","result":{DONE}"#);
    about(look(&mut server, "completed", &done).await?, 0);
    assert_eq!(call.await??.text(), "done");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_on_another_method_or_not_requested_is_invalid() -> Test {
    // TX-4.
    let (client, mut server, _peer) = connected(NEW).await?;
    let read = tokio::spawn(client.resources().read("file:///a").send());
    let request = server.expect("resources/read").await?;
    server.reply(&request, task("task", "working", "")).await?;
    let error = read.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");

    // A client that has not declared the extension.
    let (client, mut server, _peer) = connected_with(config(), NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    begin(&mut server, "").await?;
    let error = call.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");

    // 2025-11-25, where the client asks.
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    let request = server.expect("tools/call").await?;
    let begun = format!(r#"{{"task":{}}}"#, old_task("working", ""));
    server.reply(&request, begun).await?;
    let error = call.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    assert!(error.to_string().contains("not requested"), "{error}");
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_task_that_asks_without_end_is_given_up() -> Test {
    let mut config = able();
    config.elicitation(|_| async { Ok(ElicitResult::decline()) });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let call = tokio::spawn(client.tools().call("slow", ()).send());
    begin(&mut server, "").await?;
    let question = r#"{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    for number in 0..101 {
        let asks = format!(r#","inputRequests":{{"{number}":{question}}}"#);
        look(&mut server, "input_required", &asks).await?;
        if number < 100 {
            let update = server.expect("tasks/update").await?;
            let done = r#"{"resultType":"complete"}"#;
            server.reply(&update, done).await?;
        }
    }
    expect_cancel(&mut server).await?;
    assert_eq!(call.await?.unwrap_err().kind(), ErrorKind::Protocol);
    Ok(())
}

// proves: FT-12
#[tokio::test(start_paused = true)]
async fn a_server_of_another_revision_that_takes_the_place_has_no_tasks() -> Test {
    let (client, mut server, mut peer) = connected(OLD).await?;
    let call = client.tools().call("slow", ()).as_task(None);
    let call = tokio::spawn(call.send());
    let request = server.expect("tools/call").await?;
    let begun = format!(r#"{{"task":{}}}"#, old_task("working", ""));
    server.reply(&request, begun).await?;
    server.hang_up();
    let _server = super::shaken(&client, &mut peer, Revision::V2025_06_18).await?;
    let error = call.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported, "{error}");
    assert!(error.to_string().contains("2025-11-25"), "{error}");
    Ok(())
}
