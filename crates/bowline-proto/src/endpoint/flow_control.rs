//! Flow control: when to read, when to send, and when a transport has stalled.

use super::{BlockedOutput, Endpoint, Purpose};
use crate::calls::CallId;
use crate::codec::Decoded;
use crate::event_queue::EndpointEvent;
use crate::outbox::{Transmit, TransmitKind};
use crate::outcome::{Outcome, Sent};
use crate::time::Instant;
use crate::trace::{self, Direction};

/// A pause of reads is drawn from half to one and a half of what is configured.
const SPREAD: u32 = 50;

/// What has stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Reading was paused for too long: responses didn't leave, or events were not taken.
    Reading,
    /// Nothing was written for too long, while handlers waited for that.
    Writing,
    /// An oversized frame didn't end in time.
    Skipping,
    /// A frame was begun and not finished in time.
    Unfinished,
}

impl<E: EndpointEvent> Endpoint<E> {
    /// Returns `true` if more may be read: the responses that we owe leave, and events are taken.
    pub(crate) fn wants_read(&self) -> bool {
        self.outbox.accepts_responses() && self.events.has_room()
    }

    /// Emits the number of bytes that were read to telemetry.
    pub(crate) fn trace_read(&mut self) {
        let fresh = self
            .decoder
            .buffer()
            .len()
            .saturating_sub(self.unframed_bytes);
        trace::io(self.side, Direction::In, fresh);
    }

    /// Returns the next frame from the bytes that were read. How the peer frames it shows how it
    /// wants to be answered.
    pub(crate) fn poll_decoded(&mut self) -> Option<Decoded> {
        let decoded = self.decoder.poll();
        if decoded.is_some() {
            self.partial_frame.since = None;
        }
        if self.mirrors_framing
            && let Some(framing) = self.decoder.framing()
        {
            self.composer.set_framing(framing);
        }
        decoded
    }

    /// Updates the state of reading. Call it after a read, a response, or an event.
    pub(crate) fn update_flow(&mut self, now: Instant) {
        self.unframed_bytes = self.decoder.buffer().len();
        if self.wants_read() {
            self.paused = None;
        } else if self.paused.is_none() {
            trace::reading_paused(self.side);
            self.partial_frame.was_paused = true;
            self.paused = Some(now);
            self.has_drained = false;
        }
        if !self.decoder.is_inside() {
            self.partial_frame.since = None;
        } else if self.partial_frame.since.is_none() {
            self.partial_frame.since = Some(now);
            self.partial_frame.was_paused = self.paused.is_some();
        }
        if !self.decoder.is_skipping() {
            self.skipping = None;
        } else if self.skipping.is_none() {
            self.skipping = Some(now);
        }
    }

    /// Counts what the driver has taken and not yet written, for as long as requests wait.
    pub(crate) fn set_unwritten_bytes(&mut self, now: Instant, bytes: usize) {
        let before = self.outbox.set_unwritten_bytes(bytes);
        if self.outbox.has_room_for_response() || self.requests.len() == 0 {
            self.blocked_output.since = None;
        } else if self.blocked_output.since.is_none() {
            self.blocked_output = BlockedOutput {
                since: Some(now),
                has_written: false,
            };
        } else {
            self.blocked_output.has_written |= bytes < before;
        }
    }

    /// Checks the deadlines of flow control. Returns what has stalled, if anything has.
    pub(crate) fn check_flow(&mut self, now: Instant) -> Option<Stall> {
        self.outbox.resume(now);
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        if is_over(self.read_deadline()) {
            // A slow peer is not a dead one: a response has left, or an event was taken.
            if std::mem::take(&mut self.has_drained) {
                self.paused = Some(now)
            } else {
                return Some(Stall::Reading);
            }
        }
        if is_over(self.write_deadline()) {
            if std::mem::take(&mut self.blocked_output.has_written) {
                self.blocked_output.since = Some(now)
            } else {
                return Some(Stall::Writing);
            }
        }
        if is_over(self.frame_deadline()) {
            // While reading is paused the rest can't arrive.
            if std::mem::take(&mut self.partial_frame.was_paused) {
                self.partial_frame.since = Some(now)
            } else {
                return Some(Stall::Unfinished);
            }
        }
        is_over(self.skip_deadline()).then_some(Stall::Skipping)
    }

