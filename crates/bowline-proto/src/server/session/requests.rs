//! Requests of the client: those that the session answers itself, and those for a handler.

use bowline_types::envelope::JsonRpcRequest;
use bowline_types::error::codes;
use bowline_types::logging::{LoggingLevel, SetLevelParams};
use bowline_types::resources::SubscribeParams;
use bowline_types::{
    ErrorCode, ErrorObject, JsonObject, Method, RawJson, RawJsonRef, RequestId, Wire,
};
use bytes::Bytes;

use super::{Session, SessionEvent, SessionPhase};
use crate::batches::ReplyTo;
use crate::endpoint::or_latest_handshake;
use crate::outbox::StreamId;
use crate::payload::Payload;
use crate::requests::Arrival;
use crate::server::route::{RequestContext, StatelessRequest, UnknownRequest, shown};
use crate::time::Instant;

impl Session {
    /// Handles a request of the stateless era: it is served in any phase, and ends the wait for a
    /// handshake. `frame` is the frame of the message, `stream` the destination of its response.
    pub fn handle_stateless_request(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        request: StatelessRequest<'_>,
    ) {
        let to = ReplyTo::from(stream);
        let StatelessRequest {
            id,
            method,
            params,
            seen,
            context,
        } = request;
        self.handshake = None;
        if self.phase == SessionPhase::ShuttingDown {
            return self.refuse_phase(now, &id, to);
        }
        let params = (params != RawJsonRef::EMPTY_OBJECT).then(|| {
            self.endpoint
                .request_params(frame, params)
                .having(params, seen)
        });
        let arrival = match method {
            // It lasts until it is closed or ended, and its parameters are not kept.
            Method::Listen => Arrival {
                to,
                is_subscription: true,
                ..Arrival::default()
            },
            _ => self.arrival(to, method, params.as_ref()),
        };
        let Some(request) = self.endpoint.admit(now, &id, method.as_str(), arrival) else {
            return;
        };
        self.endpoint.restore_misbehavior_budget();
        self.endpoint.requests.set_stateless(request);
        self.endpoint.push_event(SessionEvent::Request {
            request,
            method,
            params,
            context: Some(context),
        });
    }

    /// As [`handle_stateless_request`](Self::handle_stateless_request), with a method that the
    /// protocol doesn't have.
    pub fn handle_stateless_unknown_request(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        request: UnknownRequest<'_>,
    ) {
        let to = ReplyTo::from(stream);
        self.handshake = None;
        if self.phase == SessionPhase::ShuttingDown {
            return self.refuse_phase(now, &request.id, to);
        }
        let unknown = UnknownMethodRequest {
            id: &request.id,
            method: &request.method,
            params: (request.params != RawJsonRef::EMPTY_OBJECT).then_some(request.params),
            context: Some(request.context),
        };
        self.forward_unknown_request(now, to, frame, unknown);
    }

    /// Serves a request of the handshake era.
    pub(super) fn serve_request(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        request: &JsonRpcRequest<'_>,
        method: Option<Method>,
    ) {
        let revision = or_latest_handshake(self.revision);
        let id = &request.id;
        if method.is_none() && self.config.forward_unknown_methods {
            let unknown = UnknownMethodRequest {
                id,
                method: &request.method,
                params: request.params,
                context: None,
            };
            return self.forward_unknown_request(now, to, frame, unknown);
        }
        let method =
            method.filter(|method| method.is_request() && method.from_client().contains(revision));
        let Some(method) = method else {
            let message = format!(
                "servers have no method {:?} in {revision}",
                shown(&request.method)
            );
            return self.refuse(Some(id), to, ErrorCode::MethodNotFound, &message);
        };
        let is_own = matches!(
            method,
            Method::SetLevel | Method::Subscribe | Method::Unsubscribe
        );
        if !is_own || self.config.forward_session_requests {
            return self.forward_request(now, to, frame, request, method);
        }
        let params = request.params.map_or("{}", RawJsonRef::as_str);
        match self.apply_session_request(method, params) {
            Ok(()) => self.endpoint.respond_empty(id, to),
            Err(error) => {
                let kind = error
                    .error_code(revision)
                    .map_or("server error", ErrorCode::name);
                self.endpoint.refuse_with(Some(id), to, kind, &error);
            }
        }
    }

    /// Applies a request about the session itself: `logging/setLevel`, `resources/subscribe` and
    /// `resources/unsubscribe`. See
    /// [`SessionConfig::forward_session_requests`](super::SessionConfig::forward_session_requests).
    ///
    /// # Errors
    ///
    /// Returns the error for the client if it is another request, exceeds a limit, or can't be
    /// decoded.
    pub fn apply_session_request(
        &mut self,
        method: Method,
        params: &str,
    ) -> Result<(), ErrorObject> {
        match method {
            Method::SetLevel if self.config.capabilities.logging.is_some() => {
                self.set_level(params)
            }
            Method::Subscribe | Method::Unsubscribe if self.has_resource_subscriptions() => {
                self.set_subscribed(params, method == Method::Subscribe)
            }
            _ => Err(self.error(
                ErrorCode::MethodNotFound,
                "the server has not declared the capability for this method",
            )),
        }
    }

