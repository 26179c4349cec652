//! What the client says.

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::envelope::{Envelope, EnvelopeError, Failure, Notification, Request, Success};
use bowline_types::lifecycle::{InitializeParams, InitializeResult};
use bowline_types::logging::{LoggingLevel, SetLevelParams};
use bowline_types::progress::CancelledParams;
use bowline_types::resources::SubscribeParams;
use bowline_types::{
    ErrorKind, ErrorObject, Json, JsonObject, JsonRef, Method, RequestId, Revision, Wire,
};
use bytes::Bytes;

use super::{Session, SessionPhase};
use crate::calls::{CallId, Found};
use crate::connection::{Outcome, Payload, busy};
use crate::time::Instant;

/// Who the client is and what it can do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// Who it is.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// The revision that is spoken.
    pub revision: Revision,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The client has introduced itself.
    Initialized(Box<ClientInfo>),
    /// The client is ready for our requests.
    Ready,
    /// The client wants an answer.
    Request {
        /// The id of its request.
        id: RequestId,
        /// The method, which this revision has.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
    },
    /// The client no longer wants an answer to this request, and must not get one.
    RequestCancelled(RequestId),
    /// The client notifies.
    Notification {
        /// The method.
        method: Method,
        /// The parameters.
        params: Option<Payload>,
    },
    /// A request of ours has ended. It is told once.
    Ended {
        /// The request.
        call: CallId,
        /// How.
        outcome: Outcome,
    },
    /// The handshake took too long.
    HandshakeTimedOut,
    /// The session is over.
    Closed,
}

/// How often something happened that has no other trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStats {
    /// Answers to nothing that we asked, or asked no longer.
    pub stray_answers: u64,
    /// Messages that are not allowed where they came.
    pub violations: u64,
    /// Cancellations and other notifications of nothing that goes on.
    pub pointless_notifications: u64,
    /// Requests that were answered "busy".
    pub refused_requests: u64,
}

impl Session {
    /// A message of the client, as [`route`](crate::server::route) hands it on. `frame` is
    /// where it was read from.
    pub fn handle_message(&mut self, now: Instant, frame: &Bytes, envelope: Envelope<'_>) {
        if self.phase == SessionPhase::Closed {
            return;
        }
        match envelope {
            Envelope::Batch(batch) => {
                let may_batch = self.revision.is_some_and(Revision::has_batches)
                    && batch.len() <= self.config.max_batch;
                if !may_batch {
                    self.stats.violations += 1;
                    return self.refuse(None, ErrorKind::InvalidRequest, "no batch is taken here");
                }
                for part in batch.parts() {
                    self.part(now, frame, part);
                }
            }
            message => self.single(now, frame, message, false),
        }
    }

    fn part(&mut self, now: Instant, frame: &Bytes, part: Result<Envelope<'_>, EnvelopeError>) {
        match part {
            Ok(message) => self.single(now, frame, message, true),
            Err(error) => {
                self.stats.violations += 1;
                let id = error.id().cloned();
                self.refuse(id.as_ref(), error.kind(), &error.to_string());
            }
        }
    }

    fn single(&mut self, now: Instant, frame: &Bytes, message: Envelope<'_>, in_batch: bool) {
        match message {
            Envelope::Request(request) => self.request(frame, request, in_batch),
            Envelope::Notification(note) => self.notification(frame, &note),
            Envelope::Success(success) => self.success(now, frame, &success),
            Envelope::Failure(failure) => self.failure(now, &failure),
            // No part of a batch is one.
            Envelope::Batch(_) => self.stats.violations += 1,
        }
    }

    fn request(&mut self, frame: &Bytes, request: Request<'_>, in_batch: bool) {
        let Request {
            id, method, params, ..
        } = request;
        let method: Option<Method> = method.parse().ok();
        match (method, self.phase) {
            (Some(Method::Ping), _) => self.accept(&id),
            (Some(Method::Initialize), SessionPhase::AwaitingInitialize) if !in_batch => {
                self.initialize(&id, params);
            }
            (Some(Method::Initialize), _)
            | (_, SessionPhase::AwaitingInitialize | SessionPhase::ShuttingDown) => {
                self.refuse_phase(&id);
            }
            (_, SessionPhase::Initialized | SessionPhase::Ready | SessionPhase::Closed) => {
                self.serve(frame, id, method, params);
            }
        }
    }

