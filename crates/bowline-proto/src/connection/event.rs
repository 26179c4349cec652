//! What a connection tells its driver.

use std::fmt;
use std::time::Duration;

use bowline_types::{DecodeError, ErrorObject, RequestId, Wire};
use bytes::Bytes;

use crate::calls::CallId;
use crate::codec::CodecFault;
use crate::negotiation::{Agreement, NegotiationError};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The connection is ready for calls.
    Ready(Box<Agreement>),
    /// A call has ended. It is told once.
    Ended {
        /// The call.
        call: CallId,
        /// How.
        outcome: Outcome,
    },
    /// A call made progress.
    Progress {
        /// The call.
        call: CallId,
        /// The parameters of the notification.
        params: Payload,
    },
    /// The peer wants an answer: see [`Connection::respond`](super::Connection::respond).
    Request {
        /// The id of its request.
        id: RequestId,
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The peer no longer wants an answer to this request.
    RequestCancelled(RequestId),
    /// The peer notifies.
    Notification {
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The connection is over. Nothing comes after it.
    Closed(CloseReason),
}

impl Event {
    /// Bytes of payload that it holds.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Ended {
                outcome: Outcome::Result(payload),
                ..
            }
            | Self::Progress {
                params: payload, ..
            } => payload.0.len(),
            Self::Request { params, .. } | Self::Notification { params, .. } => {
                params.as_ref().map_or(0, |payload| payload.0.len())
            }
            Self::Ready(_) | Self::Ended { .. } | Self::RequestCancelled(_) | Self::Closed(_) => 0,
        }
    }
}

/// A JSON object that has not been decoded: a slice of the frame that it came in.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(pub(crate) Bytes);

impl Payload {
    /// The text.
    pub fn as_str(&self) -> &str {
        // The envelope pass has checked it.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes, without copying them.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Decodes it.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        T::from_json(self.as_str())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a call ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// With a result.
    Result(Payload),
    /// With an error of the server.
    Error(ErrorObject),
    /// Without an answer in time.
    TimedOut {
        /// How long it took.
        elapsed: Duration,
    },
    /// Because it was no longer wanted.
    Cancelled,
    /// Because the server ended the session.
    CancelledByServer,
    /// Because its answer makes no sense.
    Invalid(String),
    /// Because its answer is too large.
    TooLarge {
        /// Its bytes, as far as they are known.
        size: u64,
    },
    /// Because what it travelled on was lost.
    Lost {
        /// Why.
        reason: String,
        /// Whether the server may have seen it.
        sent: Sent,
    },
    /// Because the connection was closed by us.
    Shutdown,
}

/// Whether a server may have seen a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is nothing between certain and possible"
)]
pub enum Sent {
    /// Certainly not: it can be made again.
    No,
    /// Perhaps, and it may have had its effect.
    Maybe,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// We asked for it.
    Local,
    /// The peer broke the protocol.
    Peer(PeerFault),
    /// There was no agreement.
    Negotiation(NegotiationError),
    /// The bytes stopped coming.
    Transport(String),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("closed locally"),
            Self::Peer(fault) => write!(f, "the peer broke the protocol: {fault}"),
            Self::Negotiation(error) => error.fmt(f),
            Self::Transport(reason) => write!(f, "transport lost: {reason}"),
        }
    }
}

/// What a peer did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerFault {
    /// It didn't finish the handshake in time.
    HandshakeTimeout,
    /// A frame beyond the limit.
    OversizedFrame {
        /// Its bytes, as far as they are known.
        size: u64,
    },
    /// Bytes that make no frames.
    Codec(CodecFault),
    /// A server that sends `initialize`.
    Initialize,
    /// `notifications/cancelled` without an id: the server gave up the session.
    SessionReset,
    /// Too much nonsense.
    Nonsense,
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakeTimeout => f.write_str("no handshake in time"),
            Self::OversizedFrame { size } => write!(f, "a frame of {size} bytes"),
            Self::Codec(fault) => fault.fmt(f),
            Self::Initialize => f.write_str("a server must not send initialize"),
            Self::SessionReset => f.write_str("it gave up the session"),
            Self::Nonsense => f.write_str("too many frames that make no sense"),
        }
    }
}

/// How often something happened that has no other trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Answers to calls that were given up.
    pub late_answers: u64,
    /// Answers to calls that had ended.
    pub stale_answers: u64,
    /// Answers to calls that were never made.
    pub unknown_answers: u64,
    /// Frames that are no message.
    pub malformed_frames: u64,
    /// Messages that are not allowed where they came.
    pub violations: u64,
    /// Cancellations and progress of nothing that goes on.
    pub pointless_notifications: u64,
    /// Requests of the peer that were answered "busy".
    pub refused_requests: u64,
}
