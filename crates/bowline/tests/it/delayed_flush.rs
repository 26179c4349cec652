//! A writer whose flush takes a moment, as that of a standard stream does: another thread
//! writes there.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::{Sleep, sleep};

/// How long a flush takes.
pub(crate) const FLUSH: Duration = Duration::from_millis(3);

pub(crate) struct DelayedFlush<W> {
    writer: W,
    /// Until when a flush takes, if something was written since the last one.
    flushed: Option<Pin<Box<Sleep>>>,
}

impl<W> DelayedFlush<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self {
            writer,
            flushed: None,
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for DelayedFlush<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.flushed = Some(Box::pin(sleep(FLUSH)));
        Pin::new(&mut self.writer).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(flushed) = &mut self.flushed {
            ready!(flushed.as_mut().poll(cx));
            self.flushed = None;
        }
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}
