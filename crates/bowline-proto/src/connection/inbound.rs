//! Messages of the server.

use bowline_types::envelope::{
    Envelope, EnvelopeError, Fault, JsonRpcErrorResponse, JsonRpcNotification, JsonRpcRequest,
    JsonRpcResultResponse, MessageKind,
};
use bowline_types::error::ErrorCode;
use bowline_types::progress::CancelledParams;
use bowline_types::{Era, ErrorObject, Method, RawJsonRef, RequestId, Revision, Wire};
use bytes::Bytes;

use super::{Connection, Event, Phase};
use crate::batches::ReplyTo;
use crate::calls::{CallId, Found};
use crate::close::{CloseReason, PeerFault};
use crate::codec::{Oversize, TooLarge};
use crate::defect::{self, Defect};
use crate::endpoint::{BatchAdmission, CallProgress, Purpose, ResponseMatch, or_latest_handshake};
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::requests::Arrival;
use crate::time::Instant;
use crate::trace::{self, Side};

impl Connection {
    /// Handles a frame. `stream` is the call on whose stream it arrived, if it has one.
    pub(super) fn handle_frame(&mut self, now: Instant, stream: Option<CallId>, frame: &Bytes) {
        match Envelope::parse(frame) {
            Ok(Envelope::Batch(batch)) => {
                if !self.revision().is_some_and(Revision::has_batches) {
                    return self.handle_violation(now, "a batch in a revision without batches");
                }
                let (to, is_busy) = match self.endpoint.begin_batch(None, &batch) {
                    BatchAdmission::Served(to) => (to, false),
                    BatchAdmission::Busy(to) => (to, true),
                    BatchAdmission::TooLong => {
                        return self.handle_violation(now, "a batch that is too long");
                    }
                };
                for part in batch.messages() {
                    match part {
                        Ok(Envelope::Request(request)) if is_busy && self.can_respond() => {
                            self.endpoint.expect_response(to, Some(&request.id));
                            self.endpoint.refuse_busy(&request.id, to);
                        }
                        part => self.handle_envelope(now, stream, to, frame, part),
                    }
                }
                self.endpoint.end_batch(to);
            }
            envelope => self.handle_envelope(now, stream, ReplyTo::default(), frame, envelope),
        }
    }

    /// Handles a frame beyond the limit: it ends the connection, or the call that it answers.
    pub(super) fn handle_too_large(&mut self, now: Instant, too_large: &TooLarge) {
        let size = too_large.size;
        if self.endpoint.limits.frames.oversize == Oversize::Stop {
            let fault = PeerFault::OversizedFrame { size };
            return self.close_with(now, CloseReason::Peer(fault));
        }
        self.skip_too_large(now, None, too_large);
    }

    /// Ends the call that an oversized frame answers, or on whose stream it arrived.
    pub(super) fn skip_too_large(
        &mut self,
        now: Instant,
        stream: Option<CallId>,
        too_large: &TooLarge,
    ) {
        let size = too_large.size;
        self.endpoint
            .refuse_too_large(too_large, self.can_respond());
        let answered = match (&too_large.id, too_large.message_kind) {
            (Some(id), MessageKind::Response | MessageKind::Unknown) => {
                match self.endpoint.calls.find(now, id, &self.endpoint.counter) {
                    Found::Pending(call) => Some(call),
                    Found::GivenUp | Found::Ended | Found::Unknown => None,
                }
            }
            (Some(_), MessageKind::Request | MessageKind::Notification) => None,
            (None, _) => stream,
        };
        if let Some(call) = answered {
            self.fail_call(now, call, Outcome::TooLarge { size });
        }
        self.spend_misbehavior_budget(now);
    }

    fn handle_envelope(
        &mut self,
        now: Instant,
        stream: Option<CallId>,
        to: ReplyTo,
        frame: &Bytes,
        envelope: Result<Envelope<'_>, EnvelopeError>,
    ) {
        if self.is_closed() {
            return;
        }
        match envelope {
            Ok(Envelope::Request(request)) => self.handle_request(now, to, frame, &request),
            Ok(Envelope::Notification(note)) => self.handle_notification(now, frame, &note),
            Ok(Envelope::Success(success)) => self.handle_result_response(now, frame, &success),
            Ok(Envelope::Failure(failure)) => self.handle_error_response(now, stream, &failure),
            Ok(Envelope::Batch(_)) => self.handle_violation(now, "a batch in a batch"),
            Err(error) => self.handle_malformed(now, to, frame, &error),
        }
    }

