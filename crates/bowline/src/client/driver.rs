//! The task that moves a client's bytes.
//!
//! One task for each client, whatever it does: it opens the transport, reads when the core
//! asks for it, writes many small messages at once, and watches the time. Each wake-up does a
//! bounded amount of work; a write that can't proceed stops neither time nor reading.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bowline_proto::link::{Action, Life, State};
use bowline_types::ErrorObject;
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Mutex;
use tokio::time::{Sleep, sleep_until};

use super::shared::{Dispatch, Shared};
use crate::transport::{self, BoxFuture, OpenError, Stream, Transport};

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Small messages leave together, up to so many bytes.
const COALESCED: usize = 64 * 1024;

/// Rounds of work in one wake-up.
const ROUNDS: usize = 32;

type Opening = BoxFuture<'static, Result<Stream, OpenError>>;
type Ending = BoxFuture<'static, Option<transport::Ending>>;

pub(super) struct Driver<T> {
    shared: Arc<Shared>,
    transport: Arc<Mutex<T>>,
    opening: Option<(Life, Opening)>,
    io: Option<Io>,
    /// The stream has ended, and somebody is asked why.
    ending: Option<(Life, Ending)>,
    timer: Pin<Box<Sleep>>,
    dispatch: Dispatch,
}

/// The stream of one life.
struct Io {
    life: Life,
    stream: Stream,
    out: VecDeque<Bytes>,
    small: BytesMut,
}

impl<T: Transport> Driver<T> {
    pub(super) fn new(shared: Arc<Shared>, transport: T) -> Self {
        let timer = Box::pin(sleep_until(shared.moment(shared.now())));
        Self {
            shared,
            transport: Arc::new(Mutex::new(transport)),
            opening: None,
            io: None,
            ending: None,
            timer,
            dispatch: Dispatch::default(),
        }
    }

    /// Works until nothing can be done now. Whether the link is over and everything closed.
    fn work(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            let mut has_worked = self.poll_opening(cx);
            has_worked |= self.poll_read(cx);
            has_worked |= self.poll_ending(cx);
            let is_over = self.poll_core(cx, &mut has_worked);
            has_worked |= self.poll_write(cx);
            let is_idle = self.io.is_none() && self.opening.is_none() && self.ending.is_none();
            if is_over && is_idle {
                return Poll::Ready(());
            }
            if !has_worked && self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_opening(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((life, opening)) = &mut self.opening else {
            return false;
        };
        let Poll::Ready(opened) = opening.as_mut().poll(cx) else {
            return false;
        };
        let life = *life;
        self.opening = None;
        let now = self.shared.now();
        let mut core = self.shared.lock();
        match opened {
            Ok(stream) => {
                self.io = Some(Io::new(life, stream));
                core.link.handle_opened(now, life);
            }
            Err(error) => core.link.handle_open_failed(now, life, error),
        }
        true
    }

    /// Reads one chunk, if the core wants one.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(io) = &mut self.io else {
            return false;
        };
        if self.ending.is_some() {
            return false;
        }
        let mut core = self.shared.lock();
        if !core.link.wants_read() {
            return false;
        }
        let Some(buffer) = core.link.read_buffer(io.life) else {
            return false;
        };
        // The read is ready or not at once, so that the lock is not held for long.
        let read = read_chunk(&mut *io.stream.reader, buffer, cx);
        let now = self.shared.now();
        match read {
            Poll::Pending => return false,
            Poll::Ready(Ok(0)) => match io.stream.peer.take() {
                None => core.link.handle_eof(now, io.life),
                Some(mut peer) => {
                    let ending = Box::pin(async move { peer.why().await });
                    self.ending = Some((io.life, ending));
                }
            },
            Poll::Ready(Ok(_)) => core.link.handle_read(now, io.life),
            Poll::Ready(Err(error)) => core.link.handle_lost(now, io.life, &error.to_string()),
        }
        true
    }

    /// Learns why the stream has ended, and tells.
    fn poll_ending(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((life, ending)) = &mut self.ending else {
            return false;
        };
        let Poll::Ready(why) = ending.as_mut().poll(cx) else {
            return false;
        };
        let life = *life;
        self.ending = None;
        let now = self.shared.now();
        let why = why.unwrap_or_else(|| transport::Ending::new("the peer closed the stream"));
        let mut core = self.shared.lock();
        core.link.handle_end(now, life, &why.reason);
        core.ending = Some(Arc::new(why));
        true
    }

    /// Lets the core act. Whether it is over.
    fn poll_core(&mut self, cx: &mut Context<'_>, has_worked: &mut bool) -> bool {
        let now = self.shared.now();
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        if core.link.poll_timeout().is_some_and(|at| at <= now) {
            core.link.handle_timeout(now);
            *has_worked = true;
        }
        while let Some(action) = core.link.poll_action() {
            self.act(action);
            *has_worked = true;
        }
        core.take_events(&mut self.dispatch);
        if let Some(io) = &mut self.io {
            while io.has_room()
                && let Some(transmit) = core.link.poll_transmit()
            {
                io.queue(transmit);
                *has_worked = true;
            }
        }
        for request in self.dispatch.requests.drain(..) {
            let refusal = ErrorObject::new(-32601, "no handler is registered");
            // It may have been cancelled meanwhile.
            let _ = core.link.respond_error(now, request, &refusal);
            *has_worked = true;
        }
        if let Some(at) = core.link.poll_timeout() {
            self.timer.as_mut().reset(self.shared.moment(at));
        }
        let is_over = core.link.state() == State::Closed;
        core.driver = Some(cx.waker().clone());
        drop(core);
        self.tell();
        is_over
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Open(life) => {
                let transport = Arc::clone(&self.transport);
                let opening = async move { transport.lock().await.open().await };
                self.opening = Some((life, Box::pin(opening)));
            }
            Action::Close(life) => {
                self.opening.take_if(|(other, _)| *other == life);
                self.ending.take_if(|(other, _)| *other == life);
                self.io.take_if(|io| io.life == life);
            }
            other => tracing::debug!(?other, "an action of a later version"),
        }
    }

    /// Wakes who waits, without the lock.
    fn tell(&mut self) {
        if let Some(state) = self.dispatch.state.take() {
            self.shared.state.send_replace(state);
        }
        for waker in self.dispatch.wakers.drain(..) {
            waker.wake();
        }
        self.dispatch.notifications.clear();
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(io) = &mut self.io else {
            return false;
        };
        match io.poll_write(cx) {
            Poll::Pending => false,
            Poll::Ready(Ok(has_written)) => has_written,
            Poll::Ready(Err(error)) => {
                let life = io.life;
                let now = self.shared.now();
                let reason = error.to_string();
                self.shared.lock().link.handle_lost(now, life, &reason);
                true
            }
        }
    }

    /// Ready when the core has something to do by now.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.shared.lock().link.poll_timeout().is_none() {
            return Poll::Pending;
        }
        self.timer.as_mut().poll(cx)
    }
}

