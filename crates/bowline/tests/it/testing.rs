//! The scripted peer follows the test, and reports unexpected messages.

// proves: MO-3

use std::time::Duration;

use bowline::testing::{self, Conversation, Handshake, Peer, ReceivedMessage, Side, Unexpected};
use bowline::types::common::Implementation;
use bowline::types::progress::ProgressParams;
use bowline::types::{ErrorObject, Revision, Revisions};
use bowline::{Client, ClientConfig, ConnectionState, ErrorKind};

type Test = Result<(), Box<dyn std::error::Error>>;

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("client", "1"))
}

async fn connected(revision: Revision) -> Result<(Client, Conversation, Peer), Unexpected> {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let mut server = peer.accept().await?;
    server.handshake(revision).await?;
    client.ready().await.expect("the handshake is done");
    Ok((client, server, peer))
}

#[tokio::test(start_paused = true)]
async fn a_handshake_is_answered_in_every_revision() -> Test {
    for revision in Revisions::ALL.iter() {
        let (transport, mut peer) = testing::peer();
        let client = Client::start(transport, config());
        let mut server = peer.accept().await?;
        let mut handshake = Handshake::new(revision);
        handshake.server_info(Implementation::new("files", "3"));
        handshake.instructions("read first");
        server.handshake(handshake).await?;
        client.ready().await?;
        assert_eq!(client.revision(), Some(revision));
        assert_eq!(
            client.server_info().map(|info| info.name).as_deref(),
            Some("files")
        );
        let agreement = client.agreement().expect("the client is ready");
        assert_eq!(agreement.instructions.as_deref(), Some("read first"));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn all_messages_of_the_server_arrive() -> Test {
    let (client, mut server, _peer) = connected(Revision::V2025_11_25).await?;
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let mut answer = call.with_progress().send();
    let request = server.expect("tools/call").await?;
    assert_eq!(
        (request.method(), request.id().as_i64().is_some()),
        ("tools/call", true)
    );
    server.report_progress(&request, 1).await?;
    assert!(answer.progress().await.is_some());
    server.reply(&request, "{\n\"content\":[]}").await?;
    assert_eq!(answer.await?.as_str(), r#"{ "content":[]}"#);

    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    server
        .reply_error(&request, &ErrorObject::new(-32000, "no"))
        .await?;
    assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::JsonRpc);

    assert!(server.request("ping", ()).await?.is_ok());
    let rejected = server.request("unknown/method", "{}").await?.unwrap_err();
    assert_eq!(rejected.code, -32601);

    client.notify("notifications/roots/list_changed", ())?;
    let notification = server
        .expect_notification("notifications/roots/list_changed")
        .await?;
    assert_eq!(notification.params().as_str(), "{}");

    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_unexpected_message_is_reported_with_the_transcript() -> Test {
    let (client, mut server, _peer) = connected(Revision::LATEST).await?;
    let _answer = client.call("tools/list", ()).send();
    let unexpected = server.expect("tools/call").await.unwrap_err();
    assert_eq!(unexpected.expected(), "the request tools/call");
    assert_eq!(unexpected.actual(), "received the request tools/list");
    let lines = unexpected.transcript();
    assert_eq!(lines.len(), 3, "{unexpected}");
    assert_eq!((lines[0].side, lines[1].side), (Side::Client, Side::Server));
    let message = unexpected.to_string();
    assert!(message.contains("server/discover") && message.contains("tools/list"));
    assert_eq!(message, format!("{unexpected:?}"));
    assert_eq!(server.transcript(), lines);

    server.timeout(Duration::from_secs(2));
    let silent = server.expect("tools/call").await.unwrap_err();
    assert_eq!(silent.actual(), "received no message within 2s");
    let bad = server
        .notify("notifications/message", "{")
        .await
        .unwrap_err();
    assert!(bad.expected().contains("parameters"), "{bad}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_peer_waits_for_a_stream_until_its_timeout() -> Test {
    let (transport, mut peer) = testing::peer();
    peer.timeout(Duration::from_secs(1));
    let timed_out = peer.accept().await.unwrap_err();
    assert!(
        timed_out.to_string().contains("no stream within 1s"),
        "{timed_out}"
    );
    drop(transport);
    let gone = peer.accept().await.unwrap_err();
    assert!(
        gone.to_string().contains("the client was dropped"),
        "{gone}"
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_reconnects_after_the_server_hangs_up() -> Test {
    let (client, mut server, mut peer) = connected(Revision::LATEST).await?;
    let answer = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    server.hang_up();
    assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::TransportDown);
    let mut server = peer.accept().await?;
    server.handshake(Revision::LATEST).await?;
    client.ready().await?;
    assert_eq!(
        (client.session(), client.state()),
        (2, ConnectionState::Ready)
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn raw_bytes_are_sent_as_they_are() -> Test {
    let (client, mut server, _peer) = connected(Revision::LATEST).await?;
    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    server.send_raw(b"nonsense\n").await?;
    let frame = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, request.id());
    for byte in frame.as_bytes() {
        server.send_raw([*byte]).await?;
    }
    server.send_raw("\n").await?;
    answer.await?;
    assert_eq!(client.stats().malformed_frames, 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_loses_no_message() -> Test {
    let (client, mut server, _peer) = connected(Revision::LATEST).await?;
    let waited = tokio::time::timeout(Duration::from_secs(1), server.next()).await;
    assert!(waited.is_err());
    let _answer = client.call("tools/list", ()).send();
    let ReceivedMessage::Request(request) = server.next().await? else {
        panic!("not a request");
    };
    assert_eq!(request.method(), "tools/list");
    assert!(request.decode::<ProgressParams>().is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn serve_fn_answers_without_a_script() -> Test {
    for revision in Revisions::ALL.iter() {
        let (transport, peer) = testing::peer();
        let test_server = testing::serve_fn(peer, |method, params| match method {
            "tools/call" => Ok(params.clone()),
            _ => Err(ErrorObject::new(-32601, "method not found")),
        });
        let mut config = config();
        config.connection().revisions(Revisions::from(revision));
        let client = Client::connect(transport, config).await?;
        assert_eq!(client.revision(), Some(revision));
        let echo = client.call("tools/call", r#"{"name":"x"}"#).await?;
        assert!(echo.as_str().contains(r#""name":"x""#));
        assert!(client.call("tools/list", ()).await.is_err());
        client.ping().await?;
        test_server.stop();
        let mut changes = client.state_changes();
        let lost = changes.next().await.expect("the client is not closed");
        assert_eq!(lost.to, ConnectionState::Backoff);
    }
    Ok(())
}
