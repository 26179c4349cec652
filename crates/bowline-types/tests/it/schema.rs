//! The types against the official schema files, in both directions.
//!
//! - `coverage`: each definition of each file is a Rust type or has a reason not to be one.
//! - `members`: the members of the shapes equal those of the schemas.
//! - `from_rust`: values generated from the shapes and encoded by the types are valid.
//! - `from_schema`: instances generated from the schemas are decoded and encoded unchanged.
//! - `downgrade`: a member that a revision lacks is omitted, or an error where the list says so.
//! - `check_agreement`: `wire::check` and a JSON Schema validator agree.
//!
//! `files` loads the schema files, `catalog` maps definitions to types, `schema_instances` and
//! `shape_values` generate values from the decisions of `choices`.

#![expect(clippy::unwrap_used, reason = "test support may panic")]

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
