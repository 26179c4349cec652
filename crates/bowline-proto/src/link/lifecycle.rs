//! The lifecycle of a link: attempts to connect, waits, stops.

use bowline_types::Era;

use super::event::{Action, LinkEvent};
use super::state::{Cause, LinkState, Transition};
use super::{ConnectionId, Link};
use crate::close::{CloseReason, PeerFault};
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::outcome::Outcome;
use crate::time::Instant;
use crate::trace::{self, Side};

/// The result of [`Link::stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOutcome {
    /// The link has started to close.
    Started,
    /// The link was closing or closed already.
    AlreadyClosing,
}

impl Link {
    /// Enters a state. This is the one place where the state changes.
    pub(super) fn enter(&mut self, now: Instant, to: LinkState, cause: Cause) {
        let from = std::mem::replace(&mut self.state, to);
        self.timer = None;
        self.draining = None;
        trace::link_transition(Side::Client, from.as_str(), to.as_str(), cause.name());
        let transition = Transition {
            at: now,
            from,
            to,
            cause,
            session: self.session,
        };
        self.history.push(transition.clone());
        if !(defect::is(Defect::UnreportedState) && to == LinkState::Initializing) {
            self.push_event(LinkEvent::State(transition));
        }
        match to {
            LinkState::Starting => self.begin_opening(now),
            LinkState::Initializing | LinkState::Backoff => {}
            LinkState::Ready => self.timer = Some(now + self.config.backoff.stable_after),
            LinkState::Closing => self.timer = Some(now + self.config.drain_timeout),
            LinkState::Closed => self.end_all_and_connection(now),
        }
    }

    pub(super) fn begin_opening(&mut self, now: Instant) {
        self.connection_id = ConnectionId(self.connection_id.0 + 1);
        self.actions.push_back(Action::Open(self.connection_id));
        self.timer = Some(now + self.config.opening_timeout);
    }

