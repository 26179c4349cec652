//! What can be wrong with a frame.

use std::fmt;

use crate::error::ErrorCode;
use crate::id::RequestId;
use crate::json::{DecodeError, MAX_DEPTH, SyntaxErrorKind};

/// Why a frame is not a valid message, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    fault: Fault,
    offset: usize,
    id: Option<RequestId>,
    about: MessageKind,
}

impl EnvelopeError {
    pub(super) fn new(
        fault: Fault,
        offset: usize,
        id: Option<RequestId>,
        about: MessageKind,
    ) -> Self {
        Self(Box::new(Inner {
            fault,
            offset,
            id,
            about,
        }))
    }

    /// Returns the first fault; that the frame is not JSON takes precedence.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Returns the offset of the fault, in bytes.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Returns the `id` of the message, if it is valid and could be read. `None` for two ids that
    /// differ.
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Returns the kind of the message: [`id`](Self::id) is that of a request, or of the request
    /// that a response belongs to.
    pub fn message_kind(&self) -> MessageKind {
        self.0.about
    }

    /// Returns the error code for the response to such a request.
    pub fn error_code(&self) -> ErrorCode {
        match self.0.fault {
            Fault::InvalidUtf8 | Fault::Syntax(_) => ErrorCode::ParseError,
            Fault::ParamsNotAnObject | Fault::Params(_) => ErrorCode::InvalidParams,
            Fault::TooDeep
            | Fault::NotAMessage
            | Fault::Duplicate(_)
            | Fault::AmbiguousName(_)
            | Fault::WrongVersion
            | Fault::InvalidId
            | Fault::MissingId
            | Fault::InvalidMethod
            | Fault::ResultNotAnObject
            | Fault::ErrorNotAnObject
            | Fault::ResultAndError
            | Fault::NoMethodResultOrError
            | Fault::MethodAndResponse
            | Fault::EmptyBatch
            | Fault::NestedBatch => ErrorCode::InvalidRequest,
        }
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.0.fault, self.0.offset)
    }
}

impl std::error::Error for EnvelopeError {}

/// The kind of an invalid message, as far as its members determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a message is one of these, or its kind is unknown"
)]
pub enum MessageKind {
    /// It has a method: its id is the sender's.
    Request,
    /// It has a method and no id: no response may be sent, not even an error. Only a complete
    /// frame is known to have no id.
    Notification,
    /// It has a result or an error and no method: its id is the receiver's.
    Response,
    /// It has neither.
    Unknown,
}

/// The ways in which a frame can fail to be a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The frame is not UTF-8.
    InvalidUtf8,
    /// The frame is not JSON, or more than one value.
    Syntax(SyntaxErrorKind),
    /// Something is nested deeper than [`MAX_DEPTH`] levels.
    TooDeep,
    /// The frame is neither an object nor an array.
    NotAMessage,
    /// A duplicate member of the envelope.
    Duplicate(&'static str),
    /// A member whose name is not the one of this member of the envelope, though some parsers
    /// take it for that: `ID`, `"method\u0000"`. No message may depend on the parser.
    AmbiguousName(&'static str),
    /// `jsonrpc` is missing or not `"2.0"`.
    WrongVersion,
    /// `id` is neither a string nor an integer.
    InvalidId,
    /// A result without an id.
    MissingId,
    /// `method` is not a string.
    InvalidMethod,
    /// `params` is not an object.
    ParamsNotAnObject,
    /// A member of `params`, or of an object in it, is a duplicate or has an ambiguous name.
    Params(DecodeError),
    /// `result` is not an object.
    ResultNotAnObject,
    /// `error` is not an object.
    ErrorNotAnObject,
    /// Both `result` and `error`.
    ResultAndError,
    /// None of `method`, `result` and `error`.
    NoMethodResultOrError,
    /// `method` together with `result` or `error`.
    MethodAndResponse,
    /// An array without messages.
    EmptyBatch,
    /// An array inside an array of messages.
    NestedBatch,
}

impl Fault {
    /// Returns a short name of the fault for telemetry, without content of the frame.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "utf-8",
            Self::Syntax(_) => "syntax",
            Self::TooDeep => "too deep",
            Self::NotAMessage => "not a message",
            Self::Duplicate(_) => "duplicate member",
            Self::AmbiguousName(_) => "ambiguous member name",
            Self::WrongVersion => "wrong version",
            Self::InvalidId => "invalid id",
            Self::MissingId => "missing id",
            Self::InvalidMethod => "invalid method",
            Self::ParamsNotAnObject => "params not an object",
            Self::Params(_) => "ambiguous params",
            Self::ResultNotAnObject => "result not an object",
            Self::ErrorNotAnObject => "error not an object",
            Self::ResultAndError => "result and error",
            Self::NoMethodResultOrError => "no method, result or error",
            Self::MethodAndResponse => "method and response",
            Self::EmptyBatch => "empty batch",
            Self::NestedBatch => "nested batch",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUtf8 => f.write_str("the frame is not UTF-8"),
            Self::Syntax(kind) => kind.fmt(f),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Self::NotAMessage => f.write_str("the frame is not a JSON object"),
            Self::Duplicate(name) => write!(f, "duplicate member `{name}`"),
            Self::AmbiguousName(name) => {
                write!(f, "ambiguous member name: some parsers read it as `{name}`")
            }
            Self::WrongVersion => f.write_str("`jsonrpc` is not \"2.0\""),
            Self::InvalidId => f.write_str("`id` is neither a string nor an integer"),
            Self::MissingId => f.write_str("a result without an `id`"),
            Self::InvalidMethod => f.write_str("`method` is not a string"),
            Self::ParamsNotAnObject => f.write_str("`params` is not an object"),
            Self::Params(error) => write!(f, "{}: {}", error.path(), error.problem()),
            Self::ResultNotAnObject => f.write_str("`result` is not an object"),
            Self::ErrorNotAnObject => f.write_str("`error` is not an object"),
            Self::ResultAndError => f.write_str("both `result` and `error`"),
            Self::NoMethodResultOrError => f.write_str("none of `method`, `result` and `error`"),
            Self::MethodAndResponse => f.write_str("`method` together with `result` or `error`"),
            Self::EmptyBatch => f.write_str("a batch without messages"),
            Self::NestedBatch => f.write_str("a batch inside a batch"),
        }
    }
}