    fn forward_request(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        request: &JsonRpcRequest<'_>,
        method: Method,
    ) {
        let params = request.params.map(|params| {
            let payload = self.endpoint.request_params(frame, params);
            payload.having(params, request.seen)
        });
        let arrival = self.arrival(to, method, params.as_ref());
        let admitted = self
            .endpoint
            .admit(now, &request.id, method.as_str(), arrival);
        if let Some(request) = admitted {
            self.endpoint.restore_misbehavior_budget();
            self.endpoint.push_event(SessionEvent::Request {
                request,
                method,
                params,
                context: None,
            });
        }
    }

    /// Forwards a request with a method that the protocol doesn't have.
    fn forward_unknown_request(
        &mut self,
        now: Instant,
        to: ReplyTo,
        frame: &Bytes,
        unknown: UnknownMethodRequest<'_>,
    ) {
        let UnknownMethodRequest {
            id,
            method,
            params,
            context,
        } = unknown;
        let params = params.map(|params| self.endpoint.request_params(frame, params));
        // Its method is the client's text, and is counted as its parameters are.
        let bytes = method.len() + params.as_ref().map_or(0, Payload::len);
        let arrival = Arrival {
            to,
            timeout: self.config.handler_timeout,
            bytes,
            ..Arrival::default()
        };
        let Some(request) = self.endpoint.admit(now, id, &shown(method), arrival) else {
            return;
        };
        self.endpoint.restore_misbehavior_budget();
        if context.is_some() {
            self.endpoint.requests.set_stateless(request);
        }
        self.endpoint.push_event(SessionEvent::UnknownRequest {
            request,
            method: method.into(),
            params,
            context,
        });
    }

    /// Returns the data of an arrived request for a handler.
    fn arrival(&self, to: ReplyTo, method: Method, params: Option<&Payload>) -> Arrival {
        // 2025-11-25, basic/utilities/tasks: it waits until the task has ended, which is not
        // a matter of its own handler.
        let waits = method == Method::GetTaskPayload;
        Arrival {
            to,
            timeout: self.config.handler_timeout.filter(|_| !waits),
            bytes: params.map_or(0, Payload::len),
            ..Arrival::default()
        }
    }

    fn set_level(&mut self, params: &str) -> Result<(), ErrorObject> {
        match SetLevelParams::from_json(params).map(|params| params.level) {
            // Spec, server/utilities/logging: an unknown level is an invalid parameter.
            Ok(LoggingLevel::Other(_)) | Err(_) => Err(self.error(
                ErrorCode::InvalidParams,
                "params.level is not a known log level",
            )),
            Ok(level) => {
                self.log_level = Some(level);
                Ok(())
            }
        }
    }

    fn set_subscribed(&mut self, params: &str, begin: bool) -> Result<(), ErrorObject> {
        let params = SubscribeParams::from_json(params).map_err(|error| {
            let words = error.under_key("params").to_string();
            self.error(ErrorCode::InvalidParams, words)
        })?;
        let uri = params.uri;
        if !begin {
            if self.subscribed.remove(&uri) {
                self.subscribed_bytes -= uri.len();
            }
            return Ok(());
        }
        if !self.subscribed.contains(&uri) {
            let has_room = self.subscribed.len() < self.config.max_resource_subscriptions
                && self.subscribed_bytes + uri.len() <= self.config.max_resource_subscription_bytes;
            if !has_room {
                let words = "too many resources are subscribed";
                let error = self.error(ErrorCode::InternalError, words);
                return Err(error.data(member("reason", "busy")));
            }
            self.subscribed_bytes += uri.len();
            self.subscribed.insert(uri);
        }
        Ok(())
    }

    /// Returns an error as the negotiated revision defines it.
    fn error(&self, kind: ErrorCode, message: impl Into<String>) -> ErrorObject {
        let code = kind.code(or_latest_handshake(self.revision));
        ErrorObject::new(code.unwrap_or(codes::INTERNAL_ERROR), message)
    }

    fn has_resource_subscriptions(&self) -> bool {
        let resources = self.config.capabilities.resources.as_ref();
        resources.and_then(|resources| resources.subscribe) == Some(true)
    }

    pub(super) fn refuse_phase(&mut self, now: Instant, id: &RequestId, to: ReplyTo) {
        let phase = self.phase.as_str();
        let message = format!("not allowed while the session is {phase}");
        let error = ErrorObject::invalid_request(message).data(member("phase", phase));
        self.endpoint
            .refuse_with(Some(id), to, "wrong phase", &error);
        self.handle_violation(now, "a request in the wrong phase");
    }
}

/// A request whose method the protocol doesn't have.
struct UnknownMethodRequest<'r> {
    id: &'r RequestId,
    method: &'r str,
    params: Option<RawJsonRef<'r>>,
    /// Its `_meta`, in the stateless era.
    context: Option<Box<RequestContext>>,
}

/// Returns an object with one member that is a string.
fn member(name: &str, value: &str) -> RawJson {
    let object: JsonObject = [(name, RawJson::from(value))].into_iter().collect();
    object.into()
}
