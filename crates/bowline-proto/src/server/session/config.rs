//! The configuration of a session.

use std::time::Duration;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::Framing;
use crate::config::Carrier;

/// The configuration of a server's session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub(super) server_info: Implementation,
    pub(super) capabilities: ServerCapabilities,
    pub(super) instructions: Option<String>,
    pub(super) revisions: Revisions,
    pub(super) carrier: Carrier,
    pub(super) framing: Framing,
    pub(super) handshake_timeout: Duration,
    pub(super) handshake_timeout_only_logs: bool,
    pub(super) ask_timeouts: Timeouts,
    pub(super) max_requests: usize,
    pub(super) max_watched: usize,
    pub(super) max_batch: usize,
    pub(super) max_queued: usize,
    pub(super) max_queued_bytes: usize,
}

impl SessionConfig {
    /// The defaults, for a server of this name.
    pub fn new(server_info: Implementation) -> Self {
        Self {
            server_info,
            capabilities: ServerCapabilities::new(),
            instructions: None,
            revisions: Era::Handshake.revisions(),
            carrier: Carrier::default(),
            framing: Framing::default(),
            handshake_timeout: Duration::from_secs(30),
            handshake_timeout_only_logs: false,
            ask_timeouts: Timeouts::new(Duration::from_secs(300), Duration::from_secs(600)),
            max_requests: 1024,
            max_watched: 1000,
            max_batch: 1000,
            max_queued: 1000,
            max_queued_bytes: 64 * 1024 * 1024,
        }
    }

    /// What the server can do. Default: nothing.
    pub fn capabilities(&mut self, capabilities: ServerCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// How to use the server, for the model. Default: nothing.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// The revisions that may be spoken; those of the handshake era count. Default: all.
    pub fn revisions(&mut self, revisions: Revisions) -> &mut Self {
        self.revisions = revisions.intersection(Era::Handshake.revisions());
        self
    }

    /// How messages travel. Default: on one stream.
    pub fn carrier(&mut self, carrier: Carrier) -> &mut Self {
        self.carrier = carrier;
        self
    }

    /// How frames that we write are told apart. Default: one a line.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = framing;
        self
    }

    /// How long the handshake may take. Default 30 s. With `only_logs` it is only told, as
    /// on stdio, where the client owns the process.
    pub fn handshake_timeout(&mut self, timeout: Duration, only_logs: bool) -> &mut Self {
        self.handshake_timeout = timeout;
        self.handshake_timeout_only_logs = only_logs;
        self
    }

    /// How long the client may take to answer us. Default 5 min, 10 min altogether: people
    /// answer.
    pub fn ask_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.ask_timeouts = timeouts;
        self
    }

    /// Requests of the client that are handled at once, and of ours that wait. Default 1024.
    /// Beyond it a request is answered "busy".
    pub fn max_requests(&mut self, limit: usize) -> &mut Self {
        self.max_requests = limit;
        self
    }

    /// Resources that the client may watch. Default 1000; a URI is what each costs.
    pub fn max_watched(&mut self, limit: usize) -> &mut Self {
        self.max_watched = limit;
        self
    }

    /// Messages in a batch of 2025-03-26. Default 1000.
    pub fn max_batch(&mut self, limit: usize) -> &mut Self {
        self.max_batch = limit;
        self
    }
}
