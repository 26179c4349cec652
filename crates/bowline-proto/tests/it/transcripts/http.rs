//! HTTP requests of a client: `[STREAM NAME: VALUE, NAME: VALUE] MESSAGE` is a POST,
//! `[STREAM GET NAME: VALUE]` and `[STREAM DELETE NAME: VALUE]` are the others.

use bowline_proto::StreamId;
use bowline_proto::server::{
    HandshakeHttpConfig, HandshakeHttpRequest, HandshakeRoute, Headers, Refusal, Routed,
    RouterConfig, Session, route, route_handshake_request,
};
use bowline_types::capabilities::ClientCapabilities;
use bowline_types::envelope::{self, Envelope};
use bytes::Bytes;

use super::Script;

/// What decides about an HTTP request.
pub(crate) struct Http {
    pub(crate) router: RouterConfig,
    /// How requests of the handshake era are looked at; without it they go to the session.
    pub(crate) handshake_era: Option<HandshakeHttpConfig>,
    /// What a stateless request needs its client to have.
    pub(crate) required: ClientCapabilities,
}

impl Http {
    pub(crate) fn request(&self, script: &mut Script, text: &str, session: &mut Session) {
        let (head, message) = text
            .strip_prefix('[')
            .and_then(|text| text.split_once(']'))
            .expect("a head in brackets");
        let (stream, headers) = head.split_once(' ').unwrap_or((head, ""));
        let stream = StreamId::new(stream.parse().expect("the number of a stream"));
        let (method, headers) = match headers.split_once(' ').unwrap_or((headers, "")) {
            (method @ ("GET" | "DELETE"), headers) => (method, headers),
            _ => ("POST", headers),
        };
        let headers = headers.split(", ").filter_map(|pair| pair.split_once(": "));
        let headers = Headers::collect(headers);
        match method {
            "GET" => {
                self.route_handshake_era(script, stream, HandshakeHttpRequest::Get, &headers);
            }
            "DELETE" => {
                self.route_handshake_era(script, stream, HandshakeHttpRequest::Delete, &headers);
            }
            _ => {
                let frame = Bytes::copy_from_slice(message.trim_start().as_bytes());
                self.post(script, stream, &headers, &frame, session);
            }
        }
    }

    fn post(
        &self,
        script: &mut Script,
        stream: StreamId,
        headers: &Headers<'_>,
        frame: &Bytes,
        session: &mut Session,
    ) {
        match route(&self.router, frame, Some(headers)) {
            Routed::Session(message) => {
                let request = HandshakeHttpRequest::Post(&message);
                if self.handshake_era.is_none()
                    || self.route_handshake_era(script, stream, request, headers) == Some(true)
                {
                    hand_on(script, stream, frame, message, session);
                }
            }
            Routed::Stateless(request) => match request.require(&self.required) {
                Ok(()) => {
                    let (method, id) = (request.method, request.id);
                    script.event(&format!("stateless {method}, id {id}"));
                }
                Err(refusal) => refused(script, stream, &refusal),
            },
            Routed::Refused(refusal) => refused(script, stream, &refusal),
            other => panic!("{other:?}"),
        }
    }

    /// Routes a request of the handshake era. Returns `true` if it is passed on.
    fn route_handshake_era(
        &self,
        script: &mut Script,
        stream: StreamId,
        request: HandshakeHttpRequest<'_, '_>,
        headers: &Headers<'_>,
    ) -> Option<bool> {
        let config = self.handshake_era.as_ref().expect("% handshake-era");
        let found = match route_handshake_request(config, request, headers) {
            Ok(found) => found,
            Err(refusal) => {
                refused(script, stream, &refusal);
                return None;
            }
        };
        let words = match &found {
            HandshakeRoute::OpenSession => "open a session".to_owned(),
            HandshakeRoute::Respond(session) => format!("respond, {}", session.revision),
            HandshakeRoute::Accept(session) => format!("accept with 202, {}", session.revision),
            HandshakeRoute::OpenStream(session) => format!("open a stream, {}", session.revision),
            HandshakeRoute::EndSession(_) => "end the session".to_owned(),
            HandshakeRoute::Ignore => "ignore, 202".to_owned(),
            other => panic!("{other:?}"),
        };
        script.event(&format!("on {}: {words}", stream.get()));
        Some(matches!(
            found,
            HandshakeRoute::OpenSession | HandshakeRoute::Respond(_) | HandshakeRoute::Accept(_)
        ))
    }
}

fn hand_on(
    script: &Script,
    stream: StreamId,
    frame: &Bytes,
    message: Envelope<'_>,
    session: &mut Session,
) {
    session.handle_message(script.now(), Some(stream), frame, message);
}

fn refused(script: &mut Script, stream: StreamId, refusal: &Refusal) {
    let mut out = Vec::new();
    envelope::write_error(&mut out, refusal.id.as_ref(), &refusal.error);
    let text = String::from_utf8(out).expect("UTF-8");
    let (stream, status) = (stream.get(), refusal.status);
    script.write(&format!("> (on {stream}) {status} {text}"));
}
