//! What a driver has in hand: the transport while it opens, while it is open, and while it
//! is asked why it ended.

use std::task::{Context, Poll};
use std::time::Duration;

use bowline_proto::link::ConnectionId;
use bowline_proto::{Instant, Transmit};
use tokio::time::timeout;

use super::shared::Core;
use crate::io::Io;
use crate::transport::{BoxFuture, OpenError, Stream, TransportEnd};

/// How long it may take to learn why a stream ended. Calls wait for it.
const ASKING: Duration = Duration::from_secs(1);

type Opening = BoxFuture<'static, Result<Stream, OpenError>>;
type Asking = BoxFuture<'static, Option<TransportEnd>>;

#[derive(Default)]
pub(super) struct Hands {
    pub(super) opening: Option<(ConnectionId, Opening)>,
    pub(super) io: Option<(ConnectionId, Io)>,
    /// The stream has ended, for the reason given here unless somebody knows a better one.
    pub(super) asking: Option<(ConnectionId, String, Asking)>,
    /// The stream is closed when what is left is written.
    pub(super) is_parting: bool,
}

impl Hands {
    /// Lets go of what is of this life: it is closed when it is dropped.
    #[must_use]
    pub(super) fn close(&mut self, life: ConnectionId) -> Self {
        Self {
            opening: self.opening.take_if(|(other, _)| *other == life),
            asking: self.asking.take_if(|(other, ..)| *other == life),
            io: self.io.take_if(|(other, _)| *other == life),
            is_parting: false,
        }
    }

    /// Keeps the stream of this life until the last words are written. Whether there is one.
    pub(super) fn part(
        &mut self,
        life: ConnectionId,
        last_words: impl IntoIterator<Item = Transmit>,
    ) -> bool {
        let Some((_, io)) = self.io.as_mut().filter(|(other, _)| *other == life) else {
            return false;
        };
        last_words
            .into_iter()
            .for_each(|transmit| io.queue(transmit));
        self.is_parting = !io.is_empty();
        self.is_parting
    }

    /// The stream, when its last words are written or can't be.
    pub(super) fn take_parted(&mut self, now: Instant) -> Option<(ConnectionId, Io)> {
        let (_, io) = self.io.as_mut().filter(|_| self.is_parting)?;
        if !(io.is_empty() || io.broken(now).is_some()) {
            return None;
        }
        self.is_parting = false;
        self.io.take()
    }

    /// When to look again whether the stream is broken, unless that is known.
    pub(super) fn listens_until(&self) -> Option<Instant> {
        let (_, io) = self.io.as_ref()?;
        io.listens_until().filter(|_| self.asking.is_none())
    }

    /// Reads one chunk, if the core wants one.
    pub(super) fn poll_read(
        &mut self,
        core: &mut Core,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some((life, io)) = &mut self.io else {
            return false;
        };
        if self.asking.is_some() {
            return false;
        }
        let buffer = match core.link.wants_read() {
            true => core.link.read_buffer(*life),
            false => None,
        };
        // The read is ready or not at once, so that the lock is not held for long.
        let read = match buffer {
            Some(buffer) => io.poll_read(buffer, cx),
            None => Poll::Pending,
        };
        let ended = match read {
            Poll::Ready(Ok(1..)) => {
                core.link.handle_read(now, *life);
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
            None => core.link.handle_end(now, *life, &ended),
            Some(mut peer) => {
                let asking = async move { timeout(ASKING, peer.why()).await.ok().flatten() };
                self.asking = Some((*life, ended, Box::pin(asking)));
            }
        }
        true
    }
}
