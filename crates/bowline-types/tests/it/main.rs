//! All integration tests of this crate that can share a process: one binary, linked once.

mod cited_ids;
mod code_map;
mod envelope;
mod envelope_hostile;
mod envelope_properties;
mod invalid_values;
mod json_properties;
mod schema;
mod support;
mod worked_examples;
