//! Requests of the client: those that the session answers itself, and those that a handler
//! sees.

use bowline_types::envelope::Request;
use bowline_types::logging::{LoggingLevel, SetLevelParams};
use bowline_types::resources::SubscribeParams;
use bowline_types::{ErrorKind, ErrorObject, Json, JsonObject, JsonRef, Method, RequestId, Wire};
use bytes::Bytes;

use super::{Session, SessionEvent, SessionPhase};
use crate::endpoint::or_newest;
use crate::outbox::StreamId;
use crate::payload::Payload;
use crate::server::route::StatelessRequest;
use crate::time::Instant;

impl Session {
    /// A request of the stateless era on a shared stream: it is served in any phase, and
    /// needs no handshake, so none is waited for.
    pub(super) fn stateless(&mut self, now: Instant, frame: &Bytes, request: StatelessRequest<'_>) {
        let StatelessRequest {
            id,
            method,
            params,
            context,
        } = request;
        self.handshake = None;
        if self.phase == SessionPhase::ShuttingDown {
            return self.refuse_phase(now, &id, None);
        }
        let timeout = self.config.handler_timeout;
        let Some(request) = self.end.admit(now, &id, method.as_str(), None, timeout) else {
            return;
        };
        self.end.regain_nonsense();
        self.end.requests.set_stateless(request);
        let params = (params != JsonRef::EMPTY_OBJECT).then(|| Payload::part(frame, params));
        self.end.tell(SessionEvent::Request {
            request,
            method,
            params,
            context: Some(context),
        });
    }

    /// A request of a client that has introduced itself.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        request: &Request<'_>,
        method: Option<Method>,
    ) {
        let revision = or_newest(self.revision);
        let id = &request.id;
        let method =
            method.filter(|method| method.is_request() && method.from_client().contains(revision));
        let Some(method) = method else {
            return self.refuse(
                Some(id),
                stream,
                ErrorKind::MethodNotFound,
                "no such method",
            );
        };
        match method {
            Method::SetLevel if self.config.capabilities.logging.is_some() => {
                self.set_level(id, stream, request.params);
            }
            Method::Subscribe | Method::Unsubscribe if self.offers_watching() => {
                self.watch(id, stream, request.params, method == Method::Subscribe);
            }
            Method::SetLevel | Method::Subscribe | Method::Unsubscribe => {
                let words = "not offered by this server";
                self.refuse(Some(id), stream, ErrorKind::MethodNotFound, words);
            }
            method => self.hand_on(now, stream, frame, request, method),
        }
    }

    fn hand_on(
        &mut self,
        now: Instant,
        stream: Option<StreamId>,
        frame: &Bytes,
        request: &Request<'_>,
        method: Method,
    ) {
        let params = request.params.map(|params| Payload::part(frame, params));
        let timeout = self.config.handler_timeout;
        let admitted = self
            .end
            .admit(now, &request.id, method.as_str(), stream, timeout);
        if let Some(request) = admitted {
            self.end.regain_nonsense();
            self.end.tell(SessionEvent::Request {
                request,
                method,
                params,
                context: None,
            });
        }
    }

    fn set_level(&mut self, id: &RequestId, stream: Option<StreamId>, params: Option<JsonRef<'_>>) {
        let params = SetLevelParams::from_json(params.map_or("{}", JsonRef::as_str));
        match params.map(|params| params.level) {
            // Spec, server/utilities/logging: an unknown level is an invalid parameter.
            Ok(LoggingLevel::Other(_)) | Err(_) => {
                let words = "params.level is no known level";
                self.refuse(Some(id), stream, ErrorKind::InvalidParams, words);
            }
            Ok(level) => {
                self.log_level = Some(level);
                self.end.accept(id, stream);
            }
        }
    }

    fn watch(
        &mut self,
        id: &RequestId,
        stream: Option<StreamId>,
        params: Option<JsonRef<'_>>,
        begin: bool,
    ) {
        let params = SubscribeParams::from_json(params.map_or("{}", JsonRef::as_str));
        let uri = match params {
            Ok(params) => params.uri,
            Err(error) => {
                let words = error.under_key("params").to_string();
                return self.refuse(Some(id), stream, ErrorKind::InvalidParams, &words);
            }
        };
        if !begin {
            if self.watched.remove(&uri) {
                self.watched_bytes -= uri.len();
            }
            return self.end.accept(id, stream);
        }
        if !self.watched.contains(&uri) {
            let has_room = self.watched.len() < self.config.max_watched
                && self.watched_bytes + uri.len() <= self.config.max_watched_bytes;
            if !has_room {
                let words = "too many resources are watched";
                return self.refuse(Some(id), stream, ErrorKind::InternalError, words);
            }
            self.watched_bytes += uri.len();
            self.watched.insert(uri);
        }
        self.end.accept(id, stream);
    }

    fn offers_watching(&self) -> bool {
        let resources = self.config.capabilities.resources.as_ref();
        resources.and_then(|resources| resources.subscribe) == Some(true)
    }

    pub(super) fn refuse_phase(&mut self, now: Instant, id: &RequestId, stream: Option<StreamId>) {
        let phase = self.phase.as_str();
        let error = ErrorObject::new(-32600, format!("not allowed while {phase}"))
            .data(member("phase", phase));
        self.end
            .refuse_with(Some(id), stream, "wrong phase", &error);
        self.violation(now, "a request in the wrong phase");
    }
}

/// An object with one member that is a string.
fn member(name: &str, value: &str) -> Json {
    let object: JsonObject = [(name, Json::from(value))].into_iter().collect();
    object.into()
}
