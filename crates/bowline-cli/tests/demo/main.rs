//! `bowline serve demo` as a client sees it: every test starts the real binary.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on shall stop, in its helpers too"
)]

mod asking;
mod changes;
mod ending;
mod failing;
mod raw;
mod resources;
mod support;
mod tasks;
mod tools;
mod words;
