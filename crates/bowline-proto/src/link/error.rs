//! Errors of a link.

use std::fmt;

use super::state::LinkState;
use crate::outcome::Outcome;
use crate::time::Instant;

/// An error of a command of the link. The server has seen nothing of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no connection.
    Unavailable {
        /// The state of the link.
        state: LinkState,
        /// The time of the next attempt to connect, if it is known.
        next_attempt: Option<Instant>,
    },
    /// The limit on pending calls or on queued messages is reached.
    Backpressure,
    /// The message is larger than a frame may be.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
    /// The link was stopped.
    Shutdown,
    /// The link has closed permanently by itself:
    /// [`Link::last_failure`](super::Link::last_failure) returns the reason.
    GaveUp,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { state, .. } => {
                write!(f, "calls are not accepted now (state: {state})")
            }
            Self::Backpressure => f.write_str("too many calls or messages are queued"),
            Self::TooLarge { size } => write!(f, "a message of {size} bytes is too large"),
            Self::Shutdown => f.write_str("stopped"),
            Self::GaveUp => f.write_str(
                "gave up connecting: the failure is permanent, or too many attempts failed",
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// There is no call with this key, or it doesn't wait for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputError;

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no call with this key waits for input")
    }
}

impl std::error::Error for InputError {}

impl LinkError {
    /// Returns the outcome of a call that was accepted and then failed with this error.
    pub(super) fn into_outcome(self) -> Outcome {
        match self {
            Self::Shutdown => Outcome::Shutdown,
            Self::Backpressure => Outcome::Backpressure { attempts: 0 },
            Self::TooLarge { size } => Outcome::TooLarge { size: size as u64 },
            Self::Unavailable { .. } | Self::GaveUp => Outcome::Lost {
                reason: self.to_string(),
            },
        }
    }
}
