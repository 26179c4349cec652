//! Streamable HTTP, for all revisions on one endpoint.
//!
//! The protocol's rules are in `bowline_proto::server` (`route`, `route_handshake_request`,
//! `Session`); this module has what HTTP adds: headers, bodies, streams of events and the sessions
//! of the handshake era.
//!
//! - `config`: what can be set, with every limit; `invalid_setting`: its error.
//! - Checks before the service reads a body: `origins`, `hosts` (both on `authority`), `cors`,
//!   `forwarded`, `content`. They look at headers only, and allocate nothing for a plain request.
//! - `refusal`: the response to a request that a check refuses; `stats` counts them.

mod authority;
mod config;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod content;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod cors;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod forwarded;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod hosts;
mod invalid_setting;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod origins;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod refusal;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the service"))]
mod stats;

pub use config::HttpConfig;
pub use forwarded::TrustedProxies;
pub use hosts::AllowedHosts;
pub use invalid_setting::InvalidHttpSetting;
pub use origins::AllowedOrigins;
pub use stats::HttpStats;
