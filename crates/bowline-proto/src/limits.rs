//! Every limit of a connection, with its default, its reason and what it costs.

use std::time::Duration;

use crate::calls::CallLimits;
use crate::codec::{FrameLimits, Oversize};
use crate::outbox::OutboxLimits;
use crate::requests::RequestLimits;

/// The limits on everything that a peer or a user can make grow, on either side of a connection.
///
/// ```
/// use bowline_proto::Limits;
///
/// let mut limits = Limits::client();
/// limits.max_pending(10).max_batch(1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(crate) frames: FrameLimits,
    pub(crate) max_pending: usize,
    pub(crate) max_tombstones: usize,
    pub(crate) tombstone_lifetime: Duration,
    pub(crate) max_queued: usize,
    pub(crate) max_queued_bytes: usize,
    pub(crate) max_peer_requests: usize,
    pub(crate) max_peer_request_bytes: usize,
    pub(crate) max_peer_id_bytes: usize,
    pub(crate) max_subscriptions: usize,
    pub(crate) max_batch: usize,
    pub(crate) max_undelivered: usize,
    pub(crate) stall_timeout: Duration,
    pub(crate) misbehavior_budget: u32,
    pub(crate) send_attempts: u32,
    pub(crate) send_pause: Duration,
}

impl Limits {
    /// Creates the defaults of a client.
    pub fn client() -> Self {
        Self {
            frames: FrameLimits::default(),
            max_pending: 1000,
            max_tombstones: 4096,
            tombstone_lifetime: Duration::from_secs(75),
            max_queued: 1000,
            max_queued_bytes: 64 * 1024 * 1024,
            max_peer_requests: 1024,
            max_peer_request_bytes: 64 * 1024 * 1024,
            max_peer_id_bytes: 1024 * 1024,
            max_subscriptions: 64,
            max_batch: 1000,
            max_undelivered: 64 * 1024 * 1024,
            stall_timeout: Duration::from_secs(30),
            misbehavior_budget: 100_000,
            send_attempts: 3,
            send_pause: Duration::from_millis(10),
        }
    }

    /// Creates the defaults of a server: it answers an oversized frame with an error and goes on,
    /// where a client closes the connection. And it queues less for a client that doesn't read,
    /// since it may have many.
    pub fn server() -> Self {
        let mut limits = Self::client();
        limits.frames.oversize = Oversize::Skip;
        limits.max_queued_bytes = 4 * 1024 * 1024;
        limits
    }

    /// Sets the limits on frames, the peer's and ours. Default: 16 MiB, see [`FrameLimits`].
    pub fn frames(&mut self, limits: FrameLimits) -> &mut Self {
        self.frames = limits;
        self
    }

    /// Sets how many of our calls may be pending at once; the next one is refused. Default 1000:
    /// far above what one agent does. A pending call costs some 200 bytes and its message.
    pub fn max_pending(&mut self, limit: usize) -> &mut Self {
        self.max_pending = limit;
        self
    }

    /// Sets how many cancelled calls are remembered, to recognize their late responses. Default
    /// 4096, at some 50 bytes each; beyond it the oldest are forgotten.
    pub fn max_tombstones(&mut self, limit: usize) -> &mut Self {
        self.max_tombstones = limit;
        self
    }

    /// Sets how long a cancelled call is remembered. Default 75 s: the call's timeout, the
    /// handshake's, the longest pause between two attempts, and five seconds more.
    pub fn tombstone_lifetime(&mut self, lifetime: Duration) -> &mut Self {
        self.tombstone_lifetime = lifetime;
        self
    }

    /// Sets how many of our messages may be queued. Default 1000; the next one is refused.
    pub fn max_queued(&mut self, limit: usize) -> &mut Self {
        self.max_queued = limit;
        self
    }

    /// Sets how many bytes may be queued: of our calls and notifications, and as many of responses.
    /// Default 64 MiB each, which is also their cost; 4 MiB on a server. A message beyond it is
    /// refused unless the queue is empty; while the responses are beyond it nothing is read and no
    /// handler goes on. The last of them may be as large as a frame.
    pub fn max_queued_bytes(&mut self, limit: usize) -> &mut Self {
        self.max_queued_bytes = limit;
        self
    }

