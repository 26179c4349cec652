//! Sampling: a server requests a message from the client's model. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 it is a request of the server, since 2026-07-28 an [input
//! request](crate::input). With tools (since 2025-11-25) the server runs a loop: the result has
//! `tool_use` blocks of the model, and the next request has a `tool_result` block for each.
//!
//! `one_or_many` is content that may be a list; `tool_results` checks the order of tool uses and
//! results.
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
        /// The messages of the conversation.
        req messages: Vec<SamplingMessage> = "messages";
        /// The maximum number of tokens in the result.
        req max_tokens: i64 = "maxTokens";
        /// The preferred models.
        hint model_preferences: ModelPreferences = "modelPreferences";
        /// The system prompt. The client may change it.
        opt system_prompt: String = "systemPrompt";
        /// The servers whose context the client adds.
        opt include_context: IncludeContext = "includeContext";
        /// The sampling temperature.
        opt temperature: Number = "temperature";
        /// Sequences that end the generation.
        opt stop_sequences: Vec<String> = "stopSequences";
        /// Metadata for the model provider.
        opt metadata: JsonObject = "metadata";
        /// The tools that the model may use, for this request alone.
        opt tools: Vec<Tool> = "tools", in since(V2025_11_25), or error;
        /// How the model may use tools.
        opt tool_choice: ToolChoice = "toolChoice", in since(V2025_11_25), or error;
        /// Requests a task in place of the result.
        opt task: TaskMetadata = "task", in only(V2025_11_25), or error;
        /// Additional metadata.
        meta meta: ServerRequestMeta = "_meta", in until(V2025_11_25);
    }
}

wire_struct! {
    /// A message of the conversation.
    pub struct SamplingMessage {
        /// The author of the message.
        req role: Role = "role";
        /// The content: one block, or several since 2025-11-25.
        req content: OneOrMany<SamplingContent> = "content";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_11_25);
    }
}

wire_union! {
    /// A block of content in a conversation with a model.
    pub enum SamplingContent decided by type_tag, "`type`", keeps invalid {
        /// Text content.
        Text(TextContent) = "text";
        /// An image.
        Image(ImageContent) = "image";
        /// Audio.
        Audio(AudioContent) = "audio", in since(V2025_03_26);
        /// A tool call by the model.
        ToolUse(ToolUseContent) = "tool_use", in since(V2025_11_25);
        /// The result of a tool call.
        ToolResult(ToolResultContent) = "tool_result", in since(V2025_11_25);
    }
}

impl SamplingContent {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Returns the text of a text block, or `None` for other kinds.
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
    /// A tool call by the model. New in 2025-11-25.
    pub struct ToolUseContent [since(V2025_11_25)] {
        @required "type" = "tool_use";
        /// The id that the result refers to.
        req id: String = "id";
        /// The name of the tool.
        req name: String = "name";
        /// The arguments of the tool.
        req input: JsonObject = "input";
        /// Additional metadata, which must be included in later requests.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// The result of a tool call, for the model. New in 2025-11-25.
    pub struct ToolResultContent [since(V2025_11_25)] {
        @required "type" = "tool_result";
        /// The `id` of the [`ToolUseContent`] that the result belongs to.
        req tool_use_id: String = "toolUseId";
        /// The result for the model.
        def content: Vec<ContentBlock> = "content";
        /// The result for programs. An object before 2026-07-28.
        any structured_content: RawJson = "structuredContent", when is_known_structure,
            shaped &STRUCTURED;
        /// `true` if the tool failed. Default `false`.
        opt is_error: bool = "isError";
        /// Additional metadata, which must be included in later requests.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// The models that a server prefers. Hints come before priorities.
    pub struct ModelPreferences {
        /// Parts of model names, most preferred first.
        opt hints: Vec<ModelHint> = "hints";
        /// The priority of low cost, from 0 to 1.
        hint cost_priority: Number = "costPriority", when is_fraction,
            shaped &Shape::Fraction;
        /// The priority of low latency, from 0 to 1.
        hint speed_priority: Number = "speedPriority", when is_fraction,
            shaped &Shape::Fraction;
        /// The priority of capability, from 0 to 1.
        hint intelligence_priority: Number = "intelligencePriority", when is_fraction,
            shaped &Shape::Fraction;
    }
}

wire_struct! {
    /// A hint at a model, by a part of its name.
    pub struct ModelHint {
        /// The part of the name.
        opt name: String = "name";
    }
}

wire_choice! {
    /// The servers whose context the client adds to a prompt.
    pub enum IncludeContext {
        /// No context.
        None = "none",
        /// The context of the requesting server.
        ThisServer = "thisServer",
        /// The context of all connected servers.
        AllServers = "allServers",
    }
}

wire_struct! {
    /// How a model may use tools. New in 2025-11-25.
    pub struct ToolChoice [since(V2025_11_25)] {
        /// The mode; [`ToolChoiceMode::Auto`] if absent.
        opt mode: ToolChoiceMode = "mode";
    }
}

wire_choice! {
    /// The modes of [`ToolChoice`].
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model must use at least one tool.
        Required = "required",
        /// The model must not use tools.
        None = "none",
    }
}

wire_struct! {
    /// The message of the model.
    pub struct CreateMessageResult {
        /// The author of the message.
        req role: Role = "role";
        /// The content: one block, or several since 2025-11-25.
        req content: OneOrMany<SamplingContent> = "content";
        /// The name of the model.
        req model: String = "model";
        /// Why the generation ended: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another
        /// reason.
        opt stop_reason: String = "stopReason";
        /// Additional metadata.
        meta meta: Meta = "_meta";
    }
}
