//! The scripted peer does what a test tells it to, and tells what came instead.

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
        let mut hello = Handshake::new(revision);
        hello.server_info(Implementation::new("files", "3"));
        hello.instructions("read first");
        server.handshake(hello).await?;
        client.ready().await?;
        assert_eq!(client.revision(), Some(revision));
        assert_eq!(
            client.server_info().map(|it| it.name).as_deref(),
            Some("files")
        );
        let agreement = client.agreement().expect("it is ready");
        assert_eq!(agreement.instructions.as_deref(), Some("read first"));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn all_that_a_server_says_arrives() -> Test {
    let (client, mut server, _peer) = connected(Revision::V2025_11_25).await?;
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let mut answer = call.with_progress().send();
    let request = server.expect("tools/call").await?;
    assert_eq!(
        (request.method(), request.id().as_i64().is_some()),
        ("tools/call", true)
    );
    server.report(&request, 1).await?;
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
    let refused = server.request("odd/method", "{}").await?.unwrap_err();
    assert_eq!(refused.code, -32601);

    client.notify("notifications/roots/list_changed", ())?;
    let note = server
        .expect_notification("notifications/roots/list_changed")
        .await?;
    assert_eq!(note.params().as_str(), "{}");

    client.stop().await;
    server.expect_end().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_comes_instead_is_told_with_all_that_was_said() -> Test {
    let (client, mut server, _peer) = connected(Revision::LATEST).await?;
    let _answer = client.call("tools/list", ()).send();
    let unexpected = server.expect("tools/call").await.unwrap_err();
    assert_eq!(unexpected.wanted(), "the request tools/call");
    assert_eq!(unexpected.instead(), "the request tools/list came");
    let lines = unexpected.said();
    assert_eq!(lines.len(), 3, "{unexpected}");
    assert_eq!((lines[0].side, lines[1].side), (Side::Client, Side::Server));
    let words = unexpected.to_string();
    assert!(words.contains("server/discover") && words.contains("tools/list"));
    assert_eq!(words, format!("{unexpected:?}"));
    assert_eq!(server.said(), lines);

    server.patience(Duration::from_secs(2));
    let silent = server.expect("tools/call").await.unwrap_err();
    assert_eq!(silent.instead(), "nothing came within 2s");
    let bad = server
        .notify("notifications/message", "{")
        .await
        .unwrap_err();
    assert!(bad.wanted().contains("parameters"), "{bad}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_peer_waits_for_streams_with_patience() -> Test {
    let (transport, mut peer) = testing::peer();
    peer.patience(Duration::from_secs(1));
    let none = peer.accept().await.unwrap_err();
    assert!(none.to_string().contains("opened none within 1s"), "{none}");
    drop(transport);
    let gone = peer.accept().await.unwrap_err();
    assert!(gone.to_string().contains("the client is gone"), "{gone}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_server_hangs_up_and_another_takes_its_place() -> Test {
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
async fn a_wait_that_is_given_up_loses_nothing() -> Test {
    let (client, mut server, _peer) = connected(Revision::LATEST).await?;
    let waited = tokio::time::timeout(Duration::from_secs(1), server.next()).await;
    assert!(waited.is_err());
    let _answer = client.call("tools/list", ()).send();
    let ReceivedMessage::Request(request) = server.next().await? else {
        panic!("it is a request");
    };
    assert_eq!(request.method(), "tools/list");
    assert!(request.decode::<ProgressParams>().is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_served_client_needs_no_script() -> Test {
    for revision in Revisions::ALL.iter() {
        let (transport, peer) = testing::peer();
        let serving = testing::serve_fn(peer, |method, params| match method {
            "tools/call" => Ok(params.clone()),
            _ => Err(ErrorObject::new(-32601, "no such method")),
        });
        let mut config = config();
        config.connection().revisions(Revisions::from(revision));
        let client = Client::connect(transport, config).await?;
        assert_eq!(client.revision(), Some(revision));
        let echo = client.call("tools/call", r#"{"name":"x"}"#).await?;
        assert!(echo.as_str().contains(r#""name":"x""#));
        assert!(client.call("tools/list", ()).await.is_err());
        client.ping().await?;
        serving.stop();
        let mut changes = client.state_changes();
        let lost = changes.next().await.expect("it is not closed");
        assert_eq!(lost.to, ConnectionState::Backoff);
    }
    Ok(())
}
