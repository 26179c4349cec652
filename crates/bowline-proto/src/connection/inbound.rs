//! What the peer says.

use bowline_types::envelope::{
    About, Envelope, EnvelopeError, Failure, Notification, Request, Success,
};
use bowline_types::error::ErrorKind;
use bowline_types::progress::CancelledParams;
use bowline_types::{Era, ErrorObject, JsonRef, Method, RequestId, Revision, Wire};
use bytes::Bytes;

use super::commands::busy;
use super::{CloseReason, Connection, Event, Outcome, Payload, PeerFault, Phase, Sent, Tag};
use crate::calls::{CallId, Found};
use crate::codec::{Oversize, TooLarge};
use crate::time::Instant;

/// How the stream of a call ended, on a carrier with a stream per request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// It was never opened: the server has seen nothing.
    NotSent(String),
    /// It was cut off.
    Lost(String),
    /// It ended by itself.
    Complete,
}

impl Connection {
    /// A message came on the stream of a call, on a carrier with a stream per request. Also
    /// for the body of a refusal, which may be an answer.
    pub fn handle_message(&mut self, now: Instant, frame: &Bytes) {
        if !self.is_closed() {
            self.handle_frame(now, frame);
        }
    }

    /// The stream of a call has ended. A call without its answer ends, too; the others
    /// don't.
    pub fn handle_stream_end(&mut self, now: Instant, call: CallId, end: StreamEnd) {
        let Some(waiting) = self.calls.give_up(now, call) else {
            return;
        };
        let (reason, sent) = match end {
            StreamEnd::NotSent(reason) => (reason, Sent::No),
            StreamEnd::Lost(reason) => (reason, Sent::Maybe),
            StreamEnd::Complete => ("the stream ended without an answer".into(), Sent::Maybe),
        };
        match waiting.tag {
            Tag::User { .. } => self.end(call, Outcome::Lost { reason, sent }),
            Tag::Discover => self.handle_handshake_answer(now, &Tag::Discover, Err(None)),
            Tag::Initialize => self.close_with(now, CloseReason::Transport(reason)),
        }
    }

    pub(super) fn handle_frame(&mut self, now: Instant, frame: &Bytes) {
        match Envelope::parse(frame) {
            Ok(Envelope::Batch(batch)) => {
                let may_batch = self.speaks_batches() && batch.len() <= self.config.max_batch;
                if !may_batch {
                    return self.violation(now);
                }
                for part in batch.parts() {
                    self.handle_envelope(now, frame, part);
                }
            }
            envelope => self.handle_envelope(now, frame, envelope),
        }
    }

    /// A frame beyond the limit: the end of the connection, or of the call that it answers.
    pub(super) fn handle_too_large(&mut self, now: Instant, too_large: &TooLarge) {
        let size = too_large.size;
        if self.config.frames.oversize == Oversize::Stop {
            let fault = PeerFault::OversizedFrame { size };
            return self.close_with(now, CloseReason::Peer(fault));
        }
        self.stats.malformed_frames += 1;
        match (&too_large.id, too_large.about) {
            (Some(id), About::Answer) => {
                if let Found::Pending(call) = self.calls.find(now, id, &self.counter) {
                    self.fail_call(now, call, Outcome::TooLarge { size });
                }
            }
            (Some(id), About::Request) if self.may_answer() => {
                let error =
                    ErrorObject::new(-32600, format!("a request of {size} bytes is too large"));
                let message = self.composer.error(Some(id), &error);
                self.outbox.push_owed(message);
            }
            (Some(_) | None, _) => {}
        }
        self.spend_nonsense(now);
    }

    fn handle_envelope(
        &mut self,
        now: Instant,
        frame: &Bytes,
        envelope: Result<Envelope<'_>, EnvelopeError>,
    ) {
        if self.is_closed() {
            return;
        }
        if envelope.is_ok() {
            self.nonsense = self
                .nonsense
                .saturating_add(1)
                .min(self.config.nonsense_budget);
        }
        match envelope {
            Ok(Envelope::Request(request)) => self.handle_request(now, frame, request),
            Ok(Envelope::Notification(note)) => self.handle_notification(now, frame, &note),
            Ok(Envelope::Success(success)) => self.handle_success(now, frame, &success),
            Ok(Envelope::Failure(failure)) => self.handle_failure(now, &failure),
            // No part of a batch is one.
            Ok(Envelope::Batch(_)) => self.violation(now),
            Err(error) => self.handle_malformed(now, &error),
        }
    }

