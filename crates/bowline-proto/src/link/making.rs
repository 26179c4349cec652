//! What the application wants: calls, answers, input, subscriptions.

use std::fmt;
use std::time::Duration;

use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{Era, ErrorObject, Revision};
use bytes::Bytes;

use super::Link;
use super::calls::{CallKey, Kept, LinkCall, Owner, Stage};
use super::event::LinkEvent;
use super::state::State;
use super::subscriptions::SubscriptionKey;
use crate::calls::Timeouts;
use crate::commands::{CallError, CallRequest, RespondError};
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::outcome::{Outcome, Sent};
use crate::payload::Payload;
use crate::requests::RequestKey;
use crate::time::Instant;

/// Why something was not done. The server has seen nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no connection.
    Unavailable {
        /// Where the link stands.
        state: State,
        /// When it tries again, if that is known.
        next_attempt: Option<Instant>,
    },
    /// As many calls wait as may, or as much waits to be sent.
    Backpressure,
    /// The message is larger than a frame may be.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
    /// The link is stopped.
    Shutdown,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { state, .. } => write!(f, "not available while {state}"),
            Self::Backpressure => f.write_str("too much waits already"),
            Self::TooLarge { size } => write!(f, "a message of {size} bytes is too large"),
            Self::Shutdown => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for LinkError {}

/// There is no such call, or it waits for no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputError;

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such call waits for input")
    }
}

impl std::error::Error for InputError {}

/// A subscription lasts as long as its session.
const LASTING: Timeouts = Timeouts::new(Duration::MAX, Duration::MAX);

impl Link {
    /// Makes a call. Its outcome comes as one [`LinkEvent::Ended`].
    ///
    /// # Errors
    ///
    /// When it can't be made now, and may not wait.
    pub fn call(&mut self, now: Instant, call: LinkCall) -> Result<CallKey, LinkError> {
        self.check_room()?;
        match self.check_ready() {
            Err(LinkError::Unavailable { .. }) if call.wait_for_ready => {}
            checked => checked?,
        }
        let timeouts = call.request.timeouts;
        let timeouts = timeouts.unwrap_or(self.config.connection.call_timeouts);
        let key = self.calls.insert(now, call, Owner::User, timeouts);
        match self.try_make(now, key) {
            Ok(()) => Ok(key),
            Err(error) => {
                self.calls.remove(key);
                Err(error)
            }
        }
    }

    /// Asks for a sign of life: see
    /// [`Connection::ping`](crate::Connection::ping). Its outcome comes as that of a call.
    ///
    /// # Errors
    ///
    /// When it can't be made now.
    pub fn ping(&mut self, now: Instant) -> Result<CallKey, LinkError> {
        self.check_room()?;
        let timeouts = self.config.connection.call_timeouts;
        let Some(connection) = &mut self.connection else {
            return Err(self.unavailable());
        };
        let id = connection.ping(now).map_err(|error| self.refusal(error))?;
        let call = LinkCall::new(CallRequest::new("ping", Bytes::new()));
        let key = self.calls.insert(now, call, Owner::User, timeouts);
        self.calls.set_stage(key, Stage::Made(id));
        Ok(key)
    }

    /// Sends a notification. `body` is as for [`CallRequest::new`].
    ///
    /// # Errors
    ///
    /// When it can't be sent now.
    pub fn notify(&mut self, method: &str, body: impl Into<Bytes>) -> Result<(), LinkError> {
        self.check_ready()?;
        let Some(connection) = &mut self.connection else {
            return Err(self.unavailable());
        };
        let notified = connection.notify(method, body);
        notified.map_err(|error| self.refusal(error))
    }

    /// Gives up a call. Whether it had not ended.
    pub fn cancel(&mut self, now: Instant, call: CallKey, reason: &str) -> bool {
        let Some(kept) = self.calls.get(call) else {
            return false;
        };
        match kept.stage {
            Stage::Waiting | Stage::AwaitingInput => self.finish(now, call, Outcome::Cancelled),
            Stage::Made(id) => {
                if let Some(connection) = &mut self.connection {
                    connection.cancel(now, id, reason);
                }
                self.pump(now);
            }
        }
        true
    }

