//! Configuration: every limit and every time, with its default and its reason.

use std::time::Duration;

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use crate::calls::Timeouts;
use crate::codec::{FrameLimits, Framing};

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
/// config.revisions(Revisions::until(Revision::V2025_11_25)).max_pending(10);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) client_info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) revisions: Revisions,
    pub(crate) known_era: Option<Era>,
    pub(crate) carrier: Carrier,
    pub(crate) framing: Framing,
    pub(crate) cancel_dialect: CancelDialect,
    pub(crate) frames: FrameLimits,
    pub(crate) handshake_timeout: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) call_timeouts: Timeouts,
    pub(crate) max_pending: usize,
    pub(crate) max_tombstones: usize,
    pub(crate) tombstone_lifetime: Duration,
    pub(crate) max_queued: usize,
    pub(crate) max_queued_bytes: usize,
    pub(crate) max_peer_requests: usize,
    pub(crate) max_batch: usize,
    pub(crate) max_undelivered: usize,
    pub(crate) nonsense_budget: u32,
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
            framing: Framing::default(),
            cancel_dialect: CancelDialect::default(),
            frames: FrameLimits::default(),
            handshake_timeout: Duration::from_secs(10),
            probe_timeout: Duration::from_secs(3),
            call_timeouts: Timeouts::new(Duration::from_secs(30), Duration::from_secs(600)),
            max_pending: 1000,
            max_tombstones: 4096,
            tombstone_lifetime: Duration::from_secs(75),
            max_queued: 1000,
            max_queued_bytes: 64 * 1024 * 1024,
            max_peer_requests: 1024,
            max_batch: 1000,
            max_undelivered: 64 * 1024 * 1024,
            nonsense_budget: 100_000,
        }
    }

    /// What the client can do. Default: nothing.
    pub fn capabilities(&mut self, capabilities: ClientCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
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

    /// How frames that we write are told apart. Default: one a line. What the peer writes
    /// is detected.
    pub fn framing(&mut self, framing: Framing) -> &mut Self {
        self.framing = framing;
        self
    }

    /// The message with which a call is cancelled. Default: that of the protocol.
    pub fn cancel_dialect(&mut self, dialect: CancelDialect) -> &mut Self {
        self.cancel_dialect = dialect;
        self
    }

    /// What the peer's frames may be. Default: 16 MiB, see [`FrameLimits`].
    pub fn frames(&mut self, limits: FrameLimits) -> &mut Self {
        self.frames = limits;
        self
    }

    /// How long the handshake may take. Default 10 s: a server that is up answers in
    /// milliseconds.
    pub fn handshake_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.handshake_timeout = timeout;
        self
    }

    /// How long `server/discover` may stay unanswered before `initialize` is tried, too.
    /// Default 3 s: old servers that ignore what they don't know are that slow to reach.
    pub fn probe_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.probe_timeout = timeout;
        self
    }

    /// How long calls may take. Default 30 s without an answer, 10 min altogether.
    pub fn call_timeouts(&mut self, timeouts: Timeouts) -> &mut Self {
        self.call_timeouts = timeouts;
        self
    }

    /// Calls that may wait for answers at once; the next one is refused. Default 1000: far
    /// above what one agent does. A waiting call costs some 200 bytes and its message.
    pub fn max_pending(&mut self, limit: usize) -> &mut Self {
        self.max_pending = limit;
        self
    }

    /// Calls that were given up and whose late answers are still known. Default 4096, at
    /// some 50 bytes each; beyond it the oldest are forgotten.
    pub fn max_tombstones(&mut self, limit: usize) -> &mut Self {
        self.max_tombstones = limit;
        self
    }

    /// How long a call that was given up is remembered. Default 75 s: the call's timeout,
    /// the handshake's, the longest pause between two attempts, and five seconds more.
    pub fn tombstone_lifetime(&mut self, lifetime: Duration) -> &mut Self {
        self.tombstone_lifetime = lifetime;
        self
    }

    /// Messages of ours that may wait to be sent. Default 1000; the next one is refused.
    pub fn max_queued(&mut self, limit: usize) -> &mut Self {
        self.max_queued = limit;
        self
    }

    /// Bytes of ours that may wait to be sent. Default 64 MiB, which is also what they
    /// cost; a single message may be larger.
    pub fn max_queued_bytes(&mut self, limit: usize) -> &mut Self {
        self.max_queued_bytes = limit;
        self
    }

    /// Requests of the peer that may be handled at once, and answers that may wait to be
    /// sent. Default 1024. Beyond the first a request is answered "busy", beyond the
    /// second nothing is read.
    pub fn max_peer_requests(&mut self, limit: usize) -> &mut Self {
        self.max_peer_requests = limit;
        self
    }

    /// Messages in a batch of 2025-03-26. Default 1000; a larger one is refused as a whole.
    pub fn max_batch(&mut self, limit: usize) -> &mut Self {
        self.max_batch = limit;
        self
    }

    /// Bytes of payloads that were read and not yet taken by the driver. Default 64 MiB;
    /// beyond it nothing is read.
    pub fn max_undelivered(&mut self, limit: usize) -> &mut Self {
        self.max_undelivered = limit;
        self
    }

    /// Frames that make no sense before the peer is given up. Default 100 000: some
    /// servers log to their output. Each good message makes up for one.
    pub fn nonsense_budget(&mut self, budget: u32) -> &mut Self {
        self.nonsense_budget = budget;
        self
    }
}
