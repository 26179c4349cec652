//! Tools for rounds of input (SEP-2322): requests that are answered with questions, and sent again
//! with the answers.
//!
//! The state that goes to the client and back is made by the library, which seals it. So a tool
//! whose state a scenario changes is like any other.

use bowline::server::{Context, Server, ToolError};
use bowline::types::elicitation::{ElicitResult, ElicitValue};

use crate::client_input::{message, required_boolean, required_text, text_of};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(
            "test_input_required_result_elicitation",
            "Asks for a name",
            greet,
        )
        .tool(
            "test_input_required_result_sampling",
            "Asks the model for a capital",
            capital,
        )
        .tool(
            "test_input_required_result_list_roots",
            "Asks for the roots",
            roots,
        )
        .tool(
            "test_input_required_result_request_state",
            "Asks for a confirmation, with a state",
            confirm,
        )
        .tool(
            "test_input_required_result_multiple_inputs",
            "Asks three questions at once",
            multiple_inputs,
        )
        .tool(
            "test_input_required_result_multi_round",
            "Asks two questions, one after the other",
            multi_round,
        )
        .tool(
            "test_input_required_result_tampered_state",
            "Asks for a confirmation, with a state that must not be changed",
            confirm,
        )
        .tool(
            "test_input_required_result_capabilities",
            "Asks what the client can answer",
            capabilities,
        )
}

async fn greet(cx: Context) -> Result<String, ToolError> {
    let name = ask_name(&cx).await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks for the name of the user.
pub(crate) async fn ask_name(cx: &Context) -> Result<String, ToolError> {
    let form = required_text("What is your name?", "name");
    let answer = cx.elicit("user_name", form).await?;
    text_field(&answer, "name").ok_or_else(|| ToolError::new("the user gave no name"))
}

/// Returns the text of a field of a form that the user accepted.
pub(crate) fn text_field(answer: &ElicitResult, field: &str) -> Option<String> {
    match answer.content.as_ref()?.get(field)? {
        ElicitValue::String(text) if answer.is_accepted() => Some(text.clone()),
        _ => None,
    }
}

async fn capital(cx: Context) -> Result<String, ToolError> {
    let question = message("What is the capital of France?");
    let answer = cx.sample("capital_question", question).await?;
    Ok(text_of(&answer))
}

async fn roots(cx: Context) -> Result<String, ToolError> {
    let answer = cx.list_roots("client_roots").await?;
    let roots: Vec<_> = answer.roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("The roots are: {}", roots.join(", ")))
}

async fn confirm(cx: Context) -> Result<&'static str, ToolError> {
    cx.elicit("confirm", required_boolean("Is that right?", "ok"))
        .await?;
    Ok("state-ok")
}

async fn multiple_inputs(cx: Context) -> Result<String, ToolError> {
    let mut greeting = message("Write a greeting.");
    greeting.max_tokens = 50;
    let (name, greeting, roots) = tokio::join!(
        ask_name(&cx),
        cx.sample("greeting", greeting),
        cx.list_roots("client_roots"),
    );
    let (name, greeting, roots) = (name?, greeting?, roots?.roots.len());
    Ok(format!(
        "{}, {name}, with {roots} roots",
        text_of(&greeting)
    ))
}

async fn multi_round(cx: Context) -> Result<String, ToolError> {
    let name = required_text("What is your name?", "name");
    let name = cx.elicit("step1", name).await?;
    let colour = required_text("What is your favorite color?", "color");
    let colour = cx.elicit("step2", colour).await?;
    let (name, colour) = (text_field(&name, "name"), text_field(&colour, "color"));
    let unknown = || "unknown".to_owned();
    let (name, colour) = (name.unwrap_or_else(unknown), colour.unwrap_or_else(unknown));
    Ok(format!("{name} likes {colour}."))
}

async fn capabilities(cx: Context) -> Result<String, ToolError> {
    let declared = cx.client_capabilities();
    if declared.elicitation.is_some() {
        return greet(cx).await;
    }
    if declared.sampling.is_some() {
        return capital(cx).await;
    }
    if declared.roots.is_some() {
        return roots(cx).await;
    }
    Ok("The client can answer nothing.".to_owned())
}
