//! A simulator of links and servers with faults.
//!
//! There are two kinds of worlds. In one a link is simulated, in the other a server's HTTP sessions.
//!
//! A [`World`] has a client's [`Link`](bowline_proto::Link) with a driver and a user, a
//! server process, and a carrier between them: a pipe, or POSTs with a stream each. Time is
//! virtual, and every event follows from one seed, so that a run can be repeated to the byte. Each seed switches on some of the [faults](Fault). After every step the invariants
//! of docs/state-machine.md are checked from outside; when the faults stop, the link has two
//! minutes to be ready or closed with nothing waiting.
//!
//! A [`ServerWorld`] has the sessions of the handshake era of a server over HTTP, their event logs,
//! and clients whose connections are cut and resumed. Each event arrives once and in order, or its
//! loss is explained; when the faults stop, every call has a minute to be answered or lost.
//!
//! `scripts/sim` runs many seeds, or one of them with a trace.
//!
//! - `world`: the world of a link and its parts. `server_world`: that of a server. `fault`: the faults. `random`: the random numbers.
//! - `oracle`: the invariants. It may use only what is visible from outside.
//! - `trace_text`: the trace as text. `run`: running many worlds.

mod fault;
mod oracle;
mod random;
mod run;
mod server_world;
mod trace_text;
mod world;

pub use fault::{Fault, Faults};
pub use random::Random;
pub use run::{Failure, Found, Scenario, Summary, find_violation, run_many};
pub use server_world::{ServerCounts, ServerReport, ServerWorld};
pub use world::{Report, SimCarrier, World};
