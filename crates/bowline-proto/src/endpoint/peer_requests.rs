//! Requests of the peer: admitted, answered, refused, cancelled.

use bowline_types::envelope::MessageKind;
use bowline_types::{ErrorCode, ErrorObject, JsonObject, RawJson, RawJsonRef, RequestId, Revision};
use bytes::Bytes;

use super::Endpoint;
use crate::batches::{ReplyTo, TOO_LARGE_TO_BE_SENT};
use crate::codec::TooLarge;
use crate::commands::RespondError;
use crate::defect::{self, Defect};
use crate::event_queue::EndpointEvent;
use crate::payload::Payload;
use crate::requests::{Admission, Arrival, RequestKey};
use crate::server::error_status;
use crate::time::Instant;
use crate::trace::{self, Direction};

/// The number of requests whose parameters may share, and so keep alive, the chunk that was read.
const MAX_SHARED_REQUESTS: usize = 64;

impl<E: EndpointEvent> Endpoint<E> {
    /// Returns the parameters of a request, for its handler: a slice of what was read. When many
    /// are being handled small ones are copied, since a slice keeps a whole chunk, and a peer could
    /// let one of each chunk hang.
    pub(crate) fn request_params(&self, frame: &Bytes, params: RawJsonRef<'_>) -> Payload {
        if self.requests.len() < MAX_SHARED_REQUESTS {
            Payload::part(frame, params)
        } else {
            Payload::kept_part(frame, params)
        }
    }

