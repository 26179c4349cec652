//! Prompts: texts and conversations that a user selects.

use std::sync::Arc;

use bowline::server::{CompletionInput, Server, State, ToolError, base64, prompt};
use bowline::types::common::Role;
use bowline::types::content::ContentBlock;
use bowline::types::prompts::PromptMessage;
use bowline::types::resources::ResourceContents;
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;
use super::{icons, notes};

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_prompt(
            prompt("greet", greet)
                .title("Greeting")
                .description("Writes a greeting")
                .icons(icons::knot()),
        )
        .completion("greet", "style", complete_style)
        .add_prompt(
            prompt("look", look)
                .title("Look at a picture")
                .description("A conversation with an image"),
        )
        .add_prompt(
            prompt("summarize", summarize)
                .title("Summarize a note")
                .description("Requests a summary of a note, which is included"),
        )
        .completion("summarize", "name", notes::complete_name)
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The name to greet.
    name: String,
    /// The style: formal, friendly or nautical.
    style: Option<String>,
}

/// A returned text becomes a message of the user.
async fn greet(Greet { name, style }: Greet) -> String {
    let style = style.as_deref().unwrap_or("friendly");
    format!("Write a {style} greeting for {name}.")
}

async fn complete_style(typed: CompletionInput) -> Vec<&'static str> {
    let mut styles = vec!["formal", "friendly", "nautical"];
    styles.retain(|style| style.starts_with(&typed.value));
    styles
}

async fn look() -> Vec<PromptMessage> {
    let picture = ContentBlock::image(base64(&icons::png()), "image/png");
    vec![
        PromptMessage::new(Role::User, picture),
        PromptMessage::new(Role::User, "What is this?"),
        PromptMessage::new(Role::Assistant, "It looks like a knot."),
        PromptMessage::new(Role::User, "Which one?"),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Summarize {
    /// The name of the note.
    name: String,
}

async fn summarize(
    Summarize { name }: Summarize,
    State(app): State<Arc<App>>,
) -> Result<Vec<PromptMessage>, ToolError> {
    let text = app.notes().get(&name).cloned();
    let text = text.ok_or_else(|| ToolError::new("no such note"))?;
    let note = ResourceContents::text(format!("note:///{name}"), text);
    Ok(vec![
        PromptMessage::new(Role::User, "Summarize this note in a sentence."),
        PromptMessage::new(Role::User, ContentBlock::resource(note)),
    ])
}
