//! The edges that docs/state-machine.md lists, with what may cause them.

use bowline_proto::link::{Cause, LinkState as State};
use bowline_proto::{CloseReason, PeerFault};

/// Returns `true` if an edge is listed.
pub(super) fn is_listed(from: State, to: State, cause: &Cause) -> bool {
    match from {
        State::Starting => from_starting(to, cause),
        State::Initializing => from_initializing(to, cause),
        State::Ready => from_ready(to, cause),
        State::Backoff => from_backoff(to, cause),
        State::Closing => {
            to == State::Closed && matches!(cause, Cause::Drained | Cause::DriverCrash)
        }
        State::Closed => false,
    }
}

fn from_starting(to: State, cause: &Cause) -> bool {
    match to {
        State::Initializing => *cause == Cause::Opened,
        State::Backoff => matches!(cause, Cause::OpenFailed(_) | Cause::OpeningTimeout),
        State::Closed => matches!(cause, Cause::OpenFailed(_) | Cause::TooManyCrashes),
        State::Closing => *cause == Cause::Stopped,
        State::Starting => *cause == Cause::DriverCrash,
        State::Ready => false,
    }
}

fn from_initializing(to: State, cause: &Cause) -> bool {
    match to {
        State::Ready => matches!(cause, Cause::Agreed(_)),
        State::Starting => matches!(cause, Cause::ExitedOnProbe | Cause::DriverCrash),
        State::Backoff => matches!(cause, Cause::Ended(reason) if !is_reset(reason)),
        State::Closed => matches!(
            cause,
            Cause::Ended(CloseReason::Negotiation(_)) | Cause::TooManyCrashes
        ),
        State::Closing => *cause == Cause::Stopped,
        State::Initializing => false,
    }
}

fn from_ready(to: State, cause: &Cause) -> bool {
    match to {
        State::Backoff => matches!(cause, Cause::Ended(reason) if !is_reset(reason)),
        State::Starting => match cause {
            Cause::Ended(reason) => is_reset(reason),
            other => *other == Cause::DriverCrash,
        },
        State::Initializing => *cause == Cause::SessionExpired,
        State::Closing => *cause == Cause::Stopped,
        State::Closed => *cause == Cause::TooManyCrashes,
        State::Ready => false,
    }
}

fn from_backoff(to: State, cause: &Cause) -> bool {
    match to {
        State::Starting => matches!(
            cause,
            Cause::BackoffElapsed | Cause::ReconnectRequested | Cause::DriverCrash
        ),
        State::Closed => matches!(
            cause,
            Cause::Stopped | Cause::AttemptsExhausted | Cause::TooManyCrashes
        ),
        State::Initializing | State::Ready | State::Backoff | State::Closing => false,
    }
}

/// Returns `true` if the server gave up the session, after which it is opened again at once.
fn is_reset(reason: &CloseReason) -> bool {
    *reason == CloseReason::Peer(PeerFault::SessionReset)
}
