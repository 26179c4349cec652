//! The streams of calls, on a carrier with a stream per request.

use bytes::Bytes;

use super::Connection;
use crate::calls::CallId;
use crate::close::CloseReason;
use crate::codec::TooLarge;
use crate::endpoint::Purpose;
use crate::outcome::{Outcome, Sent};
use crate::time::Instant;

/// How the stream of a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The stream was never opened: the server has seen nothing.
    NotSent(String),
    /// The server refused it with this HTTP status, and with a body that is no response. A body
    /// that is one goes to [`Connection::handle_message`] first.
    Refused(u16),
    /// The stream was cut off.
    Lost(String),
    /// The server ended the stream.
    Complete,
}

impl StreamEnd {
    fn into_reason(self) -> String {
        match self {
            Self::NotSent(reason) | Self::Lost(reason) => reason,
            Self::Refused(status) => format!("refused with HTTP status {status}"),
            Self::Complete => "the stream ended without a response".into(),
        }
    }

    fn into_close(self) -> CloseReason {
        match self {
            Self::Refused(status) => CloseReason::Refused(status),
            other => CloseReason::Transport(other.into_reason()),
        }
    }

    /// Returns `true` if it shows a server that doesn't know `server/discover`. Spec,
    /// basic/versioning, 2026-07-28: what concerns authorization, and what fails on the way or in
    /// the server, does not indicate its era.
    fn indicates_era(&self) -> bool {
        match self {
            Self::NotSent(_) | Self::Lost(_) => false,
            Self::Refused(status) => match status {
                401 | 403 | 407 | 408 | 425 | 429 => false,
                status => (400..500).contains(status),
            },
            Self::Complete => true,
        }
    }
}

impl Connection {
    /// Handles a message on a carrier with a stream per request: on the stream of a call, or on
    /// one that belongs to none. Also for the body of a refusal, which may be a response.
    pub fn handle_message(&mut self, now: Instant, stream: Option<CallId>, frame: &Bytes) {
        if self.is_closed() {
            return;
        }
        self.handle_activity(now);
        self.handle_frame(now, stream, frame);
        self.endpoint.update_flow(now);
    }

    /// Handles the end of the stream of a call. A call without a response ends with it; the other
    /// calls go on.
    pub fn handle_stream_end(&mut self, now: Instant, call: CallId, end: StreamEnd) {
        let Some(waiting) = self.endpoint.calls.give_up(now, call) else {
            return;
        };
        let sent = match &end {
            StreamEnd::NotSent(_) => Sent::No,
            StreamEnd::Refused(_) | StreamEnd::Lost(_) | StreamEnd::Complete => waiting.tag.sent(),
        };
        let reason = end.clone().into_reason();
        let outcome = Outcome::Lost { reason };
        self.endpoint
            .complete_call_as(now, call, &waiting, outcome, sent);
        match waiting.tag.purpose {
            Purpose::Discover if end.indicates_era() || self.is_initializing() => {
                self.handle_handshake_response(now, Purpose::Discover, Err(None));
            }
            Purpose::Discover | Purpose::Initialize => self.close_with(now, end.into_close()),
            // The next keepalive ping decides whether the server is alive.
            Purpose::Keepalive | Purpose::User => {}
        }
    }

    /// Handles a message on the stream of a call that was too large to be kept. The call ends; a
    /// connection of many streams goes on.
    pub fn handle_oversized(&mut self, now: Instant, stream: Option<CallId>, too_large: &TooLarge) {
        if self.is_closed() {
            return;
        }
        self.handle_activity(now);
        self.skip_too_large(now, stream, too_large);
        self.endpoint.update_flow(now);
    }
}
