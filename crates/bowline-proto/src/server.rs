//! The server's side: what one message decides alone ([`route`]), and the sessions of the
//! handshake era ([`Session`]).
//!
//! A request of the stateless era carries all that is needed to serve it, so [`route`] needs
//! no connection: it says what is to be done, or with which error and HTTP status the
//! request is refused. Messages of the handshake era belong to a session; over HTTP
//! [`dated`] says to which.

mod base64;
mod handshake_http;
mod headers;
mod http_refusal;
mod input_rounds;
mod listen_subscriptions;
mod param_headers;
mod route;
mod session;
mod session_id;

pub use handshake_http::{
    HandshakeHttpConfig, HandshakeHttpRequest, HandshakeRoute, InSession, route_handshake_request,
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
pub use session::{ClientInfo, Session, SessionConfig, SessionEvent, SessionPhase};
pub use session_id::{BadSessionId, SessionId};

use bowline_types::RequestId;

use crate::payload::Payload;

/// Appends the answer to a request that no session knows: one of the stateless era, over
/// HTTP. An error is written with [`envelope::write_error`](bowline_types::envelope::write_error).
pub fn write_answer(out: &mut Vec<u8>, id: &RequestId, result: &Payload) {
    out.reserve(result.as_str().len() + 64);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.to_string().as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.as_str().as_bytes());
    out.push(b'}');
}
