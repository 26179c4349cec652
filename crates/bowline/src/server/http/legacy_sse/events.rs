//! The event stream of a session: the event `endpoint`, then every message of the server.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::time::{Instant, Sleep, sleep};

use super::sessions::LegacySession;
use crate::server::http::body::{COMMENT, MAX_TOGETHER, cut_stream, write_event};
use crate::server::session::{LegacyOutput, SessionTimer};

/// What each message begins with. It is the default of the format, but some clients look for it.
const MESSAGE: &[u8] = b"event: message\n";

/// The body of a response to a GET.
pub(in crate::server::http) struct LegacyEvents {
    /// The first event, until it has left.
    endpoint: Option<Bytes>,
    timer: SessionTimer,
    keep_alive: Pin<Box<Sleep>>,
    keep_alive_interval: Duration,
    has_ended: bool,
    session: LegacySession,
}

impl LegacyEvents {
    /// Creates the stream of a session whose messages are to be posted to a URI, which has no line
    /// ends.
    pub(super) fn new(session: LegacySession, endpoint: &str, keep_alive: Duration) -> Self {
        Self {
            endpoint: Some(format!("event: endpoint\ndata: {endpoint}\n\n").into()),
            timer: SessionTimer::new(Arc::clone(session.shared())),
            keep_alive: Box::pin(sleep(keep_alive)),
            keep_alive_interval: keep_alive,
            has_ended: false,
            session,
        }
    }

    pub(in crate::server::http) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(in crate::server::http) fn poll_bytes(
        &mut self,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let bytes = match self.endpoint.take() {
            Some(endpoint) => endpoint,
            None => match ready!(self.poll_events(cx)) {
                Some(Ok(bytes)) => bytes,
                end => return Poll::Ready(end),
            },
        };
        let next = Instant::now() + self.keep_alive_interval;
        self.keep_alive.as_mut().reset(next);
        Poll::Ready(Some(Ok(bytes)))
    }

    fn poll_events(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut out = BytesMut::new();
        while out.len() < MAX_TOGETHER && !self.has_ended {
            let polled = self
                .session
                .shared()
                .poll_legacy_stream(&mut self.timer, cx);
            match polled {
                Poll::Ready(LegacyOutput::Message(transmit)) => {
                    out.put_slice(MESSAGE);
                    write_event(&mut out, &transmit);
                }
                Poll::Ready(LegacyOutput::End) => self.has_ended = true,
                Poll::Ready(LegacyOutput::Cut) => {
                    self.has_ended = true;
                    return Poll::Ready(Some(Err(cut_stream())));
                }
                Poll::Pending => break,
            }
        }
        if !out.is_empty() {
            return Poll::Ready(Some(Ok(out.freeze())));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        ready!(self.keep_alive.as_mut().poll(cx));
        Poll::Ready(Some(Ok(Bytes::from_static(COMMENT))))
    }
}
