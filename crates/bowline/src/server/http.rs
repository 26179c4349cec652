//! Streamable HTTP, for all revisions on one endpoint.
//!
//! The protocol's rules are in `bowline_proto::server` (`route`, `route_handshake_request`,
//! `Session`); this module has what HTTP adds: headers, bodies, streams of events and the sessions
//! of the handshake era.
//!
//! - `config`: what can be set, with every limit.

mod config;

pub use config::HttpConfig;
