//! Sampling: a server asks the client's model. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 it is a request of the server, since 2026-07-28 an
//! [input request](crate::input). With tools (since 2025-11-25) the server runs a loop:
//! the model's `tool_use` blocks come back, the server answers each with a
//! `tool_result` block in the next request.
//!
//! ```
//! use bowline_types::common::Role;
//! use bowline_types::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
//!
//! let ask = CreateMessageParams::new([SamplingMessage::new(Role::User, "Capital of France?")], 100)
//!     .system_prompt("Answer in one word.");
//! let answer = CreateMessageResult::new(Role::Assistant, "Paris", "a-model").stop_reason("endTurn");
//! assert_eq!(answer.content.iter().next().unwrap().as_text(), Some("Paris"));
//! ```

mod one_or_many;
mod tool_results;

use crate::common::{Role, is_fraction};
use crate::content::{AudioContent, ContentBlock, ImageContent, TextContent, type_tag};
use crate::json::{JsonObject, Number, RawJson};
use crate::meta::{Meta, ServerRequestMeta};
use crate::tasks::TaskMetadata;
use crate::tools::{STRUCTURED, Tool, is_known_structure};
use crate::wire::Shape;

pub use one_or_many::OneOrMany;

wire_struct! {
    /// The parameters of `sampling/createMessage`.
    pub struct CreateMessageParams {
        /// The conversation.
        req messages: Vec<SamplingMessage> = "messages";
        /// The most tokens that the answer may have.
        req max_tokens: i64 = "maxTokens";
        /// Which model the server would like.
        hint model_preferences: ModelPreferences = "modelPreferences";
        /// A system prompt; the client may change it.
        opt system_prompt: String = "systemPrompt";
        /// Context of servers to put in.
        opt include_context: IncludeContext = "includeContext";
        /// How adventurous the model should be.
        opt temperature: Number = "temperature";
        /// Texts that end the answer.
        opt stop_sequences: Vec<String> = "stopSequences";
        /// What the model's provider should get.
        opt metadata: JsonObject = "metadata";
        /// Tools that the model may use, for this request alone.
        opt tools: Vec<Tool> = "tools", in since(V2025_11_25), or error;
        /// Whether it may or must use them.
        opt tool_choice: ToolChoice = "toolChoice", in since(V2025_11_25), or error;
        /// Asks for a task instead of the result.
        opt task: TaskMetadata = "task", in only(V2025_11_25), or error;
        /// Additional data.
        meta meta: ServerRequestMeta = "_meta", in until(V2025_11_25);
    }
}

wire_struct! {
    /// A message of the conversation.
    pub struct SamplingMessage {
        /// Who speaks.
        req role: Role = "role";
        /// What they say: one block, or several since 2025-11-25.
        req content: OneOrMany<SamplingContent> = "content";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_11_25);
    }
}

wire_union! {
    /// A piece of a conversation with a model.
    pub enum SamplingContent decided by type_tag, "`type`", keeps invalid {
        /// Text.
        Text(TextContent) = "text";
        /// An image.
        Image(ImageContent) = "image";
        /// Sound.
        Audio(AudioContent) = "audio", in since(V2025_03_26);
        /// The model wants a tool to be run.
        ToolUse(ToolUseContent) = "tool_use", in since(V2025_11_25);
        /// What the tool returned.
        ToolResult(ToolResultContent) = "tool_result", in since(V2025_11_25);
    }
}

impl SamplingContent {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// The text, when it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            Self::Image(_)
            | Self::Audio(_)
            | Self::ToolUse(_)
            | Self::ToolResult(_)
            | Self::Other(_) => None,
        }
    }
}

wire_struct! {
    /// The model wants a tool to be run. New in 2025-11-25.
    pub struct ToolUseContent [since(V2025_11_25)] {
        @required "type" = "tool_use";
        /// The id that the result refers to.
        req id: String = "id";
        /// The tool.
        req name: String = "name";
        /// Its arguments.
        req input: JsonObject = "input";
        /// Additional data, which must come back in later rounds.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// What a tool returned to the model. New in 2025-11-25.
    pub struct ToolResultContent [since(V2025_11_25)] {
        @required "type" = "tool_result";
        /// The `id` of the [`ToolUseContent`] that it answers.
        req tool_use_id: String = "toolUseId";
        /// The result for the model.
        def content: Vec<ContentBlock> = "content";
        /// The result for programs. An object before 2026-07-28.
        any structured_content: RawJson = "structuredContent", when is_known_structure,
            shaped &STRUCTURED;
        /// Whether the tool failed. Default false.
        opt is_error: bool = "isError";
        /// Additional data, which must come back in later rounds.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// Which model a server would like. Hints come before priorities.
    pub struct ModelPreferences {
        /// Names of models, in the order of preference.
        opt hints: Vec<ModelHint> = "hints";
        /// How much cost matters, from 0 to 1.
        hint cost_priority: Number = "costPriority", when is_fraction,
            shaped &Shape::Fraction;
        /// How much speed matters, from 0 to 1.
        hint speed_priority: Number = "speedPriority", when is_fraction,
            shaped &Shape::Fraction;
        /// How much intelligence matters, from 0 to 1.
        hint intelligence_priority: Number = "intelligencePriority", when is_fraction,
            shaped &Shape::Fraction;
    }
}

wire_struct! {
    /// A model, by a part of its name.
    pub struct ModelHint {
        /// The part of the name.
        opt name: String = "name";
    }
}

wire_choice! {
    /// Context of servers to put into a prompt.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// Of the server that asks.
        ThisServer = "thisServer",
        /// Of all servers that the client knows.
        AllServers = "allServers",
    }
}

wire_struct! {
    /// Whether a model may use tools. New in 2025-11-25.
    pub struct ToolChoice [since(V2025_11_25)] {
        /// Whether; [`ToolChoiceMode::Auto`] when absent.
        opt mode: ToolChoiceMode = "mode";
    }
}

wire_choice! {
    /// Whether a model may use tools.
    pub enum ToolChoiceMode {
        /// It decides.
        Auto = "auto",
        /// It must use one at least.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

wire_struct! {
    /// What the model said.
    pub struct CreateMessageResult {
        /// Who speaks.
        req role: Role = "role";
        /// What they say: one block, or several since 2025-11-25.
        req content: OneOrMany<SamplingContent> = "content";
        /// The model that spoke.
        req model: String = "model";
        /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another.
        opt stop_reason: String = "stopReason";
        /// Additional data.
        meta meta: Meta = "_meta";
    }
}
