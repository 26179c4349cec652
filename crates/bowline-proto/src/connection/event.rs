//! Events of a connection.

use crate::calls::CallId;
use crate::close::CloseReason;
use crate::event_queue::{EndpointEvent, EventPayload};
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The connection is ready for calls.
    Ready(Box<Agreement>),
    /// A call has ended. There is exactly one such event for each call.
    Ended {
        /// The call.
        call: CallId,
        /// The outcome.
        outcome: Outcome,
        /// `No` if the peer can't have seen the call.
        sent: Sent,
    },
    /// A call made progress. In 2025-11-25 it may do so after it has ended, when it has
    /// become a task: see [`Connection::forget_progress`](super::Connection::forget_progress).
    Progress {
        /// The call.
        call: CallId,
        /// The parameters of the notification.
        params: Payload,
        /// `true` if the value is higher than any before: nothing else extends the time of a
        /// call.
        has_risen: bool,
    },
    /// The peer sent a request, which must be answered: see
    /// [`Connection::respond`](super::Connection::respond).
    Request {
        /// Its request.
        request: RequestKey,
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The peer has cancelled this request. Its handler keeps its place until it answers or is
    /// [released](super::Connection::release).
    RequestCancelled(RequestKey),
    /// The peer sent a notification.
    Notification {
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The connection has ended. This is the last event.
    Closed(CloseReason),
}

impl EndpointEvent for Event {
    fn ended(call: CallId, outcome: Outcome, sent: Sent) -> Self {
        Self::Ended {
            call,
            outcome,
            sent,
        }
    }
}

impl EventPayload for Event {
    fn payload_len(&self) -> usize {
        match self {
            Self::Ended { outcome, .. } => outcome.weight(),
            Self::Progress { params, .. } => params.len(),
            Self::Request { method, params, .. } | Self::Notification { method, params } => {
                method.len() + params.as_ref().map_or(0, Payload::len)
            }
            Self::Ready(_) | Self::RequestCancelled(_) | Self::Closed(_) => 0,
        }
    }
}
