//! Giving calls to the connection: now, when there is room, in their turn, or again.

use bowline_types::{Era, Revision};

use super::Link;
use super::calls::{CallKey, Kept, Stage};
use super::error::LinkError;
use super::state::State;
use crate::commands::{CallError, Since};
use crate::config::Carrier;
use crate::connection::Connection;
use crate::defect::{self, Defect};
use crate::outcome::Outcome;
use crate::time::Instant;

/// What became of a call that was offered to the connection.
enum Offered {
    /// It is there, or has ended.
    Done,
    /// One before it has to end first.
    Turn,
    /// There is no room for it, nor for those after it.
    Full(LinkError),
    /// No call is taken before the next session.
    NotNow,
}

impl Link {
    /// Whether calls are given to the connection.
    pub(super) fn is_serving(&self) -> bool {
        let is_ready = self.connection.as_ref().is_some_and(Connection::is_ready);
        self.state == State::Ready && is_ready && !self.is_draining()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.revision().map(Revision::era) == Some(Era::Stateless)
    }

    /// Offers a new call. It keeps waiting where it may.
    pub(super) fn make_first(&mut self, now: Instant, key: CallKey) -> Result<(), LinkError> {
        let Some(kept) = self.calls.get(key) else {
            return Ok(());
        };
        let may_wait = kept.may_wait();
        let offered = match self.is_behind(key) {
            true => Offered::Full(LinkError::Backpressure),
            false => self.offer(now, key)?,
        };
        match offered {
            Offered::Done | Offered::Turn => Ok(()),
            Offered::Full(_) | Offered::NotNow if may_wait => Ok(()),
            Offered::Full(error) => Err(error),
            Offered::NotNow => Err(self.unavailable()),
        }
    }

    /// Makes the calls that wait, in their order, as far as there is room.
    pub(super) fn make_waiting(&mut self, now: Instant) {
        let mut last = None;
        while self.is_serving()
            && let Some(key) = self.calls.waiting_after(last)
        {
            last = Some(key);
            match self.offer(now, key) {
                Ok(Offered::Done | Offered::Turn) => {}
                Ok(Offered::Full(_) | Offered::NotNow) => break,
                Err(error) => self.finish(key, error.into_outcome()),
            }
        }
    }

    /// Gives a call to the connection, if it can be taken.
    fn offer(&mut self, now: Instant, key: CallKey) -> Result<Offered, LinkError> {
        let Some(kept) = self.calls.get(key) else {
            return Ok(Offered::Done);
        };
        if kept.is_overdue(now) {
            self.time_out(now, key);
            return Ok(Offered::Done);
        }
        if !self.is_serving() {
            return Ok(Offered::NotNow);
        }
        if kept.rounds > 0 && !self.is_stateless() {
            let words = "the server asked for input, and no longer speaks of such a thing";
            self.finish(key, Outcome::Invalid(words.into()));
            return Ok(Offered::Done);
        }
        if self.must_wait_its_turn(kept) {
            return Ok(Offered::Turn);
        }
        let (is_ordered, session) = (self.is_ordered(kept), self.session);
        if kept.call.fit.is_some()
            && let Some(words) = self.fit(key)
        {
            self.finish(key, Outcome::Unsupported(words));
            return Ok(Offered::Done);
        }
        let (Some(kept), Some(connection)) = (self.calls.get_mut(key), &mut self.connection) else {
            return Ok(Offered::NotNow);
        };
        kept.call.request.since = Some(Since {
            started: kept.started,
            idle: kept.idle_since,
        });
        match connection.call_again(now, &kept.call.request) {
            Ok(id) => {
                kept.session = session;
                let is_last = connection.is_out_of_ids();
                self.calls.set_stage(key, Stage::Made(id));
                self.calls.set_turn(key, is_ordered);
                if is_last {
                    self.drain_ids(now);
                }
                Ok(Offered::Done)
            }
            Err(CallError::IdsExhausted) => {
                self.drain_ids(now);
                Ok(Offered::NotNow)
            }
            Err(error @ (CallError::TooManyPending | CallError::QueueFull)) => {
                Ok(Offered::Full(self.refusal(error)))
            }
            Err(error) => Err(self.refusal(error)),
        }
    }

    /// Whether a call before this one waits for room.
    fn is_behind(&self, key: CallKey) -> bool {
        let mut earlier = self.calls.waiting_before(key);
        self.is_serving() && earlier.any(|kept| !self.must_wait_its_turn(kept))
    }

    /// Over HTTP the calls of stateful tools are made one at a time (CN-26): the next one
    /// when the one before has ended, not while the server waits for our input to it.
    fn must_wait_its_turn(&self, kept: &Kept) -> bool {
        self.is_ordered(kept) && !kept.has_turn && self.calls.is_turn_taken()
    }

    fn is_ordered(&self, kept: &Kept) -> bool {
        let tool = kept.call.tool.as_deref();
        self.config.connection.carrier == Carrier::StreamPerRequest
            && tool.is_some_and(|tool| self.modes.is_stateful(tool))
    }

    /// Which tools are stateful has changed.
    pub(super) fn count_turns(&mut self) {
        for key in self.calls.keys() {
            if let Some(kept) = self.calls.get(key) {
                let is_with_server = kept.stage != Stage::Waiting || kept.has_turn;
                let has_turn = is_with_server && self.is_ordered(kept);
                self.calls.set_turn(key, has_turn);
            }
        }
    }

    /// A call goes back to those that wait, and is made again when that is possible.
    pub(super) fn try_again(&mut self, now: Instant, key: CallKey) {
        if let Some(kept) = self.calls.get_mut(key) {
            kept.retries += 1;
            kept.is_expired = false;
            kept.resume_all(now);
        }
        self.calls.set_turn(key, false);
        self.calls.set_stage(key, Stage::Waiting);
    }

    /// Ends the calls that wait although they may not.
    pub(super) fn fail_unwilling(&mut self, outcome: &Outcome) {
        let mut last = None;
        if defect::is(Defect::LostWaiter)
            && let Some(key) = self.calls.waiting_after(None)
        {
            self.calls.remove(key);
        }
        while let Some(key) = self.calls.waiting_after(last) {
            last = Some(key);
            if self.calls.get(key).is_some_and(|kept| !kept.may_wait()) {
                self.finish(key, outcome.clone());
            }
        }
    }

    /// Ends the calls whose time is over and which no connection knows.
    pub(super) fn time_out_kept(&mut self, now: Instant) {
        while let Some(key) = self.calls.overdue(now) {
            self.time_out(now, key);
        }
    }

    fn time_out(&mut self, now: Instant, key: CallKey) {
        if let Some(kept) = self.calls.get(key) {
            let elapsed = now.since(kept.started);
            self.finish(key, Outcome::TimedOut { elapsed });
        }
    }

    /// Ends all calls.
    pub(super) fn end_calls(&mut self, outcome: &Outcome) {
        let forgotten = usize::from(defect::is(Defect::StopForgets));
        for key in self.calls.keys().into_iter().skip(forgotten) {
            self.finish(key, outcome.clone());
        }
    }
}