    fn handle_result_response(
        &mut self,
        now: Instant,
        frame: &Bytes,
        success: &JsonRpcResultResponse<'_>,
    ) {
        let Some(call) = self.match_response(now, &success.id) else {
            return;
        };
        let Some(waiting) = self.endpoint.calls.complete(call) else {
            return;
        };
        self.endpoint.restore_misbehavior_budget();
        let outcome = Outcome::Result(Payload::part(frame, success.result));
        self.track_task(call, &waiting, success.result);
        self.endpoint.complete_call(now, call, &waiting, outcome);
        if defect::is(Defect::SecondResponse) && waiting.tag.purpose == Purpose::User {
            let timeouts = self.config.call_timeouts;
            self.endpoint.calls.insert(now, call, timeouts, waiting.tag);
            return;
        }
        self.handle_handshake_response(now, waiting.tag.purpose, Ok(success.result));
    }

    fn handle_error_response(
        &mut self,
        now: Instant,
        stream: Option<CallId>,
        failure: &JsonRpcErrorResponse<'_>,
    ) {
        let call = match (&failure.id, stream) {
            (Some(id), _) => self.match_response(now, id),
            // A server that could not read the id, or does not repeat it in a refusal.
            (None, Some(call)) => Some(call),
            (None, None) => {
                self.endpoint
                    .count_dropped_notification("an error without an id");
                return self.spend_misbehavior_budget(now);
            }
        };
        let Some(call) = call else {
            return;
        };
        let Some(waiting) = self.endpoint.calls.complete(call) else {
            return;
        };
        let (outcome, error) = match ErrorObject::from_json(failure.error.as_str()) {
            Ok(error) => {
                self.endpoint.restore_misbehavior_budget();
                (Outcome::Error(error.clone()), Some(error))
            }
            Err(fault) => {
                let frame = failure.error.as_str();
                let size = frame.len() as u64;
                self.endpoint
                    .count_malformed("error", frame.as_bytes(), size);
                (Outcome::Invalid(fault.to_string()), None)
            }
        };
        self.endpoint.complete_call(now, call, &waiting, outcome);
        self.handle_handshake_response(now, waiting.tag.purpose, Err(error));
    }

    /// Returns the pending call that a response belongs to.
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

    fn handle_request(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        request: &JsonRpcRequest<'_>,
    ) {
        let JsonRpcRequest {
            id, method, params, ..
        } = request;
        if !self.can_respond() {
            // Spec, basic, 2026-07-28: a server sends no requests, a client no responses.
            return self.handle_violation(now, "a request from the server in a stateless revision");
        }
        let is_ping = method == Method::Ping.as_str();
        if is_ping && self.endpoint.requests.find(id).is_none() {
            self.endpoint.restore_misbehavior_budget();
            self.endpoint.expect_response(to, Some(id));
            return self.endpoint.respond_empty(id, to);
        }
        if self.is_ready() && method == Method::Initialize.as_str() {
            self.endpoint.count_violation("initialize from a server");
            return self.close_with(now, CloseReason::Peer(PeerFault::Initialize));
        }
        if !self.is_ready() {
            // Spec, basic/lifecycle: nothing but pings before the handshake is done.
            return self.handle_violation(now, "a request before the handshake is done");
        }
        self.endpoint.expect_response(to, Some(id));
        let params = params.map(|params| self.endpoint.request_params(frame, params));
        let arrival = Arrival {
            to,
            bytes: params.as_ref().map_or(0, Payload::len),
            ..Arrival::default()
        };
        let Some(request) = self.endpoint.admit(now, id, method, arrival) else {
            return;
        };
        self.endpoint.restore_misbehavior_budget();
        self.endpoint.push_event(Event::Request {
            request,
            method: (&**method).into(),
            params,
        });
    }

    fn handle_notification(&mut self, now: Instant, frame: &Bytes, note: &JsonRpcNotification<'_>) {
        trace::notification(Side::Client, &note.method);
        match note.method.parse() {
            Ok(Method::Cancelled) => return self.handle_cancelled(now, note.params),
            Ok(Method::Progress) => return self.handle_progress(now, frame, note.params),
            Ok(_) | Err(_) => {}
        }
        if !self.is_ready() {
            return self.handle_violation(now, "a notification before the handshake is done");
        }
        self.endpoint.restore_misbehavior_budget();
        self.endpoint.push_event(Event::Notification {
            method: (&*note.method).into(),
            params: note.params.map(|params| Payload::kept_part(frame, params)),
        });
    }

