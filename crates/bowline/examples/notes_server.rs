//! The server of the README: state, structured results, a question to the user, a task,
//! templates, completion and prompts.
//!
//! What follows stands in the README word for word; a test compares them and runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a lock that is poisoned is no matter of an example"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::server::{
    CompletionInput, Context, IntoToolError, Json, Server, State, ToolError, tool,
};
use bowline::transport::stdio;
use bowline::types::elicitation::{ElicitFormParams, ElicitValue, FormSchema, PrimitiveSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Notes = Arc<Mutex<BTreeMap<String, String>>>;

#[derive(Deserialize, JsonSchema)]
struct Note {
    name: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Size {
    bytes: usize,
}

/// There is no such note.
struct Missing(String);

impl IntoToolError for Missing {
    fn into_tool_error(self) -> ToolError {
        ToolError::new(format!("there is no note {}", self.0))
    }
}

async fn write(Note { name, text }: Note, State(notes): State<Notes>) -> &'static str {
    notes.lock().unwrap().insert(name, text);
    "written"
}

async fn size(Name { name }: Name, State(notes): State<Notes>) -> Result<Json<Size>, Missing> {
    let notes = notes.lock().unwrap();
    let text = notes.get(&name).ok_or(Missing(name))?;
    Ok(Json(Size { bytes: text.len() }))
}

async fn clear(State(notes): State<Notes>, cx: Context) -> Result<&'static str, ToolError> {
    let form = FormSchema::new([("sure", PrimitiveSchema::boolean())]).required(["sure".into()]);
    let question = ElicitFormParams::new("Forget all notes?", form);
    let answer = cx.elicit("sure", question).await?;
    // A form can be submitted with "no" in its field.
    let sure = answer
        .content
        .as_ref()
        .and_then(|content| content.get("sure"));
    if !answer.is_accepted() || sure != Some(&ElicitValue::Boolean(true)) {
        return Ok("nothing was forgotten");
    }
    notes.lock().unwrap().clear();
    Ok("all notes are gone")
}

async fn index(cx: Context) -> &'static str {
    for step in 1..=3 {
        cx.progress(step, Some(3.into()), Some("indexing"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    "indexed"
}

async fn read(Name { name }: Name, State(notes): State<Notes>) -> Option<String> {
    notes.lock().unwrap().get(&name).cloned()
}

async fn complete(typed: CompletionInput, State(notes): State<Notes>) -> Vec<String> {
    let notes = notes.lock().unwrap();
    let names = notes.keys().filter(|name| name.starts_with(&typed.value));
    names.cloned().collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), bowline::Error> {
    let index = tool("index", index).description("Takes long");
    Server::new("notes", "1.0.0")
        .state(Notes::default())
        .tool("write", "Writes a note", write)
        .tool("size", "How long a note is", size)
        .tool("clear", "Forgets all notes", clear)
        .add_tool(index.as_task_after(Duration::from_secs(5)))
        .template("note:///{name}", "note", read)
        .completion("note:///{name}", "name", complete)
        .prompt(
            "summarize",
            "Summarizes a note",
            |Name { name }: Name| async move { format!("Summarize the note {name}.") },
        )
        .serve(stdio())
        .await
}
