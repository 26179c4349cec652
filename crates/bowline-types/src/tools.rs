//! Tools: functions that a model may call.
//!
//! A server lists its tools, each with a JSON Schema of its arguments; the client shows them to
//! the model and calls them by name. A tool reports its own failure in its result
//! ([`CallToolResult::error`]), where the model can see it. Protocol errors are for calls that
//! never reached a tool.
//!
//! ```
//! use bowline_types::tools::{CallToolParams, CallToolResult, Tool, ToolAnnotations};
//! use bowline_types::{InputSchema, JsonObject};
//!
//! let schema = InputSchema::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#)?;
//! let tool = Tool::new("forecast", schema)
//!     .description("Weather of the next days")
//!     .annotations(ToolAnnotations::new().read_only_hint(true));
//! assert_eq!(tool.display_name(), "forecast");
//!
//! let call = CallToolParams::new("forecast").arguments(JsonObject::parse(r#"{"city":"Delft"}"#)?);
//! let result = CallToolResult::text("Rain, mostly.");
//! assert_eq!(result.content[0].as_text(), Some("Rain, mostly."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod schema;

use std::borrow::Cow;

use crate::common::Icon;
use crate::content::ContentBlock;
use crate::input::{InputRequiredResult, InputResponse};
use crate::json::{DecodeError, JsonObject, Kind, RawJson, Reader};
use crate::meta::{Meta, RequestMeta, ResultMeta};
use crate::result::{TASK, begins_as_complete_result, result_type};
use crate::revision::{Revision, Revisions};
use crate::tasks::{CreateTaskResult, TaskMetadata};
use crate::wire::{Map, Shape};

pub use schema::{InputSchema, InvalidInputSchema, OutputSchema};

