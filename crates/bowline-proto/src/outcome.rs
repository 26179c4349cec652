//! Outcomes of calls.

use std::time::Duration;

use bowline_types::ErrorObject;

use crate::payload::Payload;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The peer answered with a result.
    Result(Payload),
    /// The peer answered with an error.
    Error(ErrorObject),
    /// There was no response in time.
    TimedOut {
        /// The time from the start of the call.
        elapsed: Duration,
    },
    /// The session in which the call was about to be sent does not support it: see
    /// [`AdaptToSession`](crate::link::AdaptToSession). The peer has seen nothing of it.
    Unsupported(String),
    /// The application cancelled the call.
    Cancelled,
    /// The server cancelled the session, or the subscription.
    CancelledByServer,
    /// The response is invalid.
    Invalid(String),
    /// The response is too large.
    TooLarge {
        /// Its bytes, as far as they are known.
        size: u64,
    },
    /// The transport was busy at every attempt to send the call. The peer has seen nothing of it.
    Backpressure {
        /// The number of attempts.
        attempts: u32,
    },
    /// The connection or the stream of the call was lost.
    Lost {
        /// The reason.
        reason: String,
    },
    /// The application closed the connection.
    Shutdown,
}

impl Outcome {
    /// Returns the name of the outcome, as in telemetry.
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

    /// Returns the number of bytes of payload that it holds.
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

/// The answer to "may the peer have seen this call?" Only the core knows, so each outcome comes with it: a
/// call of which a part may have reached the transport is [`Maybe`](Self::Maybe), with every
/// outcome and for every later attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is nothing between certain and possible"
)]
pub enum Sent {
    /// Certainly not: the driver never took it, or has returned it or reported it as not sent.
    /// It can be sent again.
    #[default]
    No,
    /// The driver took it, so the peer may have seen it, and it may have had its effect.
    Maybe,
}

impl Sent {
    /// Joins two attempts of a call: one that may have been seen is enough.
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        match self {
            Self::No => other,
            Self::Maybe => Self::Maybe,
        }
    }
}
