//! The messages of the Model Context Protocol (MCP), in all revisions.
//!
//! MCP connects AI applications (clients) with servers that offer tools, resources and prompts.
//! This crate has the types of the messages and their encoding. It has no I/O; connections are in
//! `bowline-proto` and `bowline`.
//!
//! # Where to begin
//!
//! | topic | module |
//! |---|---|
//! | revisions and eras | [`Revision`], [`Era`] |
//! | the JSON-RPC envelope of each message | [`envelope`] |
//! | the beginning of a connection | [`lifecycle`], [`capabilities`] |
//! | features of a server | [`tools`], [`resources`], [`prompts`], [`completion`], [`logging`] |
//! | requests of a server to its client | [`sampling`], [`roots`], [`elicitation`], [`input`] |
//! | shared types | [`content`], [`common`], [`meta`], [`progress`], [`pagination`], [`caching`], [`base64`] |
//! | long-running work, and changes | [`tasks`], [`subscriptions`] |
//! | extensions | [`tasks`], [`skills`] |
//! | errors | [`error`] |
//! | the table of methods | [`method`] |
//! | encoding and decoding | [`wire`], [`json`] |
//! | validation of frames | [`inspect`] |
//!
//! # Reading and writing
//!
//! A frame is read in two steps. The [envelope pass](envelope::Envelope::parse) determines the
//! kind of the message and the position of its parts, without copying them. The parameters or the
//! result are then decoded into a type where they are needed:
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

pub mod base64;
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
