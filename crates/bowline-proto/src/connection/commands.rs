//! Commands of the application: calls, notifications, responses, cancellation.

use bowline_types::{Era, ErrorObject, Method, RequestId};
use bytes::Bytes;

use super::{Connection, Phase};
use crate::calls::{CallId, Found};
use crate::commands::{CallError, CallRequest, NotifyError, RespondError};
use crate::endpoint::CallContext;
use crate::payload::Payload;
use crate::requests::RequestKey;
use crate::time::Instant;

impl Connection {
    /// Makes a call. Its outcome comes as one [`Event::Ended`](super::Event::Ended).
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now. The server has seen nothing of it.
    pub fn call(&mut self, now: Instant, request: CallRequest) -> Result<CallId, CallError> {
        self.call_again(now, &request)
    }

    /// Makes a call whose request the link keeps for another attempt.
    pub(crate) fn call_again(
        &mut self,
        now: Instant,
        request: &CallRequest,
    ) -> Result<CallId, CallError> {
        self.check_ready()?;
        self.call_unchecked(now, request)
    }

    /// Pings the server. Its outcome arrives as that of a call. As the only call it may be made
    /// before the connection is ready, once the server is known to be of the handshake era. The
    /// stateless era has no `ping`: there it is a `server/discover`.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn ping(&mut self, now: Instant) -> Result<CallId, CallError> {
        match &self.phase {
            Phase::Ready { .. } => {}
            Phase::Negotiating { negotiation, .. } if negotiation.is_initializing() => {}
            Phase::New | Phase::Negotiating { .. } => return Err(CallError::NotReady),
            Phase::Closed => return Err(CallError::Closed),
        }
        let request = CallRequest::new(self.ping_method().as_str(), Bytes::new());
        self.call_unchecked(now, &request)
    }

    /// Sends a notification. `body` is as for [`CallRequest::new`].
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now. The server has seen nothing of it.
    pub fn notify(&mut self, method: &str, body: impl Into<Bytes>) -> Result<(), NotifyError> {
        self.check_ready()?;
        self.endpoint.notify(method, body.into(), None)
    }

    /// Answers a request of the server.
    ///
    /// # Errors
    ///
    /// Fails if the request was answered or cancelled, or if the response is too large: then the
    /// server receives an error.
    pub fn respond(
        &mut self,
        now: Instant,
        request: RequestKey,
        result: Payload,
    ) -> Result<(), RespondError> {
        let responded = self.endpoint.respond(now, request, result);
        self.endpoint.update_flow(now);
        responded
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
        let responded = self.endpoint.respond_error(now, request, error);
        self.endpoint.update_flow(now);
        responded
    }

    /// Releases a request whose handler has finished without a response, since the request was
    /// cancelled. Its place is free for another one.
    pub fn release(&mut self, now: Instant, request: RequestKey) {
        self.endpoint.release(now, request);
        self.endpoint.update_flow(now);
    }

    /// Cancels a call. Returns `true` if it was pending: it ends once, however often it is
    /// cancelled.
    pub fn cancel(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        self.endpoint.cancel(now, call, self.cancel_form(), reason)
    }

    /// Pauses or resumes the time of a call, while one of our handlers works for it.
    pub fn set_call_paused(&mut self, now: Instant, call: CallId, is_waiting: bool) -> bool {
        if is_waiting {
            self.endpoint.calls.pause(now, call)
        } else {
            self.endpoint.calls.resume(now, call)
        }
    }

    /// Returns the pending call with this id.
    pub(crate) fn waiting_call(&mut self, now: Instant, id: &RequestId) -> Option<CallId> {
        match self.endpoint.calls.find(now, id, &self.endpoint.counter) {
            Found::Pending(call) => Some(call),
            Found::GivenUp | Found::Ended | Found::Unknown => None,
        }
    }

    /// Handles a confirmed subscription: from now on it lasts until it is closed or ended.
    pub(crate) fn confirm_subscription(&mut self, call: CallId) {
        self.endpoint.calls.lift_timeouts(call);
    }

    /// Sets the number of the session that calls carry from now on, or none.
    pub(crate) fn set_session_tag(&mut self, session: Option<u64>) {
        self.session_tag = session;
        self.join_meta();
    }

    /// Returns the method of a ping.
    pub(super) fn ping_method(&self) -> Method {
        match self.revision().map(|revision| revision.era()) {
            Some(Era::Stateless) => Method::Discover,
            Some(Era::Handshake) | None => Method::Ping,
        }
    }

    fn call_unchecked(&mut self, now: Instant, request: &CallRequest) -> Result<CallId, CallError> {
        let context = CallContext {
            meta: &self.request_meta,
            timeouts: self.config.call_timeouts,
            stream: None,
        };
        self.endpoint.call(now, request, context)
    }

    fn check_ready(&self) -> Result<(), CallError> {
        match self.phase {
            Phase::Ready { .. } => Ok(()),
            Phase::New | Phase::Negotiating { .. } => Err(CallError::NotReady),
            Phase::Closed => Err(CallError::Closed),
        }
    }
}
