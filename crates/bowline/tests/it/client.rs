//! A client and a scripted server within one process.

mod calls;
mod client_handlers;
mod connect;
mod connection_failure;
mod delivery;
mod lists;
mod load;
mod locks;
mod lost_connections;
mod notifications;
#[cfg(feature = "validate")]
mod output_validation;
mod progress;
mod restarts;
mod server_requests;
mod session_adapter;
mod stalls;
mod stop;
mod stream_failures;
mod subscriptions;
mod support;
mod tasks;
mod transport_faults;
mod url_elicitation;
