//! The configuration of a session.

use std::time::Duration;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::Framing;
use crate::config::Carrier;
use crate::limits::Limits;

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
    pub(super) handler_timeout: Option<Duration>,
    pub(super) ask_timeouts: Timeouts,
    pub(super) max_watched: usize,
    pub(super) max_watched_bytes: usize,
    pub(super) seed: u64,
    pub(super) limits: Limits,
}

impl SessionConfig {
    /// The defaults, for a server of this name.
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
            handler_timeout: None,
            ask_timeouts: Timeouts::new(Duration::from_secs(300), Duration::from_secs(600)),
            max_watched: 1000,
            max_watched_bytes: 1024 * 1024,
            seed: 0,
            limits: Limits::server(),
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

    /// The revisions that may be spoken. Default: all.
    pub fn revisions(&mut self, revisions: Revisions) -> &mut Self {
        self.revisions = revisions;
        self
    }

    /// How messages travel. Default: on one stream.
    pub fn carrier(&mut self, carrier: Carrier) -> &mut Self {
        self.carrier = carrier;
        self
    }

    /// How frames that we write are told apart. Default: as the client does, and one a line
    /// until it has spoken. What the client writes is detected.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = Some(framing);
        self
    }

    /// How long the handshake may take. Default 30 s. With `only_logs` it is only told, as
    /// on stdio, where the client owns the process.
    pub fn handshake_timeout(&mut self, timeout: Duration, only_logs: bool) -> &mut Self {
        self.handshake_timeout = timeout;
        self.handshake_timeout_only_logs = only_logs;
        self
    }

    /// How long a handler may take; then the client gets an error. Default: as long as it
    /// likes, since a client has a timeout of its own and cancels.
    pub fn handler_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.handler_timeout = timeout;
        self
    }

    /// How long the client may take to answer us. Default 5 min, 10 min altogether: people
    /// answer.
    pub fn ask_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.ask_timeouts = timeouts;
        self
    }

    /// Resources that the client may watch, and the bytes of their URIs. Default 1000 and
    /// 1 MiB, which is also what they cost.
    pub fn max_watched(&mut self, count: usize, bytes: usize) -> &mut Self {
        self.max_watched = count;
        self.max_watched_bytes = bytes;
        self
    }

    /// What chance is drawn from, for pauses before something is tried again. Default 0.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// What may grow, and how far.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }

    /// The revisions that a handshake may agree on.
    pub(super) fn handshake_revisions(&self) -> Revisions {
        self.revisions.intersection(Era::Handshake.revisions())
    }
}
