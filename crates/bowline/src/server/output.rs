//! Results of tools, and their errors.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use bowline_types::content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, RawJson};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::client_questions::NoAnswer;
use super::context::Context;
use super::telemetry::{handler_failed, result_not_encoded};

/// A type that a tool may return.
///
/// Strings and numbers become text. [`Json`] becomes structured content, and text for clients that
/// only read text. Content blocks, a list of them, and a whole [`CallToolResult`] are used as they
/// are. `Result` with a [`ToolError`] makes `?` work.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the result of a tool",
    label = "not a result type of tools",
    note = "wrap a type of your own in `Json(…)`: it needs `#[derive(serde::Serialize, schemars::JsonSchema)]`",
    note = "content, text and numbers can be returned as they are; an `Option` needs `.ok_or(\"why\")`",
    note = "errors go into `Result<_, ToolError>`"
)]
pub trait IntoToolResult {
    /// Converts it into what the client gets.
    ///
    /// # Errors
    ///
    /// When it can't be encoded: then the response is an error.
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject>;

    /// Converts it for a request, which log events about hidden errors name.
    #[doc(hidden)]
    fn into_tool_result_of(self, of: &Context) -> Result<CallToolResult, ErrorObject>
    where
        Self: Sized,
    {
        let _ = of;
        self.into_tool_result()
    }

    /// Returns the schema of the structured content, where the type has one.
    fn output_schema() -> Option<schemars::Schema> {
        None
    }
}

/// Structured content of a tool: a value of your own, with a schema from its type.
///
/// ```
/// use bowline::server::{Json, Server};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Circle { radius: f64 }
/// #[derive(Serialize, JsonSchema)]
/// struct Measures { area: f64 }
///
/// let server = Server::new("circles", "1.0.0")
///     .tool("measure", "Measures a circle", |circle: Circle| async move {
///         Json(Measures { area: circle.radius * circle.radius * std::f64::consts::PI })
///     });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        structured(&self.0, None)
    }

    fn into_tool_result_of(self, of: &Context) -> Result<CallToolResult, ErrorObject> {
        structured(&self.0, Some(of))
    }

    fn output_schema() -> Option<schemars::Schema> {
        // The schema of serialization: `schema_for!` would describe deserialization.
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Some(settings.into_generator().into_root_schema_for::<T>())
    }
}

fn structured<T: Serialize>(
    value: &T,
    of: Option<&Context>,
) -> Result<CallToolResult, ErrorObject> {
    let value = RawJson::from_serialize(value).map_err(|error| {
        result_not_encoded(of, &error);
        ErrorObject::internal_error("the result can't be serialized")
    })?;
    Ok(CallToolResult::structured(value))
}

/// An error of a tool, which the model may see.
///
/// Its [message](Self::new) is sent to the client, and so is a `String` or `&'static str` that is
/// converted by `?`. Any other error, also `anyhow::Error`, may contain secrets of the server: it
/// is logged, and the client gets the message that the tool failed. Only the reason why a
/// [question](super::Context::elicit) has no answer is sent.
///
/// ```
/// use bowline::server::ToolError;
///
/// async fn size(path: String) -> Result<u64, ToolError> {
///     if path.contains("..") {
///         return Err(ToolError::new("the path must not leave the folder"));
///     }
///     let name = path.strip_prefix("/data/").ok_or("the path must begin with /data/")?;
///     Ok(std::fs::metadata(name)?.len())
/// }
/// ```
///
/// A handler may also return a `Result` with such an error itself. For an error type of your own
/// with a message for the model see [`IntoToolError`].
pub struct ToolError(Inner);

enum Inner {
    Visible(Box<CallToolResult>),
    Hidden(Box<dyn Error + Send + Sync>),
    Protocol(ErrorObject),
}

impl ToolError {
    /// Creates an error with a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Inner::Visible(Box::new(CallToolResult::error(message))))
    }

    /// Creates an error with content.
    pub fn with_content(content: impl IntoIterator<Item = ContentBlock>) -> Self {
        let content: Vec<_> = content.into_iter().collect();
        let result = CallToolResult::new().content(content).is_error(true);
        Self(Inner::Visible(Box::new(result)))
    }

    /// Creates a protocol error instead of a tool result: for what the model can't correct.
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Inner::Protocol(error))
    }

    /// Returns what the client gets, and logs a hidden error with its request (ER-4).
    pub(super) fn into_result(self, of: Option<&Context>) -> Result<CallToolResult, ErrorObject> {
        match self.0 {
            Inner::Visible(result) => Ok(*result),
            Inner::Protocol(error) => Err(error),
            Inner::Hidden(error) => {
                handler_failed(of, &Causes(&*error));
                Ok(CallToolResult::error("the tool failed"))
            }
        }
    }
}

