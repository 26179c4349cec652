//! Streamable HTTP, for all revisions on one endpoint.
//!
//! The protocol's rules are in `bowline_proto::server` (`route`, `route_handshake_request`,
//! `Session`); this module has what HTTP adds: headers, bodies, streams of events and the sessions
//! of the handshake era.
//!
//! - `config`: what can be set, with every limit.
//! - `service`: the tower service, from the request to its response. `responses`: heads and small
//!   bodies, `body`: what is read and written, event streams above all.
//! - `sessions`: the sessions of the handshake era, live and idle.
//! - `request_parts`: what handlers learn of the HTTP request.

mod body;
mod config;
mod request_parts;
mod responses;
mod service;
mod sessions;

pub use body::HttpBody;
pub use config::HttpConfig;
pub use request_parts::HttpRequestParts;
pub use service::HttpService;
