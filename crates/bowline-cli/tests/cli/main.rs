//! The command line, tried as a whole: every test runs the real binary.

#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on shall stop, in its helpers too"
)]

mod explain;
mod run;
mod streams;
