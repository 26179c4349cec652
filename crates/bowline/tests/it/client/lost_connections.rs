//! What becomes of calls when a connection is lost.

use std::time::Duration;

use bowline::client::Retry;
use bowline::{ConnectionState, ErrorKind, Recovery};

use crate::client::support::{NEW, OLD, Test, again, config, connected, connected_with};

// proves: CN-5, CN-6
#[tokio::test(start_paused = true)]
async fn a_lost_connection_fails_its_calls_at_once_and_comes_back() -> Test {
    let (client, mut server, mut peer) = connected(NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    server.expect("tools/call").await?;
    let began = tokio::time::Instant::now();
    server.hang_up();
    let error = answer.await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(
        (error.kind(), error.recovery()),
        (ErrorKind::TransportDown, Recovery::Reconnect)
    );
    assert_eq!(error.may_have_run(), Some(true));
    assert!(
        error.to_string().contains("the peer closed the stream"),
        "{error}"
    );

    let error = client.call("tools/list", ()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.state()),
        (ErrorKind::Unavailable, Some(ConnectionState::Backoff))
    );
    assert!(error.next_attempt() > Some(Duration::ZERO));
    let error = client.notify("notifications/x", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);

    let patient = client.call("tools/list", ()).wait_for_ready().send();
    let mut server = again(&client, &mut peer, NEW).await?;
    let request = server.expect("tools/list").await?;
    server
        .reply(&request, r#"{"resultType":"complete","tools":[]}"#)
        .await?;
    patient.await?;
    assert_eq!(client.session(), 2);
    Ok(())
}

// proves: CN-6
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_connection_keeps_its_timeout() -> Test {
    let (client, server, _peer) = connected(NEW).await?;
    server.hang_up();
    let call = client.call("tools/list", ()).wait_for_ready();
    let error = call.timeout(Duration::from_secs(3)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(client.pending(), 0);
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_is_made_again_only_if_it_is_idempotent() -> Test {
    let (client, mut server, mut peer) = connected(OLD).await?;
    let once = client.call("tools/call", r#"{"name":"once"}"#);
    let once = once.retry(Retry::NotSent).send();
    server.expect("tools/call").await?;
    let any = client.call("tools/call", r#"{"name":"any"}"#);
    let any = any.retry(Retry::Idempotent).send();
    let first = server.expect("tools/call").await?;
    server.hang_up();
    let error = once.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::TransportDown, Some(true))
    );
    let mut server = again(&client, &mut peer, OLD).await?;
    let second = server.expect("tools/call").await?;
    assert_ne!(first.id(), second.id());
    assert!(second.params().as_str().contains("any"));
    server.reply(&second, r#"{"content":[]}"#).await?;
    any.await?;
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_that_did_not_leave_is_made_again_if_it_may() -> Test {
    let (client, server, mut peer) = connected(OLD).await?;
    // More than the stream holds: what comes after it doesn't leave.
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(300_000));
    let long = client.call("tools/call", long).send();
    tokio::task::yield_now().await;
    let waits = client.call("tools/list", ()).retry(Retry::NotSent).send();
    let fails = client.call("prompts/list", ()).send();
    tokio::task::yield_now().await;
    server.hang_up();
    assert_eq!(long.await.unwrap_err().may_have_run(), Some(true));
    let error = fails.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::TransportDown, Some(false))
    );
    let mut server = again(&client, &mut peer, OLD).await?;
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    waits.await?;
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_as_often_as_configured() -> Test {
    let mut config = config();
    config.link().max_retries(2);
    let (client, mut server, mut peer) = connected_with(config, OLD).await?;
    let call = client.call("tools/list", ()).retry(Retry::Idempotent);
    let answer = call.timeout(Duration::from_secs(600)).send();
    for process in 1.. {
        server.expect("tools/list").await?;
        server.hang_up();
        if process == 3 {
            break;
        }
        server = again(&client, &mut peer, OLD).await?;
    }
    let error = answer.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::TransportDown, Some(true))
    );
    Ok(())
}
