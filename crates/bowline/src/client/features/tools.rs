//! Tools.

use std::ops::Deref;

use bowline_types::content::ContentBlock;
use bowline_types::method::requests;
use bowline_types::tools::{CallToolResult, ListToolsResult};
use bowline_types::{Method, RawJsonRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::paginated_list::{self, Pages, WholeList};
use super::task_negotiation::TaskPreference;
use super::tool_call::ToolCall;
use super::tool_params::EncodedToolParams;
use super::typed_call::TypedCall;
use crate::client::Client;
use crate::client::output_validation::ExpectedOutput;
use crate::error::{Error, ErrorKind};

/// The longest text of a tool that an error repeats, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// The tools of a server: see [`Client::tools`].
///
/// ```
/// use std::time::Duration;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize)]
/// struct Add { a: i64, b: i64 }
/// #[derive(Deserialize)]
/// struct Sum { sum: i64 }
///
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// for tool in client.tools().list_all().await? {
///     println!("{}", tool.display_name());
/// }
/// let sum: Sum = client
///     .tools()
///     .call("add", &Add { a: 2, b: 3 })
///     .timeout(Duration::from_secs(5))
///     .await?
///     .structured()?;
/// println!("{}", sum.sum);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tools<'c> {
    client: &'c Client,
}

impl<'c> Tools<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    pub(super) fn client(self) -> &'c Client {
        self.client
    }

    /// Fetches the first page of the list.
    pub fn list(self) -> TypedCall<'c, ListToolsResult> {
        paginated_list::page::<requests::ListTools>(self.client, None)
    }

    /// Fetches the page of the list that begins at a cursor.
    pub fn list_from(self, cursor: impl Into<String>) -> TypedCall<'c, ListToolsResult> {
        paginated_list::page::<requests::ListTools>(self.client, Some(cursor.into()))
    }

    /// Returns the list as a stream of items, fetched page by page.
    pub fn pages(self) -> Pages<'c, ListToolsResult> {
        Pages::new::<requests::ListTools>(self.client)
    }

    /// Fetches the whole list when it is awaited. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is [too
    /// large](Pages).
    pub fn list_all(self) -> WholeList<'c, ListToolsResult> {
        WholeList::new::<requests::ListTools>(self.client)
    }

    /// Calls a tool. Its arguments are a value that serializes as an object, or `()` for none.
    ///
    /// The server may run it as a [task](super::Tasks): with the extension of 2026-07-28
    /// ([declared](crate::ClientConfig::tasks)) when it likes, in 2025-11-25 when it is
    /// [asked to](ToolCall::as_task), which is done by itself for tools that are known to
    /// demand it. Awaiting the call then follows the task to its end, within
    /// [`max_total`](ToolCall::max_total) and across lost connections.
    ///
    /// With the feature `validate` a result is checked against the tool's output schema, where
    /// that is known when the call is made: from a list of tools that was [fetched](Self::list) on
    /// this connection and not changed since. What happens later doesn't matter: neither a change
    /// nor the end of the connection lets a result pass. A tool that was never listed is not
    /// checked, and no list is fetched for it. What doesn't fit is an error of kind
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch); the result is [in it](Error::tool_result),
    /// and [`without_output_validation`](ToolCall::without_output_validation) calls have none. What can't be checked, since its
    /// schema can't be used or it would take too much, is returned with [the
    /// reason](ToolResult::unvalidated_reason); it is such an error too where
    /// [`OutputValidation`](crate::client::OutputValidation) is strict.
    pub fn call(self, name: impl Into<String>, arguments: impl Serialize) -> ToolCall<'c> {
        let name = name.into();
        let call = self.client.call(Method::CallTool.as_str(), ());
        ToolCall {
            client: self.client,
            call: call.with_capability_check().for_tool(&*name),
            encoded_params: EncodedToolParams::new(&name, &arguments),
            name,
            as_task: TaskPreference::IfRequired,
            is_checked: true,
        }
    }
}

/// What a tool returned.
///
/// A tool reports a failure in its result, where the model can see it: [`into_result`](Self::into_result) and
/// [`structured`](Self::structured) make an error of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    result: CallToolResult,
    tool: String,
    unvalidated_reason: Option<String>,
}

