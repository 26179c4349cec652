//! The states of a link, and the history of its transitions.

use std::collections::VecDeque;
use std::fmt;

use bowline_types::Revision;

use crate::close::CloseReason;
use crate::defect::{self, Defect};
use crate::time::Instant;

/// The state of a link. docs/state-machine.md lists every edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the states are a contract; a new one would be another contract"
)]
pub enum LinkState {
    /// The transport is being opened.
    Starting,
    /// Era and revision are being agreed.
    Initializing,
    /// Calls are served.
    Ready,
    /// Waiting before another attempt.
    Backoff,
    /// Stopped; the transport is being closed.
    Closing,
    /// The link has ended.
    Closed,
}

impl LinkState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Starting,
        Self::Initializing,
        Self::Ready,
        Self::Backoff,
        Self::Closing,
        Self::Closed,
    ];

    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Initializing => "initializing",
            Self::Ready => "ready",
            Self::Backoff => "backoff",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a link changed its state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// The transport is open.
    Opened,
    /// The transport could not be opened.
    OpenFailed(String),
    /// The transport was not opened in time.
    OpeningTimeout,
    /// A revision was agreed.
    Agreed(Revision),
    /// The connection ended.
    Ended(CloseReason),
    /// The server exited when it received the probe, `server/discover`.
    ExitedOnProbe,
    /// The server's HTTP session has expired.
    SessionExpired,
    /// The wait of the backoff has elapsed.
    BackoffElapsed,
    /// The application called [`Link::reconnect_now`](super::Link::reconnect_now).
    ReconnectRequested,
    /// The link was stopped.
    Stopped,
    /// The transport is closed.
    Drained,
    /// As many attempts failed as may.
    AttemptsExhausted,
    /// The driver crashed.
    DriverCrash,
    /// The driver crashed too often.
    TooManyCrashes,
    /// The driver can't run at all, for this reason: another attempt would not help.
    DriverFailed(String),
}

impl Cause {
    /// Returns the name of the cause, as in telemetry.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::OpenFailed(_) => "open failed",
            Self::OpeningTimeout => "opening timeout",
            Self::Agreed(_) => "agreed",
            Self::Ended(reason) => reason.name(),
            Self::ExitedOnProbe => "exited on server/discover",
            Self::SessionExpired => "session expired",
            Self::BackoffElapsed => "backoff elapsed",
            Self::ReconnectRequested => "reconnect requested",
            Self::Stopped => "stopped",
            Self::Drained => "drained",
            Self::AttemptsExhausted => "attempts exhausted",
            Self::DriverCrash => "driver crash",
            Self::TooManyCrashes => "too many crashes",
            Self::DriverFailed(_) => "driver failed",
        }
    }

    /// Returns the reason of the calls that are lost because of it.
    pub(super) fn lost_reason(&self) -> String {
        match self {
            Self::Ended(reason) => reason.lost_reason(),
            other => other.to_string(),
        }
    }

    /// Returns `true` if this is why there is no connection.
    const fn is_failure(&self) -> bool {
        match self {
            Self::OpenFailed(_)
            | Self::OpeningTimeout
            | Self::Ended(_)
            | Self::ExitedOnProbe
            | Self::SessionExpired
            | Self::DriverCrash
            | Self::TooManyCrashes
            | Self::DriverFailed(_) => true,
            Self::Opened
            | Self::Agreed(_)
            | Self::BackoffElapsed
            | Self::ReconnectRequested
            | Self::Stopped
            | Self::Drained
            | Self::AttemptsExhausted => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenFailed(reason) => write!(f, "the transport could not be opened: {reason}"),
            Self::Agreed(revision) => write!(f, "agreed on {revision}"),
            Self::Ended(reason) => reason.fmt(f),
            Self::DriverFailed(reason) => f.write_str(reason),
            Self::ExitedOnProbe => {
                f.write_str("the server exited when it received `server/discover`")
            }
            Self::DriverCrash => f.write_str("the client driver panicked"),
            Self::TooManyCrashes => f.write_str("the client driver panicked too often"),
            Self::Opened
            | Self::OpeningTimeout
            | Self::SessionExpired
            | Self::BackoffElapsed
            | Self::ReconnectRequested
            | Self::Stopped
            | Self::Drained
            | Self::AttemptsExhausted => f.write_str(self.name()),
        }
    }
}

/// A transition: a change of state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transition {
    /// The time of the transition.
    pub at: Instant,
    /// The state before.
    pub from: LinkState,
    /// The state after.
    pub to: LinkState,
    /// The cause.
    pub cause: Cause,
    /// The number of the session, once there has been one.
    pub session: u64,
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            from,
            to,
            cause,
            session,
        } = self;
        write!(f, "{at} {from} → {to} (session {session}): {cause}")
    }
}

/// The last changes of state, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    last: VecDeque<Transition>,
    total: u64,
}

impl History {
    /// Changes that are remembered.
    const LENGTH: usize = 64;

    pub(super) fn push(&mut self, transition: Transition) {
        if self.last.len() == Self::LENGTH && !defect::is(Defect::UnboundedHistory) {
            self.last.pop_front();
        }
        self.last.push_back(transition);
        self.total += 1;
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Transition> + ExactSizeIterator {
        self.last.iter()
    }

    /// Returns the latest failure since calls were served.
    pub(super) fn last_failure(&self) -> Option<&Transition> {
        let changes = self.last.iter().rev();
        let mut since_ready = changes.take_while(|transition| transition.to != LinkState::Ready);
        since_ready.find(|transition| transition.cause.is_failure())
    }

    /// Changes altogether, those that are forgotten included.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: CN-2
    #[test]
    fn the_last_64_changes_are_remembered() {
        let mut history = History::default();
        for at in 0..65 {
            history.push(Transition {
                at: Instant::from_nanos(at),
                from: LinkState::Backoff,
                to: LinkState::Starting,
                cause: Cause::BackoffElapsed,
                session: 0,
            });
        }
        assert_eq!((history.iter().len(), history.total()), (64, 65));
        assert_eq!(history.iter().next().unwrap().at, Instant::from_nanos(1));
    }
}
