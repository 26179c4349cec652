//! `bowline serve demo` as a client sees it: every test starts the real binary.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on shall stop, in its helpers too"
)]

mod changes;
mod client_input;
mod failures;
mod process_exit;
mod raw_client;
mod resources;
mod schema_validity;
mod support;
mod tasks;
mod tools;
