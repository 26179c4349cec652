//! The parts that both sides of a connection share.
//!
//! Our own calls, the peer's requests, the outgoing queue, the event queue, and the budgets and
//! deadlines between them. The client's connection and the server's session are built on it and
//! add their own: negotiation there, phases and routing here.
//!
//! - `calls`: our own calls. `peer_requests`: the peer's requests and our responses.
//! - `batches`: batches of the peer (2025-03-26). `flow_control`: reading, writing, and stalls.
//!
//! Nothing here may depend on the side or on the era.

mod batches;
mod calls;
mod flow_control;
mod peer_requests;

use std::borrow::Cow;
use std::time::Duration;

use bowline_types::{Method, RequestId, Revision};
use bytes::{Bytes, BytesMut};

use crate::batches::Batches;
use crate::calls::{CallId, Calls, Found, IdCounter};
use crate::carryover::Carryover;
use crate::codec::{FrameDecoder, Framing};
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::event_queue::{EndpointEvent, EventQueue};
use crate::jitter::Jitter;
use crate::limits::Limits;
use crate::message::Composer;
use crate::outbox::{Outbox, StreamId, Ticket, Transmit};
use crate::outcome::{Outcome, Sent};
use crate::requests::{RequestKey, Requests};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::{self, Side};

pub(crate) use batches::BatchAdmission;
pub(crate) use calls::{CallContext, CallProgress, CancelForm};
pub(crate) use flow_control::Stall;

/// One side of a connection.
#[derive(Debug)]
pub(crate) struct Endpoint<E> {
    pub(crate) side: Side,
    pub(crate) limits: Limits,
    pub(crate) counter: IdCounter,
    pub(crate) calls: Calls<Tag>,
    pub(crate) requests: Requests,
    batches: Batches,
    pub(crate) composer: Composer,
    pub(crate) outbox: Outbox,
    pub(crate) events: EventQueue<E>,
    pub(crate) decoder: FrameDecoder,
    pub(crate) stats: Stats,
    /// The beginning of the latest malformed frame.
    pub(crate) malformed_sample: Option<Box<str>>,
    misbehavior_left: u32,
    /// Set when our framing follows the peer's.
    mirrors_framing: bool,
    /// The number of internal calls (handshake, keepalive), which count against no limit.
    internal: usize,
    /// Bytes in the decoder that are no complete frame yet.
    unframed_bytes: usize,
    jitter: Jitter,
    /// Set while reading is paused: its beginning.
    paused: Option<Instant>,
    has_drained: bool,
    blocked_output: BlockedOutput,
    /// Since when a frame is being skipped.
    skipping: Option<Instant>,
    partial_frame: PartialFrame,
}

/// A frame of which only a part has arrived.
#[derive(Debug, Default)]
struct PartialFrame {
    /// How long the rest may take.
    timeout: Option<Duration>,
    since: Option<Instant>,
    /// Set when reading was paused meanwhile, so that the time begins anew.
    was_paused: bool,
}

/// Output that is not written while handlers wait for it.
#[derive(Debug, Default)]
struct BlockedOutput {
    since: Option<Instant>,
    /// Set when a part of it was written since then.
    has_written: bool,
}

/// The purpose of one of our calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Discover,
    Initialize,
    Keepalive,
    User,
}

/// The data of one of our calls, beside its deadlines.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) purpose: Purpose,
    /// Its place in the queue, until the driver has taken it.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) wants_progress: bool,
    /// The stream of the call and of its cancellation.
    pub(crate) stream: Option<StreamId>,
    /// Set for `subscriptions/listen`, which the peer may end.
    pub(crate) is_subscription: bool,
    /// For telemetry: see [`trace::request_method`].
    pub(crate) method: Option<Method>,
}

impl Tag {
    /// Returns if the peer may have seen the call: not while it is in the queue, from
    /// which it is removed when it ends. A message that the driver took may be written in part.
    pub(crate) fn sent(&self) -> Sent {
        match self.ticket {
            Some(_) if defect::is(Defect::QueuedCountsAsSent) => Sent::Maybe,
            Some(_) => Sent::No,
            None => Sent::Maybe,
        }
    }
}

/// The settings of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) side: Side,
    pub(crate) carrier: Carrier,
    /// The framing that we write. `None` follows the peer's.
    pub(crate) framing: Option<Framing>,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
}

impl<E: EndpointEvent> Endpoint<E> {
    pub(crate) fn new(setup: Setup, carried: Carryover) -> Self {
        let Setup {
            side,
            carrier,
            framing,
            limits,
            seed,
        } = setup;
        Self {
            side,
            limits,
            counter: carried.ids,
            calls: Calls::new(limits.of_calls(), carried.given_up),
            requests: Requests::new(limits.of_requests(), carried.next_request),
            batches: Batches::new(limits.frames.frame),
            composer: Composer::new(carrier, framing.unwrap_or_default()),
            mirrors_framing: framing.is_none(),
            outbox: Outbox::new(limits.of_outbox(), carrier),
            events: EventQueue::new(limits.max_undelivered),
            decoder: FrameDecoder::new(limits.frames),
            stats: Stats::default(),
            malformed_sample: None,
            misbehavior_left: limits.misbehavior_budget,
            internal: 0,
            unframed_bytes: 0,
            jitter: Jitter::new(seed),
            paused: None,
            has_drained: false,
            blocked_output: BlockedOutput::default(),
            skipping: None,
            partial_frame: PartialFrame::default(),
        }
    }

    /// Sets how long a frame may take to arrive. Default: no limit.
    pub(crate) fn set_frame_timeout(&mut self, timeout: Option<Duration>) {
        self.partial_frame.timeout = timeout;
    }