    /// Admits a request or refuses it. Returns its key if it was admitted.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        id: &RequestId,
        method: &str,
        arrival: Arrival,
    ) -> Option<RequestKey> {
        let arrival = Arrival {
            method: trace::request_method(method),
            ..arrival
        };
        let error = match self.requests.admit(now, id.clone(), arrival) {
            Admission::Admitted(key) => {
                trace::request_start(self.side, Direction::In, key.get(), method);
                return Some(key);
            }
            Admission::Duplicate => {
                self.count_violation("a request with an id that is in use");
                ErrorObject::invalid_request("a request with this id is in progress")
            }
            Admission::IdTooLong => ErrorObject::invalid_request("the id is too long"),
            Admission::Busy => busy_error(),
        };
        self.stats.refused_requests += 1;
        self.refuse_with(
            Some(id),
            arrival.to,
            "invalid id or too many requests",
            &error,
        );
        None
    }

    /// Answers a request of the peer with a result.
    pub(crate) fn respond(
        &mut self,
        now: Instant,
        key: RequestKey,
        result: Payload,
    ) -> Result<(), RespondError> {
        let request = self.requests.finish(key).ok_or(RespondError::NotOpen)?;
        let duration = now.since(request.started);
        let mut message = self.composer.result(&request.id, result);
        let size = message.frame_len();
        let mut answered = Ok(());
        let mut code = None;
        if !self.fits(request.to, Some(&request.id), &message) {
            let error = ErrorObject::internal_error(self.too_large_message(&message));
            message = self.composer.error(Some(&request.id), &error);
            answered = Err(RespondError::TooLarge { size });
            code = Some(error.code);
        }
        if defect::is(Defect::AnsweredTwice) {
            self.send_response(request.to, Some(&request.id), message.clone());
        }
        self.send_response(request.to, Some(&request.id), message);
        trace::request_stop(self.side, (key.get(), request.method), duration, code);
        answered
    }

    /// Answers a request of the peer with an error.
    pub(crate) fn respond_error(
        &mut self,
        now: Instant,
        key: RequestKey,
        error: &ErrorObject,
    ) -> Result<(), RespondError> {
        let request = self.requests.finish(key).ok_or(RespondError::NotOpen)?;
        let status = error_status(error, request.is_stateless);
        let mut message = self.composer.error(Some(&request.id), error);
        let size = message.frame_len();
        let mut answered = Ok(());
        if !self.fits(request.to, Some(&request.id), &message) {
            let error = ErrorObject::new(error.code, TOO_LARGE_TO_BE_SENT);
            message = self.composer.error(Some(&request.id), &error);
            answered = Err(RespondError::TooLarge { size });
        }
        message.status = status;
        self.send_response(request.to, Some(&request.id), message);
        let duration = now.since(request.started);
        let logged = (key.get(), request.method);
        trace::request_stop(self.side, logged, duration, Some(error.code));
        answered
    }

    /// Releases a request whose handler has finished without a response, since the request was
    /// cancelled. A request that is still open is answered with an error, since it would hang
    /// otherwise.
    pub(crate) fn release(&mut self, now: Instant, key: RequestKey) {
        if self.requests.get(key).is_some() {
            let error = ErrorObject::internal_error("the handler sent no response");
            // It is open, and the error is small.
            let _ = self.respond_error(now, key, &error);
        } else {
            self.requests.finish(key);
        }
    }

    /// Cancels a request of the peer, at its wish.
    pub(crate) fn cancel_peer_request(
        &mut self,
        now: Instant,
        id: &RequestId,
    ) -> Option<RequestKey> {
        let request = self.requests.find(id)?;
        let (started, to, method) = (request.started, request.to, request.method);
        let key = self.requests.cancel(id)?;
        self.skip_response(to, id);
        let duration = now.since(started);
        trace::request_exception(self.side, (key.get(), method), duration, "cancelled");
        Some(key)
    }

    /// Ends a request of the peer without a response.
    pub(crate) fn abandon_open_request(&mut self, key: RequestKey) {
        let Some(request) = self.requests.get(key) else {
            return;
        };
        let (to, id) = (request.to, request.id.clone());
        self.requests.give_up(key);
        self.skip_response(to, &id);
    }

    /// Ends a request whose handler took too long: the peer receives an error, and the handler
    /// keeps its place until it is done. Returns its key.
    pub(crate) fn time_out_request(&mut self, now: Instant) -> Option<RequestKey> {
        let key = self.requests.overdue(now)?;
        let error =
            ErrorObject::internal_error("the request took too long").data(reason("timeout"));
        self.respond_for_handler(now, key, &error, "timed_out")?;
        Some(key)
    }

    /// Ends all open requests, since no handler will answer them: the peer receives an error, and
    /// the handlers keep their places until they are done. Returns their keys, oldest first.
    pub(crate) fn refuse_open_requests(&mut self, now: Instant) -> Vec<RequestKey> {
        let error =
            ErrorObject::internal_error("the server is shutting down").data(reason("shutdown"));
        let open: Vec<RequestKey> = self.requests.open_keys().collect();
        for key in &open {
            // It is open.
            let _ = self.respond_for_handler(now, *key, &error, "shutdown");
        }
        open
    }

    /// Answers with an error in place of a handler, which keeps its place until it is done.
    fn respond_for_handler(
        &mut self,
        now: Instant,
        key: RequestKey,
        error: &ErrorObject,
        outcome: &str,
    ) -> Option<()> {
        let request = self.requests.get(key)?;
        let (id, to, started) = (request.id.clone(), request.to, request.started);
        let logged = (key.get(), request.method);
        self.requests.give_up(key);
        self.respond_with_error(Some(&id), to, error);
        trace::request_exception(self.side, logged, now.since(started), outcome);
        Some(())
    }

    /// Answers a request with an empty result, without a handler.
    pub(crate) fn respond_empty(&mut self, id: &RequestId, to: ReplyTo) {
        self.respond_with_result(id, to, Payload::EMPTY);
    }

    /// Answers a request with a result, without a handler.
    pub(crate) fn respond_with_result(&mut self, id: &RequestId, to: ReplyTo, result: Payload) {
        let message = self.composer.result(id, result);
        self.send_response(to, Some(id), message);
    }

    /// Refuses a request, with the error code as a revision defines it.
    pub(crate) fn refuse(
        &mut self,
        id: Option<&RequestId>,
        to: ReplyTo,
        (kind, revision): (ErrorCode, Revision),
        message: &str,
    ) {
        if let Some(error) = ErrorObject::with_code(kind, revision, message) {
            self.refuse_with(id, to, kind.name(), &error);
        }
    }

    pub(crate) fn refuse_with(
        &mut self,
        id: Option<&RequestId>,
        to: ReplyTo,
        reason: &str,
        error: &ErrorObject,
    ) {
        trace::request_refused(self.side, reason, error.code);
        self.respond_with_error(id, to, error);
    }

    /// Refuses a request of a batch for whose responses there is no room.
    pub(crate) fn refuse_busy(&mut self, id: &RequestId, to: ReplyTo) {
        self.stats.refused_requests += 1;
        self.refuse_with(Some(id), to, "too many requests", &busy_error());
    }

    /// Handles a frame that was too large to be read. A request is answered with an error.
    pub(crate) fn refuse_too_large(&mut self, too_large: &TooLarge, can_respond: bool) {
        let size = too_large.size;
        self.count_malformed("too large", b"", size);
        match (&too_large.id, too_large.message_kind) {
            (Some(id), MessageKind::Request) if can_respond => {
                let words = format!("a request of {size} bytes is too large");
                let error = ErrorObject::invalid_request(words);
                self.refuse_with(Some(id), ReplyTo::default(), "too large", &error);
            }
            (Some(_) | None, _) => {}
        }
    }

    fn respond_with_error(&mut self, id: Option<&RequestId>, to: ReplyTo, error: &ErrorObject) {
        let mut message = self.composer.error(id, error);
        if to.batch.is_some() && !self.fits(to, id, &message) {
            let error = ErrorObject::new(error.code, TOO_LARGE_TO_BE_SENT);
            message = self.composer.error(id, &error);
        }
        // A refusal of the stateless era before a handler has its status in `Refusal`.
        message.status = match id {
            Some(_) => error_status(error, false),
            // The body as a whole can't be accepted (TR-36).
            None => 400,
        };
        self.send_response(to, id, message);
    }
}

/// Returns the error with which a request is answered when too many are being handled.
fn busy_error() -> ErrorObject {
    ErrorObject::internal_error("too many requests are being handled").data(reason("busy"))
}

/// Returns error data with a machine-readable reason.
fn reason(word: &str) -> JsonObject {
    [("reason", RawJson::from(word))].into_iter().collect()
}
