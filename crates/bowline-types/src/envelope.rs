//! The JSON-RPC envelope: the kind of a message and its parts, found in one pass without copying.
//!
//! [`Envelope::parse`] goes over a frame once. It checks that the frame is JSON, notes
//! where `params`, `result` and `error` are, and lets the members that are present decide
//! what the message is. Payloads are neither copied nor built; they stay spans of the
//! frame until they are decoded.
//!
//! ```
//! use bowline_types::envelope::{Envelope, Fault};
//!
//! let frame = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
//! let Envelope::Success(response) = Envelope::parse(frame)? else { panic!() };
//! assert_eq!(response.result.as_str(), r#"{"tools":[]}"#);
//!
//! // The error of a refused frame has its id.
//! let error = Envelope::parse(br#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#).unwrap_err();
//! assert_eq!(error.fault(), &Fault::ResultAndError);
//! assert_eq!(error.id().unwrap().as_i64(), Some(1));
//! # Ok::<(), bowline_types::envelope::EnvelopeError>(())
//! ```
//!
//! - `parse`: the pass over a frame; `parse/classification` determines the kind of the message.
//! - `param_names`: refuses duplicate and ambiguous members of the parameters.
//! - `error`: what can be wrong with a frame. `batch`: batches (2025-03-26).
//! - `write`: writes messages, one frame each.
//!
//! Method rules don't belong here, except the names of members of parameters.

mod batch;
mod error;
mod param_names;
mod parse;
mod write;

use std::borrow::Cow;

use crate::id::RequestId;
use crate::json::RawJsonRef;

pub use batch::{Batch, BatchMessages};
pub use error::{EnvelopeError, Fault, MessageKind};
pub use write::{
    write_error, write_notification, write_raw_notification, write_raw_request, write_raw_result,
    write_request, write_result,
};

/// A parsed frame, by the kind of its message.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC 2.0 has these and no others"
)]
pub enum Envelope<'a> {
    /// A request, which expects a response.
    Request(JsonRpcRequest<'a>),
    /// A notification, which gets no response.
    Notification(JsonRpcNotification<'a>),
    /// A response with a result.
    Success(JsonRpcResultResponse<'a>),
    /// A response with an error.
    Failure(JsonRpcErrorResponse<'a>),
    /// Several messages. Only 2025-03-26 has batches.
    Batch(Batch<'a>),
}

impl<'a> Envelope<'a> {
    /// Parses a frame.
    ///
    /// An ambiguous message is refused, so that a gateway in front reads the same message: one with
    /// a duplicate member, or with a name that some parsers take for that of another member, in the
    /// envelope, in the parameters or in their `_meta`. In `arguments` and other members that the
    /// user fills, only duplicate members are refused. The parameters are otherwise not decoded.
    ///
    /// ```
    /// use bowline_types::envelope::Envelope;
    ///
    /// let call = |params| {
    ///     let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    ///     Envelope::parse(frame.as_bytes()).map(drop).map_err(|error| error.to_string())
    /// };
    /// assert!(call(r#"{"name":"add","arguments":{"Name":1}}"#).is_ok());
    /// assert!(call(r#"{"name":"add","name":"echo"}"#).is_err());
    /// assert!(call(r#"{"name":"add","Name":"echo"}"#).is_err());
    /// assert!(call(r#"{"name":"add","arguments":{"path":"a","path":"b"}}"#).is_err());
    /// ```
    ///
    /// The frame may be of any size and depth: the pass uses no
    /// recursion and allocates for a string id, an escaped method name or an error only.
    ///
    /// # Errors
    ///
    /// Fails for a frame that is not exactly one message or one batch. The error names the first
    /// [`Fault`] and carries the `id` when it could be read.
    pub fn parse(frame: &'a [u8]) -> Result<Self, EnvelopeError> {
        parse::parse(frame)
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JsonRpcRequest<'a> {
    /// The id, which the response repeats.
    pub id: RequestId,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters, an object.
    pub params: Option<RawJsonRef<'a>>,
    /// `_meta` of the parameters, which ought to be an object. `None` when it is `null`.
    pub meta: Option<RawJsonRef<'a>>,
    /// The members of the parameters that the envelope pass has found on its way.
    pub seen: SeenParams<'a>,
}

/// Members of the parameters of a request, of whatever kind, that the envelope pass has found on
/// its way: those of a call of a tool, so that they need not be looked for again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SeenParams<'a> {
    /// `name`
    pub name: Option<RawJsonRef<'a>>,
    /// `arguments`. `None` as well if escapes are in its name; `has_others` is `true` then.
    pub arguments: Option<RawJsonRef<'a>>,
    /// `true` if there are others beside these and `_meta`.
    pub has_others: bool,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JsonRpcNotification<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters, an object.
    pub params: Option<RawJsonRef<'a>>,
}

/// A response with a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JsonRpcResultResponse<'a> {
    /// The id of the request.
    pub id: RequestId,
    /// The result, an object.
    pub result: RawJsonRef<'a>,
}

/// A response with an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JsonRpcErrorResponse<'a> {
    /// The id of the request. `None` when the peer could not read it; every revision's
    /// peers leave it out or send `null`, whatever the schema defines.
    pub id: Option<RequestId>,
    /// The error, an object; decode it as an [`ErrorObject`](crate::ErrorObject).
    pub error: RawJsonRef<'a>,
}