    /// Handles the deadlines that have passed. Call it when the time of
    /// [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.observe_time(now);
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.handle_timer(now);
        }
        if self.draining.is_some_and(|at| at <= now) {
            self.renew_ids(now);
        }
        let connection_id = self.connection_id;
        self.with_connection(now, connection_id, |connection| {
            connection.handle_timeout(now)
        });
        self.time_out_waiting_calls(now);
        self.process_connection_events(now);
    }

    fn handle_timer(&mut self, now: Instant) {
        match self.state {
            LinkState::Starting => {
                self.actions.push_back(Action::Close(self.connection_id));
                self.fail_attempt(now, Cause::OpeningTimeout, false);
            }
            // The connection has its own deadline.
            LinkState::Initializing => {}
            LinkState::Ready => self.reset_failures(),
            LinkState::Backoff => self.enter(now, LinkState::Starting, Cause::BackoffElapsed),
            LinkState::Closing => self.enter(now, LinkState::Closed, Cause::Drained),
            LinkState::Closed => {}
        }
    }

    /// Ends a wait and connects now. Returns `true` if the link was waiting.
    pub fn reconnect_now(&mut self, now: Instant) -> bool {
        if self.state != LinkState::Backoff && !defect::is(Defect::UnlistedEdge) {
            return false;
        }
        self.enter(now, LinkState::Starting, Cause::ReconnectRequested);
        true
    }

    /// Stops the link permanently: pending calls end, and the transport is closed.
    pub fn stop(&mut self, now: Instant) -> StopOutcome {
        match self.state {
            LinkState::Closing | LinkState::Closed => return StopOutcome::AlreadyClosing,
            LinkState::Backoff => {
                self.end_all(&Outcome::Shutdown);
                self.enter(now, LinkState::Closed, Cause::Stopped);
            }
            LinkState::Starting | LinkState::Initializing | LinkState::Ready => {
                if let Some(mut connection) = self.connection.take() {
                    connection.close(now);
                    self.discard_connection(now, connection);
                }
                self.end_all(&Outcome::Shutdown);
                self.actions.push_back(Action::Close(self.connection_id));
                self.enter(now, LinkState::Closing, Cause::Stopped);
            }
        }
        StopOutcome::Started
    }

    /// Handles the end of a connection that the link has not closed itself.
    pub(super) fn handle_closed(&mut self, now: Instant, reason: CloseReason, was_probing: bool) {
        if !defect::is(Defect::TransportLeft) {
            self.actions.push_back(Action::Close(self.connection_id));
        }
        match &reason {
            // Spec, basic/lifecycle: a process that exits on the probe is of the handshake era.
            CloseReason::Transport(_) if was_probing && self.may_have_exited_on_probe() => {
                if !self.exits_without_probe {
                    self.known_era = Some(Era::Handshake);
                    return self.enter(now, LinkState::Starting, Cause::ExitedOnProbe);
                }
                self.fail_attempt(now, Cause::Ended(reason), false);
                // Without the probe the next time, and after the same wait.
                self.known_era = Some(Era::Handshake);
                return;
            }
            CloseReason::Peer(PeerFault::SessionReset) => {
                self.fail_calls_that_cannot_wait(&Outcome::CancelledByServer);
                return self.enter(now, LinkState::Starting, Cause::Ended(reason));
            }
            CloseReason::IdsExhausted => {
                if let Some(carryover) = &mut self.carryover {
                    carryover.renew_ids();
                }
                // Not a failure, and over at once: calls that wait for a session stay.
                self.enter(now, LinkState::Backoff, Cause::Ended(reason));
                self.timer = Some(now);
                return;
            }
            CloseReason::Negotiation(error) => {
                let is_permanent = error.is_permanent();
                return self.fail_attempt(now, Cause::Ended(reason), is_permanent);
            }
            // Authorization does not come by waiting.
            CloseReason::Refused(401 | 403) => {
                return self.fail_attempt(now, Cause::Ended(reason), true);
            }
            CloseReason::Local
            | CloseReason::Refused(_)
            | CloseReason::Peer(_)
            | CloseReason::Transport(_)
            | CloseReason::Stalled => {}
        }
        self.fail_attempt(now, Cause::Ended(reason), false);
    }

    /// Returns `true` if the probe for the era may have ended the server: not when the era is
    /// known, and only if there is an alternative to try.
    fn may_have_exited_on_probe(&self) -> bool {
        let config = &self.config.connection;
        let handshake = config.revisions.intersection(Era::Handshake.revisions());
        config.carrier == Carrier::SharedStream && self.known_era.is_none() && !handshake.is_empty()
    }

    /// Returns why the transport was opened the last time.
    fn last_cause(&self) -> Option<&Cause> {
        let mut changes = self.history.iter().rev();
        let opening = changes.find(|transition| transition.to == LinkState::Starting);
        opening.map(|change| &change.cause)
    }

    /// Handles a failed attempt or a lost connection: the link waits, or closes permanently.
    pub(super) fn fail_attempt(&mut self, now: Instant, cause: Cause, is_permanent: bool) {
        if self.state == LinkState::Initializing {
            // A server that dies with the probe and without it dies of something else: it is
            // not started twice in a row any more.
            self.exits_without_probe |= self.last_cause() == Some(&Cause::ExitedOnProbe);
            // The assumption about the server's era may be the cause of the failure.
            self.known_era = None;
        }
        if self.state == LinkState::Ready && self.timer.is_none_or(|at| at <= now) {
            self.reset_failures();
        } else {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.failures = self.failures.saturating_add(1);
        if is_permanent && !self.was_ready {
            return self.close_permanently(now, cause.lost_reason(), cause);
        }
        let most = self.config.backoff.max_attempts;
        if most.is_some_and(|most| self.attempts >= most) {
            // The history keeps the last reason.
            let reason = cause.lost_reason();
            self.enter_backoff(now, cause, now);
            return self.close_permanently(now, reason, Cause::AttemptsExhausted);
        }
        let delay = if is_permanent {
            self.config.backoff.longest()
        } else {
            self.config.backoff.delay(self.failures, &mut self.jitter)
        };
        self.enter_backoff(now, cause, now + delay);
    }

    /// Resets the counts of failures: the connection has lasted.
    fn reset_failures(&mut self) {
        self.failures = 0;
        self.attempts = 0;
    }

    fn enter_backoff(&mut self, now: Instant, cause: Cause, until: Instant) {
        self.fail_calls_that_cannot_wait(&lost(cause.lost_reason()));
        self.enter(now, LinkState::Backoff, cause);
        self.timer = Some(until);
    }

    /// Closes the link permanently after a failure.
    pub(super) fn close_permanently(&mut self, now: Instant, reason: String, cause: Cause) {
        self.end_all(&lost(reason));
        self.enter(now, LinkState::Closed, cause);
    }

    fn end_all(&mut self, outcome: &Outcome) {
        self.end_calls(outcome);
        self.end_subscriptions(outcome);
    }

    fn end_all_and_connection(&mut self, now: Instant) {
        if let Some(connection) = self.connection.take() {
            self.discard_connection(now, connection);
        }
        self.end_all(&Outcome::Shutdown);
    }

    /// Drops the connection, whose transport is gone.
    pub(super) fn drop_connection(&mut self, now: Instant, reason: &str) {
        if let Some(mut connection) = self.connection.take() {
            connection.handle_lost(now, reason);
            self.discard_connection(now, connection);
        }
        self.fail_calls_that_cannot_wait(&lost(reason.to_owned()));
        self.actions.push_back(Action::Close(self.connection_id));
    }

    /// Starts to renew the ids, which are used up: pending calls may still be answered, then a new
    /// connection begins.
    pub(super) fn begin_id_drain(&mut self, now: Instant) {
        if self.draining.is_none() {
            self.draining = Some(if self.calls.has_issued_calls() {
                now + self.config.connection.call_timeouts.idle
            } else {
                now
            });
        }
    }

    /// Closes the connection to begin with fresh ids, once no call waits or the wait was too long.
    pub(super) fn renew_ids(&mut self, now: Instant) {
        if let Some(mut connection) = self.connection.take() {
            connection.close_for_ids(now);
            self.finish_connection(now, connection);
        }
    }

    /// Returns `true` if the link waits for calls to end before it renews its ids.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.is_some()
    }
}

fn lost(reason: String) -> Outcome {
    Outcome::Lost { reason }
}
