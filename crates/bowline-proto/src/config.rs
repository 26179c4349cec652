//! Configuration of a client's connection.

use std::time::Duration;

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::Framing;
use crate::keepalive::Keepalive;
use crate::limits::Limits;

/// How messages travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// All on one stream of bytes: stdio, sockets. Losing it loses all that travelled on
    /// it; a call is cancelled with a message.
    #[default]
    SharedStream,
    /// Each call on a stream of its own: HTTP. Losing one loses its call; a call is
    /// cancelled with a message up to 2025-11-25, and by closing its stream since.
    StreamPerRequest,
}

/// The message with which a call is cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelDialect {
    /// `notifications/cancelled`: what the protocol says.
    #[default]
    Cancelled,
    /// `$/cancelRequest`, as language servers have it: what some peers do.
    CancelRequest,
}

/// The configuration of a client's connection.
///
/// ```
/// use bowline_proto::Config;
/// use bowline_types::common::Implementation;
/// use bowline_types::{Revision, Revisions};
///
/// let mut config = Config::new(Implementation::new("example", "1.0"));
/// config.revisions(Revisions::until(Revision::V2025_11_25));
/// config.limits().max_pending(10);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) client_info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) revisions: Revisions,
    pub(crate) known_era: Option<Era>,
    pub(crate) carrier: Carrier,
    pub(crate) framing: Option<Framing>,
    pub(crate) cancel_dialect: CancelDialect,
    pub(crate) handshake_timeout: Duration,
    pub(crate) startup_timeout: Option<Duration>,
    pub(crate) probe_timeout: Duration,
    pub(crate) call_timeouts: Timeouts,
    pub(crate) keepalive: Option<Keepalive>,
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
}

impl Config {
    /// The defaults, for a client of this name.
    pub fn new(client_info: Implementation) -> Self {
        Self {
            client_info,
            capabilities: ClientCapabilities::new(),
            revisions: Revisions::ALL,
            known_era: None,
            carrier: Carrier::default(),
            framing: None,
            cancel_dialect: CancelDialect::default(),
            handshake_timeout: Duration::from_secs(10),
            startup_timeout: None,
            probe_timeout: Duration::from_secs(3),
            call_timeouts: Timeouts::new(Duration::from_secs(30), Duration::from_secs(600)),
            keepalive: None,
            seed: 0,
            limits: Limits::client(),
        }
    }

    /// What the client can do. Default: nothing.
    pub fn capabilities(&mut self, capabilities: ClientCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// What the client can do, to add to it.
    pub fn capabilities_mut(&mut self) -> &mut ClientCapabilities {
        &mut self.capabilities
    }

    /// The revisions that may be spoken. Default: all. With none every connection fails.
    pub fn revisions(&mut self, revisions: Revisions) -> &mut Self {
        self.revisions = revisions;
        self
    }

    /// The era that the server spoke before, which saves a question. Default: unknown.
    pub fn known_era(&mut self, era: Option<Era>) -> &mut Self {
        self.known_era = era;
        self
    }

    /// How messages travel. Default: on one stream.
    pub fn carrier(&mut self, carrier: Carrier) -> &mut Self {
        self.carrier = carrier;
        self
    }

    /// How frames that we write are told apart. Default: as the peer does, and one a line
    /// until it has spoken. What the peer writes is detected.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = Some(framing);
        self
    }

    /// The message with which a call is cancelled. Default: that of the protocol.
    pub fn cancel_dialect(&mut self, dialect: CancelDialect) -> &mut Self {
        self.cancel_dialect = dialect;
        self
    }

    /// How long the handshake may take. Default 10 s: a server that is up answers in
    /// milliseconds.
    pub fn handshake_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.handshake_timeout = timeout;
        self
    }

    /// How long the server may take to say its first byte, before the time of the handshake
    /// begins. Default: none, the handshake begins at once, unless the transport knows better.
    /// For a child process 60 s are right: package runners install first.
    pub fn startup_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.startup_timeout = timeout;
        self
    }

    /// How long the server may take to say its first byte.
    pub fn default_startup_timeout(&self) -> Option<Duration> {
        self.startup_timeout
    }

    /// How long `server/discover` may stay unanswered before `initialize` is tried, too.
    /// Default 3 s: old servers that ignore what they don't know are that slow to reach. On
    /// a shared stream only.
    pub fn probe_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.probe_timeout = timeout;
        self
    }

    /// How long calls may take. Default 30 s without an answer, 10 min altogether.
    pub fn call_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.call_timeouts = timeouts;
        self
    }

    /// How long a call may take that says nothing of its own.
    pub fn default_timeouts(&self) -> Timeouts {
        self.call_timeouts
    }

    /// Whether and when a silent server is asked for a sign of life. Default: never; a
    /// call that waits has its own timeout.
    pub fn keepalive(&mut self, keepalive: Option<Keepalive>) -> &mut Self {
        self.keepalive = keepalive;
        self
    }

    /// What chance is drawn from, for pauses before something is tried again. Default 0: a
    /// driver gives each connection another one, so that many don't try at the same time.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// The same, unless one was given.
    pub fn seed_if_none(&mut self, seed: u64) -> &mut Self {
        if self.seed == 0 {
            self.seed = seed;
        }
        self
    }

    /// What may grow, and how far.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }
}
