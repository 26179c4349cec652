//! Files and terminals, which can only be waited for by blocking.
//!
//! A thread for each direction does that. They are not joined: a terminal may never send
//! anything again, and neither a runtime nor the process should wait for it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread;

use bytes::{Buf as _, Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Bytes that are read at once, and that wait to be written.
const CHUNK: usize = 64 * 1024;

/// What a thread has read.
pub(super) struct Reader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Reader {
    pub(super) fn start(descriptor: OwnedFd) -> io::Result<Self> {
        // One chunk ahead, so that little is taken from others when we stop to read.
        let (sender, chunks) = mpsc::channel(1);
        let file = File::from(descriptor);
        thread::Builder::new()
            .name("bowline-stdin".into())
            .spawn(move || read_all(file, &sender))?;
        let rest = Bytes::new();
        Ok(Self { chunks, rest })
    }
}

fn read_all(mut file: File, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) => Ok(Bytes::copy_from_slice(
                chunk.get(..length).unwrap_or_default(),
            )),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(&file, PollFlags::IN);
                continue;
            }
            Err(error) => Err(error),
        };
        let is_error = read.is_err();
        if chunks.blocking_send(read).is_err() || is_error {
            return;
        }
    }
}

/// Waits until a descriptor is ready that another process has made non-blocking.
fn wait(file: &File, until: PollFlags) {
    let _ = poll(&mut [PollFd::new(file, until)], None);
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest.split_to(length));
        Poll::Ready(Ok(()))
    }
}

/// What a thread is to write. Dropping this lets it write the rest and end.
pub(super) struct Writer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    has_changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: BytesMut,
    /// The thread is busy with what it took.
    is_writing: bool,
    is_closed: bool,
    error: Option<io::ErrorKind>,
    waker: Option<Waker>,
}

impl Writer {
    pub(super) fn start(descriptor: OwnedFd) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let queue = Arc::clone(&shared);
        let file = File::from(descriptor);
        thread::Builder::new()
            .name("bowline-stdout".into())
            .spawn(move || queue.write_all(file))?;
        Ok(Self(shared))
    }

    /// Is ready when all is written.
    fn poll_written(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = self.0.lock();
        match queue.error {
            Some(error) => Poll::Ready(Err(error.into())),
            None if queue.waiting.is_empty() && !queue.is_writing => Poll::Ready(Ok(())),
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut file: File) {
        while let Some(bytes) = self.next() {
            let written = write(&mut file, bytes);
            let mut queue = self.lock();
            queue.is_writing = false;
            queue.error = written.err().map(|error| error.kind());
            let (waker, has_failed) = (queue.waker.take(), queue.error.is_some());
            drop(queue);
            if let Some(waker) = waker {
                waker.wake();
            }
            if has_failed {
                return;
            }
        }
    }

    /// Returns what is to be written next. `None` when there is nothing and never will be.
    fn next(&self) -> Option<Bytes> {
        let mut queue = self.lock();
        while queue.waiting.is_empty() {
            if queue.is_closed {
                return None;
            }
            let changed = self.has_changed.wait(queue);
            queue = changed.unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_writing = true;
        Some(queue.waiting.split().freeze())
    }
}

fn write(file: &mut File, mut bytes: Bytes) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(&bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes.advance(written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(file, PollFlags::OUT);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut queue = self.0.lock();
        if let Some(error) = queue.error {
            return Poll::Ready(Err(error.into()));
        }
        let room = CHUNK.saturating_sub(queue.waiting.len());
        if room == 0 {
            queue.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes = bytes.get(..room).unwrap_or(bytes);
        queue.waiting.extend_from_slice(bytes);
        drop(queue);
        self.0.has_changed.notify_one();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_written(cx))?;
        self.0.lock().is_closed = true;
        self.0.has_changed.notify_one();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.has_changed.notify_one();
    }
}
