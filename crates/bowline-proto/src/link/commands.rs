//! Commands of the application: calls, notifications, responses.

use bowline_types::ErrorObject;
use bytes::Bytes;

use super::Link;
use super::calls::{CallKey, CallPhase, LinkCall, Owner};
use super::error::LinkError;
use super::state::LinkState;
use crate::commands::{CallError, CallRequest, RespondError};
use crate::defect::{self, Defect};
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::requests::RequestKey;
use crate::time::Instant;

impl Link {
    /// Makes a call. Its outcome comes as one [`LinkEvent::Ended`](super::LinkEvent::Ended).
    ///
    /// # Errors
    ///
    /// Fails if the call can't be sent now and may not wait.
    pub fn call(&mut self, now: Instant, call: LinkCall) -> Result<CallKey, LinkError> {
        self.observe_time(now);
        self.check_open()?;
        self.check_room()?;
        if !call.wait_for_ready {
            self.check_ready()?;
        }
        let timeouts = call.request.timeouts;
        let timeouts = timeouts.unwrap_or(self.config.connection.call_timeouts);
        let key = self.calls.insert(now, call, Owner::User, timeouts);
        match self.offer_new_call(now, key) {
            Ok(()) => {
                self.calls.wait_unless_issued(key);
                Ok(key)
            }
            Err(error) => {
                self.calls.remove(key);
                Err(error)
            }
        }
    }

    /// Pings the server: see [`Connection::ping`](crate::Connection::ping). Its outcome arrives as
    /// that of a call.
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now.
    pub fn ping(&mut self, now: Instant) -> Result<CallKey, LinkError> {
        self.observe_time(now);
        self.check_room()?;
        let timeouts = self.config.connection.call_timeouts;
        let Some(connection) = &mut self.connection else {
            return Err(self.unavailable());
        };
        let id = match connection.ping(now) {
            Ok(id) => id,
            Err(error) => {
                if error == CallError::IdsExhausted {
                    self.begin_id_drain(now);
                }
                return Err(self.refusal(error));
            }
        };
        let call = LinkCall::new(CallRequest::new("ping", Bytes::new()));
        let key = self.calls.insert(now, call, Owner::User, timeouts);
        let session = self.session;
        if let Some(entry) = self.calls.get_mut(key) {
            entry.session = session;
        }
        self.calls.set_phase(key, CallPhase::Issued(id));
        Ok(key)
    }

    /// Sends a notification. `body` is as for [`CallRequest::new`].
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now.
    pub fn notify(&mut self, method: &str, body: impl Into<Bytes>) -> Result<(), LinkError> {
        self.check_ready()?;
        let Some(connection) = &mut self.connection else {
            return Err(self.unavailable());
        };
        let notified = connection.notify(method, body);
        notified.map_err(|error| self.refusal(error))
    }

    /// Cancels a call. Returns `true` if it had not ended.
    pub fn cancel(&mut self, now: Instant, call: CallKey, reason: &str) -> bool {
        self.observe_time(now);
        let Some(entry) = self.calls.get(call) else {
            return false;
        };
        match entry.phase {
            CallPhase::Waiting | CallPhase::AwaitingInput => {
                self.complete_call(call, Outcome::Cancelled)
            }
            CallPhase::Issued(id) => {
                if let Some(connection) = &mut self.connection {
                    connection.cancel(now, id, reason);
                }
            }
        }
        self.process_connection_events(now);
        true
    }

    /// Returns `true` if a call has ended with a task whose progress is still reported
    /// (2025-11-25).
    pub fn is_reporting(&self, call: CallKey) -> bool {
        self.task_progress.values().any(|other| *other == call)
    }

    /// Stops reporting the progress of the task that a call has become.
    pub fn forget_progress(&mut self, call: CallKey) {
        if self.task_progress.is_empty() {
            return;
        }
        let connection = &mut self.connection;
        self.task_progress.retain(|id, other| {
            let is_other = *other != call;
            if let (false, Some(connection)) = (is_other, &mut *connection) {
                connection.forget_progress(*id);
            }
            is_other
        });
    }

    /// Answers a request of the server.
    ///
    /// # Errors
    ///
    /// Fails if the request was answered or cancelled, or if its connection has ended.
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

    /// Releases a request whose handler has finished without a response.
    pub fn release(&mut self, now: Instant, request: RequestKey) {
        if let Some(connection) = &mut self.connection {
            connection.release(now, request);
        }
    }

    /// Pauses or resumes the time of a call, while one of our handlers works for it. Returns
    /// `true` if the server has this call.
    pub fn set_call_paused(&mut self, now: Instant, call: CallKey, is_waiting: bool) -> bool {
        let (Some(entry), Some(connection)) = (self.calls.get_mut(call), &mut self.connection)
        else {
            return false;
        };
        let CallPhase::Issued(id) = entry.phase else {
            return false;
        };
        if is_waiting {
            entry.pause(now)
        } else {
            entry.resume(now)
        }
        connection.set_call_paused(now, id, is_waiting)
    }

    /// Checks that a call which may not wait would be sent now.
    ///
    /// # Errors
    ///
    /// Fails if there is no connection.
    pub fn check_connected(&self) -> Result<(), LinkError> {
        self.check_ready()
    }

    fn check_room(&self) -> Result<(), LinkError> {
        let has_room = self.calls.len() < self.config.connection.limits.max_pending;
        if has_room || defect::is(Defect::UnboundedCalls) {
            Ok(())
        } else {
            Err(LinkError::Backpressure)
        }
    }

    pub(super) fn check_open(&self) -> Result<(), LinkError> {
        match self.state {
            LinkState::Starting
            | LinkState::Initializing
            | LinkState::Ready
            | LinkState::Backoff => Ok(()),
            LinkState::Closing | LinkState::Closed => Err(self.unavailable()),
        }
    }

    fn check_ready(&self) -> Result<(), LinkError> {
        if self.is_serving() {
            Ok(())
        } else {
            Err(self.unavailable())
        }
    }

    pub(super) fn unavailable(&self) -> LinkError {
        match self.state {
            LinkState::Closed if self.has_given_up() => LinkError::GaveUp,
            LinkState::Closing | LinkState::Closed => LinkError::Shutdown,
            LinkState::Starting
            | LinkState::Initializing
            | LinkState::Ready
            | LinkState::Backoff => LinkError::Unavailable {
                state: self.state,
                next_attempt: self.next_attempt(),
            },
        }
    }

    pub(super) fn refusal(&self, error: CallError) -> LinkError {
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
