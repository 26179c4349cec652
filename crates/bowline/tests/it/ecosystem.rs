//! Our client and servers of others, as real child processes.
//!
//! `scripts/servers` gets the servers and runs these tests. Each server shows what it has,
//! with its content, and is killed in the middle of a call.
#![cfg(target_os = "linux")]

mod everything;
mod fetch;
mod filesystem;
mod git;
mod memory;
mod newest;
mod processes;
mod python_2026;
mod revisions;
mod sequential_thinking;
mod server_kills;
mod sqlite;
mod support;
mod time;
mod typescript_2026;
