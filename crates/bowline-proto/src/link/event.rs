//! What a link tells, and what it wants to be done.

use std::fmt;
use std::sync::Arc;

use bowline_types::subscriptions::SubscriptionFilter;

use crate::event_queue::Weigh;
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;

use super::calls::CallKey;
use super::state::Transition;
use super::subscriptions::SubscriptionKey;

/// One opening of a transport. What comes from an earlier one has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

impl ConnectionId {
    /// Returns its number: the first one is 1.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ConnectionId {
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
    Open(ConnectionId),
    /// Close it, also while it is being opened.
    Close(ConnectionId),
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
        agreement: Arc<Agreement>,
    },
    /// A call has ended. It is told once.
    Ended {
        /// The call.
        call: CallKey,
        /// How.
        outcome: Outcome,
        /// Whether the server may have seen it, in any of its attempts and rounds.
        sent: Sent,
    },
    /// A call made progress. In 2025-11-25 it may do so after it has ended, when it has
    /// become a task: see [`Link::forget_progress`](super::Link::forget_progress).
    Progress {
        /// The call.
        call: CallKey,
        /// The parameters of the notification.
        params: Payload,
    },
    /// The server needs input before it can go on with a call: see
    /// [`Link::provide_input`](super::Link::provide_input).
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
    /// A subscription is open for the first time, as the server has confirmed.
    SubscriptionOpened {
        /// The subscription.
        subscription: SubscriptionKey,
        /// What the server honours of it. `None` in the handshake era, where it is all.
        honoured: Option<Box<SubscriptionFilter>>,
    },
    /// A subscription is open again, in a new session, as the server has confirmed: what
    /// changed in between is not known, so whatever was read must be read again.
    SubscriptionGap {
        /// The subscription.
        subscription: SubscriptionKey,
        /// What the server honours of it now, as with
        /// [`SubscriptionOpened`](Self::SubscriptionOpened).
        honoured: Option<Box<SubscriptionFilter>>,
    },
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
            // What a server honours is no more than it was asked for, or a limit of frames.
            Self::SubscriptionOpened { honoured, .. } | Self::SubscriptionGap { honoured, .. } => {
                honoured.as_ref().map_or(0, |honoured| weight(honoured))
            }
            Self::State(_) | Self::Ready { .. } | Self::RequestCancelled(_) => 0,
        }
    }
}

fn weight(filter: &SubscriptionFilter) -> usize {
    let texts = |list: &Option<Vec<String>>| list.iter().flatten().map(String::len).sum::<usize>();
    texts(&filter.resource_subscriptions) + texts(&filter.task_ids) + filter.extras.as_str().len()
}
