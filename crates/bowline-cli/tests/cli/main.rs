//! Tests of the command line as a whole: every test runs the real binary.

#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on shall stop, in its helpers too"
)]

mod call;
mod complete;
mod completions;
mod demo;
mod ending;
mod explain;
mod info;
mod server_requests;
// It waits for processes by their descriptors.
#[cfg(target_os = "linux")]
mod interrupt;
mod json;
mod place;
mod prompts;
mod refusals;
mod resources;
mod run;
mod saving;
mod secrets;
mod serve;
mod servers;
mod starts;
mod streams;
mod tables;
mod terminal;
mod tools;
mod watch;
