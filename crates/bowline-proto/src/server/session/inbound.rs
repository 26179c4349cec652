//! Messages of the client.

use bowline_types::envelope::{
    Envelope, EnvelopeError, JsonRpcErrorResponse, JsonRpcNotification, JsonRpcRequest,
    JsonRpcResultResponse, MessageKind,
};
use bowline_types::progress::CancelledParams;
use bowline_types::{ErrorCode, ErrorObject, Method, RawJsonRef, RequestId, Revision, Wire};
use bytes::Bytes;

use super::{Session, SessionEvent, SessionPhase};
use crate::batches::ReplyTo;
use crate::calls::{CallId, Found};
use crate::close::{CloseReason, PeerFault};
use crate::codec::{Decoded, TooLarge};
use crate::defect::{self, Defect};
use crate::endpoint::{BatchAdmission, CallProgress, ResponseMatch, or_latest_handshake};
use crate::outbox::StreamId;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::server::route::{Routed, route_message};
use crate::time::Instant;
use crate::trace::{self, Side};

impl Session {
    /// Handles bytes that were appended to the buffer, on a shared stream.
    pub fn handle_read(&mut self, now: Instant) {
        self.endpoint.trace_read();
        while self.phase != SessionPhase::Closed
            && let Some(decoded) = self.endpoint.poll_decoded()
        {
            self.handle_decoded(now, decoded);
        }
        self.endpoint.update_flow(now);
    }

    /// Handles the end of the client's side of the stream. Open requests may still be answered:
    /// some clients write their requests, close, and read. Our own requests end.
    pub fn handle_eof(&mut self, now: Instant) {
        self.handle_read(now);
        if self.phase != SessionPhase::Closed
            && let Some(decoded) = self.endpoint.decoder.finish()
        {
            self.handle_decoded(now, decoded);
        }
        self.endpoint.update_flow(now);
        self.has_client_closed = true;
        let reason = "the client closed the stream";
        self.endpoint.end_calls(now, || Outcome::Lost {
            reason: reason.into(),
        });
        self.shut_down();
    }

    /// Handles a message of the client that [`route`](crate::server::route) forwarded over HTTP.
    /// `frame` is the frame of the message, `stream` the destination of its response.
    pub fn handle_message(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        message: Envelope<'_>,
    ) {
        if self.phase == SessionPhase::Closed {
            return;
        }
        self.handle_envelope(now, stream, frame, message);
        self.endpoint.update_flow(now);
    }

    fn handle_decoded(&mut self, now: Instant, decoded: Decoded) {
        match decoded {
            Decoded::Frame(frame) => self.handle_frame(now, &frame),
            Decoded::TooLarge(too_large) => self.handle_too_large(now, &too_large),
            Decoded::Fault(fault) => {
                self.close_with(now, CloseReason::Peer(PeerFault::Codec(fault)));
            }
        }
    }

    /// Handles a frame of a shared stream, which may be of either era.
    fn handle_frame(&mut self, now: Instant, frame: &Bytes) {
        let message = match Envelope::parse(frame) {
            Ok(message) => message,
            Err(error) => return self.handle_malformed(now, ReplyTo::default(), frame, &error),
        };
        match route_message(&self.router, message, None) {
            Routed::Session(message) => self.handle_envelope(now, None, frame, message),
            Routed::Stateless(request) => self.handle_stateless_request(now, None, frame, request),
            Routed::Unknown(request) => {
                self.handle_stateless_unknown_request(now, None, frame, request);
            }
            Routed::Refused(refusal) => {
                let id = refusal.id.as_ref();
                let to = ReplyTo::default();
                self.endpoint
                    .refuse_with(id, to, "invalid or unsupported", &refusal.error);
            }
        }
    }

    fn handle_too_large(&mut self, now: Instant, too_large: &TooLarge) {
        self.endpoint.refuse_too_large(too_large, true);
        let size = too_large.size;
        if let (Some(id), MessageKind::Response) = (&too_large.id, too_large.message_kind) {
            self.fail_call(now, id, Outcome::TooLarge { size });
        }
        self.spend_misbehavior_budget(now);
    }