    /// Answers a request of the server.
    ///
    /// # Errors
    ///
    /// When it was answered or cancelled, or its connection is over.
    pub fn respond(
        &mut self,
        now: Instant,
        request: RequestKey,
        result: Payload,
    ) -> Result<(), RespondError> {
        match &mut self.connection {
            Some(connection) => connection.respond(now, request, result),
            None => Err(RespondError::NotOpen),
        }
    }

    /// Answers a request of the server with an error.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn respond_error(
        &mut self,
        now: Instant,
        request: RequestKey,
        error: &ErrorObject,
    ) -> Result<(), RespondError> {
        match &mut self.connection {
            Some(connection) => connection.respond_error(now, request, error),
            None => Err(RespondError::NotOpen),
        }
    }

    /// The handler of a request is done and has no answer.
    pub fn release(&mut self, now: Instant, request: RequestKey) {
        if let Some(connection) = &mut self.connection {
            connection.release(now, request);
        }
    }

    /// A handler of ours begins or ends to work for a call: its time stands still meanwhile.
    pub fn set_waiting_for_us(&mut self, now: Instant, call: CallKey, is_waiting: bool) -> bool {
        match (
            self.calls.get(call).map(|kept| kept.stage),
            &mut self.connection,
        ) {
            (Some(Stage::Made(id)), Some(connection)) => {
                connection.set_waiting_for_us(now, id, is_waiting)
            }
            (_, _) => false,
        }
    }

    /// Gives the server what it needs for a call: the members of `inputResponses`, an answer
    /// for each key of its questions. The call goes on with a new id.
    ///
    /// # Errors
    ///
    /// When no such call waits for input.
    pub fn give_input(
        &mut self,
        now: Instant,
        call: CallKey,
        responses: &Payload,
    ) -> Result<(), InputError> {
        let waits = |kept: &&mut Kept| kept.stage == Stage::AwaitingInput;
        let kept = self.calls.get_mut(call).filter(waits).ok_or(InputError)?;
        kept.call.request.extra = retry_members(responses, kept.request_state.as_deref());
        self.calls.set_stage(call, Stage::Waiting);
        self.make(now, call);
        Ok(())
    }

    /// Keeps a subscription open, in this session and the next ones.
    ///
    /// # Errors
    ///
    /// When there are as many as may be, or the link is stopped.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionKey, LinkError> {
        if matches!(self.state, State::Closing | State::Closed) {
            return Err(LinkError::Shutdown);
        }
        if self.subscriptions.len() >= self.config.max_subscriptions {
            return Err(LinkError::Backpressure);
        }
        let key = self.subscriptions.insert(filter);
        if let Some(revision) = self.revision() {
            self.open_subscription(now, key, revision);
        }
        Ok(key)
    }

    /// Ends a subscription. Whether there was one.
    pub fn unsubscribe(&mut self, now: Instant, key: SubscriptionKey) -> bool {
        let Some(subscription) = self.subscriptions.remove(key) else {
            return false;
        };
        for call in &subscription.calls {
            self.cancel(now, *call, "no longer wanted");
        }
        let revision = self.revision();
        let ending = revision.map(|revision| subscription.ending(revision));
        for request in ending.into_iter().flatten() {
            self.make_for(now, Owner::Subscription(key), request, None);
        }
        true
    }

    /// Opens the subscriptions of earlier sessions again.
    pub(super) fn reopen_subscriptions(&mut self, now: Instant, revision: Revision) {
        for key in self.subscriptions.keys() {
            self.open_subscription(now, key, revision);
        }
    }

    fn open_subscription(&mut self, now: Instant, key: SubscriptionKey, revision: Revision) {
        let Some(subscription) = self.subscriptions.get_mut(key) else {
            return;
        };
        let was_open = std::mem::replace(&mut subscription.was_open, true);
        let opening = subscription.opening(revision);
        let lasts = (revision.era() == Era::Stateless).then_some(LASTING);
        let calls: Vec<_> = opening
            .into_iter()
            .map(|request| self.make_for(now, Owner::Subscription(key), request, lasts))
            .collect();
        if let Some(subscription) = self.subscriptions.get_mut(key) {
            subscription.calls = calls;
        }
        if was_open {
            self.tell(LinkEvent::SubscriptionGap(key));
        }
    }

    /// A call of a subscription has ended: with its session, or for good.
    pub(super) fn subscription_call_ended(
        &mut self,
        call: CallKey,
        key: SubscriptionKey,
        outcome: Outcome,
    ) {
        let is_stateless = self.is_stateless();
        let Some(subscription) = self.subscriptions.get_mut(key) else {
            return;
        };
        subscription.calls.retain(|other| *other != call);
        match &outcome {
            // It is opened again in the next session.
            Outcome::Lost { .. } | Outcome::Shutdown => {}
            // Accepted; in the handshake era that is all.
            Outcome::Result(_) if !is_stateless => {}
            _ => {
                self.subscriptions.remove(key);
                self.tell(LinkEvent::SubscriptionEnded {
                    subscription: key,
                    outcome,
                });
            }
        }
    }

    fn make_for(
        &mut self,
        now: Instant,
        owner: Owner,
        mut request: CallRequest,
        timeouts: Option<Timeouts>,
    ) -> CallKey {
        request.timeouts = timeouts;
        let timeouts = timeouts.unwrap_or(self.config.connection.call_timeouts);
        let key = self
            .calls
            .insert(now, LinkCall::new(request), owner, timeouts);
        self.make(now, key);
        key
    }

    /// Gives a call that waits to the connection, if it can be; a call that may not wait
    /// ends otherwise.
    pub(super) fn make(&mut self, now: Instant, key: CallKey) {
        if let Err(error) = self.try_make(now, key) {
            let outcome = match error {
                LinkError::Shutdown => Outcome::Shutdown,
                LinkError::Backpressure => Outcome::Backpressure { attempts: 0 },
                LinkError::TooLarge { size } => Outcome::TooLarge { size: size as u64 },
                LinkError::Unavailable { .. } => Outcome::Lost {
                    reason: error.to_string(),
                    sent: Sent::No,
                },
            };
            self.finish(now, key, outcome);
        }
    }

    fn try_make(&mut self, now: Instant, key: CallKey) -> Result<(), LinkError> {
        let Some(kept) = self.calls.get(key) else {
            return Ok(());
        };
        let may_wait = kept.call.wait_for_ready || kept.retries > 0 || kept.rounds > 0;
        let is_ready = self.state == State::Ready && !self.is_draining();
        if !is_ready && may_wait {
            return Ok(());
        }
        if !is_ready {
            return Err(self.unavailable());
        }
        if self.must_wait_its_turn(kept) {
            return Ok(());
        }
        let started = kept.started;
        let (Some(kept), Some(connection)) = (self.calls.get_mut(key), &mut self.connection) else {
            return Err(self.unavailable());
        };
        kept.call.request.since = Some(started);
        match connection.call_again(now, &kept.call.request) {
            Ok(id) => {
                self.calls.set_stage(key, Stage::Made(id));
                Ok(())
            }
            Err(CallError::IdsExhausted) => {
                self.drain_ids(now);
                if may_wait {
                    Ok(())
                } else {
                    Err(self.unavailable())
                }
            }
            // Those before it go first; it is tried again when one has left or ended.
            Err(CallError::TooManyPending | CallError::QueueFull) if may_wait => {
                self.crowded.get_or_insert(now);
                Ok(())
            }
            Err(error) => Err(self.refusal(error)),
        }
    }

    /// Over HTTP the calls of stateful tools are made one at a time (CN-26).
    fn must_wait_its_turn(&self, kept: &Kept) -> bool {
        let is_ordered = |kept: &Kept| {
            let tool = kept.call.tool.as_deref();
            tool.is_some_and(|tool| self.modes.is_stateful(tool))
        };
        self.config.connection.carrier == Carrier::StreamPerRequest
            && is_ordered(kept)
            && self.calls.is_made(is_ordered)
    }

    /// Makes the calls that wait, in their order.
    pub(super) fn make_waiting(&mut self, now: Instant) {
        if self.state != State::Ready {
            return;
        }
        for key in self.calls.waiting() {
            self.make(now, key);
        }
    }

    /// Ends the calls that wait although they may not.
    pub(super) fn fail_unwilling(&mut self, now: Instant) {
        if let (true, Some(key)) = (
            defect::is(Defect::LostWaiter),
            self.calls.waiting().first().copied(),
        ) {
            self.calls.remove(key);
        }
        for key in self.calls.waiting() {
            self.make(now, key);
        }
    }

    /// Ends the calls whose time is over and which no connection knows.
    pub(super) fn time_out_kept(&mut self, now: Instant) {
        while let Some(key) = self.calls.overdue(now) {
            let started = self.calls.get(key).map(|kept| kept.started);
            let elapsed = started.map_or(Duration::ZERO, |started| now.since(started));
            self.finish(now, key, Outcome::TimedOut { elapsed });
        }
    }

    /// Ends all calls.
    pub(super) fn end_calls(&mut self, now: Instant, outcome: &Outcome) {
        let forgotten = usize::from(defect::is(Defect::StopForgets));
        for key in self.calls.keys().into_iter().skip(forgotten) {
            self.finish(now, key, outcome.clone());
        }
    }

    /// The server needs input before it goes on.
    pub(super) fn ask_for_input(&mut self, now: Instant, key: CallKey, result: Payload) {
        let most = self.config.max_rounds;
        let Some(kept) = self.calls.get_mut(key) else {
            return;
        };
        kept.rounds += 1;
        if kept.rounds > most {
            let words = format!("the server asked for input more than {most} times");
            return self.finish(now, key, Outcome::Invalid(words));
        }
        kept.request_state = result.peek_raw("requestState");
        let round = kept.rounds;
        self.calls.set_stage(key, Stage::AwaitingInput);
        self.tell(LinkEvent::InputRequired {
            call: key,
            round,
            result,
        });
    }

    /// Lets calls carry the number of the session, or not.
    pub(super) fn tag_session(&mut self) {
        let session = self.modes.is_session_required().then_some(self.session);
        if let Some(connection) = &mut self.connection {
            connection.set_session_tag(session);
        }
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.revision().map(Revision::era) == Some(Era::Stateless)
    }

    fn check_room(&self) -> Result<(), LinkError> {
        let has_room = self.calls.len() < self.config.connection.limits.max_pending;
        match has_room || defect::is(Defect::UnboundedCalls) {
            true => Ok(()),
            false => Err(LinkError::Backpressure),
        }
    }

    fn check_ready(&self) -> Result<(), LinkError> {
        match self.state {
            State::Ready if !self.is_draining() => Ok(()),
            State::Ready | State::Starting | State::Initializing | State::Backoff => {
                Err(self.unavailable())
            }
            State::Closing | State::Closed => Err(LinkError::Shutdown),
        }
    }

    fn unavailable(&self) -> LinkError {
        match self.state {
            State::Closing | State::Closed => LinkError::Shutdown,
            state => LinkError::Unavailable {
                state,
                next_attempt: self.next_attempt(),
            },
        }
    }

    fn refusal(&self, error: CallError) -> LinkError {
        match error {
            CallError::TooManyPending | CallError::QueueFull => LinkError::Backpressure,
            CallError::TooLarge { size } => LinkError::TooLarge { size },
            CallError::NotReady
            | CallError::Closed
            | CallError::IdsExhausted
            | CallError::RequestClosed
            | CallError::Stateless => self.unavailable(),
        }
    }
}

/// The members that a round of input adds to a call: our answers, and what the server wants
/// to have back, as it was.
fn retry_members(responses: &Payload, state: Option<&[u8]>) -> Bytes {
    let mut members = b"\"inputResponses\":".to_vec();
    members.extend_from_slice(responses.as_str().as_bytes());
    if let Some(state) = state.filter(|_| !defect::is(Defect::LostState)) {
        members.extend_from_slice(b",\"requestState\":");
        members.extend_from_slice(state);
    }
    members.into()
}
