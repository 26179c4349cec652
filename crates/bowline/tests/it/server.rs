//! The server, served to our client and to clients that write raw lines.

mod accept;
mod basics;
mod blocking_handlers;
mod caching;
mod change_notifications;
mod client_questions;
mod completion;
mod feature_changes;
mod function_layer;
mod handler_faults;
mod handlers;
mod in_memory;
mod input_rounds;
mod line_client;
mod listen_subscriptions;
mod logs;
mod memory_limits;
mod meta;
mod parallel_handlers;
mod principals;
mod proxy;
mod raw_client;
mod readme;
mod resource_subscriptions;
mod shutdown;
mod stalls;
pub(crate) mod support;
mod tasks;
mod url_elicitation;
#[cfg(feature = "validate")]
mod validation;
