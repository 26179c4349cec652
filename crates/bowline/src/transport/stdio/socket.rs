//! A socket that others may share. Node starts children with such.
//!
//! Non-blocking is a flag of the socket, not of our descriptor, and would surprise the processes
//! that share it. So each call sets for itself that it must not block.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

pub(super) struct Reader(AsyncFd<OwnedFd>);

impl Reader {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        register(descriptor, Interest::READABLE).map(Self)
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            let unfilled = buffer.initialize_unfilled();
            let received = ready.try_io(|socket| {
                let (length, _) = recv(socket.get_ref(), unfilled, RecvFlags::DONTWAIT)?;
                Ok(length)
            });
            match received {
                Ok(Ok(length)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

#[expect(
    deprecated,
    reason = "unsound for types that lie about their descriptor, which this one can't; what replaces it is unsafe"
)]
fn register(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, interest)
}

pub(super) struct Writer(AsyncFd<OwnedFd>);

impl Writer {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        register(descriptor, Interest::WRITABLE).map(Self)
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(cx))?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let sent = ready.try_io(|socket| Ok(send(socket.get_ref(), bytes, flags)?));
            match sent {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(sent) => return Poll::Ready(sent),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(shutdown(self.0.get_ref(), Shutdown::Write)?))
    }
}
