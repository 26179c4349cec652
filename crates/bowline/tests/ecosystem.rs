//! Our client and servers of others, as real child processes.
//!
//! `scripts/servers` gets the servers and runs these tests. Each server shows what it has,
//! with its content, and is killed in the middle of a call.
#![cfg(target_os = "linux")]

#[path = "ecosystem/everything.rs"]
mod everything;
#[path = "ecosystem/fetch.rs"]
mod fetch;
#[path = "ecosystem/filesystem.rs"]
mod filesystem;
#[path = "ecosystem/git.rs"]
mod git;
#[path = "ecosystem/killing.rs"]
mod killing;
#[path = "ecosystem/memory.rs"]
mod memory;
#[path = "ecosystem/newest.rs"]
mod newest;
#[path = "ecosystem/processes.rs"]
mod processes;
#[path = "ecosystem/python_2026.rs"]
mod python_2026;
#[path = "ecosystem/revisions.rs"]
mod revisions;
#[path = "ecosystem/sequential_thinking.rs"]
mod sequential_thinking;
#[path = "ecosystem/sqlite.rs"]
mod sqlite;
#[path = "ecosystem/support.rs"]
mod support;
#[path = "ecosystem/time.rs"]
mod time;
#[path = "ecosystem/typescript_2026.rs"]
mod typescript_2026;
