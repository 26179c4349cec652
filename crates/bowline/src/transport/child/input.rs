//! A child's stdin.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

use super::super::{BoxFuture, Ending};
use super::ending::Witness;

/// A child's stdin, whose errors say what became of the child.
///
/// A child that dies is noticed by whoever writes or by whoever reads, as chance has it. Both
/// should learn the same.
pub(super) struct Input {
    stdin: ChildStdin,
    witness: Witness,
    ending: Option<BoxFuture<'static, Ending>>,
}

impl Input {
    pub(super) fn new(stdin: ChildStdin, witness: Witness) -> Self {
        Self {
            stdin,
            witness,
            ending: None,
        }
    }

    /// Passes on a result, or asks what happened.
    fn explain<T>(&mut self, cx: &mut Context<'_>, result: io::Result<T>) -> Poll<io::Result<T>> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                let mut witness = self.witness.clone();
                let ending = async move { witness.tell("the server closed its input").await };
                let ending = self.ending.insert(Box::pin(ending));
                let ending = ready!(ending.as_mut().poll(cx));
                self.ending = None;
                Poll::Ready(Err(broken(&ending)))
            }
            result => Poll::Ready(result),
        }
    }

    /// Ready when nothing is being asked.
    fn poll_asked(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(ending) = &mut self.ending else {
            return Poll::Ready(Ok(()));
        };
        let ending = ready!(ending.as_mut().poll(cx));
        self.ending = None;
        Poll::Ready(Err(broken(&ending)))
    }
}

fn broken(ending: &Ending) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, ending.reason.clone())
}

impl AsyncWrite for Input {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_asked(cx))?;
        let written = ready!(Pin::new(&mut self.stdin).poll_write(cx, bytes));
        self.explain(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_asked(cx))?;
        let flushed = ready!(Pin::new(&mut self.stdin).poll_flush(cx));
        self.explain(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(cx)
    }
}
