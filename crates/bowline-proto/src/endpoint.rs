//! What both ends of a connection have.
//!
//! Calls of our own, requests of the peer, the queue out, the events up, and the budgets and
//! times between them. The client's connection and the server's session are built on it and
//! add what is theirs: negotiation there, phases and routing here.

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

/// One end of a connection.
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
    /// The beginning of the last frame that was no message.
    pub(crate) malformed_sample: Option<Box<str>>,
    misbehavior_left: u32,
    /// We frame as the peer does.
    mirrors_framing: bool,
    /// Calls of the protocol's own, which count against no limit.
    internal: usize,
    /// Bytes in the decoder that make no frame yet.
    unframed_bytes: usize,
    jitter: Jitter,
    /// Since when nothing is read, and whether something has left or was taken since.
    paused: Option<Instant>,
    has_drained: bool,
    blocked_output: BlockedOutput,
    /// Since when a frame is being skipped.
    skipping: Option<Instant>,
    partial_frame: PartialFrame,
}

/// A frame of which a part has come.
#[derive(Debug, Default)]
struct PartialFrame {
    /// How long the rest may take.
    timeout: Option<Duration>,
    since: Option<Instant>,
    /// We didn't read meanwhile, so it begins anew.
    was_paused: bool,
}

/// Handlers that don't go on, since what was answered before is not written.
#[derive(Debug, Default)]
struct BlockedOutput {
    since: Option<Instant>,
    /// A part of it was, since then.
    has_written: bool,
}

/// What a call of ours is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Discover,
    Initialize,
    Keepalive,
    User,
}

/// What is known of a call of ours beside its deadlines.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) purpose: Purpose,
    /// Its place in the queue, until it has left.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) wants_progress: bool,
    /// Where it was sent, and its cancellation goes.
    pub(crate) stream: Option<StreamId>,
    /// It is a `subscriptions/listen`, which the peer may end.
    pub(crate) is_subscription: bool,
    /// For telemetry: see [`trace::request_method`].
    pub(crate) method: Option<Method>,
}

impl Tag {
    /// Returns whether the peer may have seen the call: not while it is in the queue, from
    /// which it is taken back when it ends. What the driver took may have been written in part.
    pub(crate) fn sent(&self) -> Sent {
        match self.ticket {
            Some(_) if defect::is(Defect::QueuedCountsAsSent) => Sent::Maybe,
            Some(_) => Sent::No,
            None => Sent::Maybe,
        }
    }
}

/// How an endpoint is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) side: Side,
    pub(crate) carrier: Carrier,
    /// `None`: as the peer does.
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

    /// How long a frame may take to arrive. Default: as long as it likes.
    pub(crate) fn set_frame_timeout(&mut self, timeout: Option<Duration>) {
        self.partial_frame.timeout = timeout;
    }

    /// What the next endpoint of the same link goes on with.
    pub(crate) fn into_carryover(self) -> Carryover {
        Carryover {
            next_request: self.requests.next_key(),
            ids: self.counter,
            given_up: self.calls.into_given_up(),
        }
    }

    /// Gives back what is only kept to be used again.
    pub(crate) fn shrink(&mut self) {
        self.calls.shrink();
        self.composer.shrink();
        self.outbox.shrink();
        self.events.shrink();
        let buffer = self.decoder.buffer();
        if buffer.is_empty() {
            *buffer = BytesMut::new();
        }
    }

    /// The call that an answer belongs to, if it waits. Other answers are counted; one for
    /// nothing that we ever asked is nonsense.
    pub(crate) fn match_response(&mut self, now: Instant, id: &RequestId) -> ResponseMatch {
        let (reason, count, matched) = match self.calls.find(now, id, &self.counter) {
            Found::Pending(call) => return ResponseMatch::Call(call),
            Found::GivenUp => ("late", &mut self.stats.late_answers, ResponseMatch::Dropped),
            Found::Ended => (
                "stale",
                &mut self.stats.stale_answers,
                ResponseMatch::Dropped,
            ),
            Found::Unknown => (
                "unknown",
                &mut self.stats.unknown_answers,
                ResponseMatch::Misbehavior,
            ),
        };
        *count += 1;
        trace::response_dropped(self.side, reason);
        matched
    }

    /// The peer did what it must not do here.
    pub(crate) fn count_violation(&mut self, what: &'static str) {
        self.stats.violations += 1;
        trace::violation(self.side, what, self.stats.violations);
    }

    /// The peer notified of nothing that goes on.
    pub(crate) fn count_dropped_notification(&mut self, reason: &'static str) {
        self.stats.pointless_notifications += 1;
        trace::notification_dropped(self.side, trace::Direction::In, reason);
    }

    /// A frame was no message. Its beginning is kept for whoever looks for the reason.
    pub(crate) fn count_malformed(&mut self, fault: &str, frame: &[u8], size: u64) {
        self.stats.malformed_frames += 1;
        trace::malformed(self.side, fault, size, self.stats.malformed_frames);
        let beginning = frame.get(..SAMPLE).unwrap_or(frame);
        if !beginning.is_empty() {
            self.malformed_sample = Some(String::from_utf8_lossy(beginning).into());
        }
    }

    /// Spends one of the frames that may make no sense. Whether there was one left.
    #[must_use]
    pub(crate) fn spend_misbehavior_budget(&mut self) -> bool {
        let left = self.misbehavior_left.checked_sub(1);
        self.misbehavior_left = left.unwrap_or(0);
        left.is_some()
    }

    /// A good message makes up for one that was none.
    pub(crate) fn restore_misbehavior_budget(&mut self) {
        let more = self.misbehavior_left.saturating_add(1);
        self.misbehavior_left = more.min(self.limits.misbehavior_budget);
    }

    pub(crate) fn push_event(&mut self, event: E) {
        self.events.push(event);
    }

    /// Ends what waits, and forgets what is queued. `outcome` says how a call ends. The
    /// requests of the peer that have no answer now.
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

    /// Ends the calls that wait; one that has not been seen never leaves.
    pub(crate) fn end_calls(&mut self, now: Instant, outcome: impl Fn() -> Outcome) {
        for (call, waiting) in self.calls.give_up_all(now) {
            if let Some(ticket) = waiting.tag.ticket {
                self.outbox.take_back(ticket);
            }
            self.complete_call(now, call, &waiting, outcome());
        }
    }
}

/// Bytes of a frame that is no message that are kept.
const SAMPLE: usize = 120;

/// What the id of an answer is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMatch {
    Call(CallId),
    /// An answer that comes too late or again.
    Dropped,
    /// An answer to nothing that we ever asked.
    Misbehavior,
}

/// What is said in a message of the protocol itself, which every revision can say.
pub(crate) fn params_body(members: impl Into<Cow<'static, str>>) -> Bytes {
    match members.into() {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    }
}

/// The revision in whose words we speak before one is agreed.
pub(crate) fn or_latest_handshake(revision: Option<Revision>) -> Revision {
    revision.unwrap_or(Revision::LATEST_HANDSHAKE)
}

/// A message that has no bytes: the stream of a call is reset.
pub(crate) fn reset_message(call: CallId) -> Transmit {
    Transmit {
        kind: crate::outbox::TransmitKind::Reset(call),
        stream: None,
        head: Bytes::new(),
        body: Bytes::new(),
        tail: Bytes::new(),
        slot: crate::outbox::Slot::default(),
    }
}
