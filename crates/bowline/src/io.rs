//! An open stream, with buffers for reads and writes.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bowline_proto::{Instant, Transmit};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

use crate::transport::Stream;
#[cfg(feature = "client")]
use crate::transport::StreamPeer;

/// Bytes that are read at once: few while there is little to read, since thousands of
/// clients may be idle, and up to the largest while a server sends much.
const CHUNKS: std::ops::RangeInclusive<usize> = 2 * 1024..=64 * 1024;

/// Bytes that are read when there is no buffer yet.
const FIRST_READ: usize = 1024;

/// Small messages leave together, up to so many bytes.
const MAX_COALESCED: usize = 64 * 1024;

/// How long reading goes on after a write has failed: most such servers have ended, which the
/// kernel reports at once.
const READ_AFTER_BROKEN: Duration = Duration::from_millis(50);

/// Room that is kept when there is nothing to write.
const MAX_IDLE_CAPACITY: usize = 4 * 1024;

pub(crate) struct Io {
    stream: Stream,
    /// Small messages, in one piece.
    small: BytesMut,
    /// A large one, after them, written from where it is.
    large: VecDeque<Bytes>,
    chunk: usize,
    /// Why nothing can be written any more.
    broken: Option<String>,
    /// Until when messages that the server sent before may still arrive.
    listens_until: Option<Instant>,
    must_flush: bool,
}

impl Io {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            small: BytesMut::new(),
            large: VecDeque::new(),
            chunk: *CHUNKS.start(),
            broken: None,
            listens_until: None,
            must_flush: false,
        }
    }

    /// Takes the peer, which knows why the stream ended.
    #[cfg(feature = "client")]
    pub(crate) fn take_peer(&mut self) -> Option<Box<dyn StreamPeer>> {
        self.stream.peer.take()
    }

    /// Returns why nothing can be written, once there is nothing to read and has not been for a
    /// while: what the server sent before its end may be on its way, and the kernel reports
    /// it later than the broken pipe.
    pub(crate) fn broken(&mut self, now: Instant) -> Option<&str> {
        let reason = self.broken.as_deref()?;
        let until = *self.listens_until.get_or_insert(now + READ_AFTER_BROKEN);
        (until <= now).then_some(reason)
    }

    /// Returns when to look again whether it is broken.
    pub(crate) fn listens_until(&self) -> Option<Instant> {
        self.listens_until
    }

    /// Reads one chunk into the buffer of the core. Returns its length.
    pub(crate) fn poll_read(
        &mut self,
        buffer: &mut BytesMut,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if buffer.capacity() == 0 {
            return self.poll_read_first(buffer, cx);
        }
        if buffer.capacity() - buffer.len() < self.chunk / 2 {
            buffer.reserve(self.chunk);
        }
        let room = buffer.capacity() - buffer.len();
        let reader: &mut (dyn AsyncRead + Send + Unpin) = &mut *self.stream.reader;
        let Poll::Ready(read) = pin!(reader.read_buf(buffer)).poll(cx) else {
            if buffer.is_empty() && buffer.capacity() > 2 * self.chunk {
                *buffer = BytesMut::new();
            }
            return Poll::Pending;
        };
        let read = read?;
        if read == room {
            self.chunk = (self.chunk * 2).min(*CHUNKS.end());
        } else if read < self.chunk / 8 {
            self.chunk = (self.chunk / 2).max(*CHUNKS.start());
        }
        Poll::Ready(Ok(read))
    }

    /// Reads when there is no buffer. An idle client has none, and needs none to find that
    /// there is nothing to read.
    fn poll_read_first(
        &mut self,
        buffer: &mut BytesMut,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut bytes = [0; FIRST_READ];
        let mut chunk = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut *self.stream.reader).poll_read(cx, &mut chunk))?;
        let read = chunk.filled();
        buffer.reserve(self.chunk.max(read.len()));
        buffer.extend_from_slice(read);
        Poll::Ready(Ok(read.len()))
    }

    /// Gives back what is only kept to be used again.
    #[cfg(feature = "client")]
    pub(crate) fn shrink(&mut self) {
        if self.small.is_empty() {
            self.small = BytesMut::new();
        }
        self.large.shrink_to_fit();
        self.chunk = *CHUNKS.start();
    }

    /// Returns `true` if another message may be queued: those before are written, or are sent with
    /// it.
    pub(crate) fn has_room(&self) -> bool {
        self.broken.is_none() && self.large.is_empty() && self.small.len() < MAX_COALESCED
    }

    /// Returns `true` if everything is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.small.is_empty() && self.large.is_empty() && !self.must_flush
    }

    /// Returns the number of bytes that are queued and not written.
    #[cfg(feature = "server")]
    pub(crate) fn unwritten(&self) -> usize {
        self.small.len() + self.large.iter().map(Bytes::len).sum::<usize>()
    }

    pub(crate) fn queue(&mut self, transmit: Transmit) {
        if !self.large.is_empty() {
            // After what is being written, which may be half a frame.
            return self.large.push_back(transmit.to_bytes().into());
        }
        if transmit.len() < MAX_COALESCED {
            return transmit.append_to(&mut self.small);
        }
        let parts = [transmit.head, transmit.body, transmit.tail];
        self.large
            .extend(parts.into_iter().filter(|part| !part.is_empty()));
    }

    /// Writes and flushes what is queued. Returns `true` if something was written, or a flush
    /// has ended: in either case the caller has to look at [`is_empty`](Self::is_empty) again.
    /// After an error nothing more is written, but what the peer sent before can still be read.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let mut made_progress = false;
        let written = self.poll_write_all(cx, &mut made_progress);
        if let Poll::Ready(Err(error)) = written {
            self.broken = Some(error.to_string());
            self.small = BytesMut::new();
            self.large.clear();
            return true;
        }
        made_progress
    }

    fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        made_progress: &mut bool,
    ) -> Poll<io::Result<()>> {
        let mut writer = Pin::new(&mut *self.stream.writer);
        loop {
            let part: &[u8] = match self.large.front() {
                _ if !self.small.is_empty() => &self.small,
                Some(part) => part,
                None => break,
            };
            let written = ready!(pending_if_transient(
                writer.as_mut().poll_write(cx, part),
                cx
            ))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *made_progress = true;
            self.must_flush = true;
            match self.large.front_mut() {
                _ if !self.small.is_empty() => self.small.advance(written),
                Some(part) => part.advance(written),
                None => {}
            }
            self.large.pop_front_if(|part| part.is_empty());
        }
        if self.small.capacity() > MAX_IDLE_CAPACITY {
            self.small = BytesMut::new();
        }
        if self.must_flush {
            ready!(pending_if_transient(writer.as_mut().poll_flush(cx), cx))?;
            self.must_flush = false;
            // The end of a session may wait for this alone.
            *made_progress = true;
        }
        Poll::Ready(Ok(()))
    }
}

/// Treats errors that mean "try again" as pending: streams should not return them, and nothing
/// is lost.
fn pending_if_transient<T>(polled: Poll<io::Result<T>>, cx: &Context<'_>) -> Poll<io::Result<T>> {
    match &polled {
        Poll::Ready(Err(error)) if is_transient(error.kind()) => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Ready(_) | Poll::Pending => polled,
    }
}

fn is_transient(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
