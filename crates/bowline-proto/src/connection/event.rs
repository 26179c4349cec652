//! What a connection tells its driver.

use crate::calls::CallId;
use crate::close::CloseReason;
use crate::event_queue::{EndpointEvent, EventPayload};
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The connection is ready for calls.
    Ready(Box<Agreement>),
    /// A call has ended. It is told once.
    Ended {
        /// The call.
        call: CallId,
        /// How.
        outcome: Outcome,
        /// Whether the peer may have seen it.
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
    /// The peer wants an answer: see [`Connection::respond`](super::Connection::respond).
    Request {
        /// Its request.
        request: RequestKey,
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The peer no longer wants an answer to this request. Its handler keeps its place
    /// until it answers or is [released](super::Connection::release).
    RequestCancelled(RequestKey),
    /// The peer notifies.
    Notification {
        /// The method.
        method: Box<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The connection is over. Nothing comes after it.
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
