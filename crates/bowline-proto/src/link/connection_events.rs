//! Handling the events of the connection.

use std::sync::Arc;

use bowline_types::Method;

use super::Link;
use super::calls::{CallEntry, CallKey, CallPhase, Owner};
use super::event::LinkEvent;
use super::state::{Cause, LinkState};
use super::tool_modes::ToolListPage;
use crate::calls::CallId;
use crate::close::CloseReason;
use crate::connection::{Connection, Event};
use crate::defect::{self, Defect};
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::time::Instant;

impl Link {
    /// Handles the queued events of the connection, and sends calls that wait.
    pub(super) fn process_connection_events(&mut self, now: Instant) {
        while let Some(connection) = &mut self.connection {
            let was_probing = connection.was_probing();
            match connection.take_event() {
                None => break,
                Some(Event::Closed(reason)) => {
                    if let Some(connection) = self.connection.take() {
                        self.retain_connection_state(connection);
                    }
                    self.handle_closed(now, reason, was_probing);
                }
                Some(event) => self.handle_event(now, event),
            }
        }
        self.release_refused_subscriptions(now);
        self.offer_waiting_calls(now);
        if self.is_draining() && !self.calls.has_issued_calls() {
            self.renew_ids(now);
        }
        self.report_backlog();
    }

    /// Handles the remaining events of a connection that the link has closed itself: its calls
    /// end, and its close reason is ignored.
    pub(super) fn discard_connection(&mut self, now: Instant, mut connection: Connection) {
        while let Some(event) = connection.take_event() {
            match event {
                Event::Closed(_) => {}
                event => self.handle_event(now, event),
            }
        }
        self.retain_connection_state(connection);
    }

    /// Handles the remaining events of a connection that has ended for a reason of its own.
    pub(super) fn finish_connection(&mut self, now: Instant, mut connection: Connection) {
        let mut reason = CloseReason::Local;
        while let Some(event) = connection.take_event() {
            match event {
                Event::Closed(why) => reason = why,
                event => self.handle_event(now, event),
            }
        }
        self.retain_connection_state(connection);
        self.handle_closed(now, reason, false);
    }

    /// Keeps the state that outlives a connection.
    fn retain_connection_state(&mut self, connection: Connection) {
        // The tokens of a connection end with it.
        self.task_progress.clear();
        self.past_stats = self.past_stats.with(connection.stats());
        self.malformed_sample = connection.malformed_sample().map(Into::into);
        let mut carryover = connection.into_carryover();
        if defect::is(Defect::ReusedId) {
            carryover.ids = crate::IdCounter::new();
        }
        if defect::is(Defect::ReusedKey) {
            carryover.next_request = 1;
        }
        self.carryover = Some(carryover);
    }

