//! What becomes of what a connection tells.

use std::sync::Arc;

use bowline_types::Method;

use super::Link;
use super::calls::{CallKey, Kept, Owner, Stage};
use super::event::LinkEvent;
use super::state::{Cause, State};
use super::tool_modes::Page;
use crate::calls::CallId;
use crate::close::CloseReason;
use crate::connection::{Connection, Event};
use crate::defect::{self, Defect};
use crate::negotiation::Agreement;
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::time::Instant;

impl Link {
    /// Takes what the connection has to tell, and does what follows.
    pub(super) fn pump(&mut self, now: Instant) {
        while let Some(connection) = &mut self.connection {
            let was_probing = connection.was_probing();
            match connection.hand_over_event() {
                None => break,
                Some(Event::Closed(reason)) => {
                    if let Some(connection) = self.connection.take() {
                        self.retire(connection);
                    }
                    self.handle_closed(now, reason, was_probing);
                }
                Some(event) => self.handle_event(now, event),
            }
        }
        self.give_up_refused(now);
        self.make_waiting(now);
        if self.is_draining() && !self.calls.is_any_made() {
            self.renew_ids(now);
        }
        self.weigh();
    }

    /// A connection that we have ended ourselves: its calls end, its reason is ours.
    pub(super) fn take_over(&mut self, now: Instant, mut connection: Connection) {
        while let Some(event) = connection.hand_over_event() {
            match event {
                Event::Closed(_) => {}
                event => self.handle_event(now, event),
            }
        }
        self.retire(connection);
    }

    /// A connection that has ended for a reason of its own.
    pub(super) fn finish_connection(&mut self, now: Instant, mut connection: Connection) {
        let mut reason = CloseReason::Local;
        while let Some(event) = connection.hand_over_event() {
            match event {
                Event::Closed(why) => reason = why,
                event => self.handle_event(now, event),
            }
        }
        self.retire(connection);
        self.handle_closed(now, reason, false);
    }

    /// Keeps what outlives a connection.
    fn retire(&mut self, connection: Connection) {
        // The tokens of a connection end with it.
        self.reporting.clear();
        self.past = self.past.with(connection.stats());
        self.sample = connection.malformed_sample().map(Into::into);
        let mut carried = connection.into_carryover();
        if defect::is(Defect::ReusedId) {
            carried.ids = crate::IdCounter::new();
        }
        if defect::is(Defect::ReusedKey) {
            carried.next_request = 1;
        }
        self.carried = Some(carried);
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
                let of_task = || self.reporting.get(&call).copied();
                if let Some(call) = self.calls.by_id(call).or_else(of_task) {
                    if has_risen && let Some(kept) = self.calls.get_mut(call) {
                        kept.progress(now);
                    }
                    self.tell(LinkEvent::Progress { call, params });
                }
            }
            Event::Request {
                request,
                method,
                params,
            } => self.tell(LinkEvent::Request {
                request,
                method,
                params,
            }),
            Event::RequestCancelled(request) => self.tell(LinkEvent::RequestCancelled(request)),
            Event::Notification { method, params } => {
                if *method == *Method::Acknowledged.as_str() {
                    self.note_acknowledged(now, params.as_ref());
                } else if *method == *Method::ToolListChanged.as_str() {
                    self.modes.list_changed();
                }
                self.tell(LinkEvent::Notification { method, params });
            }
            // It is looked at where the connection is at hand.
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
        self.dies_anyway = false;
        self.enter(now, State::Ready, Cause::Agreed(revision));
        let session = self.session;
        self.tell(LinkEvent::Ready { session, agreement });
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
        let Some(kept) = self.calls.get_mut(key) else {
            return;
        };
        kept.sent = if defect::is(Defect::ForgottenAttempt) {
            sent
        } else {
            kept.sent.or(sent)
        };
        let may_retry = kept.retries < self.config.max_retries;
        match &outcome {
            Outcome::Lost { .. } if may_retry && is_retried(kept, sent) => {
                self.try_again(now, key);
            }
            Outcome::Result(result) if !kept.call.is_raw && self.is_stateless() => {
                match self.kind_of_result(result) {
                    ResultKind::Complete => self.finish(key, outcome),
                    ResultKind::InputRequired => self.ask_for_input(key, result.clone()),
                    ResultKind::Unknown => {
                        let words = "a result of a type that nobody asked for".to_owned();
                        self.finish(key, Outcome::Invalid(words));
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
            | Outcome::Shutdown => self.finish(key, outcome),
        }
    }

    /// Ends a call. Its owner gets the outcome, and whether the server may have seen the call in
    /// any of its attempts and rounds.
    pub(super) fn finish(&mut self, key: CallKey, outcome: Outcome) {
        let Some(mut kept) = self.calls.remove(key) else {
            return;
        };
        if kept.stage == Stage::Waiting && defect::is(Defect::WaitingCountsAsSent) {
            kept.sent = Sent::Maybe;
        }
        if let Outcome::Result(result) = &outcome {
            self.learn(&kept, result);
            self.keep_progress(key, kept.stage);
        }
        match kept.owner {
            Owner::User => {
                if defect::is(Defect::DoubleDelivery) {
                    self.tell(LinkEvent::Ended {
                        call: key,
                        outcome: outcome.clone(),
                        sent: kept.sent,
                    });
                }
                self.tell(LinkEvent::Ended {
                    call: key,
                    outcome,
                    sent: kept.sent,
                });
            }
            Owner::Subscription(subscription) => {
                self.subscription_call_ended(key, subscription, outcome);
            }
        }
    }

    /// A call that has become a task goes on to report, if it did.
    fn keep_progress(&mut self, key: CallKey, stage: Stage) {
        if let (Stage::Made(id), Some(connection)) = (stage, &self.connection)
            && connection.is_reporting(id)
        {
            self.reporting.insert(id, key);
            if self.reporting.len() > self.config.connection.limits.max_pending {
                self.reporting.pop_first();
            }
        }
    }

    fn learn(&mut self, kept: &Kept, result: &Payload) {
        if kept.call.request.method != "tools/list" {
            return;
        }
        let page = Page {
            result,
            cursor: kept.call.request.text_member("cursor"),
            empty_is_cursor: self.is_stateless(),
        };
        let limit = self.config.max_stateful_tools;
        self.modes.learn(&page, limit, self.session);
        self.tag_session();
        self.count_turns();
    }

    /// Lets calls carry the number of the session, or not.
    fn tag_session(&mut self) {
        let session = self.modes.is_session_required().then_some(self.session);
        if let Some(connection) = &mut self.connection {
            connection.set_session_tag(session);
        }
    }

    /// What the result of a stateless server is.
    fn kind_of_result(&self, result: &Payload) -> ResultKind {
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

/// Whether a call that was lost is made again by itself, where `sent` is of its last attempt:
/// what may have been seen before it may be made twice, or was answered with a question.
/// Subscriptions are opened again otherwise.
fn is_retried(kept: &Kept, sent: Sent) -> bool {
    let may = match sent {
        Sent::No => kept.is_expired || kept.call.wait_for_ready,
        Sent::Maybe => kept.call.wait_for_ready && kept.call.is_idempotent,
    };
    may && kept.owner == Owner::User
}