impl ToolResult {
    /// Checks a result against the expected output (TL-9), if there is one.
    pub(super) fn checked(
        result: CallToolResult,
        tool: String,
        expected: Option<&ExpectedOutput>,
    ) -> Result<Self, Error> {
        let (result, unvalidated_reason) = match expected {
            Some(expected) => expected.check_result(&tool, result)?,
            None => (result, None),
        };
        Ok(Self {
            result,
            tool,
            unvalidated_reason,
        })
    }

    /// Returns why it was not checked against the output schema of its tool, though that is known:
    /// the schema can't be used, or it would take too much. `None` when it fits, when no schema is
    /// known, and when the [check is off](ToolCall::without_output_validation).
    pub fn unvalidated_reason(&self) -> Option<&str> {
        self.unvalidated_reason.as_deref()
    }

    /// Returns the result, unless the tool failed.
    ///
    /// # Errors
    ///
    /// Of kind [`Tool`](ErrorKind::Tool), with the text of the tool.
    pub fn into_result(self) -> Result<CallToolResult, Error> {
        match self.failure() {
            None => Ok(self.result),
            Some(failure) => Err(failure),
        }
    }

    /// Decodes the structured content as `T`.
    ///
    /// Servers before 2025-06-18 have none; where a tool's only content is a text, that text
    /// is read as JSON instead.
    ///
    /// # Errors
    ///
    /// Of kind [`Tool`](ErrorKind::Tool) when the tool failed, and
    /// [`InvalidResponse`](ErrorKind::InvalidResponse) when there is no such result.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let content = self.result.structured_content.as_ref();
        let read = match (content, self.only_text()) {
            (Some(json), _) => json.to(),
            (None, Some(text)) => match RawJsonRef::parse(text) {
                Ok(_) => serde_json::from_str(text),
                Err(_) => return Err(self.invalid("the result has text but no structured content")),
            },
            (None, None) => return Err(self.invalid("the result has no structured content")),
        };
        // As the source it would repeat the message.
        read.map_err(|error| self.invalid(&error.to_string()))
    }

    /// Returns the content as text for a model, each block on lines of its own.
    ///
    /// What is no text is named in its place, so that a model knows of it:
    /// `[image: image/png, 1234 bytes]`; see [`ContentBlock::to_text`]. A result without any
    /// content has the JSON of its structured content. For the text blocks alone see
    /// [`texts`](Self::texts).
    pub fn text(&self) -> String {
        let content = &self.result.content;
        if let ([], Some(structured)) = (&**content, &self.result.structured_content) {
            return structured.as_str().to_owned();
        }
        let texts: Vec<_> = content.iter().map(ContentBlock::to_text).collect();
        texts.join("\n")
    }

    /// Returns the text blocks alone: what is no text is left out. See [`text`](Self::text).
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.result.content.iter().filter_map(ContentBlock::as_text)
    }

    /// Returns the result as it was received.
    pub fn into_inner(self) -> CallToolResult {
        self.result
    }

    fn only_text(&self) -> Option<&str> {
        match self.result.content.as_slice() {
            [block] => block.as_text(),
            _ => None,
        }
    }

    fn failure(&self) -> Option<Error> {
        if !self.result.is_failure() {
            return None;
        }
        let text: String = self.text().chars().take(MAX_ERROR_CHARS).collect();
        let message = if text.is_empty() {
            self.tool.clone()
        } else {
            format!("{}: {text}", self.tool)
        };
        let error = Error::new(ErrorKind::Tool, message);
        Some(error.in_operation(Method::CallTool.as_str()))
    }

    fn invalid(&self, why: &str) -> Error {
        let message = format!("{}: {why}", self.tool);
        Error::new(ErrorKind::InvalidResponse, message).in_operation(Method::CallTool.as_str())
    }
}

impl Deref for ToolResult {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.result
    }
}

impl From<ToolResult> for CallToolResult {
    fn from(result: ToolResult) -> Self {
        result.result
    }
}
