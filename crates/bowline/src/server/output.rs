//! What a tool returns.

use std::borrow::Cow;
use std::fmt;

use bowline_types::content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Json as JsonText};
use schemars::JsonSchema;
use serde::Serialize;

use super::service::missing_capability;
use crate::error::{Error, Lacks};

/// Something that a tool may return.
///
/// Text and numbers become text. [`Json`] becomes structured content, for programs, and text
/// for those that only read text. Content, a list of it, and a whole [`CallToolResult`] stay
/// what they are. `Result` with a [`ToolError`] makes `?` work.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the result of a tool",
    label = "not something that a tool can return",
    note = "wrap a type of your own in `Json(…)`: it needs `#[derive(serde::Serialize, schemars::JsonSchema)]`",
    note = "errors go into `Result<_, ToolError>`; content, text and numbers can be returned as they are"
)]
pub trait IntoToolResult {
    /// What the client gets.
    ///
    /// # Errors
    ///
    /// When it can't be said: then the call is answered with an error.
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject>;

    /// The schema of the structured content, where the type has one.
    fn output_schema() -> Option<schemars::Schema> {
        None
    }
}

/// A value of your own: structured content of a tool, which its schema describes.
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
        let value = JsonText::from_serialize(&self.0).map_err(|error| {
            tracing::error!(%error, "a result can't be serialized");
            ErrorObject::new(-32603, "the result can't be serialized")
        })?;
        Ok(CallToolResult::structured(value))
    }

    fn output_schema() -> Option<schemars::Schema> {
        Some(schemars::schema_for!(T))
    }
}

/// A failure of a tool that the model should see.
///
/// Its [words](Self::new) go to the client. An error that comes in through `?` is the
/// server's own business: it goes to the log, and the client learns that the tool failed. Only
/// that the client can't do what [`Context`](super::Context) asks of it is said to the client.
///
/// ```
/// use bowline::server::ToolError;
///
/// async fn size(path: String) -> Result<u64, ToolError> {
///     if path.contains("..") {
///         return Err(ToolError::new("the path must not leave the folder"));
///     }
///     Ok(std::fs::metadata(path)?.len())
/// }
/// ```
pub struct ToolError(Inner);

enum Inner {
    Told(Box<CallToolResult>),
    Hidden(Box<dyn std::error::Error + Send + Sync>),
    Protocol(ErrorObject),
}

impl ToolError {
    /// A failure, in words for the model.
    pub fn new(words: impl Into<String>) -> Self {
        Self(Inner::Told(Box::new(CallToolResult::error(words))))
    }

    /// A failure with content of its own.
    pub fn with_content(content: impl IntoIterator<Item = ContentBlock>) -> Self {
        let content: Vec<_> = content.into_iter().collect();
        let result = CallToolResult::new().content(content).is_error(true);
        Self(Inner::Told(Box::new(result)))
    }

    /// An error of the protocol instead of a result of the tool: for what the model can't
    /// mend.
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Inner::Protocol(error))
    }

    pub(super) fn into_result(self) -> Result<CallToolResult, ErrorObject> {
        match self.0 {
            Inner::Told(result) => Ok(*result),
            Inner::Protocol(error) => Err(error),
            Inner::Hidden(error) => {
                // What the client lacks is nothing to hide from it.
                let ours = error.downcast_ref::<Error>();
                match ours.and_then(|ours| Some((ours.message(), ours.lacks()?))) {
                    Some((words, Lacks::Capability(required))) => {
                        return Err(missing_capability(words, required));
                    }
                    Some((words, Lacks::Revision)) => return Ok(CallToolResult::error(words)),
                    None => {}
                }
                tracing::error!(%error, "a tool failed");
                Ok(CallToolResult::error("the tool failed"))
            }
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Inner::Hidden(Box::new(error)))
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Told(result) => f.debug_tuple("ToolError").field(result).finish(),
            Inner::Hidden(error) => f.debug_tuple("ToolError").field(error).finish(),
            Inner::Protocol(error) => f.debug_tuple("ToolError").field(error).finish(),
        }
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into().into_result(),
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

/// Nothing: it is done.
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
