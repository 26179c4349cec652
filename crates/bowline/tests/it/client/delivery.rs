//! Errors of calls: whether the server may have executed them.

use std::time::Duration;

use bowline::client::Retry;
use bowline::testing;
use bowline::{Client, ConnectionState, Error, ErrorKind, Recovery};
use tokio::sync::mpsc;

use crate::client::support::{NEW, OLD, Test, able, able_again, config, connected, connected_with};

/// What an error knows of its call.
fn facts(error: &Error) -> (ErrorKind, Option<bool>, Recovery) {
    (error.kind(), error.may_have_run(), error.recovery())
}

const CANCEL: &str = "notifications/cancelled";

/// As long as a test waits for what doesn't come.
const SHORT: Duration = Duration::from_millis(400);

#[cfg(unix)]
mod processes {
    use bowline::transport::ChildProcess;

    use super::*;

    fn shell(script: &str) -> Client {
        let server = ChildProcess::new("/bin/sh").args(["-c", script]);
        Client::start(server, config())
    }

    // proves: CN-7, ER-2
    #[tokio::test]
    async fn a_call_to_a_server_that_crashes_at_start_has_not_run() {
        let client = shell("exit 3");
        let waiting = client.call("tools/call", r#"{"name":"pay"}"#);
        let waiting = waiting.wait_for_ready().timeout(SHORT).send();
        let error = waiting.await.unwrap_err();
        let not_sent = (ErrorKind::Timeout, Some(false), Recovery::Retry);
        assert_eq!(facts(&error), not_sent, "{error}");

        let error = client.call("tools/call", r#"{"name":"pay"}"#).await;
        let error = error.unwrap_err();
        let unavailable = (ErrorKind::Unavailable, Some(false), Recovery::Reconnect);
        assert_eq!(facts(&error), unavailable, "{error}");
        let error = client.ping().await.unwrap_err();
        assert_eq!(facts(&error), unavailable, "{error}");
        client.stop().await;
    }

    // proves: CN-7, ER-2
    #[tokio::test]
    async fn a_call_that_a_process_has_read_and_not_answered_may_have_run() {
        let answer = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
        // The first line of each session is `initialize`; a newer one is refused.
        let script = format!(
            r#"while read -r line; do
                id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
                case $line in
                *server/discover*) echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{{\"code\":-32601,\"message\":\"?\"}}}}";;
                *initialize\"*) printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" '{answer}';;
                esac
            done"#
        );
        let client = shell(&script);
        client.ready().await.expect("it answers the handshake");
        let call = || {
            client
                .call("tools/call", r#"{"name":"pay"}"#)
                .timeout(SHORT)
        };
        let error = call().await.unwrap_err();
        let may_have_run = (ErrorKind::Timeout, Some(true), Recovery::Abort);
        assert_eq!(facts(&error), may_have_run, "{error}");
        // Its caller has declared that it may be made twice.
        let error = call().retry(Retry::Idempotent).await.unwrap_err();
        let repeatable = (ErrorKind::Timeout, Some(true), Recovery::Retry);
        assert_eq!(facts(&error), repeatable, "{error}");
        client.stop().await;
    }
}

// proves: CN-7, F-CA-01
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_connection_has_not_run_however_it_ends() -> Test {
    let (transport, _peer) = testing::peer();
    let client = Client::start(transport, config());
    let wait = || {
        client
            .call("tools/call", r#"{"name":"x"}"#)
            .wait_for_ready()
    };
    let cancelled = wait().send();
    assert!(cancelled.cancel_handle().cancel("changed my mind"));
    let cancelled = cancelled.await.unwrap_err();
    let expected = (ErrorKind::Cancelled, Some(false), Recovery::Ignore);
    assert_eq!(facts(&cancelled), expected);
    let late = wait().timeout(SHORT).await.unwrap_err();
    assert_eq!(
        facts(&late),
        (ErrorKind::Timeout, Some(false), Recovery::Retry)
    );
    let stopped = wait().send();
    client.stop().await;
    let expected = (ErrorKind::Shutdown, Some(false), Recovery::Abort);
    assert_eq!(facts(&stopped.await.unwrap_err()), expected);
    assert_eq!(facts(&wait().await.unwrap_err()), expected);
    Ok(())
}

// proves: CN-7, CN-23
#[tokio::test(start_paused = true)]
async fn a_call_that_was_sent_may_have_run_however_it_ends() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        let call = || client.call("tools/call", r#"{"name":"x"}"#);
        let cancelled = call().send();
        server.expect("tools/call").await?;
        assert!(cancelled.cancel_handle().cancel("changed my mind"));
        let cancelled = cancelled.await.unwrap_err();
        let expected = (ErrorKind::Cancelled, Some(true), Recovery::Ignore);
        assert_eq!(facts(&cancelled), expected);
        server.expect_notification(CANCEL).await?;
        let late = call().timeout(SHORT).send();
        server.expect("tools/call").await?;
        let late = late.await.unwrap_err();
        assert_eq!(
            facts(&late),
            (ErrorKind::Timeout, Some(true), Recovery::Abort)
        );
        server.expect_notification(CANCEL).await?;
        let stopped = call().send();
        server.expect("tools/call").await?;
        client.stop().await;
        let expected = (ErrorKind::Shutdown, Some(true), Recovery::Abort);
        assert_eq!(facts(&stopped.await.unwrap_err()), expected);
    }
    Ok(())
}

// proves: CN-7, CN-23
#[tokio::test(start_paused = true)]
async fn a_call_that_no_transport_has_taken_has_not_run() -> Test {
    // More than the stream holds: what comes after it doesn't leave.
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(300_000));
    for is_stopped in [false, true] {
        let (client, _server, _peer) = connected(OLD).await?;
        let partly = client.call("tools/call", long.as_str()).send();
        tokio::task::yield_now().await;
        let queued = client.call("tools/call", r#"{"name":"x"}"#);
        let queued = queued.timeout(SHORT).send();
        tokio::task::yield_now().await;
        let kind = if is_stopped {
            client.stop().await;
            ErrorKind::Shutdown
        } else {
            ErrorKind::Timeout
        };
        let queued = queued.await.unwrap_err();
        assert_eq!((queued.kind(), queued.may_have_run()), (kind, Some(false)));
        client.stop().await;
        let partly = partly.await.unwrap_err();
        let expected = (ErrorKind::Shutdown, Some(true));
        assert_eq!((partly.kind(), partly.may_have_run()), expected);
    }
    Ok(())
}

// proves: CN-18, ER-1
#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_has_not_run() -> Test {
    let mut config = config();
    config.connection().limits().max_pending(1);
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    let first = client.call("tools/call", ()).send();
    server.expect("tools/call").await?;
    let call = |params: &str| client.call("tools/call", params).send();
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(17 << 20));
    let undeclared = client.prompts().list().await.unwrap_err();
    let refused = [
        (ErrorKind::Backpressure, call(r#"{"name":"x"}"#).await),
        (ErrorKind::InvalidParams, call("[1]").await),
    ];
    for (kind, ended) in refused {
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (kind, Some(false)));
    }
    let expected = (ErrorKind::CapabilityNotSupported, Some(false));
    assert_eq!((undeclared.kind(), undeclared.may_have_run()), expected);
    drop(first);
    let error = call(&large).await.unwrap_err();
    let expected = (ErrorKind::OversizedFrame, Some(false));
    assert_eq!((error.kind(), error.may_have_run()), expected);
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn a_call_whose_round_was_answered_may_have_run() -> Test {
    let (asked, mut is_asked) = mpsc::unbounded_channel();
    let mut config = config();
    config.on_raw_request("elicitation/create", move |_| {
        let asked = asked.clone();
        async move {
            asked.send(()).expect("the test listens");
            std::future::pending().await
        }
    });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let cancel = answer.cancel_handle();
    let request = server.expect("tools/call").await?;
    let asks = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}"#;
    server.reply(&request, asks).await?;
    is_asked.recv().await.expect("the handler runs");
    assert!(cancel.cancel("changed my mind"));
    let error = answer.await.unwrap_err();
    let expected = (ErrorKind::Cancelled, Some(true), Recovery::Ignore);
    assert_eq!(facts(&error), expected);
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_of_several_attempts_may_have_run_if_one_of_them_may() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let answer = call.retry(Retry::Idempotent).send();
    server.expect("tools/call").await?;
    server.hang_up();
    // It waits for the next connection, to which it is never given.
    let mut states = client.state_changes();
    while client.state() == ConnectionState::Ready {
        states.next().await;
    }
    client.stop().await;
    let error = answer.await.unwrap_err();
    let expected = (ErrorKind::Shutdown, Some(true), Recovery::Abort);
    assert_eq!(facts(&error), expected);
    Ok(())
}

// proves: ER-1
#[tokio::test(start_paused = true)]
async fn an_answered_call_reports_whether_it_may_have_run() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    for (result, kind) in [
        (r#"{"content":7}"#, ErrorKind::InvalidResponse),
        (r#"{"content":[],"isError":true}"#, ErrorKind::Tool),
    ] {
        let answer = client.tools().call("x", ()).send();
        let request = server.expect("tools/call").await?;
        server.reply(&request, result).await?;
        let error = match answer.await {
            Ok(result) => result.into_result().map(|_| ()).unwrap_err(),
            Err(error) => error,
        };
        assert_eq!((error.kind(), error.may_have_run()), (kind, Some(true)));
    }
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    let refusal = bowline::types::ErrorObject::new(-32602, "no tool named x");
    server.reply_error(&request, &refusal).await?;
    let error = answer.await.unwrap_err();
    // The error of the server is more precise than what the core knows.
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::JsonRpc, None)
    );
    Ok(())
}

// proves: CN-7, ER-2
#[tokio::test(start_paused = true)]
async fn a_list_reports_whether_a_request_was_sent() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let list = || client.tools().list_all().wait_for_ready().timeout(SHORT);
    let error = list().await.unwrap_err();
    let not_sent = (ErrorKind::Timeout, Some(false), Recovery::Retry);
    assert_eq!(facts(&error), not_sent);

    let mut server = able_again(&client, &mut peer, OLD).await?;
    let (error, asked) = tokio::join!(list(), server.expect("tools/list"));
    asked?;
    // It only reads.
    let asked = (ErrorKind::Timeout, Some(true), Recovery::Retry);
    assert_eq!(facts(&error.unwrap_err()), asked);
    Ok(())
}