    fn initialize(&mut self, id: &RequestId, params: Option<JsonRef<'_>>) {
        let text = params.map_or("{}", JsonRef::as_str);
        let params = match InitializeParams::from_json(text) {
            Ok(params) => params,
            Err(error) => {
                let message = error.under_key("params").to_string();
                return self.refuse(Some(id), ErrorKind::InvalidParams, &message);
            }
        };
        let Some(newest) = self.config.revisions.newest() else {
            return self.refuse(
                Some(id),
                ErrorKind::InvalidParams,
                "no handshake is offered here",
            );
        };
        // Spec, basic/lifecycle: the revision that was asked for, or the newest of ours.
        let asked = params.protocol_version.parse::<Revision>().ok();
        let asked = asked.filter(|revision| self.config.revisions.contains(*revision));
        let revision = asked.unwrap_or(newest);
        let mut result = InitializeResult::new(
            revision,
            self.config.capabilities.clone(),
            self.config.server_info.clone(),
        );
        result.instructions.clone_from(&self.config.instructions);
        let Ok(result) = result.to_json(revision) else {
            return self.refuse(
                Some(id),
                ErrorKind::InternalError,
                "the capabilities can't be said",
            );
        };
        let message = self.composer.result(id, result.as_ref());
        self.outbox.push_owed(message);
        self.revision = Some(revision);
        self.phase = SessionPhase::Initialized;
        self.emit(SessionEvent::Initialized(Box::new(ClientInfo {
            info: params.client_info,
            capabilities: params.capabilities,
            revision,
        })));
    }

    /// A request of a client that has introduced itself.
    fn serve(
        &mut self,
        frame: &Bytes,
        id: RequestId,
        method: Option<Method>,
        params: Option<JsonRef<'_>>,
    ) {
        let revision = self.revision.unwrap_or(Revision::LATEST_HANDSHAKE);
        let method =
            method.filter(|method| method.is_request() && method.from_client().contains(revision));
        let Some(method) = method else {
            return self.refuse(Some(&id), ErrorKind::MethodNotFound, "no such method");
        };
        if self.open.contains(&id) {
            self.stats.violations += 1;
            return self.refuse(
                Some(&id),
                ErrorKind::InvalidRequest,
                "a request of this id is open",
            );
        }
        match method {
            Method::SetLevel if self.config.capabilities.logging.is_some() => {
                self.set_level(&id, params);
            }
            Method::Subscribe | Method::Unsubscribe if self.offers_watching() => {
                self.watch(&id, params, method == Method::Subscribe);
            }
            Method::SetLevel | Method::Subscribe | Method::Unsubscribe => {
                self.refuse(
                    Some(&id),
                    ErrorKind::MethodNotFound,
                    "not offered by this server",
                );
            }
            other => self.open_request(frame, id, other, params),
        }
    }

    fn open_request(
        &mut self,
        frame: &Bytes,
        id: RequestId,
        method: Method,
        params: Option<JsonRef<'_>>,
    ) {
        if self.open.len() >= self.config.max_requests {
            self.stats.refused_requests += 1;
            let message = self.composer.error(Some(&id), &busy());
            self.outbox.push_owed(message);
            return;
        }
        self.open.insert(id.clone());
        let params = params.map(|params| Self::payload(frame, params));
        self.emit(SessionEvent::Request { id, method, params });
    }

    fn set_level(&mut self, id: &RequestId, params: Option<JsonRef<'_>>) {
        let params = SetLevelParams::from_json(params.map_or("{}", JsonRef::as_str));
        match params.map(|params| params.level) {
            // Spec, server/utilities/logging: an unknown level is an invalid parameter.
            Ok(LoggingLevel::Other(_)) | Err(_) => {
                self.refuse(
                    Some(id),
                    ErrorKind::InvalidParams,
                    "params.level is no known level",
                );
            }
            Ok(level) => {
                self.log_level = Some(level);
                self.accept(id);
            }
        }
    }

