//! Tools in a few lines: typed arguments in, text or structured content out.

use bowline::server::{Json, Server, tool};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("echo", echo)
                .title("Echo")
                .description("Says what it is told")
                .annotations(read_only()),
        )
        .add_tool(
            tool("add", add)
                .title("Add")
                .description("Adds two numbers")
                .annotations(read_only()),
        )
        .add_tool(
            tool("count_words", count_words)
                .title("Count words")
                .description("Counts what a text consists of, as structured content with a schema")
                .annotations(read_only()),
        )
}

/// What to say of a tool that changes nothing and reaches nothing outside.
pub(super) fn read_only() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only_hint(true)
        .open_world_hint(false)
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

async fn echo(Text { text }: Text) -> String {
    text
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

async fn add(Add { a, b }: Add) -> f64 {
    a + b
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    /// How many characters it has.
    characters: usize,
    /// How many words.
    words: usize,
    /// How many lines.
    lines: usize,
}

/// `Json` makes structured content, and its type makes the tool's output schema.
async fn count_words(Text { text }: Text) -> Json<Counts> {
    Json(Counts {
        characters: text.chars().count(),
        words: text.split_whitespace().count(),
        lines: text.lines().count(),
    })
}
