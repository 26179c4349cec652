//! The server's side: what one message decides alone ([`route`]), and the sessions of the
//! handshake era ([`Session`]).
//!
//! A request of the stateless era carries all that is needed to serve it, so [`route`] needs
//! no connection: it says what is to be done, or with which error and HTTP status the
//! request is refused. Messages of the handshake era belong to a session; over HTTP
//! [`dated`] says to which.

mod base64;
mod dated;
mod headers;
mod params;
mod refusal;
mod route;
mod session;
mod session_id;

pub use dated::{Dated, DatedConfig, DatedRequest, InSession, dated};
pub use headers::{Headers, RepeatedHeader, RepeatedHeaders, encode_value};
pub use params::{AnnotationFault, BadAnnotation, ParamHeaders, ParamMismatch, ParamProblem};
pub use refusal::error_status;
pub use route::{Refusal, RequestContext, Routed, RouterConfig, StatelessRequest, route};
pub use session::{ClientInfo, Session, SessionConfig, SessionEvent, SessionPhase};
pub use session_id::{BadSessionId, SessionId};
