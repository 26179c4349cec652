//! The codes of errors, by their names.
//!
//! [`ErrorCode`](super::ErrorCode) has the revisions of each.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no JSON-RPC, or not allowed now.
pub const INVALID_REQUEST: i64 = -32600;
/// The method is unknown, or of a capability that isn't offered.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The resource doesn't exist. Up to 2025-11-25; [`INVALID_PARAMS`] since.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user has to visit URLs first. Only in 2025-11-25.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// A header and the message disagree. Since 2026-07-28.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs. Since 2026-07-28.
pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
/// The server doesn't speak the revision of the request. Since 2026-07-28.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// The user refused a sampling request. Up to 2025-11-25.
pub const USER_REJECTED: i64 = -1;
