//! Prompts: message templates that a user selects, such as slash commands.
//!
//! ```
//! use bowline_types::Map;
//! use bowline_types::common::Role;
//! use bowline_types::prompts::{GetPromptParams, GetPromptResult, Prompt, PromptArgument, PromptMessage};
//!
//! let prompt = Prompt::new("review").arguments([PromptArgument::new("code").required(true)]);
//! let get = GetPromptParams::new("review").arguments([("code", "fn main() {}")]);
//! let result = GetPromptResult::new([PromptMessage::new(Role::User, "Review: fn main() {}")]);
//! assert_eq!(result.messages[0].content.as_text(), Some("Review: fn main() {}"));
//! ```

use crate::common::{Icon, Role};
use crate::content::ContentBlock;
use crate::input::{InputRequiredResult, InputResponse};
use crate::meta::{Meta, RequestMeta, ResultMeta};
use crate::result::select_variant;
use crate::wire::Map;

wire_struct! {
    /// A prompt as a server lists it.
    pub struct Prompt {
        /// The programmatic name.
        req name: String = "name";
        /// The display name.
        hint title: String = "title", in since(V2025_06_18);
        /// A description.
        hint description: String = "description";
        /// The arguments.
        opt arguments: Vec<PromptArgument> = "arguments";
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// An argument of a prompt. The value is a string.
    pub struct PromptArgument {
        /// The programmatic name.
        req name: String = "name";
        /// The display name.
        opt title: String = "title", in since(V2025_06_18);
        /// A description.
        opt description: String = "description";
        /// `true` if the argument is required. Default `false`.
        opt required: bool = "required";
    }
}

list_result! {
    /// The result of `prompts/list`.
    pub struct ListPromptsResult {
        /// The prompts of the page.
        prompts: Vec<Prompt> = "prompts";
    }
}

wire_struct! {
    /// The parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The name of the prompt.
        req name: String = "name";
        /// The arguments of the prompt.
        opt arguments: Map<String> = "arguments";
        /// Responses to the input requests of the previous round.
        opt input_responses: Map<InputResponse> = "inputResponses", in since(V2026_07_28), or error;
        /// The request state of the previous round, unchanged.
        opt request_state: String = "requestState", in since(V2026_07_28), or error;
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The messages of a prompt, with its arguments filled in.
    pub struct GetPromptResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The messages.
        req messages: Vec<PromptMessage> = "messages";
        /// A description of the prompt.
        opt description: String = "description";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// A message of a prompt.
    pub struct PromptMessage {
        /// The author of the message.
        req role: Role = "role";
        /// The content of the message.
        req content: ContentBlock = "content";
    }
}

wire_union! {
    /// A result of `prompts/get`.
    pub enum GetPromptResponse decided by select_variant, "`resultType`" {
        /// The server returned the messages.
        Complete(GetPromptResult) = "complete";
        /// The server needs input before it can complete. Since 2026-07-28.
        InputRequired(InputRequiredResult) = "input_required", in since(V2026_07_28);
    }
}
