//! Transports that panic, break or dawdle, and runtimes that go away.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bowline::testing;
use bowline::transport::{OpenError, Stream, Transport};
use bowline::types::subscriptions::SubscriptionFilter;
use bowline::{Cause, Client, ConnectionState, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::client::support::{
    NEW, OLD, Streams, Test, Trap, able, all_is_read, config, connected, wrapped,
};

/// A reader that panics when its trap springs.
struct PanickingReader<R>(R, Trap);

impl<R: AsyncRead + Unpin> AsyncRead for PanickingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        assert!(!self.1.springs(), "the reader panics");
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

fn panicking() -> (Client, Streams, Trap) {
    let trap = Trap::default();
    let of_reader = trap.clone();
    let (transport, streams) = wrapped(move |reader, writer| {
        Stream::new(PanickingReader(reader, of_reader.clone()), writer)
    });
    (Client::start(transport, config()), streams, trap)
}

// proves: CN-24, CN-5
#[tokio::test(start_paused = true)]
async fn a_driver_that_panics_fails_what_is_under_way_and_starts_anew() -> Test {
    let (client, mut streams, trap) = panicking();
    let mut server = streams.accept(OLD).await?;
    client.ready().await?;
    let answer = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    trap.set();
    server.notify("notifications/x", ()).await?;
    let error = answer.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::TransportDown, Some(true))
    );
    assert!(
        error.to_string().contains("the client driver panicked"),
        "{error}"
    );
    server.expect_end().await?;
    let mut server = streams.accept(OLD).await?;
    client.ready().await?;
    assert_eq!(client.session(), 2);
    all_is_read(&client, &mut server).await?;
    Ok(())
}

// proves: CN-24
#[tokio::test(start_paused = true)]
async fn a_driver_that_panics_too_often_gives_up_with_the_reason() -> Test {
    let (client, mut streams, trap) = panicking();
    for crash in 1..=4 {
        let mut server = streams.accept(OLD).await?;
        client.ready().await?;
        let answer = client.call("tools/list", ()).send();
        let patient = client.call("tools/list", ()).wait_for_ready().send();
        server.expect("tools/list").await?;
        trap.set();
        server.notify("notifications/x", ()).await?;
        assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::TransportDown);
        let is_over = crash == 4;
        assert_eq!(
            client.state() == ConnectionState::Closed,
            is_over,
            "crash {crash}"
        );
        drop(patient);
    }
    let last = client.history().pop().expect("there were changes");
    assert_eq!(
        (last.to, last.cause),
        (ConnectionState::Closed, Cause::TooManyCrashes)
    );
    let error = client.ready().await.unwrap_err();
    assert!(error.to_string().contains("panicked too often"), "{error}");
    let after = client.call("tools/list", ()).await.unwrap_err();
    assert!(after.to_string().contains("panicked too often"), "{after}");
    assert_eq!(after.kind(), ErrorKind::Transport);
    Ok(())
}

// proves: CN-24
#[tokio::test(start_paused = true)]
async fn panics_that_are_far_apart_are_survived() -> Test {
    let (client, mut streams, trap) = panicking();
    for _ in 0..10 {
        let mut server = streams.accept(OLD).await?;
        client.ready().await?;
        tokio::time::advance(Duration::from_secs(2)).await;
        trap.set();
        server.notify("notifications/x", ()).await?;
        server.expect_end().await?;
    }
    let _server = streams.accept(OLD).await?;
    client.ready().await?;
    Ok(())
}

/// A transport that panics when it is opened.
struct PanickingOpen;

impl Transport for PanickingOpen {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        panic!("opening panics")
    }
}

// proves: CN-24
#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_when_it_is_opened_is_given_up() {
    let client = Client::start(PanickingOpen, config());
    let waiting = client.call("tools/list", ()).wait_for_ready().send();
    let error = client.ready().await.unwrap_err();
    assert!(error.to_string().contains("panicked too often"), "{error}");
    assert_eq!(waiting.await.unwrap_err().may_have_run(), Some(false));
    let crashes = client.history().into_iter();
    let crashes = crashes
        .filter(|transition| transition.cause == Cause::DriverCrash)
        .count();
    assert_eq!(crashes, 3);
}

