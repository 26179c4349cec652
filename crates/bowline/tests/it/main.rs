//! All integration tests of this crate that can share a process: one binary, linked once.
//! `tests/child.rs` has a process of its own, whose children and descriptors it counts.

mod client;
mod delayed_flush;
mod ecosystem;
#[path = "../support/event_collector.rs"]
mod event_collector;
#[cfg(feature = "http-server")]
mod http;
mod matrix;
#[path = "../support/example.rs"]
mod programs;
mod registry;
mod server;
#[cfg(feature = "http-server")]
mod store_contract;
mod telemetry;
mod testing;
mod ui;
