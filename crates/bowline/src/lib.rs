//! A Model Context Protocol client and server that hold under any load.
//!
//! [`Client`] is a handle that stays valid: its server may crash, hang, flood, restart as
//! another version or respond twice, and every call still ends exactly once. [`server`] is a typed
//! server in ten lines, for all revisions at once.
//!
//! ```no_run
//! use bowline::transport::ChildProcess;
//! use bowline::types::common::Implementation;
//! use bowline::{Client, ClientConfig};
//!
//! # async fn example() -> Result<(), bowline::Error> {
//! let server = ChildProcess::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
//! let config = ClientConfig::new(Implementation::new("example", "1.0"));
//! let client = Client::connect(server, config).await?;
//! for tool in client.tools().list_all().await? {
//!     println!("{}", tool.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What can be set comes in three layers, each of which has the one below: [`ClientConfig`] (what a
//! client handles, keeps and checks), [`LinkConfig`] (a server across its connections: backoff,
//! retries), [`Config`] (one connection: capabilities, revisions, limits, times). Wherever one is
//! taken, a simpler one will do, down to an [`Implementation`](types::common::Implementation).
//!
//! # Features
//!
//! - `client` (default): the [`client`] and the [`registry`] of many.
//! - `server` (default): the typed [`server`].
//! - `http-server`: Streamable HTTP for servers, as a tower service and with a listener.
//! - `validate` (default): JSON Schemas are checked, with bounded work and without ever fetching
//!   anything. A server checks arguments that decoding alone doesn't (a range, a tool without a
//!   type), and results whose schema is not the one of their type; a client checks structured
//!   results of tools that it has listed. Schemas that can't be checked within the limits are
//!   refused. Without it, what decoding accepts is accepted, and there are fewer dependencies.
//!
//! Private files: `io` and `read_grace` (an open stream, and reading before deadlines), `clock`,
//! `panics` (contained), `log_names` (names in log events), `error`, `connection_failure`, and
//! `schema` (validation). Client and server use them; protocol rules are in `bowline-proto`.

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod registry;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "client", feature = "http-server"))]
pub mod testing;
pub mod transport;

mod clock;
mod connection_failure;
mod error;
mod io;
mod log_names;
mod panics;
mod read_grace;
#[cfg(all(feature = "validate", any(feature = "client", feature = "server")))]
mod schema;

/// Where the connection of a client stands.
pub use bowline_proto::link::LinkState as ConnectionState;
pub use bowline_proto::link::{Backoff, Cause, LinkConfig, StopOutcome, Transition};
pub use bowline_proto::{
    Agreement, CloseReason, Config, Keepalive, Limits, NegotiationError, Payload, PeerFault, Stats,
    Timeouts,
};
/// The messages themselves.
pub use bowline_types as types;
#[cfg(feature = "client")]
pub use client::{Client, ClientConfig};
pub use connection_failure::ConnectionFailure;
pub use error::{Error, ErrorKind, Recovery};

/// The outcome of a request: its result, or a JSON-RPC error.
///
/// Handlers return it, on both sides.
#[cfg(any(feature = "client", feature = "server"))]
pub type RpcResult = Result<Payload, types::ErrorObject>;

/// The examples of the README, so that they compile.
#[cfg(all(doctest, feature = "client", feature = "http-server"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
