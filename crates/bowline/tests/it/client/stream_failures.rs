//! Streams that break, and the reason that their peers report.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::transport::{Stream, StreamPeer, TransportEnd};
use bowline::{Client, ErrorKind};
use tokio::time::{Instant, sleep};

use crate::client::support::{OLD, Streams, Test, Trap, config, connected, wrapped};
use crate::client::transport_faults::BreakingWriter;

// proves: CN-5
#[tokio::test(start_paused = true)]
async fn a_server_that_dies_while_we_owe_it_too_much_is_noticed() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let answer = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    // It asks and doesn't read: our answers don't leave, so we stop reading.
    server.timeout(Duration::from_millis(100));
    let id = "x".repeat(500);
    for number in 0.. {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":"{id}{number}","method":"ping"}}"#);
        if server.send_raw(ping + "\n").await.is_err() {
            break;
        }
    }
    let began = Instant::now();
    server.hang_up();
    let error = answer.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    assert!(began.elapsed() <= Duration::from_millis(100), "{error}");
    Ok(())
}

/// A peer that takes some time to report the reason.
struct Slow {
    takes: Duration,
    asked: Arc<AtomicUsize>,
}

impl StreamPeer for Slow {
    fn transport_end(&mut self) -> Pin<Box<dyn Future<Output = Option<TransportEnd>> + Send + '_>> {
        let mut slept = Box::pin(sleep(self.takes));
        Box::pin(poll_fn(move |cx| {
            self.asked.fetch_add(1, Ordering::SeqCst);
            slept
                .as_mut()
                .poll(cx)
                .map(|()| Some(TransportEnd::new("reported")))
        }))
    }
}

fn slow(takes: Duration) -> (Client, Streams, Trap, Arc<AtomicUsize>) {
    let (breaks, asked) = (Trap::default(), Arc::default());
    let (of_writer, of_peer) = (breaks.clone(), Arc::clone(&asked));
    let (transport, streams) = wrapped(move |reader, writer| {
        let asked = Arc::clone(&of_peer);
        Stream::new(reader, BreakingWriter(writer, of_writer.clone())).peer(Slow { takes, asked })
    });
    (Client::start(transport, config()), streams, breaks, asked)
}

// In real time: paused time advances only when all tasks are idle, and would not advance.
#[tokio::test]
async fn a_slow_peer_is_queried_once_for_the_reason_of_a_broken_pipe() -> Test {
    let (client, mut streams, breaks, asked) = slow(Duration::from_millis(50));
    let _server = streams.accept(OLD).await?;
    client.ready().await?;
    breaks.set();
    let error = client.call("tools/list", ()).await.unwrap_err();
    assert!(error.to_string().contains("reported"), "{error}");
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked < 10, "{asked}");
    Ok(())
}

// proves: CN-5
#[tokio::test(start_paused = true)]
async fn a_peer_that_never_reports_its_end_is_not_waited_for() -> Test {
    let (client, mut streams, _breaks, _asked) = slow(Duration::MAX);
    let mut server = streams.accept(OLD).await?;
    client.ready().await?;
    let answer = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    let began = Instant::now();
    server.hang_up();
    let error = answer.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    assert!(error.to_string().contains("the peer closed"), "{error}");
    assert!(began.elapsed() <= Duration::from_secs(1));
    Ok(())
}

/// A peer that knows which stream it was.
struct Numbered(usize);

impl StreamPeer for Numbered {
    fn transport_end(&mut self) -> Pin<Box<dyn Future<Output = Option<TransportEnd>> + Send + '_>> {
        let words = format!("end of stream {}", self.0);
        Box::pin(async { Some(TransportEnd::new(words)) })
    }
}

// proves: ER-1
#[tokio::test(start_paused = true)]
async fn a_call_reports_the_end_of_its_own_stream_however_late_it_is_polled() -> Test {
    let mut number = 0;
    let (transport, mut streams) = wrapped(move |reader, writer| {
        number += 1;
        Stream::new(reader, writer).peer(Numbered(number))
    });
    let client = Client::start(transport, config());
    let mut calls = Vec::new();
    for _ in 0..3 {
        let mut server = streams.accept(OLD).await?;
        client.ready().await?;
        calls.push(client.call("tools/list", ()).send());
        server.expect("tools/list").await?;
        server.hang_up();
    }
    let _server = streams.accept(OLD).await?;
    client.ready().await?;
    for (number, call) in (1..).zip(calls) {
        let error = call.await.unwrap_err();
        let transport_end = error.transport_end().expect("it is known");
        assert_eq!(transport_end.reason, format!("end of stream {number}"));
    }
    Ok(())
}
