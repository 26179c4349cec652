//! Basic tools: typed arguments, text or structured content.

use bowline::server::{Json, Server, tool};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("echo", echo)
                .title("Echo")
                .description("Returns the given text")
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
                .description("Counts characters, words and lines of a text, as structured content with a schema")
                .annotations(read_only()),
        )
}

/// Annotations for a tool without side effects.
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
    /// The number of characters.
    characters: usize,
    /// The number of words.
    words: usize,
    /// The number of lines.
    lines: usize,
}

/// `Json` returns structured content, and its type defines the output schema.
async fn count_words(Text { text }: Text) -> Json<Counts> {
    Json(Counts {
        characters: text.chars().count(),
        words: text.split_whitespace().count(),
        lines: text.lines().count(),
    })
}
