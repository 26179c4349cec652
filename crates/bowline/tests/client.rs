//! A client and a scripted server within one process.

#[path = "client/calls.rs"]
mod calls;
#[path = "client/connecting.rs"]
mod connecting;
#[path = "client/endings.rs"]
mod endings;
#[path = "client/faults.rs"]
mod faults;
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