impl ToolError {
    /// Returns the protocol error for features without tool results, such as resources.
    pub(super) fn into_error(self, of: Option<&Context>) -> ErrorObject {
        match self.into_result(of) {
            Ok(result) => {
                let message = result.content.first().and_then(|block| block.as_text());
                ErrorObject::internal_error(message.unwrap_or("the handler failed"))
            }
            Err(error) => error,
        }
    }
}

/// Displays an error and its sources in one line.
struct Causes<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>> + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(message) = any.downcast_ref::<String>() {
            return Self::new(message);
        }
        if let Some(message) = any.downcast_ref::<&'static str>() {
            return Self::new(*message);
        }
        let error: Box<dyn Error + Send + Sync> = error.into();
        // Why a question has no answer is no secret to the client.
        match error.source().and_then(|cause| cause.downcast_ref()) {
            Some(NoAnswer::Message(message)) => Self::new(message),
            Some(NoAnswer::Protocol(error)) => Self::protocol((**error).clone()),
            None => Self(Inner::Hidden(error)),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Visible(result) => f.debug_tuple("ToolError").field(result).finish(),
            Inner::Hidden(error) => f.debug_tuple("ToolError").field(error).finish(),
            Inner::Protocol(error) => f.debug_tuple("ToolError").field(error).finish(),
        }
    }
}

/// An error that a handler may return: a [`ToolError`], or a type that can become one.
///
/// Implement it for an error type of your own that has messages for the model:
///
/// ```
/// use bowline::server::{IntoToolError, Server, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// enum Refused { TooMany(u32), Closed }
///
/// impl IntoToolError for Refused {
///     fn into_tool_error(self) -> ToolError {
///         ToolError::new(match self {
///             Self::TooMany(most) => format!("order at most {most}"),
///             Self::Closed => "the shop is closed: try again tomorrow".to_owned(),
///         })
///     }
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Order { apples: u32 }
///
/// async fn order(order: Order) -> Result<String, Refused> {
///     match order.apples {
///         0 => Err(Refused::Closed),
///         11.. => Err(Refused::TooMany(10)),
///         apples => Ok(format!("{apples} apples are on their way")),
///     }
/// }
///
/// let server = Server::new("shop", "1.0.0").tool("order", "Orders apples", order);
/// ```
///
/// Such a type must not implement [`std::error::Error`]: messages of types that do are only logged,
/// and the client gets the message that the tool failed. To send the message of such an error to
/// the model, convert it where it occurs: `.map_err(|error| ToolError::new(format!("can't order:
/// {error}")))?`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error of a handler",
    label = "not an error that a handler can return",
    note = "to send a message to the model, implement `IntoToolError` for it, or return `ToolError::new(\"…\")`, \
            a `String` or a `&'static str`",
    note = "an error that only implements `std::error::Error` is logged, and the client receives \"the tool failed\""
)]
pub trait IntoToolError {
    /// Returns the error that the client gets.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

impl<T: IntoToolResult, E: IntoToolError> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into_tool_error().into_result(None),
        }
    }

    fn into_tool_result_of(self, of: &Context) -> Result<CallToolResult, ErrorObject> {
        match self {
            Ok(value) => value.into_tool_result_of(of),
            Err(error) => error.into_tool_error().into_result(Some(of)),
        }
    }

    fn output_schema() -> Option<schemars::Schema> {
        T::output_schema()
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(self)
    }
}

/// An empty result.
impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::new())
    }
}

impl<T: Into<ContentBlock>> IntoToolResult for Vec<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        let content: Vec<ContentBlock> = self.into_iter().map(Into::into).collect();
        Ok(CallToolResult::new().content(content))
    }
}

macro_rules! content {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
                Ok(CallToolResult::new().content([ContentBlock::from(self)]))
            }
        }
    )*};
}

content!(
    ContentBlock,
    TextContent,
    ImageContent,
    AudioContent,
    ResourceLink,
    EmbeddedResource
);

macro_rules! text {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}

text!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, bool, char
);

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for Cow<'static, str> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::text(self.into_owned()))
    }
}