    fn handle_envelope(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        message: Envelope<'_>,
    ) {
        let to = ReplyTo::from(stream);
        let Envelope::Batch(batch) = message else {
            return self.handle_single_message(now, to, frame, message);
        };
        let has_batches = self.revision.is_some_and(Revision::has_batches);
        let opened = has_batches.then(|| self.endpoint.begin_batch(stream, &batch));
        let (to, is_busy) = match opened {
            Some(BatchAdmission::Served(to)) => (to, false),
            Some(BatchAdmission::Busy(to)) => (to, true),
            Some(BatchAdmission::TooLong) => {
                let words = "the batch has too many messages";
                self.refuse(None, to, ErrorCode::InvalidRequest, words);
                return self.handle_violation(now, "a batch that is too long");
            }
            None => {
                let words = "only protocol version 2025-03-26 has batches";
                self.refuse(None, to, ErrorCode::InvalidRequest, words);
                return self.handle_violation(now, "a batch in a revision without batches");
            }
        };
        for part in batch.messages() {
            if self.phase == SessionPhase::Closed {
                return;
            }
            match part {
                Ok(Envelope::Request(request)) => {
                    self.endpoint.expect_response(to, Some(&request.id));
                    if is_busy {
                        self.endpoint.refuse_busy(&request.id, to);
                    } else {
                        self.handle_request(now, to, frame, &request);
                    }
                }
                Ok(message) => self.handle_single_message(now, to, frame, message),
                Err(error) => self.handle_malformed(now, to, frame, &error),
            }
        }
        self.endpoint.end_batch(to);
    }

    fn handle_single_message(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        message: Envelope<'_>,
    ) {
        match message {
            Envelope::Request(request) => self.handle_request(now, to, frame, &request),
            Envelope::Notification(note) => self.handle_notification(now, frame, &note),
            Envelope::Success(success) => self.handle_result_response(now, frame, &success),
            Envelope::Failure(failure) => self.handle_error_response(now, &failure),
            Envelope::Batch(_) => self.handle_violation(now, "a batch in a batch"),
        }
    }

    fn handle_request(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        request: &JsonRpcRequest<'_>,
    ) {
        let method: Option<Method> = request.method.parse().ok();
        match (method, self.phase) {
            (_, SessionPhase::Closed) => {}
            (Some(Method::Ping), _) if self.endpoint.requests.find(&request.id).is_none() => {
                self.endpoint.restore_misbehavior_budget();
                self.endpoint.respond_empty(&request.id, to);
            }
            (Some(Method::Initialize), SessionPhase::AwaitingInitialize) if to.batch.is_none() => {
                self.handle_initialize(&request.id, to, request.params);
            }
            (Some(Method::Initialize), _)
            | (_, SessionPhase::AwaitingInitialize | SessionPhase::ShuttingDown) => {
                self.refuse_phase(now, &request.id, to);
            }
            (_, SessionPhase::Initialized | SessionPhase::Ready) => {
                self.serve_request(now, to, frame, request, method);
            }
        }
    }

    fn handle_notification(&mut self, now: Instant, frame: &Bytes, note: &JsonRpcNotification<'_>) {
        trace::notification(Side::Server, &note.method);
        let method: Option<Method> = note.method.parse().ok();
        match (method, self.phase) {
            (Some(Method::Initialized), SessionPhase::Initialized) => {
                self.change_phase(SessionPhase::Ready, "initialized");
                self.handshake = None;
                self.endpoint.push_event(SessionEvent::Ready);
            }
            (Some(Method::Initialized), _) => {
                self.handle_violation(now, "unexpected notifications/initialized");
            }
            (Some(Method::Cancelled), _) => self.handle_cancelled(now, note.params),
            (Some(Method::Progress), _) => self.handle_progress(now, frame, note.params),
            (Some(method), SessionPhase::Initialized | SessionPhase::Ready)
                if !method.is_request() =>
            {
                self.endpoint.restore_misbehavior_budget();
                let params = note.params.map(|params| Payload::kept_part(frame, params));
                self.endpoint
                    .push_event(SessionEvent::Notification { method, params });
            }
            (None, phase) if self.forwards_unknown_notifications(phase) => {
                self.endpoint.restore_misbehavior_budget();
                let params = note.params.map(|params| Payload::kept_part(frame, params));
                let method = (*note.method).into();
                self.endpoint
                    .push_event(SessionEvent::UnknownNotification { method, params });
            }
            (_, _) => self
                .endpoint
                .count_dropped_notification("unexpected in this phase"),
        }
    }

    /// Returns `true` if notifications that the protocol doesn't have are forwarded. A notification
    /// names no era, and in the stateless one there is no `initialize`.
    fn forwards_unknown_notifications(&self, phase: SessionPhase) -> bool {
        let is_served = match phase {
            SessionPhase::AwaitingInitialize => self.config.has_stateless(),
            SessionPhase::Initialized | SessionPhase::Ready => true,
            SessionPhase::ShuttingDown | SessionPhase::Closed => false,
        };
        is_served && self.config.forward_unknown_methods
    }

