//! Connecting, and what is known then.

use std::time::Duration;

use bowline::testing::{self, Handshake};
use bowline::transport::{OpenError, Stream, Transport};
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::common::Implementation;
use bowline::types::{Era, JsonObject, Revision, Revisions};
use bowline::{Backoff, Client, ConnectionState, ErrorKind};

use crate::client::support::{NEW, OLD, Test, again, config, connected};

/// A server that can't be reached.
struct Unreachable(OpenError);

impl Transport for Unreachable {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        Err(self.0.clone())
    }
}

// proves: CN-4, ER-1
#[tokio::test(start_paused = true)]
async fn connecting_respects_its_timeout_and_reports_the_last_failure() {
    let mut config = config();
    config.connect_timeout(Some(Duration::from_secs(5)));
    let began = tokio::time::Instant::now();
    let transport = Unreachable(OpenError::transient("the port is closed"));
    let error = Client::connect(transport, config).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::Timeout, Some("connect"))
    );
    assert!(
        error.to_string().contains("after 5s; the last attempt"),
        "{error}"
    );
    assert!(error.to_string().contains("the port is closed"), "{error}");
}

// proves: CN-3
#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out_with_the_state_of_the_client() {
    let (transport, _peer) = testing::peer();
    let mut config = config();
    config.connect_timeout(Some(Duration::from_secs(2)));
    let error = Client::connect(transport, config).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("while initializing"), "{error}");
}

// proves: CN-14
#[tokio::test(start_paused = true)]
async fn a_malformed_sample_is_kept_until_the_next_connection() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let mut server = peer.accept().await?;
    assert_eq!(client.malformed_sample(), None);
    server.send_raw("nope\n").await?;
    server.handshake(OLD).await?;
    client.ready().await?;
    assert_eq!(client.malformed_sample().as_deref(), Some("nope"));
    let long = "x".repeat(1000);
    server.send_raw(format!("{long}\n")).await?;
    server.hang_up();
    let mut server = peer.accept().await?;
    // The next one has begun: what was written before is of no interest any more.
    assert_eq!(client.malformed_sample(), None);
    server.send_raw("once more\n").await?;
    server.handshake(OLD).await?;
    client.ready().await?;
    client.stop().await;
    assert_eq!(client.malformed_sample().as_deref(), Some("once more"));
    Ok(())
}

// proves: CN-14
#[tokio::test(start_paused = true)]
async fn a_connect_error_has_the_malformed_line_of_the_server() -> Test {
    let (transport, mut peer) = testing::peer();
    let mut config = config();
    config.connect_timeout(Some(Duration::from_secs(2)));
    let connecting = tokio::spawn(Client::connect(transport, config));
    let mut server = peer.accept().await?;
    // Of a long line the beginning is enough.
    server.send_raw(format!("{}\n", "x".repeat(1000))).await?;
    let error = connecting.await?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.malformed_sample(), Some("x".repeat(120).as_str()));
    assert!(!error.to_string().contains("xx"), "{error}");
    Ok(())
}

// proves: CN-4
#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_not_tried_again() {
    let began = tokio::time::Instant::now();
    let transport = Unreachable(OpenError::permanent("no such command"));
    let error = Client::connect(transport, config()).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("no such command"), "{error}");
}

