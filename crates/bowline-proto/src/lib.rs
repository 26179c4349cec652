//! The Model Context Protocol without I/O.
//!
//! This crate holds the behaviour of the protocol: codecs and state machines without sockets,
//! clocks, tasks or randomness. A driver moves the bytes and passes the time.
//!
//! - [`Connection`]: a client's connection, over a shared stream or a stream per request.
//! - [`link`]: a server across its connections: reconnection, retries, subscriptions.
//! - [`server`]: routing of messages on a server, and its sessions.
//! - [`codec`]: bytes to frames and back.
//!
//! The private modules are shared by the client's and the server's side: `endpoint` (one side of a
//! connection), `calls` (our own calls), `requests` (the peer's requests), `batches`, `message` and
//! `outbox` (composing and queueing messages), `event_queue`, `negotiation`, `keepalive`, `jitter`,
//! `monotonic_table`, `trace` (all telemetry), `defect` (deliberate defects for the simulator).
//! Those with public types: `config` and `limits`, `commands` and `outcome` (a call and its end),
//! `payload`, `close` (why a connection ended), `carryover` (state for the next connection),
//! `stats`, `time`.
//!
//! `tracing` events are listed in docs/telemetry.md.

pub mod codec;
pub mod connection;
#[cfg(feature = "defects")]
pub mod defect;
pub mod link;
pub mod server;

mod batches;
mod calls;
mod carryover;
mod close;
mod commands;
mod config;
#[cfg(not(feature = "defects"))]
mod defect;
mod endpoint;
mod event_queue;
mod jitter;
mod keepalive;
mod limits;
mod message;
mod monotonic_table;
mod negotiation;
mod outbox;
mod outcome;
mod payload;
mod requests;
mod stats;
mod time;
mod trace;

pub use calls::{CallId, IdCounter, Timeouts};
pub use carryover::Carryover;
pub use close::{CloseReason, PeerFault};
pub use commands::{CallError, CallRequest, NotifyError, RespondError};
pub use config::{CancelDialect, Carrier, Config};
pub use connection::Connection;
pub use keepalive::Keepalive;
pub use limits::Limits;
pub use link::Link;
pub use monotonic_table::{MonotonicTable, MonotonicTableIntoIter};
pub use negotiation::{Agreement, NegotiationError};
pub use outbox::{StreamId, Transmit, TransmitKind};
pub use outcome::{Outcome, Sent};
pub use payload::Payload;
pub use requests::RequestKey;
pub use stats::Stats;
pub use time::Instant;
