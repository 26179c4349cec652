//! A Model Context Protocol client that holds under any load.
//!
//! [`Client`] is a handle that stays valid: its server may crash, hang, flood, restart as
//! another version or answer twice, and every call still ends exactly once.
//!
//! ```
//! use bowline::transport::memory;
//! use bowline::types::common::Implementation;
//! use bowline::{Client, Config};
//!
//! # async fn example() -> Result<(), bowline::Error> {
//! let (transport, _server) = memory::pair();
//! let config = Config::new(Implementation::new("example", "1.0"));
//! let client = Client::connect(transport, config).await?;
//! let tools = client.call("tools/list", ()).await?;
//! println!("{}", tools.as_str());
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod registry;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "client")]
pub mod testing;
pub mod transport;

mod clock;
mod error;
mod io;
mod panics;

pub use bowline_proto::link::{Backoff, Cause, LinkConfig, State, Stop, Transition};
pub use bowline_proto::{Agreement, Config, Keepalive, Limits, Payload, Stats, Timeouts};
/// The messages themselves.
pub use bowline_types as types;
#[cfg(feature = "client")]
pub use client::{Client, ClientConfig};
pub use error::{Error, ErrorKind, Recovery};
