//! A client's connection: one life of one link, over either carrier.
//!
//! It negotiates, keeps the tables and the queue, and turns frames into events. Its methods
//! are of four kinds: looking (`is_ready`, `wants_read`), the world did something
//! (`handle_…`), the application wants something (`call`, `respond`, `cancel`, …), and
//! draining (`poll_…`). None of them fails because of the peer: what a peer does wrong
//! becomes an event, or the reason why the connection is closed.

mod commands;
mod event;
mod headers;
mod inbound;
mod lifecycle;
mod streams;
mod task_progress;

use bowline_types::{Era, RequestId, Revision};
use bytes::{Bytes, BytesMut};

use crate::carryover::Carryover;
use crate::close::{CloseReason, PeerFault};
use crate::codec::{CodecFault, Decoded};
use crate::config::{Carrier, Config};
use crate::endpoint::{CancelForm, Endpoint, Setup, Stall};
use crate::keepalive::Silence;
use crate::negotiation::Negotiation;
use crate::outbox::Transmit;
use crate::requests::RequestKey;
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::Side;

use task_progress::TaskProgress;

pub use event::Event;
pub use headers::MessageHeaders;
pub use streams::StreamEnd;

/// A client's connection. See the [module](self).
#[derive(Debug)]
pub struct Connection {
    config: Config,
    phase: Phase,
    endpoint: Endpoint<Event>,
    /// How long the server has been silent, when that is looked at.
    silence: Option<Silence>,
    /// The members of `_meta` that every request of the stateless era has.
    stateless_meta: Bytes,
    /// The number of the session, when calls carry it.
    session_tag: Option<u64>,
    /// Both together.
    request_meta: Bytes,
    /// It ended while only the probe had been sent.
    was_probing: bool,
    /// Calls that have become tasks and wanted progress, which goes on.
    task_progress: TaskProgress,
}

#[derive(Debug)]
enum Phase {
    /// Not opened yet.
    New,
    /// Era and revision are being agreed.
    Negotiating {
        negotiation: Negotiation,
        deadline: Instant,
        /// The server has said something, so that its time counts.
        has_received: bool,
        probe: Option<Instant>,
    },
    /// Calls are served.
    Ready { revision: Revision },
    /// Over.
    Closed,
}

impl Phase {
    const fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Negotiating { .. } => "negotiating",
            Self::Ready { .. } => "ready",
            Self::Closed => "closed",
        }
    }
}

impl Connection {
    /// A connection that waits to be opened. It goes on where the connection before it
    /// ended: with what [`into_carryover`](Self::into_carryover) gave back, or with a counter of
    /// ids for the first one.
    pub fn new(config: Config, carried: impl Into<Carryover>) -> Self {
        let setup = Setup {
            side: Side::Client,
            carrier: config.carrier,
            framing: config.framing,
            limits: config.limits,
            seed: config.seed,
        };
        Self {
            phase: Phase::New,
            endpoint: Endpoint::new(setup, carried.into()),
            silence: None,
            stateless_meta: Bytes::new(),
            session_tag: None,
            request_meta: Bytes::new(),
            was_probing: false,
            task_progress: TaskProgress::new(config.limits.max_pending),
            config,
        }
    }

    /// What the next connection goes on with.
    pub fn into_carryover(self) -> Carryover {
        self.endpoint.into_carryover()
    }

    // Looking.

    /// Whether calls are served.
    pub fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    /// Whether it is over.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether nothing but the probe was sent before it ended: a server that ends then can't
    /// stand it.
    pub(crate) fn was_probing(&self) -> bool {
        self.was_probing
    }

    /// The next event, for a link that keeps it.
    pub(crate) fn take_event(&mut self) -> Option<Event> {
        self.endpoint.take_event()
    }

    /// Counts events that were taken from here and wait elsewhere.
    pub(crate) fn set_outer_backlog(&mut self, weight: usize) {
        self.endpoint.set_outer_backlog(weight);
    }

    /// The revision that is spoken, once it is agreed.
    pub fn revision(&self) -> Option<Revision> {
        match self.phase {
            Phase::Ready { revision } => Some(revision),
            Phase::New | Phase::Negotiating { .. } | Phase::Closed => None,
        }
    }

    /// Whether the driver should read on: one chunk for each time that this is true.
    ///
    /// Never because the application is slow to answer or calls wait: only while the
    /// answers that we owe have not left, or events with much payload have not been taken.
    pub fn wants_read(&self) -> bool {
        !self.is_closed() && self.endpoint.wants_read()
    }

    /// Calls that wait for their answers.
    pub fn pending(&self) -> usize {
        self.endpoint.calls.len()
    }

    /// Calls that were given up and are still remembered.
    pub fn tombstones(&self) -> usize {
        self.endpoint.calls.tombstones()
    }

    /// Requests of the server whose handlers are not done.
    pub fn open_handlers(&self) -> usize {
        self.endpoint.requests.len()
    }

    /// The server's id of a request that may be answered.
    pub fn request_id(&self, request: RequestKey) -> Option<&RequestId> {
        self.endpoint
            .requests
            .get(request)
            .map(|request| &request.id)
    }

    /// What happened that has no other trace.
    pub fn stats(&self) -> Stats {
        self.endpoint.stats
    }

