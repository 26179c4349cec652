//! The stream of a connection, as hyper reads and writes it.
//!
//! It reports what happens to the [`ConnectionState`], and has two things that HTTP/1 needs:
//!
//! - A client that has shut down its writing side gets its answer, though on TCP it looks the same
//!   as one that is gone, whose request is to be cancelled. An interim response distinguishes the two:
//!   the system of a client that is gone answers it with a reset, which the next write finds.
//!   100 is the one that all clients skip. It may have ended its side long before its request is looked
//!   at, behind others that were sent with it, so that the service gets a moment to take the body. Once a response has begun there can't be one; a client
//!   that ends its side then is gone.
//! - A request that is refused before it was read: closing at once would reset the stream, and with
//!   it the answer that the client has not read yet. So what it still sends is dropped for a while.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::connection_state::ConnectionState;
use crate::transport::Stream;

const INTERIM_RESPONSE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The time between two checks if a half-closed client is still there: the first, and the longest.
const PROBE_INTERVALS: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_millis(1000));

/// How long, and how many bytes, a client may go on sending after its request was refused.
const LINGER: (Duration, usize) = (Duration::from_millis(500), 4 * 1024 * 1024);

pub(super) struct ConnectionIo {
    stream: Stream,
    state: Arc<ConnectionState>,
    input: Input,
    linger: Option<Linger>,
}

enum Input {
    Open,
    /// The client has ended its side, and may be waiting for a response.
    HalfClosed(Probe),
    Closed,
}

/// Finds out if a client that has ended its side is still there.
struct Probe {
    timer: Pin<Box<Sleep>>,
    interval: Duration,
    /// How much of the interim response is written.
    written: usize,
}

struct Linger {
    timer: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl ConnectionIo {
    pub(super) fn new(stream: Stream, state: Arc<ConnectionState>) -> Self {
        Self {
            stream,
            state,
            input: Input::Open,
            linger: None,
        }
    }

    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        Pin::new(&mut *self.stream.writer)
    }

    /// Waits until the half-closed client is gone, or has its response.
    fn poll_half_closed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if !self.state.is_serving() {
                return Poll::Ready(Ok(()));
            }
            let is_request_received = self.state.is_request_received();
            if is_request_received {
                ready!(self.poll_probe(cx))?;
            }
            let Input::HalfClosed(probe) = &mut self.input else {
                return Poll::Ready(Ok(()));
            };
            ready!(probe.timer.as_mut().poll(cx));
            if !is_request_received {
                // The body ends before it is complete.
                return Poll::Ready(Ok(()));
            }
            probe.interval = (probe.interval * 2).min(PROBE_INTERVALS.1);
            let next = Instant::now() + probe.interval;
            probe.timer.as_mut().reset(next);
            // Empty, but refused where the other side has reset the stream.
            if let Poll::Ready(Err(error)) = self.writer().poll_write(cx, &[]) {
                return Poll::Ready(Err(error));
            }
        }
    }

    /// Writes the interim response, or the rest of it. It is whole before anything else is written.
    fn poll_probe(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let has_response_begun = self.state.has_response_begun();
        let Input::HalfClosed(probe) = &mut self.input else {
            return Poll::Ready(Ok(()));
        };
        while probe.written < INTERIM_RESPONSE.len() {
            if probe.written == 0 && has_response_begun {
                return Poll::Ready(Ok(()));
            }
            let rest = &INTERIM_RESPONSE[probe.written..];
            match ready!(Pin::new(&mut *self.stream.writer).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => probe.written += written,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn note_write(&self, written: &Poll<io::Result<usize>>) {
        if written.is_pending() {
            self.state.on_write_blocked();
        } else {
            self.state.on_written();
        }
    }

    /// Reads what a refused client still sends, until it ends its side.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self.linger.get_or_insert_with(|| Linger {
            timer: Box::pin(sleep(LINGER.0)),
            bytes_left: LINGER.1,
        });
        let mut chunk = [0; 4096];
        while linger.timer.as_mut().poll(cx).is_pending() {
            let mut chunk = ReadBuf::new(&mut chunk);
            let read = Pin::new(&mut *self.stream.reader).poll_read(cx, &mut chunk);
            let count = chunk.filled().len();
            if ready!(read).is_err() || count == 0 || count > linger.bytes_left {
                break;
            }
            linger.bytes_left -= count;
        }
        Poll::Ready(())
    }
}

impl AsyncRead for ConnectionIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Input::Open = this.input {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut *this.stream.reader).poll_read(cx, buffer))?;
            if let Some(bytes @ [_, ..]) = buffer.filled().get(before..) {
                this.state.on_bytes_received(bytes);
                return Poll::Ready(Ok(()));
            }
            this.input = if this.state.awaits_response() {
                Input::HalfClosed(Probe {
                    timer: Box::pin(sleep(PROBE_INTERVALS.0)),
                    interval: PROBE_INTERVALS.0,
                    written: 0,
                })
            } else {
                Input::Closed
            };
        }
        if let Input::HalfClosed(_) = this.input {
            let gone = ready!(this.poll_half_closed(cx));
            this.input = Input::Closed;
            return Poll::Ready(gone);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ConnectionIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_probe(cx))?;
        let written = this.writer().poll_write(cx, bytes);
        this.note_write(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_probe(cx))?;
        let written = this.writer().poll_write_vectored(cx, chunks);
        this.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.writer.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().writer().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(this.writer().poll_shutdown(cx))?;
        }
        if matches!(this.input, Input::Open) && this.state.has_unread_input() {
            ready!(this.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