    fn handle_success(&mut self, now: Instant, frame: &Bytes, success: &Success<'_>) {
        let Some(call) = self.pending_call(now, &success.id) else {
            return;
        };
        let Some(waiting) = self.calls.answer(call) else {
            return;
        };
        match waiting.tag {
            Tag::User { .. } => {
                let payload = payload(frame, success.result);
                self.end(call, Outcome::Result(payload));
            }
            tag @ (Tag::Discover | Tag::Initialize) => {
                self.handle_handshake_answer(now, &tag, Ok(success.result));
            }
        }
    }

    fn handle_failure(&mut self, now: Instant, failure: &Failure<'_>) {
        let Some(id) = &failure.id else {
            // The peer couldn't read the id of something that we sent.
            return self.spend_nonsense(now);
        };
        let Some(call) = self.pending_call(now, id) else {
            return;
        };
        let Some(waiting) = self.calls.answer(call) else {
            return;
        };
        let error = ErrorObject::from_json(failure.error.as_str());
        match (waiting.tag, error) {
            (Tag::User { .. }, Ok(error)) => self.end(call, Outcome::Error(error)),
            (Tag::User { .. }, Err(error)) => {
                self.stats.malformed_frames += 1;
                self.end(call, Outcome::Invalid(error.to_string()));
            }
            (tag @ (Tag::Discover | Tag::Initialize), error) => {
                self.handle_handshake_answer(now, &tag, Err(error.ok()));
            }
        }
    }

    /// The call that an answer belongs to, if it waits. Other answers are counted.
    fn pending_call(&mut self, now: Instant, id: &RequestId) -> Option<CallId> {
        match self.calls.find(now, id, &self.counter) {
            Found::Pending(call) => return Some(call),
            Found::GivenUp => self.stats.late_answers += 1,
            Found::Ended => self.stats.stale_answers += 1,
            Found::Unknown => {
                self.stats.unknown_answers += 1;
                self.spend_nonsense(now);
            }
        }
        None
    }

    fn handle_request(&mut self, now: Instant, frame: &Bytes, request: Request<'_>) {
        let Request {
            id, method, params, ..
        } = request;
        if !self.may_answer() {
            // Spec, basic, 2026-07-28: a server sends no requests, a client no responses.
            return self.violation(now);
        }
        if method == Method::Initialize.as_str() {
            self.stats.violations += 1;
            return self.close_with(now, CloseReason::Peer(PeerFault::Initialize));
        }
        if method == Method::Ping.as_str() {
            let message = self.composer.result(&id, EMPTY);
            self.outbox.push_owed(message);
            return;
        }
        if !self.is_ready() {
            return self.violation(now);
        }
        if self.peer_requests.contains(&id) {
            self.stats.violations += 1;
            return self.refuse(
                &id,
                ErrorKind::InvalidRequest,
                "a request of this id is open",
            );
        }
        if self.peer_requests.len() >= self.config.max_peer_requests {
            self.stats.refused_requests += 1;
            let message = self.composer.error(Some(&id), &busy());
            self.outbox.push_owed(message);
            return;
        }
        self.peer_requests.insert(id.clone());
        self.emit(Event::Request {
            id,
            method: method.into(),
            params: params.map(|params| payload(frame, params)),
        });
    }

    fn handle_notification(&mut self, now: Instant, frame: &Bytes, note: &Notification<'_>) {
        match note.method.parse() {
            Ok(Method::Cancelled) => return self.handle_cancelled(now, note.params),
            Ok(Method::Progress) => return self.handle_progress(now, frame, note.params),
            Ok(_) | Err(_) => {}
        }
        if !self.is_ready() {
            return self.violation(now);
        }
        self.emit(Event::Notification {
            method: (&*note.method).into(),
            params: note.params.map(|params| payload(frame, params)),
        });
    }

