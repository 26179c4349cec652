//! Calls: each ends once, whatever happens.

use std::time::Duration;

use bowline::testing;
use bowline::types::meta::{MetaKey, RequestMeta};
use bowline::types::{ErrorObject, JsonObject};
use bowline::{Client, ConnectionState, ErrorKind, Recovery};
use tokio::time::Instant;

use crate::client::support::{
    NEW, OLD, Test, able, all_is_read, config, connected, connected_with,
};

const CANCELLED: &str = "notifications/cancelled";

// proves: FT-14, CN-7
#[tokio::test(start_paused = true)]
async fn answers_find_their_calls_in_any_order() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        let one = client.call("tools/call", r#"{"name":"one"}"#).send();
        let two = client.call("tools/call", r#"{"name":"two"}"#).send();
        let first = server.expect("tools/call").await?;
        let second = server.expect("tools/call").await?;
        assert_eq!(client.pending(), 2);
        server.reply(&second, r#"{"content":[],"n":2}"#).await?;
        server.reply(&first, r#"{"content":[],"n":1}"#).await?;
        server.reply(&first, r#"{"content":[],"n":3}"#).await?;
        assert!(two.await?.as_str().contains(r#""n":2"#));
        assert!(one.await?.as_str().contains(r#""n":1"#));
        assert_eq!(client.pending(), 0);
    }
    Ok(())
}

// proves: ER-1, ER-2
#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_keeps_its_code_and_data() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    let busy = JsonObject::parse(r#"{"reason":"busy"}"#)?;
    let error = ErrorObject::new(-32000, "later").with_data(&busy);
    server.reply_error(&request, &error).await?;
    let failure = answer.await.unwrap_err();
    assert_eq!(
        (failure.kind(), failure.operation()),
        (ErrorKind::JsonRpc, Some("tools/list"))
    );
    assert_eq!(failure.server_error(), Some(&error));
    assert_eq!(failure.recovery(), Recovery::Retry);
    Ok(())
}

// proves: CN-10, CN-11, F-CA-02
#[tokio::test(start_paused = true)]
async fn cancelling_twice_is_cancelling_once() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
        let handle = answer.cancel_handle();
        let request = server.expect("tools/call").await?;
        assert!(handle.cancel("changed my mind"));
        assert!(!handle.clone().cancel("again"));
        let error = answer.await.unwrap_err();
        assert_eq!(
            (error.kind(), error.recovery()),
            (ErrorKind::Cancelled, Recovery::Ignore)
        );
        let note = server.expect_notification(CANCELLED).await?;
        let params = note.params().as_str();
        assert!(
            params.contains(&format!(r#""requestId":{}"#, request.id())),
            "{params}"
        );
        assert!(params.contains("changed my mind"), "{params}");
        // A late response belongs to no call.
        server.reply(&request, r#"{"content":[]}"#).await?;
        all_is_read(&client, &mut server).await?;
        assert_eq!((client.stats().late_responses, client.pending()), (1, 0));
        assert!(!handle.cancel("long after"));
    }
    Ok(())
}

// proves: CN-10, F-CA-04
#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_and_leaves_nothing_behind() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let handle = answer.cancel_handle();
    let request = server.expect("tools/call").await?;
    drop(answer);
    assert_eq!(client.pending(), 0);
    assert!(!handle.cancel("it is gone"));
    server.expect_notification(CANCELLED).await?;
    server.reply(&request, r#"{"content":[]}"#).await?;
    all_is_read(&client, &mut server).await?;
    assert_eq!(client.stats().late_responses, 1);

    // One that has its answer but was not asked for it.
    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    all_is_read(&client, &mut server).await?;
    drop(answer);
    all_is_read(&client, &mut server).await?;
    Ok(())
}

// proves: CN-10, F-CA-01
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_is_never_made() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let waiting = client.call("tools/list", ()).wait_for_ready().send();
    let kept = client.call("prompts/list", ()).wait_for_ready().send();
    assert_eq!(client.pending(), 2);
    drop(waiting);
    assert_eq!(client.pending(), 1);
    let mut server = peer.accept().await?;
    server.handshake(OLD).await?;
    let request = server.expect("prompts/list").await?;
    server.reply(&request, r#"{"prompts":[]}"#).await?;
    kept.await?;
    Ok(())
}

// proves: CN-8, F-TO-01
#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out_and_is_cancelled_once() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    for (timeout, total) in [(Some(5), None), (None, Some(7)), (None, None)] {
        let mut call = client.call("tools/call", r#"{"name":"x"}"#);
        if let Some(timeout) = timeout {
            call = call.timeout(Duration::from_secs(timeout));
        }
        if let Some(total) = total {
            call = call.max_total(Duration::from_secs(total));
        }
        let expected = Duration::from_secs(timeout.or(total).unwrap_or(30));
        let began = Instant::now();
        let error = call.await.unwrap_err();
        assert_eq!(
            (error.kind(), error.operation()),
            (ErrorKind::Timeout, Some("tools/call"))
        );
        let late = Duration::from_millis(2);
        assert!(
            (expected..expected + late).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert!(error.elapsed() >= Some(expected));
        let request = server.expect("tools/call").await?;
        server.expect_notification(CANCELLED).await?;
        server.reply(&request, r#"{"content":[]}"#).await?;
    }
    all_is_read(&client, &mut server).await?;
    assert_eq!(
        (client.stats().late_responses, client.state()),
        (3, ConnectionState::Ready)
    );
    Ok(())
}

// proves: F-TO-05
#[tokio::test(start_paused = true)]
async fn extreme_timeouts_are_only_short_or_long() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    for timeout in [Duration::ZERO, Duration::from_nanos(1)] {
        let call = client.call("tools/list", ()).timeout(timeout);
        assert_eq!(call.await.unwrap_err().kind(), ErrorKind::Timeout);
    }
    let long = client.call("prompts/list", ()).timeout(Duration::MAX);
    let answer = long.max_total(Duration::MAX).send();
    loop {
        if let testing::ReceivedMessage::Request(request) = server.next().await?
            && request.method() == "prompts/list"
        {
            server.reply(&request, r#"{"prompts":[]}"#).await?;
            break;
        }
    }
    answer.await?;
    Ok(())
}

// proves: CN-18
#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_limit_is_refused_at_once() -> Test {
    let mut config = config();
    config.connection().limits().max_pending(3);
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    let mut calls: Vec<_> = (0..3)
        .map(|_| client.call("tools/list", ()).send())
        .collect();
    let error = client.call("tools/list", ()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.recovery()),
        (ErrorKind::Backpressure, Recovery::Retry)
    );
    assert_eq!(
        client.ping().await.unwrap_err().kind(),
        ErrorKind::Backpressure
    );
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    calls.remove(0).await?;
    assert_eq!(client.pending(), 2);
    drop(client.call("tools/list", ()).send());
    assert_eq!(client.pending(), 2);
    drop(calls);
    Ok(())
}

// proves: FT-14
#[tokio::test(start_paused = true)]
async fn parameters_that_are_no_object_never_leave() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    for bad in ["", "[1]", "{", r#"{"_meta":3}"#, "3"] {
        let error = client.call("tools/call", bad).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.operation()),
            (ErrorKind::InvalidParams, Some("tools/call"))
        );
        let error = client.notify("notifications/x", bad).unwrap_err();
        assert_eq!(
            (error.kind(), error.operation()),
            (ErrorKind::InvalidParams, Some("notifications/x"))
        );
    }
    assert_eq!(client.pending(), 0);
    all_is_read(&client, &mut server).await?;
    Ok(())
}

// proves: FT-14
#[tokio::test(start_paused = true)]
async fn meta_is_sent_once() -> Test {
    const TENANT: MetaKey<String> = MetaKey::new("com.example/tenant");
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        client.notify(
            "notifications/x",
            r#"{"_meta":{"com.example/tenant":"a"},"b":1}"#,
        )?;
        let note = server.expect_notification("notifications/x").await?;
        let meta = r#"{"_meta":{"com.example/tenant":"a"},"b":1}"#;
        assert_eq!(note.params().as_str(), meta);
        client.notify("notifications/y", ())?;
        server.expect_notification("notifications/y").await?;

        let in_params = r#"{"_meta":{"com.example/tenant":"a"},"name":"x"}"#;
        let meta = RequestMeta::new().with(TENANT, "b");
        let calls = [
            client.call("tools/call", in_params).send(),
            client
                .call("tools/call", in_params)
                .meta(meta)
                .with_progress()
                .send(),
        ];
        for tenant in ["a", "b"] {
            let request = server.expect("tools/call").await?;
            let params = request.params().as_str();
            assert_eq!(params.matches("_meta").count(), 1, "{params}");
            let meta = format!(r#""com.example/tenant":"{tenant}""#);
            assert!(params.contains(&meta), "{params}");
            assert_eq!(request.progress_token().is_some(), tenant == "b");
        }
        drop(calls);
    }
    Ok(())
}

/// What is between two braces may be nothing, in many ways.
#[tokio::test(start_paused = true)]
async fn parameters_that_are_blank_are_sent_as_none() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        for blank in ["{ }", "{\n}"] {
            let answer = client.call("tools/list", blank).with_progress().send();
            server.expect("tools/list").await?;
            client.notify("notifications/x", blank)?;
            server.expect_notification("notifications/x").await?;
            drop(answer);
            server
                .expect_notification("notifications/cancelled")
                .await?;
        }
    }
    Ok(())
}

// proves: FT-14
#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_are_named_with_their_tool() -> Test {
    let (client, _server, _peer) = connected(OLD).await?;
    for (arguments, kind) in [
        (serde_json::json!([1]), "an array"),
        (serde_json::json!("{}"), "a string"),
    ] {
        let error = client.tools().call("add", arguments).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                r#"tools/call: invalid parameters: the arguments of tool "add" must be a JSON object, not {kind}"#
            )
        );
        assert_ne!(error.kind(), ErrorKind::Config);
        assert_eq!(error.recovery(), Recovery::Abort);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_text_of_a_result_names_what_is_no_text() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    for (body, text, texts) in [
        (
            r#""content":[{"type":"image","data":"AAECAw==","mimeType":"image/png"}]"#,
            "[image: image/png, 4 bytes]",
            "",
        ),
        (
            r#""content":[
                {"type":"text","text":"a chart and its data"},
                {"type":"audio","data":"","mimeType":"audio/wav"},
                {"type":"resource_link","uri":"file:///a","name":"a","title":"A"},
                {"type":"resource","resource":{"uri":"file:///t","text":"embedded"}},
                {"type":"resource","resource":
                    {"uri":"file:///b","mimeType":"application/pdf","blob":"AAEC"}},
                {"type":"resource","resource":{"uri":"file:///c","blob":"AAE"}},
                {"type":"resource","resource":{"uri":"file:///d"}},
                {"type":"hologram","cubes":2},
                {"type":"text","text":"the end"}
            ]"#,
            "a chart and its data\n\
             [audio: audio/wav, 0 bytes]\n\
             [resource link: file:///a, A]\n\
             embedded\n\
             [resource: file:///b, application/pdf, 3 bytes]\n\
             [resource: file:///c, 2 bytes]\n\
             [resource: unknown contents]\n\
             [unknown content: hologram]\n\
             the end",
            "a chart and its data|the end",
        ),
        (
            r#""content":[],"structuredContent":{"sum":5}"#,
            r#"{"sum":5}"#,
            "",
        ),
        (r#""content":[{"no":"type"}]"#, "[unknown content]", ""),
        (r#""content":[]"#, "", ""),
    ] {
        let call = client.tools().call("show", ()).send();
        let request = server.expect("tools/call").await?;
        let body = format!(r#"{{"resultType":"complete",{body}}}"#);
        server
            .reply(&request, body.replace('\n', "").as_str())
            .await?;
        let result = call.await?;
        assert_eq!(result.text(), text);
        assert_eq!(result.texts().collect::<Vec<_>>().join("|"), texts);
    }
    Ok(())
}