    /// Returns where the ids of our calls and the numbers of the peer's requests go on.
    pub(crate) fn next_ids(&self) -> (IdCounter, u64) {
        (self.counter.clone(), self.requests.next_key())
    }

    /// Returns the state that the next endpoint of the same link starts with.
    pub(crate) fn into_carryover(self) -> Carryover {
        Carryover {
            next_request: self.requests.next_key(),
            ids: self.counter,
            given_up: self.calls.into_given_up(),
        }
    }

    /// Releases memory that is only kept for reuse.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.calls.shrink_to_fit();
        self.composer.shrink_to_fit();
        self.outbox.shrink_to_fit();
        self.events.shrink_to_fit();
        let buffer = self.decoder.buffer();
        if buffer.is_empty() {
            *buffer = BytesMut::new();
        }
    }

    /// Returns the pending call that a response belongs to. Other responses are counted; one with
    /// an id that was never issued is misbehavior.
    pub(crate) fn match_response(&mut self, now: Instant, id: &RequestId) -> ResponseMatch {
        let (reason, count, matched) = match self.calls.find(now, id, &self.counter) {
            Found::Pending(call) => return ResponseMatch::Call(call),
            Found::GivenUp => (
                "late",
                &mut self.stats.late_responses,
                ResponseMatch::Dropped,
            ),
            Found::Ended => (
                "stale",
                &mut self.stats.stale_responses,
                ResponseMatch::Dropped,
            ),
            Found::Unknown => (
                "unknown",
                &mut self.stats.unknown_responses,
                ResponseMatch::Misbehavior,
            ),
        };
        *count += 1;
        trace::response_dropped(self.side, reason);
        matched
    }

    /// Counts a violation of the protocol by the peer.
    pub(crate) fn count_violation(&mut self, what: &'static str) {
        self.stats.violations += 1;
        trace::violation(self.side, what, self.stats.violations);
    }

    /// Counts a notification that refers to nothing.
    pub(crate) fn count_dropped_notification(&mut self, reason: &'static str) {
        self.stats.unmatched_notifications += 1;
        trace::notification_dropped(self.side, trace::Direction::In, reason);
    }

    /// Counts a malformed frame, and keeps its beginning for diagnostics.
    pub(crate) fn count_malformed(&mut self, fault: &str, frame: &[u8], size: u64) {
        self.stats.malformed_frames += 1;
        trace::malformed(self.side, fault, size, self.stats.malformed_frames);
        let beginning = frame.get(..SAMPLE).unwrap_or(frame);
        if !beginning.is_empty() {
            self.malformed_sample = Some(String::from_utf8_lossy(beginning).into());
        }
    }

    /// Spends one unit of the misbehavior budget. Returns `true` if there was one left.
    #[must_use]
    pub(crate) fn spend_misbehavior_budget(&mut self) -> bool {
        let left = self.misbehavior_left.checked_sub(1);
        self.misbehavior_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Restores one unit of the misbehavior budget after a good message.
    pub(crate) fn restore_misbehavior_budget(&mut self) {
        let more = self.misbehavior_left.saturating_add(1);
        self.misbehavior_left = more.min(self.limits.misbehavior_budget);
    }

    pub(crate) fn push_event(&mut self, event: E) {
        self.events.push(event);
    }

    /// Ends all calls with `outcome`, and clears the queue. Returns the peer's requests that stay
    /// unanswered.
    pub(crate) fn end_all(
        &mut self,
        now: Instant,
        outcome: impl Fn() -> Outcome,
    ) -> Vec<RequestKey> {
        self.end_calls(now, outcome);
        self.outbox.clear();
        self.batches.clear();
        self.decoder.abandon();
        self.paused = None;
        self.blocked_output.since = None;
        self.skipping = None;
        self.partial_frame.since = None;
        let open = self.requests.give_up_all().into_iter();
        let open = open.inspect(|(request, method, started)| {
            let duration = now.since(*started);
            trace::request_exception(self.side, (request.get(), *method), duration, "closed");
        });
        open.map(|(request, ..)| request).collect()
    }

    /// Ends the pending calls; those in the queue are never sent.
    pub(crate) fn end_calls(&mut self, now: Instant, outcome: impl Fn() -> Outcome) {
        for (call, waiting) in self.calls.give_up_all(now) {
            if let Some(ticket) = waiting.tag.ticket {
                self.outbox.take_back(ticket);
            }
            self.complete_call(now, call, &waiting, outcome());
        }
    }
}

/// Bytes of a malformed frame that are kept.
const SAMPLE: usize = 120;

/// What the id of a response refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMatch {
    Call(CallId),
    /// The response came too late, or again.
    Dropped,
    /// The id was never issued.
    Misbehavior,
}

/// Returns the encoded members of parameters of an internal message, the same in every revision.
pub(crate) fn params_body(members: impl Into<Cow<'static, str>>) -> Bytes {
    match members.into() {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    }
}

/// Returns the revision that messages are encoded for before one is negotiated.
pub(crate) fn or_latest_handshake(revision: Option<Revision>) -> Revision {
    revision.unwrap_or(Revision::LATEST_HANDSHAKE)
}

/// Returns a message that has no bytes: the stream of a call is reset.
pub(crate) fn reset_message(call: CallId) -> Transmit {
    Transmit {
        kind: crate::outbox::TransmitKind::Reset(call),
        stream: None,
        head: Bytes::new(),
        body: Bytes::new(),
        tail: Bytes::new(),
        status: 200,
        slot: crate::outbox::Slot::default(),
    }
}
