//! A simulator of links and servers with faults.
//!
//! A [`World`] has a client's [`Link`](bowline_proto::Link) with a driver and a user, a
//! server process, and a carrier between them: a pipe, or POSTs with a stream each. Time is
//! virtual, and every event follows from one seed, so that a run can be repeated to the byte. Each seed switches on some of the [faults](Fault). After every step the invariants
//! of docs/state-machine.md are checked from outside; when the faults stop, the link has two
//! minutes to be ready or closed with nothing waiting.
//!
//! `scripts/sim` runs many seeds, or one of them with a trace.
//!
//! - `world`: the world and its parts. `fault`: the faults. `random`: the random numbers.
//! - `oracle`: the invariants. It may use only what is visible from outside of a link.
//! - `trace_text`: the trace as text. `run`: running many worlds.

mod fault;
mod oracle;
mod random;
mod run;
mod trace_text;
mod world;

pub use fault::{Fault, Faults};
pub use random::Random;
pub use run::{Failure, Found, Summary, find_violation, run_many};
pub use world::{Report, SimCarrier, World};
