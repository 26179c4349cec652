//! Tests of the command line as a whole: every test runs the real binary.

#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on shall stop, in its helpers too"
)]

mod call;
mod complete;
mod completions;
mod demo;
mod explain;
mod info;
mod server_exit;
mod server_requests;
// It waits for processes by their descriptors.
#[cfg(target_os = "linux")]
mod interrupt;
mod json;
mod output_files;
mod prompts;
mod refusals;
mod resources;
mod run;
mod secrets;
mod serve;
mod server_starts;
mod servers;
mod streams;
mod tables;
mod terminal;
mod test_folder;
mod tools;
mod watch;