    fn handle_cancelled(&mut self, now: Instant, params: Option<RawJsonRef<'_>>) {
        let params = params.and_then(|params| CancelledParams::from_json(params.as_str()).ok());
        let id = params.and_then(|params| params.request_id);
        let id = id.filter(|_| !defect::is(Defect::CancelledAnswer));
        match id.and_then(|id| self.endpoint.cancel_peer_request(now, &id)) {
            Some(request) => self
                .endpoint
                .push_event(SessionEvent::RequestCancelled(request)),
            // Spec, basic/utilities/cancellation: unknown ones are ignored.
            None => self
                .endpoint
                .count_dropped_notification("a cancellation of a request that is not open"),
        }
    }

    fn handle_progress(&mut self, now: Instant, frame: &Bytes, params: Option<RawJsonRef<'_>>) {
        let progress = params.and_then(|params| self.endpoint.take_progress(now, params));
        match (progress, params) {
            (Some(CallProgress { call, .. }), Some(params)) => {
                self.endpoint.restore_misbehavior_budget();
                let params = Payload::kept_part(frame, params);
                self.endpoint
                    .push_event(SessionEvent::Progress { call, params });
            }
            (_, _) => self
                .endpoint
                .count_dropped_notification("progress of a call that is not open"),
        }
    }

    fn handle_result_response(
        &mut self,
        now: Instant,
        frame: &Bytes,
        success: &JsonRpcResultResponse<'_>,
    ) {
        if let Some(call) = self.match_response(now, &success.id)
            && let Some(waiting) = self.endpoint.calls.complete(call)
        {
            self.endpoint.restore_misbehavior_budget();
            let outcome = Outcome::Result(Payload::part(frame, success.result));
            self.endpoint.complete_call(now, call, &waiting, outcome);
        }
    }

    fn handle_error_response(&mut self, now: Instant, failure: &JsonRpcErrorResponse<'_>) {
        let Some(id) = &failure.id else {
            self.endpoint
                .count_dropped_notification("an error without an id");
            return self.spend_misbehavior_budget(now);
        };
        if let Some(call) = self.match_response(now, id)
            && let Some(waiting) = self.endpoint.calls.complete(call)
        {
            let outcome = match ErrorObject::from_json(failure.error.as_str()) {
                Ok(error) => Outcome::Error(error),
                Err(error) => Outcome::Invalid(error.to_string()),
            };
            self.endpoint.complete_call(now, call, &waiting, outcome);
        }
    }

    fn match_response(&mut self, now: Instant, id: &RequestId) -> Option<CallId> {
        match self.endpoint.match_response(now, id) {
            ResponseMatch::Call(call) => Some(call),
            ResponseMatch::Dropped => None,
            ResponseMatch::Misbehavior => {
                self.spend_misbehavior_budget(now);
                None
            }
        }
    }

    /// Handles a malformed frame, or a malformed part of a batch.
    fn handle_malformed(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        error: &EnvelopeError,
    ) {
        let size = frame.len() as u64;
        self.endpoint
            .count_malformed(error.fault().name(), frame, size);
        let words = error.to_string();
        match (error.message_kind(), error.id()) {
            // A response is never answered: the two sides could go on for ever.
            (MessageKind::Response, Some(id)) => self.fail_call(now, id, Outcome::Invalid(words)),
            // Nor is a notification (LC-7).
            (MessageKind::Response, None) | (MessageKind::Notification, _) => {}
            (MessageKind::Request | MessageKind::Unknown, id) => {
                self.endpoint.expect_response(to, id);
                self.refuse(id, to, error.error_code(), &words);
            }
        }
        self.spend_misbehavior_budget(now);
    }

    /// Ends one of our requests without a usable response.
    fn fail_call(&mut self, now: Instant, id: &RequestId, outcome: Outcome) {
        if let Found::Pending(call) = self.endpoint.calls.find(now, id, &self.endpoint.counter)
            && let Some(waiting) = self.endpoint.calls.give_up(now, call)
        {
            self.endpoint.complete_call(now, call, &waiting, outcome);
        }
    }

    pub(super) fn refuse(
        &mut self,
        id: Option<&RequestId>,
        to: ReplyTo,
        kind: ErrorCode,
        message: &str,
    ) {
        let words = (kind, or_latest_handshake(self.revision));
        self.endpoint.refuse(id, to, words, message);
    }

    /// Handles a violation of the protocol by the client.
    pub(super) fn handle_violation(&mut self, now: Instant, what: &'static str) {
        self.endpoint.count_violation(what);
        self.spend_misbehavior_budget(now);
    }

    fn spend_misbehavior_budget(&mut self, now: Instant) {
        if !self.endpoint.spend_misbehavior_budget() {
            self.close_with(now, CloseReason::Peer(PeerFault::TooManyViolations));
        }
    }
}
