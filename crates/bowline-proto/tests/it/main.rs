//! All integration tests of this crate that can share a process: one binary, linked once.

mod batches;
mod delivery;
mod events;
mod example_drivers;
mod frames;
mod limits;
mod link;
mod races;
mod regressions;
mod state_machine;
mod telemetry;
mod telemetry_sources;
mod transcripts;
