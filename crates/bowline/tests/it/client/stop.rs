//! Stopping: at once, from anywhere, as often as one likes.

use std::time::Duration;

use bowline::testing;
use bowline::transport::{OpenError, Stream, Transport};
use bowline::{Client, ConnectionState, ErrorKind, Payload, StopOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::support::{NEW, OLD, Test, config, connected, connected_with, wrapped};
use crate::delayed_flush::{DelayedFlush, FLUSH};

/// As long as a stop may take.
const SOON: Duration = Duration::from_millis(100);

// proves: CN-23, F-SD-01
#[tokio::test(start_paused = true)]
async fn stopping_a_hundred_times_at_once_is_stopping_once() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let pending = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    let began = Instant::now();
    let mut stops = JoinSet::new();
    for _ in 0..100 {
        let client = client.clone();
        stops.spawn(async move { client.stop().await });
    }
    let mut first = 0;
    while let Some(stop) = stops.join_next().await {
        first += usize::from(stop? == StopOutcome::Started);
        assert_eq!(client.state(), ConnectionState::Closed);
    }
    assert_eq!(first, 1);
    assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
    assert_eq!(pending.await.unwrap_err().kind(), ErrorKind::Shutdown);
    assert_eq!(client.stop().await, StopOutcome::AlreadyClosing);
    server.expect_end().await?;
    Ok(())
}

// proves: F-SD-01
#[tokio::test(start_paused = true)]
async fn handlers_may_stop_the_client_that_runs_them() -> Test {
    // A handler of a request is dropped with its connection, in the midst of its stop.
    let (sender, mut handed) = mpsc::channel::<Client>(1);
    let (done, mut is_done) = mpsc::unbounded_channel::<&str>();
    let mut config = config();
    let handed_over = std::sync::Arc::new(std::sync::Mutex::new(None::<Client>));
    let slot = std::sync::Arc::clone(&handed_over);
    config.on_raw_request("x/stop", move |_| {
        let client = slot.lock().unwrap().clone().expect("it was handed over");
        let sender = sender.clone();
        async move {
            sender.try_send(client.clone()).expect("there is room");
            client.stop().await;
            Ok(Payload::EMPTY)
        }
    });
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    *handed_over.lock().unwrap() = Some(client.clone());
    for (name, stops) in [("later", client.clone()), ("also later", client.clone())] {
        let done = done.clone();
        client.notifications().on("notifications/stop", move |_| {
            let (stops, done) = (stops.clone(), done.clone());
            async move {
                stops.stop().await;
                done.send(name).unwrap();
            }
        });
    }
    let (stops, inline) = (client.clone(), done.clone());
    client
        .notifications()
        .on_inline(Some("notifications/stop"), move |_| {
            let (stops, done) = (stops.clone(), inline.clone());
            tokio::spawn(async move {
                stops.stop().await;
                done.send("inline").unwrap();
            });
        });
    let began = Instant::now();
    server.send_request("x/stop", "{}").await?;
    server.notify("notifications/stop", ()).await?;
    for _ in 0..3 {
        is_done.recv().await.expect("each stop returns");
    }
    assert!(handed.recv().await.is_some(), "the request was handled");
    assert_eq!(client.state(), ConnectionState::Closed);
    assert!(began.elapsed() <= SOON);
    Ok(())
}

// proves: CN-23
#[tokio::test(start_paused = true)]
async fn a_client_whose_last_flush_is_pending_stops_when_it_is_done() -> Test {
    for revision in [OLD, NEW] {
        let (transport, mut streams) =
            wrapped(|reader, writer| Stream::new(reader, DelayedFlush::new(writer)));
        let client = Client::start(transport, config());
        let mut server = streams.accept(revision).await?;
        client.ready().await?;
        client.notify("notifications/x", ()).expect("it is queued");
        let began = Instant::now();
        assert_eq!(client.stop().await, StopOutcome::Started);
        assert_eq!(began.elapsed(), FLUSH, "{revision}");
        server.expect_notification("notifications/x").await?;
        server.expect_end().await?;
    }
    Ok(())
}

/// A transport that takes for ever to open.
struct Endless;

impl Transport for Endless {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        std::future::pending().await
    }
}

/// A transport that is never there.
struct Missing;

impl Transport for Missing {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        Err(OpenError::transient("not there"))
    }
}

async fn stops_from(client: &Client, state: ConnectionState) {
    let mut changes = client.state_changes();
    while client.state() != state {
        changes.next().await.expect("it gets there");
    }
    let waiting = client.call("tools/list", ()).wait_for_ready().send();
    let began = Instant::now();
    let stop = client.stop().await;
    assert!(began.elapsed() <= SOON, "{state}: {:?}", began.elapsed());
    assert_eq!(client.state(), ConnectionState::Closed, "{state}");
    assert_eq!(
        stop == StopOutcome::Started,
        state != ConnectionState::Closed,
        "{state}"
    );
    let error = waiting.await.expect_err("it is stopped");
    assert_eq!(error.kind(), ErrorKind::Shutdown, "{state}");
    assert!(changes.next().await.is_some() || state == ConnectionState::Closed);
}