    /// A cancellation refers to a request of its sender.
    fn handle_cancelled(&mut self, now: Instant, params: Option<JsonRef<'_>>) {
        let params = params.map(|params| CancelledParams::from_json(params.as_str()));
        let Some(Ok(params)) = params else {
            self.stats.pointless_notifications += 1;
            return;
        };
        match params.request_id {
            Some(id) if self.peer_requests.remove(&id) => self.emit(Event::RequestCancelled(id)),
            Some(id) => {
                // A server of the stateless era ends a subscription so; the id is ours.
                let stateless = self.revision().is_some_and(is_stateless);
                match self.calls.find(now, &id, &self.counter) {
                    Found::Pending(call) if stateless && !self.is_handshake(call) => {
                        self.fail_call(now, call, Outcome::CancelledByServer);
                    }
                    _ => self.stats.pointless_notifications += 1,
                }
            }
            None => self.close_with(now, CloseReason::Peer(PeerFault::SessionReset)),
        }
    }

    fn handle_progress(&mut self, now: Instant, frame: &Bytes, params: Option<JsonRef<'_>>) {
        let call = params.and_then(|params| self.progressing(now, params));
        match (call, params) {
            (Some(call), Some(params)) => {
                self.calls.progress(now, call);
                let params = payload(frame, params);
                self.emit(Event::Progress { call, params });
            }
            (_, _) => self.stats.pointless_notifications += 1,
        }
    }

    /// The call of a progress token, when it waits and asked for progress.
    fn progressing(&mut self, now: Instant, params: JsonRef<'_>) -> Option<CallId> {
        let token = params.reader().peek_member("progressToken").ok()??;
        let token = RequestId::from_json(token.as_str()).ok()?;
        let Found::Pending(call) = self.calls.find(now, &token, &self.counter) else {
            return None;
        };
        match self.calls.get(call)?.tag {
            Tag::User {
                wants_progress: true,
                ..
            } => Some(call),
            Tag::User { .. } | Tag::Discover | Tag::Initialize => None,
        }
    }

    fn handle_malformed(&mut self, now: Instant, error: &EnvelopeError) {
        self.stats.malformed_frames += 1;
        match (error.id(), error.about()) {
            (Some(id), About::Answer) => {
                if let Found::Pending(call) = self.calls.find(now, id, &self.counter) {
                    let tag = self.calls.answer(call).map(|waiting| waiting.tag);
                    match tag {
                        Some(Tag::User { .. }) => {
                            self.end(call, Outcome::Invalid(error.to_string()));
                        }
                        Some(tag) => self.handle_handshake_answer(now, &tag, Err(None)),
                        None => {}
                    }
                }
            }
            (Some(id), About::Request) if self.may_answer() => {
                let id = id.clone();
                self.refuse(&id, error.kind(), &error.to_string());
            }
            (Some(_) | None, _) => {}
        }
        self.spend_nonsense(now);
    }

    fn refuse(&mut self, id: &RequestId, kind: ErrorKind, message: &str) {
        let revision = self.revision().unwrap_or(Revision::LATEST_HANDSHAKE);
        if let Some(error) = ErrorObject::of(kind, revision, message) {
            let message = self.composer.error(Some(id), &error);
            self.outbox.push_owed(message);
        }
    }

    fn fail_call(&mut self, now: Instant, call: CallId, outcome: Outcome) {
        match self.calls.give_up(now, call).map(|waiting| waiting.tag) {
            Some(Tag::User { .. }) => self.end(call, outcome),
            Some(tag) => self.handle_handshake_answer(now, &tag, Err(None)),
            None => {}
        }
    }

    fn violation(&mut self, now: Instant) {
        self.stats.violations += 1;
        self.spend_nonsense(now);
    }

    fn spend_nonsense(&mut self, now: Instant) {
        match self.nonsense.checked_sub(1) {
            Some(left) => self.nonsense = left,
            None => self.close_with(now, CloseReason::Peer(PeerFault::Nonsense)),
        }
    }

    /// Whether the peer may send requests, which we answer: not in the stateless era.
    fn may_answer(&self) -> bool {
        match self.phase {
            Phase::New | Phase::Closed => false,
            Phase::Negotiating { .. } => true,
            Phase::Ready { revision } => !is_stateless(revision),
        }
    }

    fn speaks_batches(&self) -> bool {
        self.revision().is_some_and(Revision::has_batches)
    }
}

const EMPTY: JsonRef<'static> = JsonRef::EMPTY_OBJECT;

fn is_stateless(revision: Revision) -> bool {
    revision.era() == Era::Stateless
}

/// A part of a frame, without copying it.
fn payload(frame: &Bytes, part: JsonRef<'_>) -> Payload {
    Payload(frame.slice_ref(part.as_str().as_bytes()))
}
