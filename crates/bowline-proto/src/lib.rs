//! The Model Context Protocol without I/O.
//!
//! This crate holds how the protocol behaves: codecs and state machines that know no
//! socket, no clock, no task and no randomness. A driver moves the bytes and tells the time.

pub mod codec;
