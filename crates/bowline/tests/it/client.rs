//! A client and a scripted server within one process.

mod asked;
mod calls;
#[cfg(feature = "validate")]
mod checking;
mod connecting;
mod delivery;
mod endings;
mod failures;
mod faults;
mod fitting;
mod lists;
mod load;
mod locks;
mod losses;
mod notifications;
mod progress;
mod requests;
mod stalls;
mod stopping;
mod support;
mod survival;
mod tasks;
mod visiting;
mod watching;
