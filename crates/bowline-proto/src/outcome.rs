//! How a call of ours ends.

use std::time::Duration;

use bowline_types::ErrorObject;

use crate::payload::Payload;

/// How a call ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// With a result.
    Result(Payload),
    /// With an error of the peer.
    Error(ErrorObject),
    /// Without an answer in time.
    TimedOut {
        /// How long it took.
        elapsed: Duration,
    },
    /// Because the session in which it was about to be made has no words for it: see
    /// [`AdaptToSession`](crate::link::AdaptToSession). The peer has seen nothing of it.
    Unsupported(String),
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
    /// Because the transport was busy each time that it was to be sent. The peer has seen
    /// nothing of it.
    Backpressure {
        /// How often that was.
        attempts: u32,
    },
    /// Because what it travelled on was lost.
    Lost {
        /// Why.
        reason: String,
    },
    /// Because the connection was closed by us.
    Shutdown,
}

impl Outcome {
    /// The outcome in a word, as telemetry has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Result(_) => "result",
            Self::Error(_) => "error",
            Self::TimedOut { .. } => "timed_out",
            Self::Unsupported(_) => "unsupported",
            Self::Cancelled => "cancelled",
            Self::CancelledByServer => "cancelled_by_server",
            Self::Invalid(_) => "invalid",
            Self::TooLarge { .. } => "too_large",
            Self::Backpressure { .. } => "backpressure",
            Self::Lost { .. } => "lost",
            Self::Shutdown => "shutdown",
        }
    }

    /// Bytes of payload that it holds.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Result(payload) => payload.len(),
            Self::Error(error) => {
                error.message.len() + error.data.as_ref().map_or(0, |data| data.as_str().len())
            }
            Self::Unsupported(reason) | Self::Invalid(reason) | Self::Lost { reason } => {
                reason.len()
            }
            Self::TimedOut { .. }
            | Self::Cancelled
            | Self::CancelledByServer
            | Self::TooLarge { .. }
            | Self::Backpressure { .. }
            | Self::Shutdown => 0,
        }
    }
}

/// Whether a peer may have seen a call. Only the core knows, and each end of a call says it: a
/// call of which a part may have reached the transport is [`Maybe`](Self::Maybe), with every
/// outcome and for every later attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is nothing between certain and possible"
)]
pub enum Sent {
    /// Certainly not: the driver never took it, or has returned it or reported it as not sent.
    /// It can be made again.
    #[default]
    No,
    /// The driver took it, so the peer may have seen it, and it may have had its effect.
    Maybe,
}

impl Sent {
    /// Returns what is known of a call of two attempts: one that may have been seen is enough.
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        match self {
            Self::No => other,
            Self::Maybe => Self::Maybe,
        }
    }
}
