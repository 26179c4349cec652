//! What a client or a transport may stumble over.

use bowline::server::{Server, ToolError, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("large", large)
                .title("Large")
                .description("Answers with a text of so many bytes")
                .annotations(read_only()),
        )
        .add_tool(
            tool("print", print)
                .title("Print")
                .description("Prints to stdout, which belongs to the protocol: it goes to stderr")
                .annotations(read_only()),
        )
}

/// More than a frame may have, so that this can be tried too.
const MOST: usize = 64 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct Large {
    /// How many bytes, up to 64 MiB. What is larger than a frame may be becomes an error.
    bytes: usize,
}

async fn large(Large { bytes }: Large) -> Result<String, ToolError> {
    if bytes > MOST {
        return Err(ToolError::new(format!("at most {MOST} bytes")));
    }
    Ok("x".repeat(bytes))
}

#[derive(Deserialize, JsonSchema)]
struct Print {
    /// The text to print.
    text: String,
}

#[expect(clippy::print_stdout, reason = "that it does no harm is the point")]
async fn print(Print { text }: Print) {
    println!("{text}");
}
