//! Events and actions of a link.

use std::fmt;
use std::sync::Arc;

use bowline_types::subscriptions::SubscriptionFilter;

use crate::event_queue::EventPayload;
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;

use super::calls::CallKey;
use super::state::Transition;
use super::subscriptions::SubscriptionKey;

/// The number of a connection: one opening of the transport. Input from an earlier connection has
/// no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

impl ConnectionId {
    /// Returns the number: the first connection is 1.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An action that the driver must perform on the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Open the transport, and report the result with
    /// [`handle_opened`](super::Link::handle_opened) or
    /// [`handle_open_failed`](super::Link::handle_open_failed).
    Open(ConnectionId),
    /// Close the transport, also while it is being opened.
    Close(ConnectionId),
}

/// An event of a link.
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
    /// A call has ended. There is exactly one such event for each call.
    Ended {
        /// The call.
        call: CallKey,
        /// The outcome.
        outcome: Outcome,
        /// `No` if the server can't have seen the call, in any of its attempts and rounds.
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
        /// The number of the round; the first one is 1.
        round: u32,
        /// The server's input requests, and the state that the link returns to it.
        result: Payload,
    },
    /// The server sent a request, which must be answered.
    Request {
        /// Its request.
        request: RequestKey,
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The server has cancelled this request.
    RequestCancelled(RequestKey),
    /// The server sent a notification.
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
        /// The part of the filter that the server honours. `None` in the handshake era, where it
        /// honours all of it.
        honoured: Option<Box<SubscriptionFilter>>,
    },
    /// A subscription is open again, in a new session, as the server has confirmed. Changes in
    /// between are not known, so everything that was read must be read again.
    SubscriptionGap {
        /// The subscription.
        subscription: SubscriptionKey,
        /// The part of the filter that the server honours now, as with
        /// [`SubscriptionOpened`](Self::SubscriptionOpened).
        honoured: Option<Box<SubscriptionFilter>>,
    },
    /// A subscription was ended by the server, or refused, or the link is closed.
    SubscriptionEnded {
        /// The subscription.
        subscription: SubscriptionKey,
        /// The outcome.
        outcome: Outcome,
    },
}

impl EventPayload for LinkEvent {
    fn payload_len(&self) -> usize {
        match self {
            Self::Ended { outcome, .. } | Self::SubscriptionEnded { outcome, .. } => {
                outcome.weight()
            }
            Self::Progress { params, .. } => params.len(),
            Self::InputRequired { result, .. } => result.len(),
            Self::Request { method, params, .. } | Self::Notification { method, params } => {
                method.len() + params.as_ref().map_or(0, Payload::len)
            }
            // A server honours no more than the filter of the request, or the limit of a frame.
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
