//! The server over HTTP.

mod handshake_era;
mod sessions;
mod stateless;
pub(crate) mod support;
