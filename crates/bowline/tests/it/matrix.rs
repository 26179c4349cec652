//! Our client and our server against each other: every feature in every revision, and every message
//! against the schema of its revision. `table` lists what is expected.

mod basics;
mod change_notifications;
mod client_questions;
mod feature_handles;
mod in_flight;
mod resources;
mod schema;
mod server;
mod table;
mod tap;
mod tasks;
mod tools;
mod world;
