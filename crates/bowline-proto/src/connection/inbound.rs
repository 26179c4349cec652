//! What the server says.

use bowline_types::envelope::{
    About, Envelope, EnvelopeError, Fault, JsonRpcErrorResponse, JsonRpcNotification,
    JsonRpcRequest, JsonRpcResultResponse,
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
use crate::endpoint::{Answered, Opened, Progressing, Purpose, or_newest};
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::requests::Arrival;
use crate::time::Instant;
use crate::trace::{self, Side};

impl Connection {
    /// A frame, which came on the stream of a call if that has one.
    pub(super) fn handle_frame(&mut self, now: Instant, stream: Option<CallId>, frame: &Bytes) {
        match Envelope::parse(frame) {
            Ok(Envelope::Batch(batch)) => {
                if !self.revision().is_some_and(Revision::has_batches) {
                    return self.violation(now, "a batch in a revision without batches");
                }
                let (to, is_busy) = match self.end.begin_batch(None, &batch) {
                    Opened::Served(to) => (to, false),
                    Opened::Busy(to) => (to, true),
                    Opened::TooLong => return self.violation(now, "a batch that is too long"),
                };
                for part in batch.parts() {
                    match part {
                        Ok(Envelope::Request(request)) if is_busy && self.may_answer() => {
                            self.end.expect_answer(to, Some(&request.id));
                            self.end.refuse_busy(&request.id, to);
                        }
                        part => self.handle_envelope(now, stream, to, frame, part),
                    }
                }
                self.end.end_batch(to);
            }
            envelope => self.handle_envelope(now, stream, ReplyTo::default(), frame, envelope),
        }
    }

    /// A frame beyond the limit: the end of the connection, or of the call that it answers.
    pub(super) fn handle_too_large(&mut self, now: Instant, too_large: &TooLarge) {
        let size = too_large.size;
        if self.end.limits.frames.oversize == Oversize::Stop {
            let fault = PeerFault::OversizedFrame { size };
            return self.close_with(now, CloseReason::Peer(fault));
        }
        self.skip_too_large(now, None, too_large);
    }

    /// A frame beyond the limit ends the call that it answers, or on whose stream it came.
    pub(super) fn skip_too_large(
        &mut self,
        now: Instant,
        stream: Option<CallId>,
        too_large: &TooLarge,
    ) {
        let size = too_large.size;
        self.end.refuse_too_large(too_large, self.may_answer());
        let answered = match (&too_large.id, too_large.about) {
            (Some(id), About::Answer | About::Unknown) => {
                match self.end.calls.find(now, id, &self.end.counter) {
                    Found::Pending(call) => Some(call),
                    Found::GivenUp | Found::Ended | Found::Unknown => None,
                }
            }
            (Some(_), About::Request | About::Notification) => None,
            (None, _) => stream,
        };
        if let Some(call) = answered {
            self.fail_call(now, call, Outcome::TooLarge { size });
        }
        self.spend_nonsense(now);
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
            Ok(Envelope::Success(success)) => self.handle_success(now, frame, &success),
            Ok(Envelope::Failure(failure)) => self.handle_failure(now, stream, &failure),
            Ok(Envelope::Batch(_)) => self.violation(now, "a batch in a batch"),
            Err(error) => self.handle_malformed(now, to, frame, &error),
        }
    }

    fn handle_success(&mut self, now: Instant, frame: &Bytes, success: &JsonRpcResultResponse<'_>) {
        let Some(call) = self.answered(now, &success.id) else {
            return;
        };
        let Some(waiting) = self.end.calls.answer(call) else {
            return;
        };
        self.end.regain_nonsense();
        let outcome = Outcome::Result(Payload::part(frame, success.result));
        self.note_task(call, &waiting, success.result);
        self.end.conclude(now, call, &waiting, outcome);
        if defect::is(Defect::SecondAnswer) && waiting.tag.purpose == Purpose::User {
            let timeouts = self.config.call_timeouts;
            self.end.calls.insert(now, call, timeouts, waiting.tag);
            return;
        }
        self.handle_handshake_answer(now, waiting.tag.purpose, Ok(success.result));
    }

    fn handle_failure(
        &mut self,
        now: Instant,
        stream: Option<CallId>,
        failure: &JsonRpcErrorResponse<'_>,
    ) {
        let call = match (&failure.id, stream) {
            (Some(id), _) => self.answered(now, id),
            // A server that could not read the id, or does not repeat it in a refusal.
            (None, Some(call)) => Some(call),
            (None, None) => {
                self.end.count_pointless("an error without an id");
                return self.spend_nonsense(now);
            }
        };
        let Some(call) = call else {
            return;
        };
        let Some(waiting) = self.end.calls.answer(call) else {
            return;
        };
        let (outcome, error) = match ErrorObject::from_json(failure.error.as_str()) {
            Ok(error) => {
                self.end.regain_nonsense();
                (Outcome::Error(error.clone()), Some(error))
            }
            Err(fault) => {
                let frame = failure.error.as_str();
                let size = frame.len() as u64;
                self.end.count_malformed("error", frame.as_bytes(), size);
                (Outcome::Invalid(fault.to_string()), None)
            }
        };
        self.end.conclude(now, call, &waiting, outcome);
        self.handle_handshake_answer(now, waiting.tag.purpose, Err(error));
    }

    /// The call that an answer belongs to, if it waits.
    fn answered(&mut self, now: Instant, id: &RequestId) -> Option<CallId> {
        match self.end.answered(now, id) {
            Answered::Call(call) => Some(call),
            Answered::Nothing => None,
            Answered::Nonsense => {
                self.spend_nonsense(now);
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
        if !self.may_answer() {
            // Spec, basic, 2026-07-28: a server sends no requests, a client no responses.
            return self.violation(now, "a request in the stateless era");
        }
        let is_ping = method == Method::Ping.as_str();
        if is_ping && self.end.requests.find(id).is_none() {
            self.end.regain_nonsense();
            self.end.expect_answer(to, Some(id));
            return self.end.accept(id, to);
        }
        if self.is_ready() && method == Method::Initialize.as_str() {
            self.end.count_violation("initialize from a server");
            return self.close_with(now, CloseReason::Peer(PeerFault::Initialize));
        }
        if !self.is_ready() {
            // Spec, basic/lifecycle: nothing but pings before the handshake is done.
            return self.violation(now, "a request before the handshake is done");
        }
        self.end.expect_answer(to, Some(id));
        let params = params.map(|params| self.end.taken(frame, params));
        let arrival = Arrival {
            to,
            bytes: params.as_ref().map_or(0, Payload::len),
            ..Arrival::default()
        };
        let Some(request) = self.end.admit(now, id, method, arrival) else {
            return;
        };
        self.end.regain_nonsense();
        self.end.tell(Event::Request {
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
            return self.violation(now, "a notification before the handshake is done");
        }
        self.end.regain_nonsense();
        self.end.tell(Event::Notification {
            method: (&*note.method).into(),
            params: note.params.map(|params| Payload::kept_part(frame, params)),
        });
    }

    /// A cancellation refers to a request of its sender.
    fn handle_cancelled(&mut self, now: Instant, params: Option<RawJsonRef<'_>>) {
        let params = params.map(|params| CancelledParams::from_json(params.as_str()));
        let Some(Ok(params)) = params else {
            return self
                .end
                .count_pointless("a cancellation that can't be read");
        };
        let Some(id) = params.request_id else {
            if !self.is_ready() {
                return self.violation(now, "a reset of no session");
            }
            return self.close_with(now, CloseReason::Peer(PeerFault::SessionReset));
        };
        if let Some(request) = self.end.cancelled_by_peer(now, &id) {
            return self.end.tell(Event::RequestCancelled(request));
        }
        // A server of the stateless era ends a subscription so, and nothing else; the id is
        // ours.
        match self.end.calls.find(now, &id, &self.end.counter) {
            Found::Pending(call) if self.is_stateless() && self.is_subscription(call) => {
                self.fail_call(now, call, Outcome::CancelledByServer);
            }
            Found::Pending(_) | Found::GivenUp | Found::Ended | Found::Unknown => {
                self.end.count_pointless("a cancellation of nothing");
            }
        }
    }

    fn handle_progress(&mut self, now: Instant, frame: &Bytes, params: Option<RawJsonRef<'_>>) {
        let progressing = params.and_then(|params| {
            let progressing = self.end.progressing(now, params);
            progressing.or_else(|| {
                // One that has become a task has no time of its own any more.
                let has_risen = false;
                let call = self.reporting_task(params)?;
                Some(Progressing { call, has_risen })
            })
        });
        match (progressing, params) {
            (Some(Progressing { call, has_risen }), Some(params)) => {
                self.end.regain_nonsense();
                let params = Payload::kept_part(frame, params);
                self.end.tell(Event::Progress {
                    call,
                    params,
                    has_risen,
                });
            }
            (_, _) => self.end.count_pointless("progress of nothing"),
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
        self.end.count_malformed(error.fault().name(), frame, size);
        let about = match error.fault() {
            // Without a method it can only be meant as an answer.
            Fault::NothingSaid => About::Answer,
            // Those of another crate, which may have more.
            _ => error.about(),
        };
        match (error.id(), about) {
            (Some(id), About::Answer) => {
                if let Found::Pending(call) = self.end.calls.find(now, id, &self.end.counter) {
                    self.fail_call(now, call, Outcome::Invalid(error.to_string()));
                }
            }
            (Some(id), About::Request) if self.may_answer() => {
                self.end.expect_answer(to, Some(id));
                self.refuse(id, to, error.kind(), &error.to_string());
            }
            (Some(_) | None, _) => {}
        }
        self.spend_nonsense(now);
    }

    fn refuse(&mut self, id: &RequestId, to: ReplyTo, kind: ErrorCode, message: &str) {
        let words = (kind, or_newest(self.revision()));
        self.end.refuse(Some(id), to, words, message);
    }

    /// Ends a call without an answer that can be used.
    fn fail_call(&mut self, now: Instant, call: CallId, outcome: Outcome) {
        if let Some(waiting) = self.end.calls.give_up(now, call) {
            self.end.conclude(now, call, &waiting, outcome);
            self.handle_handshake_answer(now, waiting.tag.purpose, Err(None));
        }
    }

    fn violation(&mut self, now: Instant, what: &'static str) {
        self.end.count_violation(what);
        self.spend_nonsense(now);
    }

    fn spend_nonsense(&mut self, now: Instant) {
        if !self.end.spend_nonsense() {
            self.close_with(now, CloseReason::Peer(PeerFault::Nonsense));
        }
    }

    /// Whether the peer may send requests, which we answer: not in the stateless era.
    fn may_answer(&self) -> bool {
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
