//! What a link tells, and what it wants to be done.

use std::fmt;

use crate::events::Weigh;
use crate::negotiation::Agreement;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::requests::RequestKey;

use super::calls::CallKey;
use super::state::Transition;
use super::subscriptions::SubscriptionKey;

/// One opening of a transport. What comes from an earlier one has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life(pub(super) u64);

impl Life {
    /// Its number: the first one is 1.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a driver is to do with the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Open it, and tell with [`handle_opened`](super::Link::handle_opened) or
    /// [`handle_open_failed`](super::Link::handle_open_failed).
    Open(Life),
    /// Close it, also while it is being opened.
    Close(Life),
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The state has changed.
    State(Transition),
    /// A session has begun.
    Ready {
        /// Its number; each has one more than the one before.
        session: u64,
        /// What was agreed.
        agreement: Box<Agreement>,
    },
    /// A call has ended. It is told once.
    Ended {
        /// The call.
        call: CallKey,
        /// How.
        outcome: Outcome,
    },
    /// A call made progress.
    Progress {
        /// The call.
        call: CallKey,
        /// The parameters of the notification.
        params: Payload,
    },
    /// The server needs input before it can go on with a call: see
    /// [`Link::give_input`](super::Link::give_input).
    InputRequired {
        /// The call.
        call: CallKey,
        /// Which round it is; the first one is 1.
        round: u32,
        /// The server's questions, and the state that the link gives back.
        result: Payload,
    },
    /// The server wants an answer.
    Request {
        /// Its request.
        request: RequestKey,
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The server no longer wants an answer to this request.
    RequestCancelled(RequestKey),
    /// The server notifies.
    Notification {
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// A subscription is open again, in a new session, as the server has confirmed: what
    /// changed in between is not known, so whatever was read must be read again.
    SubscriptionGap(SubscriptionKey),
    /// A subscription was ended by the server, or refused, or the link is closed.
    SubscriptionEnded {
        /// The subscription.
        subscription: SubscriptionKey,
        /// How.
        outcome: Outcome,
    },
}

impl Weigh for LinkEvent {
    fn payload(&self) -> usize {
        match self {
            Self::Ended { outcome, .. } | Self::SubscriptionEnded { outcome, .. } => {
                outcome.weight()
            }
            Self::Progress { params, .. } => params.len(),
            Self::InputRequired { result, .. } => result.len(),
            Self::Request { method, params, .. } | Self::Notification { method, params } => {
                method.len() + params.as_ref().map_or(0, Payload::len)
            }
            Self::State(_)
            | Self::Ready { .. }
            | Self::RequestCancelled(_)
            | Self::SubscriptionGap(_) => 0,
        }
    }
}
