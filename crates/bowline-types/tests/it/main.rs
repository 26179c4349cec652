//! All integration tests of this crate that can share a process: one binary, linked once.

mod cited_ids;
mod envelope;
mod envelope_hostile;
mod envelope_properties;
mod json_properties;
mod odd_values;
mod schema;
mod support;
mod worked_examples;
