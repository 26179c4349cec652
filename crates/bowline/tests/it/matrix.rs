//! Our client and our server against each other: every feature in every revision, and every
//! message against the schema of its revision.

mod asking;
mod basics;
mod changes;
mod handles;
mod resources;
mod running;
mod schema;
mod server;
mod table;
mod tap;
mod tasks;
mod tools;
mod world;
