//! What the application wants: answers, requests to the client, notifications.

use bowline_types::progress::CancelledParams;
use bowline_types::{ErrorObject, Method, Revision};
use bytes::Bytes;

use super::lifecycle::CANCEL;
use super::{Session, SessionEvent, SessionPhase};
use crate::calls::CallId;
use crate::commands::{CallError, CallRequest, NotifyError, RespondError};
use crate::config::Carrier;
use crate::endpoint::CallContext;
use crate::outbox::StreamId;
use crate::payload::Payload;
use crate::requests::RequestKey;
use crate::time::Instant;

impl Session {
    /// Answers a request of the client.
    ///
    /// # Errors
    ///
    /// When it was answered or cancelled, or the answer is too large, which the client is
    /// told.
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

    /// Answers a request of the client with an error.
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

    /// Ends a subscription (`subscriptions/listen`) with its result. On a shared stream the
    /// client is also told that it is cancelled.
    ///
    /// 2026-07-28 says both: basic/patterns/subscriptions wants the result, and
    /// basic/patterns/cancellation that whoever ends a subscription sends the notification,
    /// which the schema has on stdio alone. Over HTTP the stream ends instead. A client that
    /// knows one of them ignores the other.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn end_listen(
        &mut self,
        now: Instant,
        request: RequestKey,
        result: Payload,
    ) -> Result<(), RespondError> {
        let id = self.request_id(request).cloned();
        self.respond(now, request, result)?;
        let params = id.map(|id| {
            let params = CancelledParams::new().request_id(id);
            Payload::encode(&params.reason("the server ended it"), Revision::LATEST)
        });
        if let (Carrier::SharedStream, Some(Ok(params))) = (self.config.carrier, params) {
            let bytes = params.into_bytes();
            let members = bytes.slice(1..bytes.len() - 1);
            // It has the result; without room for more that is enough.
            let _ = self
                .endpoint
                .notify(Method::Cancelled.as_str(), members, None);
        }
        Ok(())
    }

    /// The handler of a request is done and has no answer, since the request was cancelled.
    /// Its place is free for another one.
    pub fn release(&mut self, now: Instant, request: RequestKey) {
        self.endpoint.release(now, request);
        self.endpoint.update_flow(now);
    }

    /// No answer follows, as if the client had cancelled the request. It keeps its place until
    /// its handler is done.
    pub fn abandon_request(&mut self, request: RequestKey) {
        self.endpoint.abandon_open_request(request);
    }

    /// The driver has taken messages of so many bytes and not yet written them. They count
    /// where [answers](Self::takes_answers) do, and a client that takes none of them while
    /// requests of its own wait for that is given up in the end. Reading goes on: a client
    /// may write before it reads.
    pub fn set_unwritten(&mut self, now: Instant, bytes: usize) {
        self.endpoint.set_unwritten(now, bytes);
    }

    /// The session ends before its handlers are done: every request that is open is answered
    /// with an error, so that nobody waits for what doesn't come, and is cancelled.
    pub fn refuse_open(&mut self, now: Instant) {
        for request in self.endpoint.refuse_open_requests(now) {
            self.endpoint
                .push_event(SessionEvent::RequestCancelled(request));
        }
        self.endpoint.update_flow(now);
    }

    /// Asks the client something, in the handshake era: sampling, roots, elicitation, ping.
    /// `about` is the request of the client for which it is asked, on whose stream it goes.
    ///
    /// Before the client is ready only `ping` may be asked, and what a request of its own
    /// needs.
    ///
    /// # Errors
    ///
    /// When it can't be asked now. The client has seen nothing of it.
    pub fn ask(
        &mut self,
        now: Instant,
        about: Option<RequestKey>,
        request: CallRequest,
    ) -> Result<CallId, CallError> {
        let stream = self.stream_of(about)?;
        let about_request = about.and_then(|request| self.endpoint.requests.get(request));
        if about_request.is_some_and(|request| request.is_stateless) {
            return Err(CallError::Stateless);
        }
        if self.has_client_closed {
            // Nobody is left to answer.
            return Err(CallError::Closed);
        }
        let may_ask_early = about.is_some() || request.method == Method::Ping.as_str();
        match self.phase {
            SessionPhase::Ready => {}
            SessionPhase::Initialized if may_ask_early => {}
            SessionPhase::AwaitingInitialize | SessionPhase::Initialized => {
                return Err(CallError::NotReady);
            }
            // What is being handled may need to ask.
            SessionPhase::ShuttingDown if about.is_some() => {}
            SessionPhase::ShuttingDown | SessionPhase::Closed => return Err(CallError::Closed),
        }
        let context = CallContext {
            meta: &[],
            timeouts: self.config.ask_timeouts,
            stream,
        };
        self.endpoint.call(now, &request, context)
    }

    /// Gives up a request to the client. Returns `true` if it was still waiting.
    pub fn cancel(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        self.endpoint.cancel(now, call, CANCEL, reason)
    }

    /// Sends a notification. `about` is the request of the client that it belongs to, as
    /// progress does: when that was answered or cancelled, nothing is sent. Without one the
    /// client must have said `initialize`: one of the stateless era is told nothing that it
    /// didn't ask for.
    ///
    /// # Errors
    ///
    /// When it can't be sent now.
    pub fn notify(
        &mut self,
        about: Option<RequestKey>,
        method: &str,
        body: impl Into<Bytes>,
    ) -> Result<(), NotifyError> {
        if self.phase == SessionPhase::Closed {
            return Err(CallError::Closed);
        }
        if about.is_none() && self.revision.is_none() {
            return Err(CallError::NotReady);
        }
        let stream = self.stream_of(about)?;
        self.endpoint.notify(method, body.into(), stream)
    }

    /// Returns the stream of a request, which must be open.
    fn stream_of(&self, about: Option<RequestKey>) -> Result<Option<StreamId>, CallError> {
        match about {
            None => Ok(None),
            Some(request) => match self.endpoint.requests.get(request) {
                Some(request) => Ok(request.to.stream),
                // Spec, basic/utilities/progress: none after the answer.
                None => Err(CallError::RequestClosed),
            },
        }
    }
}
