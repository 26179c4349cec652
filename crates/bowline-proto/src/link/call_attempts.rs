//! Attempts of calls: offering a call to the connection at once, when there is room, when it is
//! its place in the order, or again after a loss.

use bowline_types::{Era, Revision};

use super::Link;
use super::calls::{CallEntry, CallKey, CallPhase};
use super::error::LinkError;
use super::state::LinkState;
use crate::commands::{CallError, Since};
use crate::config::Carrier;
use crate::connection::Connection;
use crate::defect::{self, Defect};
use crate::outcome::Outcome;
use crate::time::Instant;

/// The result of offering a call to the connection.
enum OfferResult {
    /// The connection took the call, or the call has ended.
    Done,
    /// An earlier call of a stateful tool has to end first.
    AwaitingOrder,
    /// There is no room for this call or for the calls after it.
    Full(LinkError),
    /// No call is taken before the next session.
    NotServing,
}

impl Link {
    /// Returns `true` if calls are given to the connection.
    pub(super) fn is_serving(&self) -> bool {
        let is_ready = self.connection.as_ref().is_some_and(Connection::is_ready);
        self.state == LinkState::Ready && is_ready && !self.is_draining()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.revision().map(Revision::era) == Some(Era::Stateless)
    }

    /// Offers a new call to the connection. A call that may wait stays in the table.
    pub(super) fn offer_new_call(&mut self, now: Instant, key: CallKey) -> Result<(), LinkError> {
        let Some(entry) = self.calls.get(key) else {
            return Ok(());
        };
        let may_wait = entry.may_wait();
        let offered = if self.has_earlier_waiting_call(key) {
            OfferResult::Full(LinkError::Backpressure)
        } else {
            self.offer_call(now, key)?
        };
        match offered {
            OfferResult::Done | OfferResult::AwaitingOrder => Ok(()),
            OfferResult::Full(_) | OfferResult::NotServing if may_wait => Ok(()),
            OfferResult::Full(error) => Err(error),
            OfferResult::NotServing => Err(self.unavailable()),
        }
    }

    /// Offers the waiting calls to the connection, in their order, as far as there is room.
    pub(super) fn offer_waiting_calls(&mut self, now: Instant) {
        let mut last = None;
        while self.is_serving()
            && let Some(key) = self.calls.waiting_after(last)
        {
            last = Some(key);
            match self.offer_call(now, key) {
                Ok(OfferResult::Done | OfferResult::AwaitingOrder) => {}
                Ok(OfferResult::Full(_) | OfferResult::NotServing) => break,
                Err(error) => self.complete_call(key, error.into_outcome()),
            }
        }
    }

    /// Offers a call to the connection.
    fn offer_call(&mut self, now: Instant, key: CallKey) -> Result<OfferResult, LinkError> {
        let Some(entry) = self.calls.get(key) else {
            return Ok(OfferResult::Done);
        };
        if entry.is_overdue(now) {
            self.time_out_call(now, key);
            return Ok(OfferResult::Done);
        }
        if !self.is_serving() {
            return Ok(OfferResult::NotServing);
        }
        if entry.rounds > 0 && !self.is_stateless() {
            let message =
                "the server requested input, but the new session's revision has no input requests";
            self.complete_call(key, Outcome::Invalid(message.into()));
            return Ok(OfferResult::Done);
        }
        if self.must_wait_for_order(entry) {
            return Ok(OfferResult::AwaitingOrder);
        }
        let (is_ordered, session) = (self.is_ordered(entry), self.session);
        if entry.call.adapter.is_some()
            && let Some(message) = self.adapt_call(key)
        {
            self.complete_call(key, Outcome::Unsupported(message));
            return Ok(OfferResult::Done);
        }
        let (Some(entry), Some(connection)) = (self.calls.get_mut(key), &mut self.connection)
        else {
            return Ok(OfferResult::NotServing);
        };
        entry.call.request.since = Some(Since {
            started: entry.started,
            idle: entry.idle_since,
        });
        match connection.call_again(now, &entry.call.request) {
            Ok(id) => {
                entry.session = session;
                let is_last = connection.is_out_of_ids();
                self.calls.set_phase(key, CallPhase::Issued(id));
                self.calls.set_order_slot(key, is_ordered);
                if is_last {
                    self.begin_id_drain(now);
                }
                Ok(OfferResult::Done)
            }
            Err(CallError::IdsExhausted) => {
                self.begin_id_drain(now);
                Ok(OfferResult::NotServing)
            }
            Err(error @ (CallError::TooManyPending | CallError::QueueFull)) => {
                Ok(OfferResult::Full(self.refusal(error)))
            }
            Err(error) => Err(self.refusal(error)),
        }
    }

