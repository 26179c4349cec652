//! Prompts: templates of messages that a user picks, such as slash commands.
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
        /// Its name for programs.
        req name: String = "name";
        /// Its name for people.
        hint title: String = "title", in since(V2025_06_18);
        /// What it does.
        hint description: String = "description";
        /// The arguments that it takes.
        opt arguments: Vec<PromptArgument> = "arguments";
        /// Icons to show.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// An argument of a prompt. Its value is a string.
    pub struct PromptArgument {
        /// Its name for programs.
        req name: String = "name";
        /// Its name for people.
        opt title: String = "title", in since(V2025_06_18);
        /// What it is for.
        opt description: String = "description";
        /// Whether it must be given. Default false.
        opt required: bool = "required";
    }
}

list_result! {
    /// The result of `prompts/list`.
    pub struct ListPromptsResult {
        /// The prompts of this page.
        prompts: Vec<Prompt> = "prompts";
    }
}

wire_struct! {
    /// The parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The prompt.
        req name: String = "name";
        /// Its arguments.
        opt arguments: Map<String> = "arguments";
        /// Answers to the input requests of the round before.
        opt input_responses: Map<InputResponse> = "inputResponses", in since(V2026_07_28), or error;
        /// The state of the round before, exactly as it came.
        opt request_state: String = "requestState", in since(V2026_07_28), or error;
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The messages of a prompt, with its arguments filled in.
    pub struct GetPromptResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The messages.
        req messages: Vec<PromptMessage> = "messages";
        /// What the prompt does.
        opt description: String = "description";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// A message of a prompt.
    pub struct PromptMessage {
        /// Who speaks.
        req role: Role = "role";
        /// What they say.
        req content: ContentBlock = "content";
    }
}

wire_union! {
    /// The answers that `prompts/get` can have.
    pub enum GetPromptResponse decided by select_variant, "`resultType`" {
        /// The messages.
        Complete(GetPromptResult) = "complete";
        /// The server needs input first. Since 2026-07-28.
        InputRequired(InputRequiredResult) = "input_required", in since(V2026_07_28);
    }
}
