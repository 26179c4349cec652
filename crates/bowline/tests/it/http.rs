//! The server over HTTP.
#![expect(clippy::unwrap_used, reason = "test support may panic")]

mod authentication;
mod client_addresses;
mod cross_origin;
mod cuts;
mod disconnects;
mod handshake_era;
mod kept_messages;
mod legacy_sse;
mod many_clients;
mod mixed_eras;
mod mounting;
mod proxies;
mod refusal_counts;
mod request_heads;
mod resumption;
#[cfg(unix)]
mod server_process;
mod sessions;
mod shared_sessions;
mod slow_clients;
mod socket;
mod stateless;
mod streams;
pub(crate) mod support;
mod unread_responses;
pub(crate) mod wire;
