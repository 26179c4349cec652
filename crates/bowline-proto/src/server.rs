//! The server's side: routing single messages ([`route`]), and the sessions of the handshake era
//! ([`Session`]).
//!
//! A request of the stateless era carries all that is needed to serve it, so [`route`] needs
//! no connection: it returns what to do with the request, or the error and the HTTP status of its
//! refusal. Messages of the handshake era belong to a session; over HTTP
//! [`route_handshake_request`] finds it.
//!
//! - `route`, `http_refusal`, `handshake_http`: routing and refusals. `headers`, `param_headers`,
//!   `session_id`: HTTP headers.
//! - `session`: the sessions of the handshake era, and of shared streams.
//! - `event_log`: resumption of the event streams of a session, over HTTP.
//! - `input_rounds`, `listen_subscriptions`: MRTR and `subscriptions/listen` (2026-07-28).
//!
//! - `base64`: the encoding of header values.
//!
//! Nothing here may depend on an HTTP library.

mod base64;
mod event_log;
mod handshake_http;
mod headers;
mod http_refusal;
mod input_rounds;
mod listen_subscriptions;
mod param_headers;
mod route;
mod session;
mod session_id;

pub use event_log::{
    AppendError, BadEventId, BadRecord, Continued, EventData, EventId, EventIdText, EventLog,
    EventLogConfig, EventLogStats, EventReader, EventRecord, OpenStreamError, Read, Removal,
    Replay, ReplayError, StreamHead, StreamPhase,
};
pub use handshake_http::{
    HandshakeHttpConfig, HandshakeHttpRequest, HandshakeRoute, RequestSession,
    route_handshake_request,
};
pub use headers::{Headers, RepeatedHeader, RepeatedHeaders, encode_value};
pub use http_refusal::error_status;
pub use input_rounds::{Binding, Round, Rounds, RoundsError, Seal, StateMark};
pub use listen_subscriptions::{Change, ListenError, ListenLimits, ListenSubscriptions};
pub use param_headers::{
    AnnotationFault, BadAnnotation, ParamHeaders, ParamMismatch, ParamProblem,
};
pub(crate) use route::named_by;
pub use route::{
    Refusal, RequestContext, Routed, RouterConfig, StatelessRequest, UnknownRequest, route,
};
pub use session::{ClientInfo, Session, SessionConfig, SessionEvent, SessionPhase, SessionRecord};
pub use session_id::{BadSessionId, SessionId};

use bowline_types::RequestId;

use crate::payload::Payload;

/// Appends the response to a request without a session: one of the stateless era, over HTTP. An
/// error is written with [`envelope::write_error`](bowline_types::envelope::write_error).
pub fn write_response(out: &mut Vec<u8>, id: &RequestId, result: &Payload) {
    out.reserve(result.as_str().len() + 64);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.to_string().as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.as_str().as_bytes());
    out.push(b'}');
}
