//! When to read, when to send, and when to stop waiting.

use super::{Endpoint, Purpose};
use crate::events::Tell;
use crate::outbox::{Transmit, TransmitKind};
use crate::outcome::Outcome;
use crate::time::Instant;
use crate::trace::{self, Direction};

/// A pause of reads is drawn from half to one and a half of what is configured.
const SPREAD: u32 = 50;

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Nothing was read, since answers didn't leave or events were not taken.
    Reading,
    /// A frame that is too large didn't end.
    Skipping,
}

impl<E: Tell> Endpoint<E> {
    /// Whether more may be read: the answers that we owe leave, and events are taken.
    pub(crate) fn wants_read(&self) -> bool {
        self.outbox.takes_answers() && self.events.has_room()
    }

    /// Tells how much was read.
    pub(crate) fn note_read(&mut self) {
        let fresh = self.decoder.buffer().len().saturating_sub(self.left_over);
        trace::io(self.side, Direction::In, fresh);
    }

    /// Looks at what has become of reading. To be called whenever something was read,
    /// answered or told.
    pub(crate) fn note_flow(&mut self, now: Instant) {
        self.left_over = self.decoder.buffer().len();
        if self.wants_read() {
            self.paused = None;
        } else if self.paused.is_none() {
            trace::reading_paused(self.side);
            self.paused = Some(now);
        }
        if !self.decoder.is_skipping() {
            self.skipping = None;
        } else if self.skipping.is_none() {
            self.skipping = Some(now);
        }
    }

    /// Time has passed: what took too long, if anything did.
    pub(crate) fn check_flow(&mut self, now: Instant) -> Option<Stall> {
        if self.resend.is_some_and(|at| at <= now) {
            self.resend = None;
        }
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        if is_over(self.read_deadline()) {
            return Some(Stall::Reading);
        }
        is_over(self.skip_deadline()).then_some(Stall::Skipping)
    }

    /// When something is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [
            self.calls.next_deadline(),
            self.calls.next_sweep(),
            self.requests.next_deadline(),
            self.resend,
            self.read_deadline(),
            self.skip_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The next message to send, unless the transport was busy a moment ago.
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.resend.is_some() {
            return None;
        }
        let transmit = self.outbox.pop()?;
        self.note_room();
        trace::io(self.side, Direction::Out, transmit.len());
        if let TransmitKind::Call(call) = transmit.kind
            && let Some(tag) = self.calls.get_mut(call)
        {
            tag.ticket = None;
        }
        Some(transmit)
    }

    /// The next event.
    pub(crate) fn poll_event(&mut self) -> Option<E> {
        let event = self.events.pop();
        self.note_room();
        event
    }

    /// Counts events that were taken and wait elsewhere.
    pub(crate) fn set_beyond(&mut self, weight: usize) {
        self.events.set_beyond(weight);
        self.note_room();
    }

    /// The transport did not take the message: it is offered again a little later. After
    /// the last time a call ends and a notification is dropped; what we owe goes on being
    /// offered, since a lost answer is a hang of the peer.
    pub(crate) fn handle_busy(&mut self, now: Instant, transmit: Transmit) {
        let attempts = self.outbox.count_attempt();
        trace::busy(self.side, attempts);
        self.resend = Some(now + self.jitter.around(self.limits.send_pause, SPREAD));
        let is_last = attempts >= self.limits.send_attempts;
        match transmit.kind {
            TransmitKind::Call(call) => {
                let Some(tag) = self.calls.get_mut(call) else {
                    // It was given up meanwhile.
                    return;
                };
                if is_last && tag.purpose == Purpose::User {
                    if let Some(waiting) = self.calls.give_up(now, call) {
                        let outcome = Outcome::Backpressure { attempts };
                        self.conclude(now, call, &waiting, outcome);
                    }
                    return;
                }
                tag.ticket = self.outbox.put_back(transmit);
            }
            TransmitKind::Notification if is_last => {
                self.stats.dropped_notifications += 1;
                trace::notification_dropped(self.side, Direction::Out, "transport busy");
            }
            TransmitKind::Notification | TransmitKind::Answer | TransmitKind::Reset(_) => {
                self.outbox.put_back(transmit);
            }
        }
    }

    /// Something was drained: reading may go on.
    fn note_room(&mut self) {
        if self.paused.is_some() && self.wants_read() {
            self.paused = None;
        }
    }

    fn read_deadline(&self) -> Option<Instant> {
        Some(self.paused? + self.limits.stall_timeout)
    }

    fn skip_deadline(&self) -> Option<Instant> {
        let skipping = self.skipping?;
        Some(skipping + self.limits.frames.skip_timeout)
    }
}