    /// Handles a cancellation, which refers to a request of its sender.
    fn handle_cancelled(&mut self, now: Instant, params: Option<RawJsonRef<'_>>) {
        let params = params.map(|params| CancelledParams::from_json(params.as_str()));
        let Some(Ok(params)) = params else {
            return self
                .endpoint
                .count_dropped_notification("a cancellation that can't be decoded");
        };
        let Some(id) = params.request_id else {
            if !self.is_ready() {
                return self.handle_violation(
                    now,
                    "notifications/cancelled without a requestId before the handshake is done",
                );
            }
            return self.close_with(now, CloseReason::Peer(PeerFault::SessionReset));
        };
        if let Some(request) = self.endpoint.cancel_peer_request(now, &id) {
            return self.endpoint.push_event(Event::RequestCancelled(request));
        }
        // A server of the stateless era ends only subscriptions with it; the id is ours.
        match self.endpoint.calls.find(now, &id, &self.endpoint.counter) {
            Found::Pending(call) if self.is_stateless() && self.is_subscription(call) => {
                self.fail_call(now, call, Outcome::CancelledByServer);
            }
            Found::Pending(_) | Found::GivenUp | Found::Ended | Found::Unknown => {
                self.endpoint
                    .count_dropped_notification("a cancellation of a request that is not open");
            }
        }
    }

    fn handle_progress(&mut self, now: Instant, frame: &Bytes, params: Option<RawJsonRef<'_>>) {
        let progress = params.and_then(|params| {
            let progress = self.endpoint.take_progress(now, params);
            progress.or_else(|| {
                // A call that has become a task has no timeout any more.
                let has_risen = false;
                let call = self.task_call(params)?;
                Some(CallProgress { call, has_risen })
            })
        });
        match (progress, params) {
            (Some(CallProgress { call, has_risen }), Some(params)) => {
                self.endpoint.restore_misbehavior_budget();
                let params = Payload::kept_part(frame, params);
                self.endpoint.push_event(Event::Progress {
                    call,
                    params,
                    has_risen,
                });
            }
            (_, _) => self
                .endpoint
                .count_dropped_notification("progress of a call that is not open"),
        }
    }

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
        let about = match error.fault() {
            // Without a method it can only be a response.
            Fault::NoMethodResultOrError => MessageKind::Response,
            // The enum is of another crate, and non-exhaustive.
            _ => error.message_kind(),
        };
        match (error.id(), about) {
            (Some(id), MessageKind::Response) => {
                if let Found::Pending(call) =
                    self.endpoint.calls.find(now, id, &self.endpoint.counter)
                {
                    self.fail_call(now, call, Outcome::Invalid(error.to_string()));
                }
            }
            (Some(id), MessageKind::Request) if self.can_respond() => {
                self.endpoint.expect_response(to, Some(id));
                self.refuse(id, to, error.error_code(), &error.to_string());
            }
            (Some(_) | None, _) => {}
        }
        self.spend_misbehavior_budget(now);
    }

    fn refuse(&mut self, id: &RequestId, to: ReplyTo, kind: ErrorCode, message: &str) {
        let code = (kind, or_latest_handshake(self.revision()));
        self.endpoint.refuse(Some(id), to, code, message);
    }

    /// Ends a call without a usable response.
    fn fail_call(&mut self, now: Instant, call: CallId, outcome: Outcome) {
        if let Some(waiting) = self.endpoint.calls.give_up(now, call) {
            self.endpoint.complete_call(now, call, &waiting, outcome);
            self.handle_handshake_response(now, waiting.tag.purpose, Err(None));
        }
    }

    fn handle_violation(&mut self, now: Instant, what: &'static str) {
        self.endpoint.count_violation(what);
        self.spend_misbehavior_budget(now);
    }

    fn spend_misbehavior_budget(&mut self, now: Instant) {
        if !self.endpoint.spend_misbehavior_budget() {
            self.close_with(now, CloseReason::Peer(PeerFault::TooManyViolations));
        }
    }

    /// Returns `true` if the server may send requests: not in the stateless era.
    fn can_respond(&self) -> bool {
        match self.phase {
            Phase::New | Phase::Closed => false,
            Phase::Negotiating { .. } => true,
            Phase::Ready { revision } => revision.era() == Era::Handshake,
        }
    }

    fn is_stateless(&self) -> bool {
        self.revision().map(Revision::era) == Some(Era::Stateless)
    }
}
