//! A client and a scripted server within one process.

#[path = "client/asked.rs"]
mod asked;
#[path = "client/calls.rs"]
mod calls;
#[cfg(feature = "validate")]
#[path = "client/checking.rs"]
mod checking;
#[path = "client/connecting.rs"]
mod connecting;
#[path = "client/endings.rs"]
mod endings;
#[path = "client/faults.rs"]
mod faults;
#[path = "client/fitting.rs"]
mod fitting;
#[path = "client/lists.rs"]
mod lists;
#[path = "client/load.rs"]
mod load;
#[path = "client/locks.rs"]
mod locks;
#[path = "client/losses.rs"]
mod losses;
#[path = "client/notifications.rs"]
mod notifications;
#[path = "client/progress.rs"]
mod progress;
#[path = "client/requests.rs"]
mod requests;
#[path = "client/stopping.rs"]
mod stopping;
#[path = "client/support.rs"]
mod support;
#[path = "client/survival.rs"]
mod survival;
#[path = "client/tasks.rs"]
mod tasks;
#[path = "client/visiting.rs"]
mod visiting;
#[path = "client/watching.rs"]
mod watching;