    /// Returns the earliest deadline.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [
            self.calls.next_deadline(),
            self.calls.next_sweep(),
            self.requests.next_deadline(),
            self.outbox.next_resume(),
            self.read_deadline(),
            self.write_deadline(),
            self.skip_deadline(),
            self.frame_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Returns the next message to send, unless the transport was busy a moment ago.
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        let was_full = !self.outbox.accepts_responses();
        let transmit = self.outbox.pop()?;
        self.on_room_freed(was_full && transmit.kind == TransmitKind::Response);
        trace::io(self.side, Direction::Out, transmit.len());
        if let TransmitKind::Call(call) = transmit.kind
            && let Some(tag) = self.calls.get_mut(call)
        {
            tag.ticket = None;
        }
        Some(transmit)
    }

    /// Returns the next message to send that is no call.
    pub(crate) fn poll_final_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.outbox.pop_non_call()?;
        trace::io(self.side, Direction::Out, transmit.len());
        Some(transmit)
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<E> {
        let was_full = !self.events.has_room();
        let event = self.events.pop();
        self.on_room_freed(was_full);
        event
    }

    /// Returns the next event for a caller that queues it again: the driver has not taken it yet,
    /// so the caller counts it with [`set_outer_backlog`](Self::set_outer_backlog).
    pub(crate) fn take_event(&mut self) -> Option<E> {
        self.events.pop()
    }

    /// Counts events that were taken and wait elsewhere.
    pub(crate) fn set_outer_backlog(&mut self, weight: usize) {
        let was_full = !self.events.has_room();
        let has_shrunk = self.events.set_outer_backlog(weight);
        self.on_room_freed(was_full && has_shrunk);
    }

    /// Handles a message that the transport did not take: it is offered again later. After the
    /// last attempt a call ends and a notification is dropped. Responses and cancellations are
    /// offered for longer, since a lost response hangs the peer and a lost cancellation wastes its
    /// work; in the end their stream is dead, or on a shared stream the whole connection. Returns
    /// `true` if it is.
    #[must_use]
    pub(crate) fn handle_busy(&mut self, now: Instant, mut transmit: Transmit) -> bool {
        let (attempts, since) = transmit.count_attempt(now);
        trace::busy(self.side, attempts);
        let until = now + self.jitter.around(self.limits.send_pause, SPREAD);
        let is_last = attempts >= self.limits.send_attempts;
        let is_dead = now.since(since) >= self.limits.stall_timeout;
        match transmit.kind {
            TransmitKind::Call(call) => self.call_was_busy(now, call, transmit, until, is_last),
            TransmitKind::Notification if is_last && !transmit.is_owed() => {
                self.stats.dropped_notifications += 1;
                trace::notification_dropped(self.side, Direction::Out, "transport busy");
                self.outbox.pause(&transmit, until);
            }
            TransmitKind::Response if is_dead && transmit.stream.is_some() => {
                self.stats.dropped_responses += 1;
                trace::response_dropped(self.side, "transport busy");
            }
            TransmitKind::Notification | TransmitKind::Response | TransmitKind::Reset(_) => {
                let is_shared = transmit.stream.is_none();
                self.outbox.put_back(transmit, until);
                return is_dead && is_shared;
            }
        }
        false
    }

    fn call_was_busy(
        &mut self,
        now: Instant,
        call: CallId,
        transmit: Transmit,
        until: Instant,
        is_last: bool,
    ) {
        let Some(tag) = self.calls.get_mut(call) else {
            // It was cancelled meanwhile and never sent, so its cancellation isn't sent either.
            self.outbox.pause(&transmit, until);
            return self.outbox.take_back_cancel(call);
        };
        if !is_last || tag.purpose != Purpose::User {
            tag.ticket = Some(self.outbox.put_back(transmit, until));
            return;
        }
        self.outbox.pause(&transmit, until);
        if let Some(waiting) = self.calls.give_up(now, call) {
            let attempts = self.limits.send_attempts;
            let outcome = Outcome::Backpressure { attempts };
            // The driver has returned the message.
            self.complete_call_as(now, call, &waiting, outcome, Sent::No);
        }
    }

    /// Resumes reading after a message or an event was drained. `counts` is `true` if it was a
    /// part of what reading waits for.
    fn on_room_freed(&mut self, counts: bool) {
        self.has_drained |= counts;
        if self.paused.is_some() && self.wants_read() {
            self.paused = None;
        }
    }

    fn read_deadline(&self) -> Option<Instant> {
        Some(self.paused? + self.limits.stall_timeout)
    }

    fn write_deadline(&self) -> Option<Instant> {
        Some(self.blocked_output.since? + self.limits.stall_timeout)
    }

    fn frame_deadline(&self) -> Option<Instant> {
        match self.paused {
            Some(_) => None,
            None => Some(self.partial_frame.since? + self.partial_frame.timeout?),
        }
    }

    fn skip_deadline(&self) -> Option<Instant> {
        let skipping = self.skipping?;
        Some(skipping + self.limits.frames.skip_timeout)
    }
}
