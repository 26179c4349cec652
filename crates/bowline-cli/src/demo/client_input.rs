//! Tools that request input from the client: elicitation, sampling, roots.
//!
//! The same handlers serve all revisions. Up to 2025-11-25 they wait for the response. Since
//! 2026-07-28 the request ends with an input request, and the handler runs again from the top when
//! the client retries with the response. If the client lacks the capability, `?` returns the
//! error.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bowline::server::{Context, Server, State, ToolError, tool};
use bowline::types::common::Role;
use bowline::types::elicitation::{
    ElicitFormParams, ElicitResult, ElicitUrlParams, ElicitValue, FormSchema, PrimitiveSchema,
};
use bowline::types::sampling::{CreateMessageParams, SamplingMessage};
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("ask_name", ask_name)
                .title("Ask for a name")
                .description("Requests a name with a form, and returns a greeting"),
        )
        .add_tool(
            tool("ask_survey", ask_survey)
                .title("Ask survey questions")
                .description("Requests two forms, with a field of each kind"),
        )
        .add_tool(
            tool("ask_url", ask_url)
                .title("Ask to open a URL")
                .description("Requests that the user opens a URL (since 2025-11-25)"),
        )
        .add_tool(
            tool("ask_model", ask_model)
                .title("Ask the model")
                .description("Requests a message from the client's model, by sampling"),
        )
        .add_tool(
            tool("list_roots", list_roots)
                .title("List roots")
                .description("Requests the roots of the client, and lists them"),
        )
}

async fn ask_name(cx: Context) -> Result<String, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]).required(["name".into()]);
    let question = ElicitFormParams::new("What is your name?", form);
    let answer = cx.elicit("name", question).await?;
    Ok(match text_of(&answer, "name") {
        Some(name) => format!("Hello, {name}!"),
        // A user who declines is not an error.
        None => format!("No name: {}.", answer.action.as_str()),
    })
}

async fn ask_survey(State(app): State<Arc<App>>, cx: Context) -> Result<String, ToolError> {
    // The handler may run again from the top, but counts the survey once.
    if cx.once("begun") {
        app.surveys.fetch_add(1, Ordering::Relaxed);
    }
    let form = FormSchema::new([
        ("age", PrimitiveSchema::integer()),
        ("weight", PrimitiveSchema::number()),
        ("sails", PrimitiveSchema::boolean()),
        ("knot", PrimitiveSchema::one_of(["bowline", "clove hitch"])),
    ]);
    let first = ElicitFormParams::new("Your details", form);
    let first = cx.elicit("you", first).await?;
    let Some(knot) = text_of(&first, "knot") else {
        return Ok("The survey has ended early.".to_owned());
    };
    // Each input request has a key of its own.
    let form = FormSchema::new([("why", PrimitiveSchema::string())]);
    let second = ElicitFormParams::new(format!("Why the {knot}?"), form);
    let second = cx.elicit("why", second).await?;
    let why = text_of(&second, "why").unwrap_or("no reason");
    let surveys = app.surveys.load(Ordering::Relaxed);
    Ok(format!("Survey {surveys}: {knot}, because: {why}"))
}

async fn ask_url(cx: Context) -> Result<String, ToolError> {
    let question =
        ElicitUrlParams::new("Please open this page", "https://modelcontextprotocol.io/");
    let answer = cx.elicit("url", question).await?;
    Ok(format!("The user's answer: {}", answer.action.as_str()))
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The question for the model.
    question: String,
}

async fn ask_model(Question { question }: Question, cx: Context) -> Result<String, ToolError> {
    let message = SamplingMessage::new(Role::User, question.as_str());
    let params = CreateMessageParams::new([message], 200).system_prompt("Answer briefly.");
    let answer = cx.sample("question", params).await?;
    let texts: Vec<_> = answer
        .content
        .iter()
        .filter_map(|content| content.as_text())
        .collect();
    Ok(format!("{}: {}", answer.model, texts.join("\n")))
}

async fn list_roots(cx: Context) -> Result<String, ToolError> {
    let answer = cx.list_roots("roots").await?;
    let roots = answer.roots.into_iter().map(|root| match root.name {
        Some(name) => format!("{name}: {}", root.uri),
        None => root.uri,
    });
    Ok(roots.collect::<Vec<_>>().join("\n"))
}

/// Returns the text of a field, if the user accepted the form.
fn text_of<'a>(answer: &'a ElicitResult, field: &str) -> Option<&'a str> {
    match answer.content.as_ref()?.get(field)? {
        ElicitValue::String(text) if answer.is_accepted() => Some(text),
        _ => None,
    }
}
