//! Why a link refuses something.

use std::fmt;

use super::state::State;
use crate::outcome::Outcome;
use crate::time::Instant;

/// Why something was not done. The server has seen nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no connection.
    Unavailable {
        /// Where the link stands.
        state: State,
        /// When it tries again, if that is known.
        next_attempt: Option<Instant>,
    },
    /// As many calls wait as may, or as much waits to be sent.
    Backpressure,
    /// The message is larger than a frame may be.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
    /// The link was stopped.
    Shutdown,
    /// The link has closed for good by itself: [`Link::last_failure`](super::Link::last_failure)
    /// says why.
    GaveUp,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { state, .. } => {
                write!(f, "calls are not served now (state: {state})")
            }
            Self::Backpressure => f.write_str("too much waits already"),
            Self::TooLarge { size } => write!(f, "a message of {size} bytes is too large"),
            Self::Shutdown => f.write_str("stopped"),
            Self::GaveUp => f.write_str("the link has closed for good after a failure"),
        }
    }
}

impl std::error::Error for LinkError {}

/// There is no such call, or it waits for no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputError;

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such call waits for input")
    }
}

impl std::error::Error for InputError {}

impl LinkError {
    /// Returns how a call ends that was accepted and then can't be made for this reason.
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
