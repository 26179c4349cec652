//! Requests at the server: each finds its session, or is refused.

use bowline_proto::server::{
    HandshakeHttpConfig, HandshakeHttpRequest, HandshakeRoute, Headers, Refusal, RequestSession,
    Routed, RouterConfig, route, route_handshake_request,
};
use bowline_types::envelope::{Envelope, write_error};
use bowline_types::{Revision, Revisions};
use bytes::Bytes;

use super::ServerWorld;
use super::http::{Arrival, Connection, HttpMethod, HttpRequest};
use super::node::session_number;
use crate::oracle::number_after;
use crate::trace_text::Column;

impl ServerWorld {
    /// A request comes to the server.
    pub(super) fn on_request(&mut self, request: &HttpRequest) {
        let connection = request.connection;
        self.node.connections.insert(connection, Connection::new(0));
        let revision = request.revision.map(Revision::as_str);
        let pairs = [
            ("mcp-session-id", request.session.as_deref()),
            ("mcp-protocol-version", revision),
        ];
        let headers = pairs.into_iter();
        let headers = Headers::collect(headers.filter_map(|(name, value)| Some((name, value?))));
        match &request.method {
            HttpMethod::Post(frame) => {
                match route(&RouterConfig::new(Revisions::ALL), frame, Some(&headers)) {
                    Routed::Session(message) => self.on_post(connection, &headers, frame, message),
                    Routed::Refused(refusal) => self.refuse(connection, &refusal),
                    _ => self.oracle.violated("a route that no driver knows"),
                }
            }
            HttpMethod::Get(last_event_id) => {
                match self.route(HandshakeHttpRequest::Get, &headers) {
                    Ok((HandshakeRoute::OpenStream(_), Some(session))) => {
                        self.open_stream(connection, session, last_event_id.as_deref());
                    }
                    Ok(_) => self.oracle.violated("a GET that opens no stream"),
                    Err(refusal) => self.refuse(connection, &refusal),
                }
            }
            HttpMethod::Delete => match self.route(HandshakeHttpRequest::Delete, &headers) {
                Ok((_, Some(session))) => {
                    self.end_session(session, "deleted");
                    self.write_head(connection, 200, None);
                    self.end_response(connection, Arrival::End);
                }
                Ok((_, None)) => self.oracle.violated("a DELETE without a session"),
                Err(refusal) => self.refuse(connection, &refusal),
            },
        }
    }

    fn on_post(
        &mut self,
        connection: u64,
        headers: &Headers<'_>,
        frame: &Bytes,
        message: Envelope<'_>,
    ) {
        match self.route(HandshakeHttpRequest::Post(&message), headers) {
            Err(refusal) => self.refuse(connection, &refusal),
            Ok((HandshakeRoute::OpenSession, _)) => self.open_session(connection, frame, message),
            Ok((HandshakeRoute::Respond(_), Some(session))) => {
                self.respond_with_stream(connection, session, frame, message);
            }
            Ok((HandshakeRoute::Accept(_), Some(session))) => {
                self.note_cancellation(session, frame);
                let now = self.now;
                if let Some(live) = self.node.wake(now, session) {
                    live.handle_message(now, None, frame, message);
                }
                self.write_head(connection, 202, None);
                self.end_response(connection, Arrival::End);
            }
            Ok(_) => self.oracle.violated("a POST without a session"),
        }
    }

    /// Notes the cancellation of a call that has reached the server, and has no answer yet.
    fn note_cancellation(&mut self, session: u64, frame: &Bytes) {
        let cancelled = number_after(frame, "\"requestId\":");
        let served = self.node.sessions.get(&session);
        let mut calls = served
            .into_iter()
            .flat_map(|served| served.requests.values());
        if let Some((_, call)) = calls.find(|(_, call)| Some(*call) == cancelled) {
            self.oracle.on_cancelled(session, *call);
        }
    }

    /// Routes a request, and finds its session.
    fn route(
        &mut self,
        request: HandshakeHttpRequest<'_, '_>,
        headers: &Headers<'_>,
    ) -> Result<(HandshakeRoute, Option<u64>), Refusal> {
        let config = HandshakeHttpConfig::new(Revisions::ALL);
        let routed = route_handshake_request(&config, request, headers)?;
        let id = match &routed {
            HandshakeRoute::Respond(RequestSession { id, .. })
            | HandshakeRoute::Accept(RequestSession { id, .. })
            | HandshakeRoute::OpenStream(RequestSession { id, .. }) => id.as_ref(),
            HandshakeRoute::EndSession(id) => Some(id),
            _ => return Ok((routed, None)),
        };
        let found = self.node.find(id);
        let named = id.and_then(|id| session_number(id.as_str()));
        if let Some(named) = named {
            self.oracle
                .on_status(named, if found.is_some() { 200 } else { 404 });
        }
        let found = found.ok_or_else(|| Refusal::unknown_session(None))?;
        if let Some(session) = self.node.sessions.get_mut(&found) {
            session.idle_since = self.now;
        }
        Ok((routed, Some(found)))
    }

    pub(super) fn refuse(&mut self, connection: u64, refusal: &Refusal) {
        let status = refusal.status;
        self.note(Column::Server, || {
            format!("{connection}: {status} {}", refusal.error.message)
        });
        let mut body = Vec::new();
        write_error(&mut body, refusal.id.as_ref(), &refusal.error);
        self.write_head(connection, status, None);
        self.write(connection, &body);
        self.end_response(connection, Arrival::End);
    }
}