    fn handle_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Ready(agreement) => self.become_ready(now, agreement),
            Event::Ended {
                call,
                outcome,
                sent,
            } => self.handle_ended(now, call, outcome, sent),
            Event::Progress {
                call,
                params,
                has_risen,
            } => {
                let of_task = || self.task_progress.get(&call).copied();
                if let Some(call) = self.calls.by_id(call).or_else(of_task) {
                    if has_risen && let Some(entry) = self.calls.get_mut(call) {
                        entry.on_progress(now);
                    }
                    self.push_event(LinkEvent::Progress { call, params });
                }
            }
            Event::Request {
                request,
                method,
                params,
            } => self.push_event(LinkEvent::Request {
                request,
                method,
                params,
            }),
            Event::RequestCancelled(request) => {
                self.push_event(LinkEvent::RequestCancelled(request))
            }
            Event::Notification { method, params } => {
                if *method == *Method::Acknowledged.as_str() {
                    self.handle_acknowledged(now, params.as_ref());
                } else if *method == *Method::ToolListChanged.as_str() {
                    self.tool_modes.on_list_changed();
                }
                self.push_event(LinkEvent::Notification { method, params });
            }
            // The callers handle it: they own the connection.
            Event::Closed(_) => {}
        }
    }

    fn become_ready(&mut self, now: Instant, agreement: Box<Agreement>) {
        let revision = agreement.revision;
        let agreement = Arc::<Agreement>::from(agreement);
        self.agreement = Some(Arc::clone(&agreement));
        self.session += u64::from(!defect::is(Defect::SameSession) || self.session == 0);
        self.was_ready = true;
        self.known_era = Some(revision.era());
        self.exits_without_probe = false;
        self.enter(now, LinkState::Ready, Cause::Agreed(revision));
        let session = self.session;
        self.push_event(LinkEvent::Ready { session, agreement });
        self.tag_session();
        self.reopen_subscriptions(now, revision);
    }

    fn handle_ended(&mut self, now: Instant, id: CallId, outcome: Outcome, sent: Sent) {
        let Some(mut key) = self.calls.by_id(id) else {
            return;
        };
        if defect::is(Defect::Misrouted) {
            key = self.calls.keys().first().copied().unwrap_or(key);
        }
        let Some(entry) = self.calls.get_mut(key) else {
            return;
        };
        entry.sent = if defect::is(Defect::ForgottenAttempt) {
            sent
        } else {
            entry.sent.or(sent)
        };
        let may_retry = entry.retries < self.config.max_retries;
        match &outcome {
            Outcome::Lost { .. } if may_retry && should_retry(entry, sent) => {
                self.requeue_call(now, key);
            }
            Outcome::Result(result) if !entry.call.is_raw && self.is_stateless() => {
                match self.result_kind(result) {
                    ResultKind::Complete => self.complete_call(key, outcome),
                    ResultKind::InputRequired => self.require_input(key, result.clone()),
                    ResultKind::Unknown => {
                        let message = "the result has an unknown `resultType`".to_owned();
                        self.complete_call(key, Outcome::Invalid(message));
                    }
                }
            }
            Outcome::Result(_)
            | Outcome::Error(_)
            | Outcome::TimedOut { .. }
            | Outcome::Unsupported(_)
            | Outcome::Cancelled
            | Outcome::CancelledByServer
            | Outcome::Invalid(_)
            | Outcome::TooLarge { .. }
            | Outcome::Backpressure { .. }
            | Outcome::Lost { .. }
            | Outcome::Shutdown => self.complete_call(key, outcome),
        }
    }

    /// Ends a call. Its owner receives the outcome, and whether the server may have seen the call
    /// in any of its attempts and rounds.
    pub(super) fn complete_call(&mut self, key: CallKey, outcome: Outcome) {
        let Some(mut entry) = self.calls.remove(key) else {
            return;
        };
        if entry.phase == CallPhase::Waiting && defect::is(Defect::WaitingCountsAsSent) {
            entry.sent = Sent::Maybe;
        }
        if let Outcome::Result(result) = &outcome {
            self.update_tool_modes(&entry, result);
            self.keep_task_progress(key, entry.phase);
        }
        match entry.owner {
            Owner::User => {
                if defect::is(Defect::DoubleDelivery) {
                    self.push_event(LinkEvent::Ended {
                        call: key,
                        outcome: outcome.clone(),
                        sent: entry.sent,
                    });
                }
                self.push_event(LinkEvent::Ended {
                    call: key,
                    outcome,
                    sent: entry.sent,
                });
            }
            Owner::Subscription(subscription) => {
                self.subscription_call_ended(key, subscription, outcome);
            }
        }
    }

    /// Keeps reporting the progress of a call that has become a task.
    fn keep_task_progress(&mut self, key: CallKey, phase: CallPhase) {
        if let (CallPhase::Issued(id), Some(connection)) = (phase, &self.connection)
            && connection.is_reporting(id)
        {
            self.task_progress.insert(id, key);
            if self.task_progress.len() > self.config.connection.limits.max_pending {
                self.task_progress.pop_first();
            }
        }
    }

    fn update_tool_modes(&mut self, entry: &CallEntry, result: &Payload) {
        if entry.call.request.method != "tools/list" {
            return;
        }
        let page = ToolListPage {
            result,
            cursor: entry.call.request.text_member("cursor"),
            empty_is_cursor: self.is_stateless(),
        };
        let limit = self.config.max_stateful_tools;
        self.tool_modes.apply_page(&page, limit, self.session);
        self.tag_session();
        self.reassign_order_slots();
    }

    /// Sets the session number that calls carry, if a stateful tool requires it.
    fn tag_session(&mut self) {
        let session = self
            .tool_modes
            .is_session_required()
            .then_some(self.session);
        if let Some(connection) = &mut self.connection {
            connection.set_session_tag(session);
        }
    }

    /// Returns the kind of a result of a stateless server.
    fn result_kind(&self, result: &Payload) -> ResultKind {
        match result.peek_tag("resultType") {
            // Spec, basic, 2026-07-28: a result without a type is complete.
            None => ResultKind::Complete,
            Some(kind) if kind == "complete" => ResultKind::Complete,
            Some(kind) if kind == "input_required" => ResultKind::InputRequired,
            Some(kind) if self.config.accepted_results.contains(&kind) => ResultKind::Complete,
            Some(_) => ResultKind::Unknown,
        }
    }
}

enum ResultKind {
    Complete,
    InputRequired,
    Unknown,
}

/// Returns `true` if a lost call is sent again automatically. `sent` is that of its last attempt:
/// an earlier attempt that the server may have seen was idempotent, or ended in an input request.
/// Subscriptions are reopened elsewhere.
fn should_retry(entry: &CallEntry, sent: Sent) -> bool {
    let may = match sent {
        Sent::No => entry.is_expired || entry.call.wait_for_ready,
        Sent::Maybe => entry.call.wait_for_ready && entry.call.is_idempotent,
    };
    may && entry.owner == Owner::User
}
