//! The transport of a driver: while it opens, while its stream is open, and while the reason of
//! its end is determined.

use std::task::{Context, Poll};
use std::time::Duration;

use bowline_proto::link::ConnectionId;
use bowline_proto::{Instant, Transmit};
use tokio::time::timeout;

use super::shared::Core;
use crate::io::Io;
use crate::transport::{BoxFuture, OpenError, Stream, TransportEnd};

/// How long the query why a stream ended may take. Calls wait for it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

type Opening = BoxFuture<'static, Result<Stream, OpenError>>;
type ExitQuery = BoxFuture<'static, Option<TransportEnd>>;

#[derive(Default)]
pub(super) struct TransportState {
    pub(super) opening: Option<(ConnectionId, Opening)>,
    pub(super) io: Option<(ConnectionId, Io)>,
    /// The stream has ended, for the reason given here unless its peer knows a better one.
    pub(super) exit_query: Option<(ConnectionId, String, ExitQuery)>,
    /// The stream is closed when the final messages are written.
    pub(super) is_draining: bool,
}

impl TransportState {
    /// Takes what belongs to this connection: it is closed when it is dropped.
    #[must_use]
    pub(super) fn close(&mut self, connection: ConnectionId) -> Self {
        Self {
            opening: self.opening.take_if(|(other, _)| *other == connection),
            exit_query: self.exit_query.take_if(|(other, ..)| *other == connection),
            io: self.io.take_if(|(other, _)| *other == connection),
            is_draining: false,
        }
    }

    /// Keeps the stream of this connection until its final messages are written. Returns `true` if
    /// there are any to write.
    pub(super) fn drain(
        &mut self,
        connection: ConnectionId,
        final_messages: impl IntoIterator<Item = Transmit>,
    ) -> bool {
        let Some((_, io)) = self.io.as_mut().filter(|(other, _)| *other == connection) else {
            return false;
        };
        final_messages
            .into_iter()
            .for_each(|transmit| io.queue(transmit));
        self.is_draining = !io.is_empty();
        self.is_draining
    }

    /// Returns the stream, when its final messages are written or can't be.
    pub(super) fn take_drained(&mut self, now: Instant) -> Option<(ConnectionId, Io)> {
        let (_, io) = self.io.as_mut().filter(|_| self.is_draining)?;
        if !(io.is_empty() || io.broken(now).is_some()) {
            return None;
        }
        self.is_draining = false;
        self.io.take()
    }

    /// Returns when to look again whether the stream is broken, unless that is known.
    pub(super) fn listens_until(&self) -> Option<Instant> {
        let (_, io) = self.io.as_ref()?;
        io.listens_until().filter(|_| self.exit_query.is_none())
    }

    /// Reads one chunk, if the core wants one.
    pub(super) fn poll_read(
        &mut self,
        core: &mut Core,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some((connection, io)) = &mut self.io else {
            return false;
        };
        if self.exit_query.is_some() {
            return false;
        }
        let buffer = if core.link.wants_read() {
            core.link.read_buffer(*connection)
        } else {
            None
        };
        // The read is ready or not at once, so that the lock is not held for long.
        let read = match buffer {
            Some(buffer) => io.poll_read(buffer, cx),
            None => Poll::Pending,
        };
        let ended = match read {
            Poll::Ready(Ok(1..)) => {
                core.link.handle_read(now, *connection);
                return true;
            }
            Poll::Ready(Ok(0)) => "the peer closed the stream".to_owned(),
            Poll::Ready(Err(error)) => error.to_string(),
            // Also when nothing is to be read: what the core waits for never leaves then.
            Poll::Pending => match io.broken(now) {
                Some(reason) => reason.to_owned(),
                None => return false,
            },
        };
        match io.take_peer() {
            None => core.link.handle_end(now, *connection, &ended),
            Some(mut peer) => {
                let exit_query = async move {
                    timeout(EXIT_TIMEOUT, peer.transport_end())
                        .await
                        .ok()
                        .flatten()
                };
                self.exit_query = Some((*connection, ended, Box::pin(exit_query)));
            }
        }
        true
    }
}
