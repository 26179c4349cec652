//! Streamable HTTP, for all revisions on one endpoint.
//!
//! The protocol's rules are in `bowline_proto::server` (`route`, `route_handshake_request`,
//! `Session`); this module has what HTTP adds: headers, bodies, streams of events and the sessions
//! of the handshake era.
//!
//! - `config`: what can be set, with every limit; `invalid_setting`: its error.
//! - `service`: the tower service, from the request to its response. `responses`: heads and small
//!   bodies, `body`: what is read and written, event streams above all; `body_budget`: the memory of
//!   all bodies that are being received, `unread_responses`: of all large responses that are not
//!   read.
//! - `sessions`: the sessions of the handshake era, live and idle. `session_document`: an idle one
//!   as a store keeps it, `stored_sessions`: all that are in the store of several nodes.
//! - `legacy_sse`: a service of its own for the transport of 2024-11-05, with its sessions.
//! - `mcp_headers`: the headers that the protocol uses, `Last-Event-ID` too.
//! - `request_parts`: what handlers see of the HTTP request. `param_headers`: arguments that it
//!   repeats as headers.
//! - Checks before the service reads a body: `origins`, `hosts` (both on `authority`), `cors`,
//!   `forwarded`, `content`; `head_checks` has those of every service. They look at headers only,
//!   and allocate nothing for a plain request.
//! - `authenticate`: the hook that finds out who sends a request, after these checks.
//! - `refusal`: the response to a request that a check refuses; `stats` counts them.
//! - `listener`: serving a listener. `connections`: the accept loop, the limit on connections,
//!   graceful shutdown; within it `connection` (one of them, on hyper), `connection_state` (its
//!   timeouts), `connection_io` (its stream, half-closed streams), `message_bodies` (how far its
//!   requests are) and `stream_tasks` (the requests of HTTP/2).
//! - `endpoint`: the path of the endpoint, `/healthz`, `/readyz`, and 404.
//! - `routes`: the services of a listener, by path. `public_url`: where clients see them.
//! - `server_card`: what a client may know before it connects, a draft.
//! - `bind_addr`: where a server listens.

mod authenticate;
mod authority;
mod bind_addr;
mod body;
mod body_budget;
mod config;
mod connections;
mod content;
mod cors;
mod endpoint;
mod forwarded;
mod head_checks;
mod hosts;
mod invalid_setting;
mod legacy_sse;
mod listener;
mod mcp_headers;
mod origins;
mod param_headers;
mod public_url;
mod refusal;
mod request_parts;
mod responses;
mod routes;
mod server_card;
mod service;
mod session_document;
mod sessions;
mod stats;
mod stored_sessions;
mod unread_responses;

pub use authenticate::{Authenticate, Authenticated, AuthenticationRefusal, HttpRequestHead};
pub use bind_addr::BindAddr;
pub use body::HttpBody;
pub use config::HttpConfig;
pub use forwarded::{ClientAddr, TrustedProxies};
pub use hosts::AllowedHosts;
pub use invalid_setting::InvalidHttpSetting;
pub use legacy_sse::LegacySseService;
pub use origins::AllowedOrigins;
pub use public_url::PublicUrl;
pub use request_parts::HttpRequestParts;
pub use server_card::ServerCard;
pub use service::HttpService;
pub use stats::HttpStats;

pub(super) use self::body::write_event;
pub(super) use self::stats::HttpCounters;
pub(super) use self::unread_responses::{
    CutResponses, MAX_UNCOUNTED, UnreadResponse, UnreadResponses,
};