    /// Returns `true` if a call before this one waits for room.
    fn has_earlier_waiting_call(&self, key: CallKey) -> bool {
        let mut earlier = self.calls.waiting_before(key);
        self.is_serving() && earlier.any(|entry| !self.must_wait_for_order(entry))
    }

    /// Returns `true` if a call must wait for an earlier one to end.
    ///
    /// Over HTTP the calls of stateful tools are made one at a time (CN-26): the next one
    /// when the previous one has ended, not while the server waits for our input to it.
    fn must_wait_for_order(&self, entry: &CallEntry) -> bool {
        self.is_ordered(entry) && !entry.has_order_slot && self.calls.is_order_slot_taken()
    }

    fn is_ordered(&self, entry: &CallEntry) -> bool {
        let tool = entry.call.tool.as_deref();
        self.config.connection.carrier == Carrier::StreamPerRequest
            && tool.is_some_and(|tool| self.tool_modes.is_stateful(tool))
    }

    /// Assigns the order slots anew, after the set of stateful tools has changed.
    pub(super) fn reassign_order_slots(&mut self) {
        for key in self.calls.keys() {
            if let Some(entry) = self.calls.get(key) {
                let is_with_server = entry.phase != CallPhase::Waiting || entry.has_order_slot;
                let has_order_slot = is_with_server && self.is_ordered(entry);
                self.calls.set_order_slot(key, has_order_slot);
            }
        }
    }

    /// Puts a call back among those that wait. It is sent again when that is possible.
    pub(super) fn requeue_call(&mut self, now: Instant, key: CallKey) {
        if let Some(entry) = self.calls.get_mut(key) {
            entry.retries += 1;
            entry.is_expired = false;
            entry.resume_all(now);
        }
        self.calls.set_order_slot(key, false);
        self.calls.set_phase(key, CallPhase::Waiting);
    }

    /// Ends the waiting calls that may not wait for another session.
    pub(super) fn fail_calls_that_cannot_wait(&mut self, outcome: &Outcome) {
        let mut last = None;
        if defect::is(Defect::LostWaiter)
            && let Some(key) = self.calls.waiting_after(None)
        {
            self.calls.remove(key);
        }
        while let Some(key) = self.calls.waiting_after(last) {
            last = Some(key);
            if self.calls.get(key).is_some_and(|entry| !entry.may_wait()) {
                self.complete_call(key, outcome.clone());
            }
        }
    }

    /// Ends the overdue calls whose time the link watches itself.
    pub(super) fn time_out_waiting_calls(&mut self, now: Instant) {
        while let Some(key) = self.calls.overdue(now) {
            self.time_out_call(now, key);
        }
    }

    fn time_out_call(&mut self, now: Instant, key: CallKey) {
        if let Some(entry) = self.calls.get(key) {
            let elapsed = now.since(entry.started);
            self.complete_call(key, Outcome::TimedOut { elapsed });
        }
    }

    /// Ends all calls.
    pub(super) fn end_calls(&mut self, outcome: &Outcome) {
        let forgotten = usize::from(defect::is(Defect::StopForgets));
        for key in self.calls.keys().into_iter().skip(forgotten) {
            self.complete_call(key, outcome.clone());
        }
    }
}