impl<T: Transport> Future for Driver<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.work(cx)
    }
}

impl Io {
    fn new(life: Life, stream: Stream) -> Self {
        Self {
            life,
            stream,
            out: VecDeque::new(),
            small: BytesMut::new(),
        }
    }

    /// Whether another message may be taken: those before are written, or fit together.
    fn has_room(&self) -> bool {
        self.out.is_empty() && self.small.len() < COALESCED
    }

    fn queue(&mut self, transmit: bowline_proto::Transmit) {
        if transmit.len() < COALESCED {
            return transmit.append_to(&mut self.small);
        }
        // A large body is written from where it is.
        let small = self.small.split().freeze();
        let parts = [small, transmit.head, transmit.body, transmit.tail];
        self.out
            .extend(parts.into_iter().filter(|part| !part.is_empty()));
    }

    /// Writes what is queued. Whether something was.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut has_written = false;
        loop {
            if self.out.is_empty() && !self.small.is_empty() {
                self.out.push_back(self.small.split().freeze());
            }
            let Some(part) = self.out.front_mut() else {
                if has_written {
                    ready!(Pin::new(&mut *self.stream.writer).poll_flush(cx))?;
                }
                return Poll::Ready(Ok(has_written));
            };
            match Pin::new(&mut *self.stream.writer).poll_write(cx, part) {
                Poll::Pending if has_written => return Poll::Ready(Ok(true)),
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                Poll::Ready(Ok(written)) => {
                    has_written = true;
                    part.advance(written);
                    if part.is_empty() {
                        self.out.pop_front();
                    }
                }
            }
        }
    }
}

/// Reads what is there into the buffer of the core. How much it was.
fn read_chunk(
    reader: &mut (dyn AsyncRead + Send + Unpin),
    buffer: &mut BytesMut,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let start = buffer.len();
    buffer.resize(start + CHUNK, 0);
    let mut chunk = ReadBuf::new(buffer.get_mut(start..).unwrap_or_default());
    let read = Pin::new(reader).poll_read(cx, &mut chunk);
    let filled = chunk.filled().len();
    buffer.truncate(start + filled);
    read.map_ok(|()| filled)
}
