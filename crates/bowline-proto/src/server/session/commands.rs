//! Commands of the application: responses, requests to the client, notifications.

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
    /// Fails if the request was answered or cancelled, or if the response is too large: then the
    /// client receives an error.
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
    /// client also receives `notifications/cancelled`.
    ///
    /// 2026-07-28 requires both: basic/patterns/subscriptions the result, and
    /// basic/patterns/cancellation the notification, which the schema has on stdio alone. Over HTTP
    /// the stream ends instead. A client that implements one of them ignores the other.
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
            Payload::encode(
                &params.reason("the server ended the subscription"),
                Revision::LATEST,
            )
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

    /// Releases a request whose handler has finished without a response, since the request was
    /// cancelled. Its place is free for another one.
    pub fn release(&mut self, now: Instant, request: RequestKey) {
        self.endpoint.release(now, request);
        self.endpoint.update_flow(now);
    }

    /// Ends a request without a response, as if the client had cancelled it. It keeps its place
    /// until its handler is done.
    pub fn abandon_request(&mut self, request: RequestKey) {
        self.endpoint.abandon_open_request(request);
    }

    /// Sets the number of bytes that the driver has taken and not yet written. They count as
    /// [responses](Self::has_room_for_response) do, and the session of a client that takes none of them
    /// while its requests wait for that is closed in the end. Reading goes on: a client may write
    /// before it reads.
    pub fn set_unwritten_bytes(&mut self, now: Instant, bytes: usize) {
        self.endpoint.set_unwritten_bytes(now, bytes);
    }

    /// Ends all open requests before their handlers are done: each is answered with an error, so
    /// that the client doesn't wait for it, and is cancelled.
    pub fn refuse_open_requests(&mut self, now: Instant) {
        for request in self.endpoint.refuse_open_requests(now) {
            self.endpoint
                .push_event(SessionEvent::RequestCancelled(request));
        }
        self.endpoint.update_flow(now);
    }

    /// Sends a request to the client, in the handshake era: sampling, roots, elicitation, ping.
    /// `about` is the related request of the client, on whose stream it is sent.
    ///
    /// Before the client is ready only `ping` may be sent, and requests that relate to a request
    /// of the client.
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now. The client has seen nothing of it.
    pub fn send_request(
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
            // The client can't answer any more.
            return Err(CallError::Closed);
        }
        let may_ask_early = about.is_some() || request.method == Method::Ping.as_str();
        match self.phase {
            SessionPhase::Ready => {}
            SessionPhase::Initialized if may_ask_early => {}
            SessionPhase::AwaitingInitialize | SessionPhase::Initialized => {
                return Err(CallError::NotReady);
            }
            // A running handler may need a request to the client.
            SessionPhase::ShuttingDown if about.is_some() => {}
            SessionPhase::ShuttingDown | SessionPhase::Closed => return Err(CallError::Closed),
        }
        let context = CallContext {
            meta: &[],
            timeouts: self.config.request_timeouts,
            stream,
        };
        self.endpoint.call(now, &request, context)
    }

    /// Cancels a request to the client. Returns `true` if it was pending.
    pub fn cancel(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        self.endpoint.cancel(now, call, CANCEL, reason)
    }

    /// Sends a notification. `about` is the related request of the client, as for progress: if it
    /// was answered or cancelled, nothing is sent. Without one the client must have sent
    /// `initialize`: one of the stateless era receives only notifications that it requested.
    ///
    /// # Errors
    ///
    /// Fails if it can't be sent now.
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
                // Spec, basic/utilities/progress: none after the response.
                None => Err(CallError::RequestClosed),
            },
        }
    }
}
