//! Configuration of a client's connection.

use std::time::Duration;

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::Framing;
use crate::keepalive::Keepalive;
use crate::limits::Limits;

/// The carrier of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// All messages on one byte stream: stdio, sockets. Losing it loses all pending calls; a call
    /// is cancelled with a message.
    #[default]
    SharedStream,
    /// Each call on a stream of its own: HTTP. Losing one loses its call; a call is
    /// cancelled with a message up to 2025-11-25, and by closing its stream in later revisions.
    StreamPerRequest,
}

/// The message with which a call is cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelDialect {
    /// `notifications/cancelled`: that of the protocol.
    #[default]
    Cancelled,
    /// `$/cancelRequest`, that of the Language Server Protocol, which some peers use.
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
    /// Creates the default configuration for a client with this name.
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

    /// Sets the capabilities of the client. Default: none.
    pub fn capabilities(&mut self, capabilities: ClientCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// Returns the capabilities of the client, to add to them.
    pub fn capabilities_mut(&mut self) -> &mut ClientCapabilities {
        &mut self.capabilities
    }

    /// Sets the revisions that the client supports. Default: all. With none every connection fails.
    pub fn revisions(&mut self, revisions: Revisions) -> &mut Self {
        self.revisions = revisions;
        self
    }

    /// Sets the known era of the server, which saves the probe. Default: unknown.
    pub fn known_era(&mut self, era: Option<Era>) -> &mut Self {
        self.known_era = era;
        self
    }

    /// Sets the carrier of messages. Default: one shared stream.
    pub fn carrier(&mut self, carrier: Carrier) -> &mut Self {
        self.carrier = carrier;
        self
    }

    /// Sets the framing of our messages. Default: that of the peer, and one message per line until
    /// it has sent one. The framing of the peer's messages is detected.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = Some(framing);
        self
    }

    /// Sets the message with which a call is cancelled. Default: that of the protocol.
    pub fn cancel_dialect(&mut self, dialect: CancelDialect) -> &mut Self {
        self.cancel_dialect = dialect;
        self
    }

    /// Sets how long the handshake may take. Default 10 s: a server that is up answers in
    /// milliseconds.
    pub fn handshake_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets how long the server may take to send its first byte, before the handshake timeout
    /// begins. Default: none, the handshake begins at once, unless the transport has another
    /// default. For a child process 60 s are right: package runners install first.
    pub fn startup_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.startup_timeout = timeout;
        self
    }

    /// Returns how long the server may take to send its first byte.
    pub fn default_startup_timeout(&self) -> Option<Duration> {
        self.startup_timeout
    }

    /// Sets how long `server/discover` may stay unanswered before `initialize` is sent, too.
    /// Default 3 s: the delay of old servers that ignore unknown methods. On a shared stream only.
    pub fn probe_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.probe_timeout = timeout;
        self
    }

    /// Sets the timeouts of calls. Default 30 s without a response, 10 min in total.
    pub fn call_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.call_timeouts = timeouts;
        self
    }

    /// Returns the timeouts of a call that has none of its own.
    pub fn default_timeouts(&self) -> Timeouts {
        self.call_timeouts
    }

    /// Sets whether and when a silent server is pinged. Default: never; a pending call has its own
    /// timeout.
    pub fn keepalive(&mut self, keepalive: Option<Keepalive>) -> &mut Self {
        self.keepalive = keepalive;
        self
    }

    /// Sets the random seed for the pauses between attempts. Default 0: a driver sets another one
    /// for each connection, so that many don't retry at the same time.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Sets the random seed, unless one was set.
    pub fn seed_if_none(&mut self, seed: u64) -> &mut Self {
        if self.seed == 0 {
            self.seed = seed;
        }
        self
    }

    /// Returns the limits, to change them.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }
}
