//! The envelope pass on any bytes, against full parses of the same bytes.

#![no_main]

#[path = "../../crates/bowline-types/tests/it/support/oracle.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| oracle::check(frame));