    /// The beginning of the last frame that was no message, for whoever looks for the
    /// reason. It is what the peer said: not for a log that others read.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.endpoint.malformed_sample.as_deref()
    }

    // The world did something.

    /// The buffer to read into, on a shared stream. Then [`handle_read`](Self::handle_read).
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        self.endpoint.decoder.buffer()
    }

    /// Gives back the memory that is only kept to be used again. For a connection that has
    /// nothing to do for a while: thousands of them may be idle.
    pub fn shrink(&mut self) {
        self.endpoint.shrink();
    }

    /// Bytes were appended to the buffer.
    pub fn handle_read(&mut self, now: Instant) {
        self.handle_activity(now);
        self.endpoint.trace_read();
        while !self.is_closed()
            && let Some(decoded) = self.endpoint.poll_decoded()
        {
            self.handle_decoded(now, decoded);
        }
        self.endpoint.update_flow(now);
    }

    /// Something came that is no message: a comment on the stream of a call, a header. It
    /// shows that the server lives.
    pub fn handle_activity(&mut self, now: Instant) {
        if let Some(silence) = &mut self.silence {
            silence.reset(now);
        }
        if let Phase::Negotiating {
            deadline,
            has_received,
            ..
        } = &mut self.phase
            && !*has_received
        {
            *has_received = true;
            *deadline = (*deadline).min(now + self.config.handshake_timeout);
        }
    }

    /// The shared stream ended.
    pub fn handle_eof(&mut self, now: Instant) {
        self.handle_end(now, "the peer closed the stream");
    }

    /// The shared stream ended, for a reason that is known: a process that exited.
    pub fn handle_end(&mut self, now: Instant, reason: &str) {
        self.handle_read(now);
        if !self.is_closed()
            && let Some(decoded) = self.endpoint.decoder.finish()
        {
            self.handle_decoded(now, decoded);
        }
        self.handle_lost(now, reason);
    }

    /// The transport was lost.
    pub fn handle_lost(&mut self, now: Instant, reason: &str) {
        self.close_with(now, CloseReason::Transport(reason.into()));
    }

    /// The transport was busy and did not take `transmit`, which
    /// [`poll_transmit`](Self::poll_transmit) gave. It is offered again a few times; on a
    /// carrier with a stream per request only its own stream waits.
    pub fn handle_busy(&mut self, now: Instant, transmit: Transmit) {
        if self.endpoint.handle_busy(now, transmit) {
            self.close_with(now, CloseReason::Stalled);
        }
    }

    /// Time has passed: it is at least what [`poll_timeout`](Self::poll_timeout) said.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.handle_handshake_timeout(now);
        if self.is_closed() {
            return;
        }
        self.endpoint.time_out_calls(now, self.cancel_form());
        self.handle_silence(now);
        match self.endpoint.check_flow(now) {
            None => {}
            Some(Stall::Reading | Stall::Writing) => self.close_with(now, CloseReason::Stalled),
            Some(Stall::Skipping) => {
                let fault = PeerFault::Codec(CodecFault::EndlessFrame);
                self.close_with(now, CloseReason::Peer(fault));
            }
            Some(Stall::Unfinished) => {
                self.close_with(now, CloseReason::Peer(PeerFault::UnfinishedFrame));
            }
        }
    }

    // Draining.

    /// The next message to send. Take it only when the one before is written: a call counts
    /// as sent from here on.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_transmit()
    }

    /// Returns the next message that is still to be sent before the connection is closed: see
    /// [`Link::poll_parting`](crate::Link::poll_parting).
    pub fn poll_parting(&mut self) -> Option<Transmit> {
        self.endpoint.poll_parting()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.endpoint.poll_event()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due. `None` while nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (handshake, probe) = match self.phase {
            Phase::Negotiating {
                deadline, probe, ..
            } => (Some(deadline), probe),
            Phase::New | Phase::Ready { .. } => (None, None),
            Phase::Closed => return None,
        };
        let silence = self.silence.as_ref().map(Silence::due);
        [handshake, probe, silence, self.endpoint.next_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    fn handle_decoded(&mut self, now: Instant, decoded: Decoded) {
        match decoded {
            Decoded::Frame(frame) => self.handle_frame(now, None, &frame),
            Decoded::TooLarge(too_large) => self.handle_too_large(now, &too_large),
            Decoded::Fault(fault) => {
                self.close_with(now, CloseReason::Peer(PeerFault::Codec(fault)));
            }
        }
    }

    /// Whether `initialize` has been sent and may still succeed.
    fn is_initializing(&self) -> bool {
        match &self.phase {
            Phase::Negotiating { negotiation, .. } => negotiation.has_sent_initialize(),
            Phase::New | Phase::Ready { .. } | Phase::Closed => false,
        }
    }

    /// How the server is told that a call is no longer wanted.
    fn cancel_form(&self) -> CancelForm {
        let is_stateless = self.revision().map(Revision::era) == Some(Era::Stateless);
        match self.config.carrier {
            Carrier::StreamPerRequest if is_stateless => CancelForm::Reset,
            Carrier::StreamPerRequest | Carrier::SharedStream => {
                CancelForm::Message(self.config.cancel_dialect)
            }
        }
    }
}