    /// Sets how many requests of the peer may be handled at once, and how many responses may be
    /// queued. Default 1024, at some 300 bytes each and the memory of the handler. Beyond the
    /// first a request is answered "busy", beyond the second nothing is read.
    pub fn max_peer_requests(&mut self, limit: usize) -> &mut Self {
        self.max_peer_requests = limit;
        self
    }

    /// Sets the limit on the bytes of the parameters of handled requests. Default 64 MiB; they can
    /// cost twice that, since the read buffer grows by doubling. Beyond it a request is answered
    /// "busy", unless it is the only one.
    pub fn max_peer_request_bytes(&mut self, limit: usize) -> &mut Self {
        self.max_peer_request_bytes = limit;
        self
    }

    /// Sets the limit on the bytes of the ids of handled requests, which the peer chooses. Default
    /// 1 MiB: a thousand ids of a kilobyte. They are held twice. Beyond it a request is answered
    /// "busy", and one whose id alone is larger is always refused.
    pub fn max_peer_id_bytes(&mut self, limit: usize) -> &mut Self {
        self.max_peer_id_bytes = limit;
        self
    }

    /// Sets how many subscriptions of the stateless era the peer may have open. They have no
    /// timeout, so they have a limit of their own. Default 64; the next one is answered "busy".
    /// Their cost is bounded by
    /// [`SessionConfig::max_resource_subscriptions`](crate::server::SessionConfig::max_resource_subscriptions).
    pub fn max_subscriptions(&mut self, limit: usize) -> &mut Self {
        self.max_subscriptions = limit;
        self
    }

    /// Sets how many messages a batch of 2025-03-26 may have. Default 1000; a larger one is refused
    /// as a whole, and so is one whose responses would not fit into a frame even if all were errors.
    ///
    /// The responses of a batch wait for each other. All that wait are no larger than one frame: of
    /// a batch beyond that each request is answered "busy", and a response that doesn't fit is
    /// replaced by an error.
    pub fn max_batch(&mut self, limit: usize) -> &mut Self {
        self.max_batch = limit;
        self
    }

    /// Sets the limit on the bytes of events that the driver has not taken: their payloads, and 128
    /// for each event. Default 64 MiB; beyond it nothing is read.
    pub fn max_undelivered(&mut self, limit: usize) -> &mut Self {
        self.max_undelivered = limit;
        self
    }

    /// Sets how long nothing may be read, or no handler may go on, because responses don't leave or
    /// events are not taken. Default 30 s; then the connection is closed, since neither side would
    /// notice.
    pub fn stall_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.stall_timeout = timeout;
        self
    }

    /// Sets how many malformed or unexpected messages are accepted before the connection is closed.
    /// Default 100 000: some servers log to their output. Each good message restores one.
    pub fn misbehavior_budget(&mut self, budget: u32) -> &mut Self {
        self.misbehavior_budget = budget;
        self
    }

    /// Sets how often a message is offered to a transport that is busy, and the pause before the
    /// next time. Default 3 times, 10 ms apart, where each pause is drawn from half to one and a
    /// half of it: long enough for a pipe to drain, short enough not to be seen.
    pub fn send_attempts(&mut self, attempts: u32, pause: Duration) -> &mut Self {
        self.send_attempts = attempts;
        self.send_pause = pause;
        self
    }

    pub(crate) fn of_calls(&self) -> CallLimits {
        CallLimits {
            pending: self.max_pending,
            tombstones: self.max_tombstones,
            tombstone_lifetime: self.tombstone_lifetime,
        }
    }

    pub(crate) fn of_outbox(&self) -> OutboxLimits {
        OutboxLimits {
            messages: self.max_queued,
            bytes: self.max_queued_bytes,
            // One at least, or nothing would ever be read.
            responses: self.max_peer_requests.max(1),
        }
    }

    pub(crate) fn of_requests(&self) -> RequestLimits {
        RequestLimits {
            count: self.max_peer_requests,
            bytes: self.max_peer_request_bytes,
            subscriptions: self.max_subscriptions,
            id_bytes: self.max_peer_id_bytes,
        }
    }
}
