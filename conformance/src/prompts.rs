//! Prompts, and the completion of their arguments.

use bowline::server::{CompletionInput, Context, Server, ToolError, base64};
use bowline::types::common::Role;
use bowline::types::content::ContentBlock;
use bowline::types::prompts::PromptMessage;
use bowline::types::resources::TextResourceContents;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::client_input::required_text;
use crate::content::PNG;
use crate::input_rounds::text_field;

const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

pub(crate) fn add_to(server: Server) -> Server {
    server
        .prompt("test_simple_prompt", "A text", simple)
        .prompt(WITH_ARGUMENTS, "A text with arguments", with_arguments)
        .completion(WITH_ARGUMENTS, "arg1", complete)
        .prompt(
            "test_prompt_with_embedded_resource",
            "A resource and a text",
            with_resource,
        )
        .prompt("test_prompt_with_image", "An image and a text", with_image)
        .prompt(
            "test_input_required_result_prompt",
            "Asks for a context",
            with_input,
        )
}

async fn simple() -> &'static str {
    "This is a simple prompt for testing."
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

async fn with_arguments(Arguments { arg1, arg2 }: Arguments) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

async fn complete(typed: CompletionInput) -> Vec<&'static str> {
    let mut values = vec!["paris", "park", "party"];
    values.retain(|value| value.starts_with(&typed.value));
    values
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Resource {
    /// The URI of the resource.
    resource_uri: String,
}

async fn with_resource(Resource { resource_uri }: Resource) -> Vec<PromptMessage> {
    let contents =
        TextResourceContents::new(resource_uri, "Embedded resource content for testing.");
    let resource = ContentBlock::resource(contents.mime_type("text/plain"));
    vec![
        PromptMessage::new(Role::User, resource),
        PromptMessage::new(Role::User, "Please process the embedded resource above."),
    ]
}

async fn with_image() -> Vec<PromptMessage> {
    let image = ContentBlock::image(base64(PNG), "image/png");
    vec![
        PromptMessage::new(Role::User, image),
        PromptMessage::new(Role::User, "Please analyze the image above."),
    ]
}

async fn with_input(cx: Context) -> Result<String, ToolError> {
    let form = required_text("What is the context?", "context");
    let answer = cx.elicit("user_context", form).await?;
    let context = text_field(&answer, "context");
    Ok(format!("The context is {context:?}."))
}
