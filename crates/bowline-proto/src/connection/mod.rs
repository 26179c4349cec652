//! A client's connection: one life of one link, over either carrier.
//!
//! It negotiates, keeps the tables and the queue, and turns frames into events. Its methods
//! are of four kinds: looking (`is_ready`, `wants_read`), the world did something
//! (`handle_…`), the application wants something (`call`, `respond`, `cancel`, …), and
//! draining (`poll_…`). None of them fails because of the peer: what a peer does wrong
//! becomes an event, or the reason why the connection is closed.

mod commands;
mod event;
mod inbound;
mod lifecycle;

use std::collections::{BTreeSet, VecDeque};

use bowline_types::{RequestId, Revision};
use bytes::{Bytes, BytesMut};

use crate::calls::{CallId, CallLimits, Calls, IdCounter};
use crate::codec::{Decoded, FrameDecoder};
use crate::config::Config;
use crate::message::Composer;
use crate::negotiation::Negotiation;
use crate::outbox::{Outbox, OutboxLimits, Ticket, Transmit, TransmitKind};
use crate::time::Instant;

pub(crate) use commands::busy;
pub use commands::{CallError, CallRequest, NotifyError, RespondError};
pub use event::{CloseReason, Event, Outcome, Payload, PeerFault, Sent, Stats};
pub use inbound::StreamEnd;

/// A client's connection. See the [module](self).
#[derive(Debug)]
pub struct Connection {
    config: Config,
    phase: Phase,
    counter: IdCounter,
    calls: Calls<Tag>,
    outbox: Outbox,
    composer: Composer,
    decoder: FrameDecoder,
    /// Requests of the peer that are being handled.
    peer_requests: BTreeSet<RequestId>,
    events: VecDeque<Event>,
    undelivered: usize,
    nonsense: u32,
    stats: Stats,
    /// The members of `_meta` that every request of the stateless era has.
    stateless_meta: Bytes,
}

#[derive(Debug)]
enum Phase {
    /// Not opened yet.
    New,
    /// Era and revision are being agreed.
    Negotiating {
        negotiation: Negotiation,
        handshake: Instant,
        probe: Option<Instant>,
    },
    /// Calls are served.
    Ready { revision: Revision },
    /// Over.
    Closed,
}

/// What a call of ours is for.
#[derive(Debug)]
enum Tag {
    Discover,
    Initialize,
    /// A call of the user. It has a ticket until it has left.
    User {
        ticket: Option<Ticket>,
        wants_progress: bool,
    },
}

impl Connection {
    /// A connection that waits to be opened. `counter` goes on where the connection before
    /// it ended; take it back with [`into_counter`](Self::into_counter).
    pub fn new(config: Config, counter: IdCounter) -> Self {
        let calls = Calls::new(CallLimits {
            pending: config.max_pending,
            tombstones: config.max_tombstones,
            tombstone_lifetime: config.tombstone_lifetime,
        });
        let outbox = Outbox::new(OutboxLimits {
            messages: config.max_queued,
            bytes: config.max_queued_bytes,
            answers: config.max_peer_requests,
        });
        Self {
            phase: Phase::New,
            counter,
            calls,
            outbox,
            composer: Composer {
                carrier: config.carrier,
                framing: config.framing,
            },
            decoder: FrameDecoder::new(config.frames),
            peer_requests: BTreeSet::new(),
            events: VecDeque::new(),
            undelivered: 0,
            nonsense: config.nonsense_budget,
            stats: Stats::default(),
            stateless_meta: Bytes::new(),
            config,
        }
    }

    /// The counter of ids, for the next connection.
    pub fn into_counter(self) -> IdCounter {
        self.counter
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
        !self.is_closed()
            && self.outbox.takes_answers()
            && self.undelivered <= self.config.max_undelivered
    }

    /// Calls that wait for their answers.
    pub fn pending(&self) -> usize {
        self.calls.len()
    }

    /// Calls that were given up and are still remembered.
    pub fn tombstones(&self) -> usize {
        self.calls.tombstones()
    }

    /// What happened that has no other trace.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    // The world did something.

    /// The buffer to read into, on a shared stream. Then [`handle_read`](Self::handle_read).
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    /// Bytes were appended to the buffer.
    pub fn handle_read(&mut self, now: Instant) {
        while !self.is_closed()
            && let Some(decoded) = self.decoder.poll()
        {
            self.handle_decoded(now, decoded);
        }
    }

    /// The shared stream ended.
    pub fn handle_eof(&mut self, now: Instant) {
        self.handle_read(now);
        if !self.is_closed()
            && let Some(decoded) = self.decoder.finish()
        {
            self.handle_decoded(now, decoded);
        }
        self.handle_lost(now, "the peer closed the stream");
    }

    /// The transport was lost.
    pub fn handle_lost(&mut self, now: Instant, reason: &str) {
        self.close_with(now, CloseReason::Transport(reason.into()));
    }

    /// Time has passed: it is at least what [`poll_timeout`](Self::poll_timeout) said.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.handle_handshake_timeout(now);
        while let Some(call) = self.calls.overdue(now) {
            self.time_out(now, call);
        }
        self.calls.sweep(now);
    }

    // Draining.

    /// The next message to send. Take it only when the one before is written: a call counts
    /// as sent from here on.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.outbox.pop()?;
        if let TransmitKind::Call(call) = transmit.kind
            && let Some(Tag::User { ticket, .. }) = self.calls.get_mut(call)
        {
            *ticket = None;
        }
        Some(transmit)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.undelivered = self.undelivered.saturating_sub(event.weight());
        Some(event)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due. `None` while nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (handshake, probe) = match self.phase {
            Phase::Negotiating {
                handshake, probe, ..
            } => (Some(handshake), probe),
            Phase::New | Phase::Ready { .. } | Phase::Closed => (None, None),
        };
        [
            handshake,
            probe,
            self.calls.next_deadline(),
            self.calls.next_expiry(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn handle_decoded(&mut self, now: Instant, decoded: Decoded) {
        match decoded {
            Decoded::Frame(frame) => self.handle_frame(now, &frame),
            Decoded::TooLarge(too_large) => self.handle_too_large(now, &too_large),
            Decoded::Fault(fault) => {
                self.close_with(now, CloseReason::Peer(PeerFault::Codec(fault)));
            }
        }
    }

    fn emit(&mut self, event: Event) {
        self.undelivered += event.weight();
        self.events.push_back(event);
    }

    fn end(&mut self, call: CallId, outcome: Outcome) {
        self.emit(Event::Ended { call, outcome });
    }
}
