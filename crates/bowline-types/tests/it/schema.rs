//! The types against the official schema files, in both directions.
//!
//! - `coverage`: every definition of every file is a Rust type or has a reason.
//! - `members`: what the shapes say of members equals what the schemas say.
//! - `from_rust`: values made from the shapes and written by the types validate.
//! - `from_schema`: instances made from the schemas are read and written unchanged.
//! - `downgrade`: what a revision lacks is left out, or refused where the list says so.
//! - `check_agreement`: `wire::check` and a JSON Schema validator agree.

#![expect(clippy::unwrap_used, reason = "what helps a test may panic like one")]

mod catalog;
mod check_agreement;
mod choices;
mod coverage;
mod downgrade;
mod files;
mod from_rust;
mod from_schema;
mod members;
mod schema_instances;
mod shape_values;