// proves: F-SD-11, CN-7
#[test]
fn a_runtime_that_goes_away_ends_what_others_wait_for() {
    let (theirs, ours) = (runtime(), runtime());
    let (client, server, mut watched) = theirs.block_on(async {
        let (client, server, _peer) = able(config(), OLD).await.expect("a script");
        let filter = SubscriptionFilter::new().tools_list_changed(true);
        let watched = client.subscribe(filter).await.expect("it is open");
        (client, server, watched)
    });
    let waiting = std::thread::spawn(move || {
        ours.block_on(async {
            let mut changes = client.state_changes();
            let call = client.call("tools/list", ()).into_future();
            let (answer, change) = tokio::join!(call, watched.next());
            assert_eq!(change, None, "it is over");
            let end = watched.end().expect("it is known").unwrap_err();
            assert_eq!(end.kind(), ErrorKind::Shutdown);
            let error = answer.unwrap_err();
            while changes.next().await.is_some() {}
            client.stop().await;
            // It was not stopped: its runtime was shut down.
            for error in [&error, &client.ready().await.unwrap_err(), &end] {
                let words = error.to_string();
                assert!(
                    words.ends_with("its tokio runtime was shut down"),
                    "{words}"
                );
            }
            (error.kind(), client.state(), client.ready().await.is_err())
        })
    });
    // Until the call is made.
    let mut server = server;
    let expected = theirs.block_on(server.expect("tools/list"));
    expected.expect("the call is made");
    theirs.shutdown_background();
    let (kind, state, is_closed) = waiting.join().expect("it ends");
    assert_eq!(
        (kind, state, is_closed),
        (ErrorKind::Shutdown, ConnectionState::Closed, true)
    );
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

// proves: F-FR-16
#[tokio::test(start_paused = true)]
async fn a_last_answer_without_a_line_break_is_delivered() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let (first, second) = (client.call("tools/list", ()), client.call("tools/list", ()));
    let (first, second) = (first.send(), second.send());
    let request = server.expect("tools/list").await?;
    server.expect("tools/list").await?;
    let last = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, request.id());
    server.send_raw(last).await?;
    server.hang_up();
    first.await?;
    assert_eq!(second.await.unwrap_err().kind(), ErrorKind::TransportDown);
    Ok(())
}

/// A writer that breaks when its trap is set.
pub(crate) struct BreakingWriter<W>(pub(crate) W, pub(crate) Trap);

impl<W: AsyncWrite + Unpin> AsyncWrite for BreakingWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.1.is_set() {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        } else {
            Pin::new(&mut self.0).poll_write(cx, bytes)
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// A reader that learns of what there is to read only a moment later, as one does whose
/// readiness comes from the kernel, when its trap springs.
pub(crate) struct DawdlingReader<R> {
    reader: R,
    trap: Trap,
    until: Option<Pin<Box<Sleep>>>,
}

impl<R> DawdlingReader<R> {
    pub(crate) fn new(reader: R, trap: Trap) -> Self {
        Self {
            reader,
            trap,
            until: None,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for DawdlingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.trap.springs() {
            self.until = Some(Box::pin(sleep(Duration::from_millis(1))));
        }
        if let Some(until) = &mut self.until {
            ready!(until.as_mut().poll(cx));
            self.until = None;
        }
        Pin::new(&mut self.reader).poll_read(cx, buffer)
    }
}

// proves: F-FR-16, F-CP-10
#[tokio::test(start_paused = true)]
async fn a_server_that_no_longer_listens_is_heard_to_its_end() -> Test {
    for dawdles in [false, true] {
        let (breaks, dawdling) = (Trap::default(), Trap::default());
        let (of_writer, of_reader) = (breaks.clone(), dawdling.clone());
        let (transport, mut streams) = wrapped(move |reader, writer| {
            Stream::new(
                DawdlingReader::new(reader, of_reader.clone()),
                BreakingWriter(writer, of_writer.clone()),
            )
        });
        let client = Client::start(transport, config());
        let mut server = streams.accept(NEW).await?;
        client.ready().await?;
        let answered = client.call("tools/list", ()).send();
        let lost = client.call("prompts/list", ()).send();
        let request = server.expect("tools/list").await?;
        server.expect("prompts/list").await?;
        // The server answers and goes; we find out when we want to say something.
        breaks.set();
        if dawdles {
            dawdling.set();
        }
        server
            .reply(&request, r#"{"resultType":"complete","tools":[]}"#)
            .await?;
        let unheard = client.call("resources/list", ()).send();
        answered
            .await
            .map_err(|error| format!("dawdles: {dawdles}: {error}"))?;
        let error = lost.await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_run()),
            (ErrorKind::TransportDown, Some(true))
        );
        assert_eq!(unheard.await.unwrap_err().kind(), ErrorKind::TransportDown);
        breaks.springs();
        let _server = streams.accept(NEW).await?;
        client.ready().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_other_end_is_dropped_at_once_tries_again() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    for _ in 0..3 {
        peer.accept().await?.hang_up();
    }
    let mut server = peer.accept().await?;
    server.handshake(OLD).await?;
    client.ready().await?;
    Ok(())
}