// proves: PV-2, CN-4
#[tokio::test(start_paused = true)]
async fn a_server_without_a_common_revision_is_given_up() -> Test {
    let (transport, mut peer) = testing::peer();
    let mut config = config();
    config.connection().revisions(Era::Stateless.revisions());
    let client = Client::start(transport, config);
    let mut server = peer.accept().await?;
    let request = server.expect("server/discover").await?;
    let result =
        r#"{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{}}"#;
    server.reply(&request, result).await?;
    let error = client.ready().await.unwrap_err();
    assert_eq!(
        (error.kind(), client.state()),
        (ErrorKind::Protocol, ConnectionState::Closed)
    );
    let words = error.to_string();
    assert!(
        words.contains("2025-06-18") && words.contains("2026-07-28"),
        "{words}"
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_tried_as_often_as_it_may_be() {
    let mut config = config();
    let mut backoff = Backoff::default();
    backoff.max_attempts(Some(4));
    config.backoff(backoff);
    let client = Client::start(Unreachable(OpenError::transient("gone")), config);
    let error = client.ready().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    let starts = client.history().into_iter();
    let starts = starts
        .filter(|change| change.to == ConnectionState::Starting)
        .count();
    assert_eq!(starts, 3);
}

// proves: CN-2
#[tokio::test(start_paused = true)]
async fn every_change_of_state_is_reported_once_and_in_order() -> Test {
    let (client, server, mut peer) = connected(NEW).await?;
    let mut changes = client.state_changes();
    server.hang_up();
    let _server = again(&client, &mut peer, NEW).await?;
    client.stop().await;
    let mut states = vec![ConnectionState::Ready];
    while let Some(change) = changes.next().await {
        assert_eq!(Some(&change.from), states.last());
        states.push(change.to);
    }
    let expected = [
        ConnectionState::Ready,
        ConnectionState::Backoff,
        ConnectionState::Starting,
        ConnectionState::Initializing,
        ConnectionState::Ready,
        ConnectionState::Closing,
        ConnectionState::Closed,
    ];
    assert_eq!(
        (states.as_slice(), changes.missed()),
        (expected.as_slice(), 0)
    );
    assert!(changes.next().await.is_none(), "it stays at its end");
    Ok(())
}

// proves: CN-2
#[tokio::test(start_paused = true)]
async fn a_reader_more_than_64_changes_behind_learns_how_many_it_missed() {
    let client = Client::start(Unreachable(OpenError::transient("gone")), config());
    let (mut slow, mut fast) = (client.state_changes(), client.state_changes());
    let mut all = Vec::new();
    // An attempt fails at once: after an odd number of changes there is a wait.
    for _ in 0..63 {
        all.push(fast.next().await.expect("it goes on"));
    }
    assert_eq!(slow.next().await.as_ref(), all.first());
    assert_eq!(slow.missed(), 0, "so many are remembered");
    for _ in 0..100 {
        all.push(fast.next().await.expect("it goes on"));
    }
    for (number, change) in all.iter().enumerate().skip(99) {
        assert_eq!(slow.next().await.as_ref(), Some(change), "number {number}");
    }
    assert_eq!((slow.missed(), fast.missed()), (98, 0));
    assert_eq!(client.history(), all[99..]);
}

// proves: PV-1
#[tokio::test(start_paused = true)]
async fn server_info_is_known_once_the_client_is_ready() -> Test {
    for revision in Revisions::ALL.iter() {
        let (transport, mut peer) = testing::peer();
        let client = Client::start(transport, config());
        let mut server = peer.accept().await?;
        assert!(client.revision().is_none() && client.server_info().is_none());
        assert!(client.capabilities().is_none());
        let capabilities = ServerCapabilities::new().logging(JsonObject::new());
        let mut hello = Handshake::new(revision);
        hello.capabilities(capabilities.clone());
        hello.server_info(Implementation::new("files", "3"));
        server.handshake(hello).await?;
        client.ready().await?;
        assert_eq!(client.revision(), Some(revision));
        assert_eq!(client.capabilities(), Some(capabilities));
        assert_eq!(
            client.server_info(),
            Some(Implementation::new("files", "3"))
        );
        assert_eq!(client.session(), 1);
    }
    Ok(())
}

// proves: CN-6, FT-11
#[tokio::test(start_paused = true)]
async fn a_ping_is_what_the_era_has_for_it() -> Test {
    for (revision, method) in [(OLD, "ping"), (NEW, "server/discover")] {
        let (client, mut server, _peer) = connected(revision).await?;
        let ping = client.ping();
        let request = server.expect(method).await?;
        let result = match revision {
            NEW => {
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#
            }
            _ => "{}",
        };
        server.reply(&request, result).await?;
        ping.await?;
        let unwanted = client.ping();
        server.expect(method).await?;
        drop(unwanted);
        server
            .expect_notification("notifications/cancelled")
            .await?;
    }
    Ok(())
}

// proves: CN-6, FT-11
#[tokio::test(start_paused = true)]
async fn only_a_ping_may_travel_before_ready() -> Test {
    let (transport, mut peer) = testing::peer();
    let mut config = config();
    config.connection().revisions(Era::Handshake.revisions());
    let client = Client::start(transport, config);
    let early = client.ping().await.unwrap_err();
    assert_eq!(
        (early.kind(), early.operation()),
        (ErrorKind::Unavailable, Some("ping"))
    );
    let mut server = peer.accept().await?;
    let initialize = server.expect("initialize").await?;
    let ping = client.ping();
    let request = server.expect("ping").await?;
    server.reply(&request, "{}").await?;
    ping.await?;
    let call = client.call("tools/list", ()).await.unwrap_err();
    assert_eq!(
        (call.kind(), call.state()),
        (ErrorKind::Unavailable, Some(ConnectionState::Initializing))
    );
    let result = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    server.reply(&initialize, result).await?;
    client.ready().await?;
    assert_eq!(client.revision(), Some(Revision::V2025_06_18));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_between_attempts_can_be_cut_short() -> Test {
    let (client, server, mut peer) = connected(NEW).await?;
    assert!(!client.reconnect_now(), "there is no wait");
    server.hang_up();
    let mut changes = client.state_changes();
    while client.state() != ConnectionState::Backoff {
        changes.next().await;
    }
    let began = tokio::time::Instant::now();
    assert!(client.reconnect_now());
    let _server = again(&client, &mut peer, NEW).await?;
    assert_eq!(began.elapsed(), Duration::ZERO);
    Ok(())
}
