//! Our client and our server against each other.

mod adding;
mod around;
mod asking;
mod basics;
mod blocking;
mod caching;
mod changes;
#[cfg(feature = "validate")]
mod checking;
mod completing;
mod ending;
mod faults;
mod following;
mod handlers;
mod in_memory;
mod lines;
mod listening;
mod logs;
mod metas;
mod pages;
mod parallel;
mod principals;
mod proxy;
mod raw;
mod readme;
mod rounds;
mod stalls;
mod subscriptions;
pub(crate) mod support;
mod tasks;
mod weight;
