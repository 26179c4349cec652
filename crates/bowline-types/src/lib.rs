//! Every message of the Model Context Protocol, in all of its revisions.
//!
//! MCP connects AI applications (clients) with servers that offer tools, resources and
//! prompts. This crate holds what is said; how it is said, and the connections, are
//! in the crates above it. It has no I/O.
//!
//! # Where to begin
//!
//! | to learn about | read |
//! |---|---|
//! | revisions and eras | [`Revision`], [`Era`] |
//! | the envelope of every message | [`envelope`] |
//! | the beginning of a connection | [`lifecycle`], [`capabilities`] |
//! | what a server offers | [`tools`], [`resources`], [`prompts`], [`completion`], [`logging`] |
//! | what a server asks its client | [`sampling`], [`roots`], [`elicitation`], [`input`] |
//! | what both have in common | [`content`], [`common`], [`meta`], [`progress`], [`pagination`], [`caching`] |
//! | long-running work, and changes | [`tasks`], [`subscriptions`] |
//! | extensions | [`tasks`], [`skills`] |
//! | errors | [`error`] |
//! | which methods there are | [`method`] |
//! | how types reach the wire | [`wire`], [`json`] |
//! | what a frame is, and whether it is valid | [`inspect`] |
//!
//! # Reading and writing
//!
//! A frame is read in two steps. The [envelope pass](envelope::Envelope::parse) finds out
//! what it is and where its parts are, without copying them; then whoever wants the
//! parameters or the result decodes them into a type:
//!
//! ```
//! use bowline_types::envelope::Envelope;
//! use bowline_types::tools::{CallToolParams, CallToolResult};
//! use bowline_types::{Revision, Wire, envelope};
//!
//! let frame = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#;
//! let Envelope::Request(request) = Envelope::parse(frame)? else {
//!     panic!("not a request");
//! };
//! assert_eq!((request.method.as_ref(), request.id.as_i64()), ("tools/call", Some(7)));
//! let params = CallToolParams::from_json(request.params.unwrap().as_str())?;
//! assert_eq!(params.name, "add");
//!
//! let mut out = Vec::new();
//! let result = CallToolResult::text("1");
//! envelope::write_result(&mut out, &request.id, &result, Revision::V2025_11_25)?;
//! assert_eq!(out, br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"1"}]}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
pub mod wire;

pub mod caching;
pub mod capabilities;
pub mod common;
pub mod completion;
pub mod content;
pub mod elicitation;
pub mod envelope;
pub mod error;
pub mod input;
pub mod inspect;
pub mod json;
pub mod lifecycle;
pub mod logging;
pub mod meta;
pub mod method;
#[macro_use]
pub mod pagination;
pub mod progress;
pub mod prompts;
pub mod resources;
pub mod result;
pub mod roots;
pub mod sampling;
pub mod skills;
pub mod subscriptions;
pub mod tasks;
pub mod tools;

mod id;
mod revision;

pub use error::{ErrorCode, ErrorObject};
pub use id::{ProgressToken, RequestId};
pub use json::{
    DecodeError, Encoder, JsonObject, NotInRevision, Number, RawJson, RawJsonRef, Reader,
};
pub use method::Method;
pub use revision::{Era, Revision, Revisions, UnknownRevision};
pub use tools::{InputSchema, OutputSchema};
pub use wire::{Decode, Encode, Map, Wire};