// proves: CN-23, F-SD-02, F-SD-08
#[tokio::test(start_paused = true)]
async fn a_client_stops_soon_in_each_state() -> Test {
    stops_from(&Client::start(Endless, config()), ConnectionState::Starting).await;
    stops_from(&Client::start(Missing, config()), ConnectionState::Backoff).await;
    let (transport, _peer) = testing::peer();
    stops_from(
        &Client::start(transport, config()),
        ConnectionState::Initializing,
    )
    .await;
    for revision in [OLD, NEW] {
        let (client, _server, _peer) = connected(revision).await?;
        stops_from(&client, ConnectionState::Ready).await;
        stops_from(&client, ConnectionState::Closed).await;
    }
    Ok(())
}

// proves: CN-23, F-SD-06
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_can_not_delay_a_stop() -> Test {
    let (client, server, _peer) = connected(OLD).await?;
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(1 << 20));
    let answer = client.call("tools/call", long).send();
    tokio::task::yield_now().await;
    let began = Instant::now();
    client.stop().await;
    assert!(began.elapsed() <= SOON);
    assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::Shutdown);
    drop(server);
    Ok(())
}

// proves: F-SD-10, CN-29
#[tokio::test(start_paused = true)]
async fn nothing_is_done_after_a_stop() -> Test {
    let (client, _server, _peer) = connected(OLD).await?;
    client.stop().await;
    let began = Instant::now();
    let calls = [
        client.call("tools/list", ()).await,
        client.call("tools/list", ()).wait_for_ready().await,
        client.ping().await,
    ];
    for call in calls {
        assert_eq!(call.unwrap_err().kind(), ErrorKind::Shutdown);
    }
    let notified = client.notify("notifications/x", ()).unwrap_err();
    assert_eq!(notified.kind(), ErrorKind::Shutdown);
    assert_eq!(
        client.ready().await.unwrap_err().kind(),
        ErrorKind::Shutdown
    );
    assert!(client.state_changes().next().await.is_none());
    assert!(!client.reconnect_now());
    assert_eq!((client.pending(), began.elapsed()), (0, Duration::ZERO));
    Ok(())
}

// proves: F-SD-07, CN-23
#[tokio::test(start_paused = true)]
async fn the_last_handle_that_is_dropped_closes_the_connection() -> Test {
    let (client, mut server, mut peer) = connected(OLD).await?;
    let mut changes = client.state_changes();
    let answer = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    let other = client.clone();
    drop(client);
    assert_eq!(other.state(), ConnectionState::Ready);
    drop(other);
    assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::Shutdown);
    server.expect_end().await?;
    let mut last = None;
    while let Some(change) = changes.next().await {
        last = Some(change.to);
    }
    assert_eq!(last, Some(ConnectionState::Closed));
    let gone = peer.accept().await.unwrap_err();
    assert!(gone.actual().contains("was dropped"), "{gone}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn connecting_that_is_given_up_closes_the_connection() -> Test {
    let (transport, mut peer) = testing::peer();
    {
        let connecting = Client::connect(transport, config());
        let given_up = tokio::time::timeout(Duration::from_secs(1), connecting).await;
        assert!(given_up.is_err());
    }
    let mut server = peer.accept().await?;
    server.expect("server/discover").await?;
    server.expect_end().await?;
    Ok(())
}

// proves: CN-23
#[tokio::test(start_paused = true)]
async fn messages_queued_before_a_stop_are_still_sent() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    client.notify("notifications/roots/list_changed", ())?;
    let call = client.call("tools/list", ()).send();
    client.notify("notifications/x", r#"{"last":true}"#)?;
    client.stop().await;
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::Shutdown);
    server
        .expect_notification("notifications/roots/list_changed")
        .await?;
    // The call was not sent, and its response is not waited for.
    server.expect_notification("notifications/x").await?;
    server.expect_end().await?;
    Ok(())
}

// proves: CN-23, F-SD-06
#[tokio::test(start_paused = true)]
async fn a_server_that_reads_no_more_is_not_waited_for() -> Test {
    let (client, server, _peer) = connected(OLD).await?;
    let much = format!(r#"{{"x":"{}"}}"#, "x".repeat(100_000));
    for _ in 0..4 {
        client.notify("notifications/x", much.as_str())?;
    }
    let began = Instant::now();
    client.stop().await;
    assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
    drop(server);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_weak_handle_keeps_nothing_alive() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let weak = client.downgrade();
    let of_handler = weak.clone();
    client.notifications().on_any(move |_| {
        let client = of_handler.upgrade();
        async move { drop(client) }
    });
    assert!(weak.upgrade().is_some());
    drop(client);
    server.expect_end().await?;
    assert!(weak.upgrade().is_none());
    Ok(())
}
