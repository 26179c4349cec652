//! Events of a session.

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

/// The client's name, version and capabilities.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The name and version.
    pub info: Implementation,
    /// The capabilities.
    pub capabilities: ClientCapabilities,
    /// The negotiated protocol revision.
    pub revision: Revision,
}

impl ClientInfo {
    /// Creates the description of a client: for one whose session was stored.
    pub const fn new(
        info: Implementation,
        capabilities: ClientCapabilities,
        revision: Revision,
    ) -> Self {
        Self {
            info,
            capabilities,
            revision,
        }
    }
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The client has sent `initialize`.
    Initialized(Box<ClientInfo>),
    /// The client is ready for our requests.
    Ready,
    /// The client sent a request: see [`Session::respond`](super::Session::respond).
    Request {
        /// Its request.
        request: RequestKey,
        /// The method, which this revision has.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
        /// The `_meta` of a request of the stateless era. `None` in the handshake era, where
        /// `initialize` declared it.
        context: Option<Box<RequestContext>>,
    },
    /// The client sent a request with a method that the protocol doesn't have: only with
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
    /// The client has cancelled this request, which must not be answered. Its handler keeps its
    /// place until it answers or is [released](super::Session::release).
    RequestCancelled(RequestKey),
    /// The handler of this request took too long. The client has received an error; the handler
    /// should stop, and keeps its place until it does.
    RequestTimedOut(RequestKey),
    /// The client sent a notification.
    Notification {
        /// The method.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The client sent a notification that the protocol doesn't have: only with
    /// [`forward_unknown_methods`](super::SessionConfig::forward_unknown_methods).
    UnknownNotification {
        /// The method.
        method: Arc<str>,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The client reported progress of one of our requests.
    Progress {
        /// Our request.
        call: CallId,
        /// The parameters of the notification.
        params: Payload,
    },
    /// One of our requests has ended. There is exactly one such event for each.
    Ended {
        /// Our request.
        call: CallId,
        /// The outcome.
        outcome: Outcome,
        /// `No` if the client can't have seen the request.
        sent: Sent,
    },
    /// The handshake took too long.
    HandshakeTimedOut,
    /// The session has ended. This is the last event.
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
