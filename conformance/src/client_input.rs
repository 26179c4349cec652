//! Tools that ask the client: for a message of its model, and for input of its user.

use bowline::server::{Context, Server, ToolError};
use bowline::types::common::Role;
use bowline::types::elicitation::{ElicitFormParams, ElicitResult, FormSchema, PrimitiveSchema};
use bowline::types::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool("test_sampling", "Asks the model of the client", sample)
        .tool("test_elicitation", "Asks the user of the client", elicit)
        .tool(
            "test_streaming_elicitation",
            "Asks the user of the client, without arguments",
            elicit_name,
        )
        .tool(
            "test_missing_capability",
            "Needs a client with a model",
            need_sampling,
        )
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// The text for the model.
    prompt: String,
}

async fn sample(Prompt { prompt }: Prompt, cx: Context) -> Result<String, ToolError> {
    let answer = cx.sample("prompt", message(&prompt)).await?;
    Ok(format!("LLM response: {}", text_of(&answer)))
}

async fn need_sampling(cx: Context) -> Result<String, ToolError> {
    let answer = cx.sample("prompt", message("Hello")).await?;
    Ok(text_of(&answer))
}

/// Returns a request for an answer to a text.
pub(crate) fn message(text: &str) -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::new(Role::User, text)], 100)
}

/// Returns the text of an answer.
pub(crate) fn text_of(answer: &CreateMessageResult) -> String {
    let texts: Vec<_> = answer
        .content
        .iter()
        .filter_map(|content| content.as_text())
        .collect();
    texts.join("\n")
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// The text for the user.
    message: String,
}

async fn elicit(Message { message }: Message, cx: Context) -> Result<String, ToolError> {
    let fields = [
        ("username", PrimitiveSchema::string()),
        ("email", PrimitiveSchema::string()),
    ];
    let form = FormSchema::new(fields).required(["username".into(), "email".into()]);
    let answer = cx
        .elicit("user", ElicitFormParams::new(message, form))
        .await?;
    Ok(user_response(&answer))
}

async fn elicit_name(cx: Context) -> Result<String, ToolError> {
    let answer = cx
        .elicit("user_name", required_text("What is your name?", "name"))
        .await?;
    Ok(user_response(&answer))
}

/// Returns a form with one required text.
pub(crate) fn required_text(message: &str, field: &str) -> ElicitFormParams {
    let form = FormSchema::new([(field, PrimitiveSchema::string())]);
    ElicitFormParams::new(message, form.required([field.to_owned()]))
}

/// Returns a form with one required checkbox.
pub(crate) fn required_boolean(message: &str, field: &str) -> ElicitFormParams {
    let form = FormSchema::new([(field, PrimitiveSchema::boolean())]);
    ElicitFormParams::new(message, form.required([field.to_owned()]))
}

/// Returns what the user has done, in words.
pub(crate) fn user_response(answer: &ElicitResult) -> String {
    let action = answer.action.as_str();
    format!("User response: {action}, {:?}", answer.content)
}
