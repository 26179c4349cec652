//! Code of others that uses the client where it may not be locked.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bowline::Client;
use bowline::transport::Stream;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::support::{OLD, Test, config, connected, wrapped};

/// Runs something that must not wait for itself, in a thread of its own.
fn in_time<F>(work: impl FnOnce() -> F + Send + 'static)
where
    F: Future<Output = Test>,
{
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        let ended = runtime.block_on(work()).map_err(|error| error.to_string());
        done.send(ended).expect("it is received");
    });
    let ended = is_done.recv_timeout(Duration::from_secs(30));
    ended.expect("it doesn't hang").expect("it succeeds");
}

/// A task that lives as long as its wakers, as those of small executors do.
struct Task(#[expect(dead_code, reason = "it is there to be dropped")] Mutex<Held>);

type Held = Box<dyn Send>;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

fn waker_that_holds(held: impl Send + 'static) -> Waker {
    Waker::from(Arc::new(Task(Mutex::new(Box::new(held)))))
}

// proves: CN-7, CN-10
#[test]
fn a_waker_may_be_the_last_thing_that_holds_other_calls() {
    in_time(|| async {
        let (client, _server, _peer) = connected(OLD).await?;
        for is_dropped in [false, true] {
            let mut call = client.call("tools/list", ()).send();
            {
                let waker = waker_that_holds(client.call("prompts/list", ()).send());
                let mut cx = Context::from_waker(&waker);
                assert!(Pin::new(&mut call).poll(&mut cx).is_pending());
            }
            assert_eq!(client.pending(), 2);
            if !is_dropped {
                let mut cx = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut call).poll(&mut cx).is_pending());
                assert_eq!(client.pending(), 1);
            }
            drop(call);
            assert_eq!(client.pending(), 0);
        }
        Ok(())
    });
}

/// A reader that asks for its client's state when it is dropped.
struct Curious<R>(R, Arc<OnceLock<Client>>);

impl<R: AsyncRead + Unpin> AsyncRead for Curious<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<R> Drop for Curious<R> {
    fn drop(&mut self) {
        self.1.get().map(Client::state);
    }
}

// proves: TP-1
#[test]
fn a_stream_may_use_its_client_when_it_is_closed() {
    in_time(|| async {
        let slot = Arc::new(OnceLock::new());
        let of_reader = Arc::clone(&slot);
        let (transport, mut streams) = wrapped(move |reader, writer| {
            Stream::new(Curious(reader, Arc::clone(&of_reader)), writer)
        });
        let client = Client::start(transport, config());
        slot.set(client.clone()).expect("it is empty");
        let server = streams.accept(OLD).await?;
        client.ready().await?;
        server.hang_up();
        let _server = streams.accept(OLD).await?;
        client.ready().await?;
        client.stop().await;
        Ok(())
    });
}

struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

// proves: CN-7, CN-24
#[tokio::test]
async fn a_waker_that_panics_does_not_affect_others() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let mut first = client.call("tools/list", ()).send();
    let waker = Waker::from(Arc::new(Panicking));
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut first).poll(&mut cx).is_pending());
    let second = tokio::spawn(client.call("tools/list", ()).send());
    let mut answers = String::new();
    for _ in 0..2 {
        let request = server.expect("tools/list").await?;
        let (id, result) = (request.id(), r#"{"tools":[]}"#);
        answers += &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
    }
    // Both in one piece, so that both are woken together.
    server.send_raw(answers).await?;
    let second = tokio::time::timeout(Duration::from_secs(30), second).await;
    second???;
    first.await?;
    assert_eq!(client.session(), 1);
    Ok(())
}
