//! Streamable HTTP, for all revisions on one endpoint.
//!
//! The protocol's rules are in `bowline_proto::server` (`route`, `route_handshake_request`,
//! `Session`); this module has what HTTP adds: headers, bodies, streams of events and the sessions
//! of the handshake era.
//!
//! - `config`: what can be set, with every limit.
//! - `connections`: the accept loop, the limit on connections, graceful shutdown; within it
//!   `connection` (one of them, on hyper), `connection_state` (its timeouts), `connection_io` (its
//!   stream, half-closed streams) and `stream_tasks` (the requests of HTTP/2).
//! - `endpoint`: the path of the endpoint, `/healthz`, `/readyz`, and 404.
//! - `bind_addr`: where a server listens.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the service that is served is not there yet")
)]
mod bind_addr;
mod config;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the service that is served is not there yet")
)]
mod connections;
mod endpoint;

pub use bind_addr::BindAddr;
pub use config::HttpConfig;