wire_struct! {
    /// A tool as a server lists it.
    pub struct Tool {
        /// The name that calls use.
        req name: String = "name";
        /// The display name.
        hint title: String = "title", in since(V2025_06_18);
        /// A description for the model.
        hint description: String = "description";
        /// The JSON Schema of the arguments.
        req input_schema: InputSchema = "inputSchema";
        /// The JSON Schema of `structuredContent`. Describes an object before 2026-07-28.
        opt output_schema: OutputSchema = "outputSchema", in since(V2025_06_18),
            when OutputSchema::is_known_in;
        /// Hints on the effects of a call.
        hint annotations: ToolAnnotations = "annotations", in since(V2025_03_26);
        /// The support of the tool for tasks.
        opt execution: ToolExecution = "execution", in only(V2025_11_25);
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

impl Tool {
    /// Returns the display name: `title`, the title of the annotations, or `name`.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_deref();
        self.title
            .as_deref()
            .or_else(annotated)
            .unwrap_or(&self.name)
    }
}

wire_struct! {
    /// Hints on the effects of a tool. New in 2025-03-26.
    ///
    /// They are claims of the server: trust them only as far as the server. The methods apply the
    /// defaults of the specification.
    pub struct ToolAnnotations [since(V2025_03_26)] {
        /// The display name.
        opt title: String = "title";
        /// The tool doesn't modify its environment. Default `false`.
        opt read_only_hint: bool = "readOnlyHint";
        /// The tool may make destructive changes. Default `true`; meaningful only if the tool
        /// isn't read-only.
        opt destructive_hint: bool = "destructiveHint";
        /// Another call with the same arguments has no further effect. Default `false`.
        opt idempotent_hint: bool = "idempotentHint";
        /// The tool interacts with an open domain, such as web search. Default `true`.
        opt open_world_hint: bool = "openWorldHint";
        ..extras;
    }
}

impl ToolAnnotations {
    /// Returns `true` if the tool claims to be read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Returns `true` if the tool may make destructive changes.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Returns `true` if a repeated call claims to have no further effect.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Returns `true` if the tool interacts with an open domain.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

wire_struct! {
    /// How a tool can be executed: its support for tasks. Only in 2025-11-25.
    pub struct ToolExecution [only(V2025_11_25)] {
        /// The support for calls that request a task. [`TaskSupport::Forbidden`] if absent.
        opt task_support: TaskSupport = "taskSupport";
    }
}

wire_choice! {
    /// The support of a tool for calls that request a task.
    pub enum TaskSupport {
        /// Calls must not request a task.
        Forbidden = "forbidden",
        /// Calls may request a task.
        Optional = "optional",
        /// Calls must request a task.
        Required = "required",
    }
}

list_result! {
    /// The result of `tools/list`.
    pub struct ListToolsResult {
        /// The tools of the page.
        tools: Vec<Tool> = "tools";
    }
}

wire_struct! {
    /// The parameters of `tools/call`.
    pub struct CallToolParams {
        /// The name of the tool.
        req name: String = "name";
        /// The arguments of the tool.
        opt arguments: JsonObject = "arguments";
        /// Requests a task in place of the result.
        opt task: TaskMetadata = "task", in only(V2025_11_25), or error;
        /// Responses to the input requests of the previous round.
        opt input_responses: Map<InputResponse> = "inputResponses", in since(V2026_07_28), or error;
        /// The request state of the previous round, unchanged.
        opt request_state: String = "requestState", in since(V2026_07_28), or error;
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The result of a tool.
    pub struct CallToolResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The result for the model.
        def content: Vec<ContentBlock> = "content";
        /// The result for programs, as `outputSchema` describes it. An object before 2026-07-28,
        /// any JSON value since. A value that isn't an object is omitted for older peers, so
        /// include it in `content` too.
        any structured_content: RawJson = "structuredContent", in since(V2025_06_18),
            when is_known_structure, shaped &STRUCTURED;
        /// `true` if the tool failed. Default `false`.
        opt is_error: bool = "isError";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

impl CallToolResult {
    /// Creates a result of a single text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().content([ContentBlock::text(text)])
    }

    /// Creates a result that reports a failure to the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).is_error(true)
    }

    /// Creates a structured result, with its JSON as text for clients that read only text.
    pub fn structured(value: impl Into<RawJson>) -> Self {
        let value = value.into();
        Self::text(value.as_str()).structured_content(value)
    }

    /// Returns `true` if the tool failed.
    pub fn is_failure(&self) -> bool {
        self.is_error.unwrap_or(false)
    }
}

wire_union! {
    /// A result of `tools/call`.
    pub enum CallToolResponse decided by select_variant, "`resultType`" {
        /// The tool returned a result.
        Complete(CallToolResult) = "complete";
        /// The server needs input before it can complete. Since 2026-07-28.
        InputRequired(InputRequiredResult) = "input_required", in since(V2026_07_28);
        /// The call became a task. In 2025-11-25 and in the tasks extension.
        Task(CreateTaskResult) = "task", in since(V2025_11_25);
    }
}

/// In 2025-11-25 only the member `task` distinguishes a task from a result; the requester has
/// requested a task there.
fn select_variant<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    if begins_as_complete_result(reader) {
        return Ok("complete".into());
    }
    let result_type = result_type(reader, &[TASK])?;
    let has = |name| Ok::<_, DecodeError>(reader.peek_member(name)?.is_some());
    if result_type.is_none() && !has("content")? && has("task")? {
        return Ok(TASK.into());
    }
    Ok(result_type.unwrap_or("complete".into()))
}

/// Structured content is an object in the handshake era.
pub(crate) const STRUCTURED: Shape = Shape::In(
    Revisions::since(Revision::V2026_07_28),
    &Shape::Any,
    &Shape::Object,
);

pub(crate) fn is_known_structure(value: &RawJson, revision: Revision) -> bool {
    revision >= Revision::V2026_07_28 || value.kind() == Kind::Object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    #[test]
    fn structured_content_may_be_anything_since_2026() {
        let null = CallToolResult::structured(RawJson::null());
        assert_eq!(
            null.to_json(Revision::V2026_07_28).unwrap().as_str(),
            r#"{"resultType":"complete","content":[{"type":"text","text":"null"}],"structuredContent":null}"#
        );
        assert_eq!(
            null.to_json(Revision::V2025_11_25).unwrap().as_str(),
            r#"{"content":[{"type":"text","text":"null"}]}"#
        );
        let read = CallToolResult::from_json(r#"{"structuredContent":null}"#).unwrap();
        assert_eq!(read.structured_content, Some(RawJson::null()));
    }

    // proves: F-JR-19
    #[test]
    fn the_result_type_decides() {
        let read = |text: &str| CallToolResponse::from_json(text);
        let complete = |text: &str| matches!(read(text), Ok(CallToolResponse::Complete(_)));
        assert!(complete(r#"{"content":[]}"#));
        assert!(complete(r#"{"content":[],"resultType":"complete"}"#));
        assert!(matches!(
            read(r#"{"resultType":"input_required","requestState":"s"}"#),
            Ok(CallToolResponse::InputRequired(_))
        ));
        let times = r#""createdAt":"t","lastUpdatedAt":"t""#;
        for task in [
            format!(r#"{{"task":{{"taskId":"1","status":"working","ttl":null,{times}}}}}"#),
            format!(
                r#"{{"resultType":"task","taskId":"1","status":"working","ttlMs":null,{times}}}"#
            ),
        ] {
            assert!(
                matches!(read(&task), Ok(CallToolResponse::Task(_))),
                "{task}"
            );
        }
        let error = read(r#"{"resultType":"weird","content":[]}"#).unwrap_err();
        assert_eq!(error.path(), "resultType");
        assert!(CallToolResult::from_json(r#"{"resultType":"task","content":[]}"#).is_err());
    }

    #[test]
    fn members_that_a_call_depends_on_are_never_dropped() {
        let call = CallToolParams::new("x");
        let state = call.clone().request_state("s");
        let error = state.to_json(Revision::V2025_11_25).unwrap_err();
        assert_eq!(
            error.to_string(),
            "can't be encoded for 2025-11-25: requestState exists in 2026-07-28 only"
        );
        let task = call.task(TaskMetadata::new());
        assert!(task.to_json(Revision::V2025_06_18).is_err());
        assert!(task.to_json(Revision::V2025_11_25).is_ok());
    }

    #[test]
    fn hints_have_the_defaults_of_the_specification() {
        let none = ToolAnnotations::new();
        assert!(!none.is_read_only() && none.is_destructive());
        assert!(!none.is_idempotent() && none.is_open_world());
        let reader = none.read_only_hint(true);
        assert!(!reader.is_destructive() && reader.is_idempotent());
    }

    // proves: F-JR-16
    #[test]
    fn unknown_members_of_a_tool_are_kept() {
        let text = r#"{"name":"a","inputSchema":{"type":"object"},"mode":"stateless"}"#;
        let tool = Tool::from_json(text).unwrap();
        assert_eq!(tool.extras.as_str(), r#"{"mode":"stateless"}"#);
        assert_eq!(tool.to_json(Revision::V2024_11_05).unwrap().as_str(), text);
    }
}
