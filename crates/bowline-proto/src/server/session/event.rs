//! What a session tells its driver.

use std::sync::Arc;

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Method, Revision};

use crate::calls::CallId;
use crate::close::CloseReason;
use crate::event_queue::{EndpointEvent, EventPayload};
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;
use crate::server::RequestContext;

/// Who the client is and what it can do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// Who it is.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// The revision that is spoken.
    pub revision: Revision,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The client has introduced itself.
    Initialized(Box<ClientInfo>),
    /// The client is ready for our requests.
    Ready,
    /// The client wants an answer: see [`Session::respond`](super::Session::respond).
    Request {
        /// Its request.
        request: RequestKey,
        /// The method, which this revision has.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
        /// What a request of the stateless era says of its client. `None` in the handshake
        /// era, where the client has said it before.
        context: Option<Box<RequestContext>>,
    },
    /// The client wants an answer, to a method that the protocol doesn't have: only with
    /// [`forward_unknown_methods`](super::SessionConfig::forward_unknown_methods). It is answered, cancelled and
    /// bounded as any other request.
    UnknownRequest {
        /// Its request.
        request: RequestKey,
        /// The method.
        method: Arc<str>,
        /// The parameters.
        params: Option<Payload>,
        /// As of any other request.
        context: Option<Box<RequestContext>>,
    },
    /// The client no longer wants an answer to this request, and must not get one. Its
    /// handler keeps its place until it answers or is
    /// [released](super::Session::release).
    RequestCancelled(RequestKey),
    /// The handler of this request took too long. The client has been told; the handler
    /// should stop, and keeps its place until it does.
    RequestTimedOut(RequestKey),
    /// The client notifies.
    Notification {
        /// The method.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The client notifies of what the protocol doesn't have: only with
    /// [`forward_unknown_methods`](super::SessionConfig::forward_unknown_methods).
    UnknownNotification {
        /// The method.
        method: Arc<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The client made progress with a request of ours.
    Progress {
        /// Our request.
        call: CallId,
        /// The parameters of the notification.
        params: Payload,
    },
    /// A request of ours has ended. It is told once.
    Ended {
        /// Our request.
        call: CallId,
        /// How.
        outcome: Outcome,
        /// Whether the peer may have seen it.
        sent: Sent,
    },
    /// The handshake took too long.
    HandshakeTimedOut,
    /// The session is over. Nothing comes after it.
    Closed(CloseReason),
}

impl EndpointEvent for SessionEvent {
    fn ended(call: CallId, outcome: Outcome, sent: Sent) -> Self {
        Self::Ended {
            call,
            outcome,
            sent,
        }
    }
}

impl EventPayload for SessionEvent {
    fn payload_len(&self) -> usize {
        match self {
            Self::Ended { outcome, .. } => outcome.weight(),
            Self::Progress { params, .. } => params.len(),
            Self::Request { params, .. } | Self::Notification { params, .. } => {
                params.as_ref().map_or(0, Payload::len)
            }
            Self::UnknownRequest { method, params, .. }
            | Self::UnknownNotification { method, params } => {
                method.len() + params.as_ref().map_or(0, Payload::len)
            }
            Self::Initialized(_)
            | Self::Ready
            | Self::RequestCancelled(_)
            | Self::RequestTimedOut(_)
            | Self::HandshakeTimedOut
            | Self::Closed(_) => 0,
        }
    }
}