    fn watch(&mut self, id: &RequestId, params: Option<JsonRef<'_>>, begin: bool) {
        let params = SubscribeParams::from_json(params.map_or("{}", JsonRef::as_str));
        let uri = match params {
            Ok(params) => params.uri,
            Err(error) => {
                let message = error.under_key("params").to_string();
                return self.refuse(Some(id), ErrorKind::InvalidParams, &message);
            }
        };
        if !begin {
            self.watched.remove(&uri);
        } else if self.watched.len() >= self.config.max_watched && !self.watched.contains(&uri) {
            return self.refuse(
                Some(id),
                ErrorKind::InternalError,
                "too many resources are watched",
            );
        } else {
            self.watched.insert(uri);
        }
        self.accept(id);
    }

    fn notification(&mut self, frame: &Bytes, note: &Notification<'_>) {
        let method: Option<Method> = note.method.parse().ok();
        match (method, self.phase) {
            (Some(Method::Initialized), SessionPhase::Initialized) => {
                self.phase = SessionPhase::Ready;
                self.handshake = None;
                self.emit(SessionEvent::Ready);
            }
            (Some(Method::Initialized), _) => self.stats.violations += 1,
            (Some(Method::Cancelled), _) => self.cancelled(note.params),
            (Some(method), SessionPhase::Initialized | SessionPhase::Ready)
                if !method.is_request() =>
            {
                let params = note.params.map(|params| Self::payload(frame, params));
                self.emit(SessionEvent::Notification { method, params });
            }
            (_, _) => self.stats.pointless_notifications += 1,
        }
    }

    fn cancelled(&mut self, params: Option<JsonRef<'_>>) {
        let params = params.and_then(|params| CancelledParams::from_json(params.as_str()).ok());
        match params.and_then(|params| params.request_id) {
            Some(id) if self.open.remove(&id) => self.emit(SessionEvent::RequestCancelled(id)),
            // Spec, basic/utilities/cancellation: unknown ones are ignored.
            Some(_) | None => self.stats.pointless_notifications += 1,
        }
    }

    fn success(&mut self, now: Instant, frame: &Bytes, success: &Success<'_>) {
        if let Some(call) = self.answered(now, &success.id) {
            let payload = Self::payload(frame, success.result);
            self.ended(call, Outcome::Result(payload));
        }
    }

    fn failure(&mut self, now: Instant, failure: &Failure<'_>) {
        let Some(call) = failure.id.as_ref().and_then(|id| self.answered(now, id)) else {
            return;
        };
        let outcome = match ErrorObject::from_json(failure.error.as_str()) {
            Ok(error) => Outcome::Error(error),
            Err(error) => Outcome::Invalid(error.to_string()),
        };
        self.ended(call, outcome);
    }

    fn answered(&mut self, now: Instant, id: &RequestId) -> Option<CallId> {
        if let Found::Pending(call) = self.calls.find(now, id, &self.counter) {
            self.calls.answer(call)?;
            return Some(call);
        }
        self.stats.stray_answers += 1;
        None
    }

    fn offers_watching(&self) -> bool {
        let resources = self.config.capabilities.resources.as_ref();
        resources.and_then(|resources| resources.subscribe) == Some(true)
    }

    fn accept(&mut self, id: &RequestId) {
        let message = self.composer.result(id, JsonRef::EMPTY_OBJECT);
        self.outbox.push_owed(message);
    }

    fn refuse_phase(&mut self, id: &RequestId) {
        self.stats.violations += 1;
        let phase = self.phase.as_str();
        let error = ErrorObject::new(-32600, format!("not allowed while {phase}"))
            .data(member("phase", phase));
        let message = self.composer.error(Some(id), &error);
        self.outbox.push_owed(message);
    }

    fn refuse(&mut self, id: Option<&RequestId>, kind: ErrorKind, message: &str) {
        let revision = self.revision.unwrap_or(Revision::LATEST_HANDSHAKE);
        if let Some(error) = ErrorObject::of(kind, revision, message) {
            let message = self.composer.error(id, &error);
            self.outbox.push_owed(message);
        }
    }
}

/// An object with one member that is a string.
fn member(name: &str, value: &str) -> Json {
    let object: JsonObject = [(name, Json::from(value))].into_iter().collect();
    object.into()
}
