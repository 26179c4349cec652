//! A client's connection to a server, over either carrier.
//!
//! It negotiates, keeps the tables and the queue, and turns frames into events. Its methods
//! are of four kinds: accessors (`is_ready`, `wants_read`), input (`handle_…`), commands (`call`,
//! `respond`, `cancel`, …), and output (`poll_…`). None of them fails because of the peer: a
//! violation by the peer becomes an event, or the reason why the connection is closed.
//!
//! - `lifecycle`: opening, negotiation, keepalive, closing. `commands`: the application's commands.
//! - `inbound`: messages of the server. `streams`: the streams of calls over HTTP.
//! - `task_progress`: progress of calls that have become tasks. `headers`: headers of messages
//!   over HTTP. `event`: the events.
//!
//! Code that the server's session needs as well belongs to `endpoint`.

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
    /// The silence of the server, if keepalive is configured.
    silence: Option<Silence>,
    /// The members of `_meta` that every request of the stateless era carries.
    stateless_meta: Bytes,
    /// The number of the session, if calls carry it.
    session_tag: Option<u64>,
    /// The encoded `stateless_meta` and `session_tag`.
    request_meta: Bytes,
    /// Set when the connection ended while only the probe had been sent.
    was_probing: bool,
    /// Calls that have become tasks and still report progress.
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
        /// Set when the server has sent its first bytes, so that the handshake timeout runs.
        has_received: bool,
        probe: Option<Instant>,
    },
    /// Calls are served.
    Ready { revision: Revision },
    /// The connection has ended.
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
    /// Creates a connection that waits to be opened. It continues where the previous connection
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

    /// Returns the state that the next connection starts with.
    pub fn into_carryover(self) -> Carryover {
        self.endpoint.into_carryover()
    }

    // Accessors.

    /// Returns `true` if calls are served.
    pub fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    /// Returns `true` if the connection has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns `true` if only the probe was sent before the connection ended: the server may have
    /// exited because of it.
    pub(crate) fn was_probing(&self) -> bool {
        self.was_probing
    }

    /// Returns the next event, for a link that keeps it.
    pub(crate) fn take_event(&mut self) -> Option<Event> {
        self.endpoint.take_event()
    }

    /// Counts events that were taken from here and wait elsewhere.
    pub(crate) fn set_outer_backlog(&mut self, weight: usize) {
        self.endpoint.set_outer_backlog(weight);
    }

    /// Returns the negotiated protocol revision.
    pub fn revision(&self) -> Option<Revision> {
        match self.phase {
            Phase::Ready { revision } => Some(revision),
            Phase::New | Phase::Negotiating { .. } | Phase::Closed => None,
        }
    }

    /// Returns `true` if the driver should read on: one chunk for each time that this is true.
    ///
    /// Never because the application is slow to answer or calls wait: only while the
    /// answers that we owe have not left, or events with much payload have not been taken.
    pub fn wants_read(&self) -> bool {
        !self.is_closed() && self.endpoint.wants_read()
    }

    /// Returns the number of calls that wait for their responses.
    pub fn pending(&self) -> usize {
        self.endpoint.calls.len()
    }

    /// Returns the number of cancelled calls that are still remembered.
    pub fn tombstones(&self) -> usize {
        self.endpoint.calls.tombstones()
    }

    /// Returns the number of requests of the server whose handlers are not done.
    pub fn open_handlers(&self) -> usize {
        self.endpoint.requests.len()
    }

    /// Returns the server's id of a request that may be answered.
    pub fn request_id(&self, request: RequestKey) -> Option<&RequestId> {
        self.endpoint
            .requests
            .get(request)
            .map(|request| &request.id)
    }

    /// Returns the counters of dropped and malformed messages.
    pub fn stats(&self) -> Stats {
        self.endpoint.stats
    }

    /// Returns the beginning of the latest malformed frame, for diagnostics. It is content of the
    /// peer: don't write it to a log that others read.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.endpoint.malformed_sample.as_deref()
    }

    // Input.

    /// Returns the buffer to read into, on a shared stream. Then
    /// [`handle_read`](Self::handle_read).
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        self.endpoint.decoder.buffer()
    }

    /// Gives back the memory that is only kept to be used again. For a connection that has
    /// nothing to do for a while: thousands of them may be idle.
    pub fn shrink_to_fit(&mut self) {
        self.endpoint.shrink_to_fit();
    }

    /// Handles bytes that were appended to the buffer.
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

    /// Handles input that is no message: a comment on the stream of a call, a header. It shows
    /// that the server is alive.
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

    /// Handles the end of the shared stream.
    pub fn handle_eof(&mut self, now: Instant) {
        self.handle_end(now, "the peer closed the stream");
    }

    /// Handles the end of the shared stream with a known reason: a process that exited.
    pub fn handle_end(&mut self, now: Instant, reason: &str) {
        self.handle_read(now);
        if !self.is_closed()
            && let Some(decoded) = self.endpoint.decoder.finish()
        {
            self.handle_decoded(now, decoded);
        }
        self.handle_lost(now, reason);
    }

    /// Handles the loss of the transport.
    pub fn handle_lost(&mut self, now: Instant, reason: &str) {
        self.close_with(now, CloseReason::Transport(reason.into()));
    }

    /// Handles a busy transport, which did not take the `transmit` of
    /// [`poll_transmit`](Self::poll_transmit). It is offered again a few times; on a carrier with a
    /// stream per request only its own stream waits.
    pub fn handle_busy(&mut self, now: Instant, transmit: Transmit) {
        if self.endpoint.handle_busy(now, transmit) {
            self.close_with(now, CloseReason::Stalled);
        }
    }

    /// Handles the deadlines that have passed. Call it when the time of
    /// [`poll_timeout`](Self::poll_timeout) has come.
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

    // Output.

    /// Returns the next message to send. Take it only when the one before is written: a call counts
    /// as sent from here on.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_transmit()
    }

    /// Returns the next message that is still to be sent before the connection is closed: see
    /// [`Link::poll_final_transmit`](crate::Link::poll_final_transmit).
    pub fn poll_final_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_final_transmit()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.endpoint.poll_event()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due. `None` while there is no
    /// deadline.
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

    /// Returns `true` if `initialize` has been sent and may still succeed.
    fn is_initializing(&self) -> bool {
        match &self.phase {
            Phase::Negotiating { negotiation, .. } => negotiation.has_sent_initialize(),
            Phase::New | Phase::Ready { .. } | Phase::Closed => false,
        }
    }

    /// Returns the form in which calls are cancelled at the server.
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
