//! All integration tests of this crate that can share a process: one binary, linked once.

mod faults;
mod properties;
mod regressions;
