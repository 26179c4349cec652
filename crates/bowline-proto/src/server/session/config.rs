//! The configuration of a session.

use std::time::Duration;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::Framing;
use crate::config::Carrier;
use crate::limits::Limits;
use crate::server::listen_subscriptions::ListenLimits;

/// The configuration of a server's session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub(super) server_info: Implementation,
    pub(super) capabilities: ServerCapabilities,
    pub(super) instructions: Option<String>,
    pub(super) revisions: Revisions,
    pub(super) carrier: Carrier,
    pub(super) framing: Option<Framing>,
    pub(super) handshake_timeout: Duration,
    pub(super) handshake_timeout_only_logs: bool,
    pub(super) frame_timeout: Option<Duration>,
    pub(super) handler_timeout: Option<Duration>,
    pub(super) forward_session_requests: bool,
    pub(super) forward_unknown_methods: bool,
    pub(super) request_timeouts: Timeouts,
    pub(super) max_resource_subscriptions: usize,
    pub(super) max_resource_subscription_bytes: usize,
    pub(super) seed: u64,
    pub(super) limits: Limits,
}

impl SessionConfig {
    /// Creates the default configuration for a server with this name.
    pub fn new(server_info: Implementation) -> Self {
        Self {
            server_info,
            capabilities: ServerCapabilities::new(),
            instructions: None,
            revisions: Revisions::ALL,
            carrier: Carrier::default(),
            framing: None,
            handshake_timeout: Duration::from_secs(30),
            handshake_timeout_only_logs: false,
            frame_timeout: None,
            handler_timeout: None,
            forward_session_requests: false,
            forward_unknown_methods: false,
            request_timeouts: Timeouts::new(Duration::from_secs(300), Duration::from_secs(600)),
            max_resource_subscriptions: 1000,
            max_resource_subscription_bytes: 1024 * 1024,
            seed: 0,
            limits: Limits::server(),
        }
    }

    /// Sets the capabilities of the server. Default: none.
    pub fn capabilities(&mut self, capabilities: ServerCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the instructions for the model. Default: none.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Sets the revisions that the server supports. Default: all.
    pub fn revisions(&mut self, revisions: Revisions) -> &mut Self {
        self.revisions = revisions;
        self
    }

    /// Sets the carrier of messages. Default: one shared stream.
    pub fn carrier(&mut self, carrier: Carrier) -> &mut Self {
        self.carrier = carrier;
        self
    }

    /// Sets the framing of our messages. Default: that of the client, and one message per line
    /// until it has sent one. The framing of the client's messages is detected.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = Some(framing);
        self
    }

    /// Sets how long the handshake may take. Default 30 s. With `only_logs` it is only reported, as on
    /// stdio, where the client owns the process.
    pub fn handshake_timeout(&mut self, timeout: Duration, only_logs: bool) -> &mut Self {
        self.handshake_timeout = timeout;
        self.handshake_timeout_only_logs = only_logs;
        self
    }

    /// Sets how long a frame may take from its first byte to its last, on a shared stream. Default:
    /// as long as it likes, as on stdio, where the client owns the process.
    pub fn frame_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.frame_timeout = timeout;
        self
    }

    /// Sets how long a handler may take; then the client gets an error. Default: as long as it
    /// likes, since a client has a timeout of its own and cancels. `subscriptions/listen` and
    /// `tasks/result`, which last as long as what they are about, are not ended by it.
    pub fn handler_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.handler_timeout = timeout;
        self
    }

    /// Sets whether requests about the session itself, such as `logging/setLevel`, are forwarded as
    /// events, for example for access control. Then the driver applies them with
    /// [`Session::apply_session_request`](super::Session::apply_session_request) and answers them like others. Default: the
    /// session applies and answers them.
    pub fn forward_session_requests(&mut self, forward: bool) -> &mut Self {
        self.forward_session_requests = forward;
        self
    }

    /// Sets whether methods that the protocol doesn't have are forwarded, as
    /// [`UnknownRequest`](super::SessionEvent::UnknownRequest) and
    /// [`UnknownNotification`](super::SessionEvent::UnknownNotification): for a proxy, or an
    /// extension. One that the protocol has, but not in the revision that is spoken, is not among
    /// them. Default: the session refuses or ignores them.
    pub fn forward_unknown_methods(&mut self, forward: bool) -> &mut Self {
        self.forward_unknown_methods = forward;
        self
    }

    /// Sets the timeouts of requests to the client. Default 5 min, 10 min in total: users answer
    /// them.
    pub fn request_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.request_timeouts = timeouts;
        self
    }

    /// Sets how many resources the client may subscribe to, and the bytes of their URIs. Default
    /// 1000 and 1 MiB, which is also their cost. In the stateless era the count is that of each
    /// subscription, and the bytes are those of all together.
    pub fn max_resource_subscriptions(&mut self, count: usize, bytes: usize) -> &mut Self {
        self.max_resource_subscriptions = count;
        self.max_resource_subscription_bytes = bytes;
        self
    }

    /// Sets the random seed for the pauses between attempts. Default 0.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Returns the name and version of the server, and its other details (title, icons, web site).
    pub fn server_info(&self) -> &Implementation {
        &self.server_info
    }

    /// Returns the revisions that the server supports.
    pub fn supported_revisions(&self) -> Revisions {
        self.revisions
    }

    /// Returns the limits, to change them.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }

    /// Returns the limits of a client's
    /// [`ListenSubscriptions`](crate::server::ListenSubscriptions).
    pub fn listen_limits(&self) -> ListenLimits {
        ListenLimits {
            count: self.limits.max_subscriptions,
            uris: self.max_resource_subscriptions,
            uri_bytes: self.max_resource_subscription_bytes,
        }
    }

    /// Returns `true` if a client may speak that doesn't introduce itself.
    pub(super) fn has_stateless(&self) -> bool {
        let stateless = self.revisions.intersection(Era::Stateless.revisions());
        !stateless.is_empty()
    }

    /// Returns the revisions that a handshake may agree on.
    pub(super) fn handshake_revisions(&self) -> Revisions {
        self.revisions.intersection(Era::Handshake.revisions())
    }
}
