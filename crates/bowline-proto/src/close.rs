//! Why a connection ends.

use std::fmt;

use crate::codec::CodecFault;
use crate::negotiation::NegotiationError;

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
    /// The handshake was refused with this HTTP status.
    Refused(u16),
    /// Nothing was read for too long, since answers didn't leave or events were not taken.
    Stalled,
    /// The ids are used up. The next connection must begin with new ones.
    IdsExhausted,
}

impl CloseReason {
    /// The reason in a word or two, as telemetry has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Local => "closed",
            Self::Peer(fault) => fault.name(),
            Self::Negotiation(_) => "no agreement",
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
            Self::Peer(fault) => write!(f, "the peer broke the protocol: {fault}"),
            Self::Negotiation(error) => error.fmt(f),
            Self::Transport(reason) => write!(f, "transport lost: {reason}"),
            Self::Refused(status) => write!(f, "refused with HTTP status {status}"),
            Self::Stalled => f.write_str("nothing could be read or written for too long"),
            Self::IdsExhausted => f.write_str("the ids of this connection are used up"),
        }
    }
}

/// What a peer did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerFault {
    /// It didn't finish the handshake in time.
    HandshakeTimeout,
    /// It began a frame and didn't finish it in time.
    UnfinishedFrame,
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
    /// It gave no sign of life.
    Silent {
        /// How often it was asked for one.
        missed: u32,
    },
}

impl PeerFault {
    /// The fault in a word or two, as telemetry has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HandshakeTimeout => "handshake timeout",
            Self::UnfinishedFrame => "unfinished frame",
            Self::OversizedFrame { .. } => "oversized frame",
            Self::Codec(_) => "bad framing",
            Self::Initialize => "second initialize",
            Self::SessionReset => "session reset",
            Self::Nonsense => "nonsense",
            Self::Silent { .. } => "silent",
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakeTimeout => f.write_str("no handshake in time"),
            Self::UnfinishedFrame => f.write_str("a frame that was not finished in time"),
            Self::OversizedFrame { size } => write!(f, "a frame of {size} bytes"),
            Self::Codec(fault) => fault.fmt(f),
            Self::Initialize => f.write_str("a server must not send initialize"),
            Self::SessionReset => f.write_str("it gave up the session"),
            Self::Nonsense => f.write_str("too many frames that make no sense"),
            Self::Silent { missed } => write!(f, "no sign of life, asked {missed} times"),
        }
    }
}
