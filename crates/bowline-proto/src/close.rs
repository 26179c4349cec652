//! Why a connection ended.

use std::fmt;

use crate::codec::CodecFault;
use crate::negotiation::NegotiationError;

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The application closed it.
    Local,
    /// The peer violated the protocol.
    Peer(PeerFault),
    /// The negotiation failed.
    Negotiation(NegotiationError),
    /// The transport was lost.
    Transport(String),
    /// The handshake was refused with this HTTP status.
    Refused(u16),
    /// Nothing was read for too long, since responses didn't leave or events were not taken.
    Stalled,
    /// The ids are used up. The next connection must begin with new ones.
    IdsExhausted,
}

impl CloseReason {
    /// Returns the reason of an [`Outcome::Lost`](crate::Outcome::Lost), which is itself the
    /// information that the transport was lost.
    pub(crate) fn lost_reason(&self) -> String {
        match self {
            Self::Transport(reason) => reason.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the name of the reason, as in telemetry.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Local => "closed",
            Self::Peer(fault) => fault.name(),
            Self::Negotiation(_) => "negotiation failed",
            Self::Transport(_) => "transport lost",
            Self::Refused(_) => "refused",
            Self::Stalled => "stalled",
            Self::IdsExhausted => "ids exhausted",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("closed locally"),
            Self::Peer(fault) => write!(f, "the peer violated the protocol: {fault}"),
            Self::Negotiation(error) => error.fmt(f),
            Self::Transport(reason) => write!(f, "transport lost: {reason}"),
            Self::Refused(status) => write!(f, "refused with HTTP status {status}"),
            Self::Stalled => f.write_str("nothing could be read or written for too long"),
            Self::IdsExhausted => f.write_str("the request ids of this connection are used up"),
        }
    }
}

/// A violation of the protocol by the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerFault {
    /// The peer didn't finish the handshake in time.
    HandshakeTimeout,
    /// The peer began a frame and didn't finish it in time.
    UnfinishedFrame,
    /// A frame beyond the limit.
    OversizedFrame {
        /// Its bytes, as far as they are known.
        size: u64,
    },
    /// The bytes can't be decoded into frames.
    Codec(CodecFault),
    /// The server sent `initialize`.
    Initialize,
    /// The server sent `notifications/cancelled` without an id, which ends the session.
    SessionReset,
    /// The peer sent too many malformed or unexpected messages.
    TooManyViolations,
    /// The peer didn't respond to keepalive pings.
    Silent {
        /// The number of pings without a response.
        missed: u32,
    },
}

impl PeerFault {
    /// Returns the name of the fault, as in telemetry.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HandshakeTimeout => "handshake timeout",
            Self::UnfinishedFrame => "unfinished frame",
            Self::OversizedFrame { .. } => "oversized frame",
            Self::Codec(_) => "bad framing",
            Self::Initialize => "second initialize",
            Self::SessionReset => "session reset",
            Self::TooManyViolations => "too many violations",
            Self::Silent { .. } => "silent",
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakeTimeout => f.write_str("the handshake was not finished in time"),
            Self::UnfinishedFrame => f.write_str("a frame was not finished in time"),
            Self::OversizedFrame { size } => write!(f, "a frame of {size} bytes is too large"),
            Self::Codec(fault) => fault.fmt(f),
            Self::Initialize => f.write_str("a server must not send initialize"),
            Self::SessionReset => {
                f.write_str("the server sent notifications/cancelled without a requestId")
            }
            Self::TooManyViolations => f.write_str("too many malformed or unexpected messages"),
            Self::Silent { missed } => write!(f, "no response to keepalive pings ({missed} sent)"),
        }
    }
}
