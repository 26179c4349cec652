//! The Model Context Protocol without I/O.
//!
//! This crate holds how the protocol behaves: codecs and state machines that know no
//! socket, no clock, no task and no randomness. A driver moves the bytes and tells the time.

pub mod codec;
pub mod connection;
pub mod server;

mod calls;
mod config;
mod message;
mod negotiation;
mod outbox;
mod time;

pub use calls::{CallId, IdCounter, Timeouts};
pub use config::{CancelDialect, Carrier, Config};
pub use connection::Connection;
pub use negotiation::{Agreement, NegotiationError};
pub use outbox::{Transmit, TransmitKind};
pub use time::Instant;
