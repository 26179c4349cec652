//! Edge cases of clients and transports.

use bowline::server::{Server, ToolError, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("large", large)
                .title("Large")
                .description("Returns text of the given number of bytes")
                .annotations(read_only()),
        )
        .add_tool(
            tool("print", print)
                .title("Print")
                .description(
                    "Prints to stdout, which is reserved for the protocol: the text goes to stderr",
                )
                .annotations(read_only()),
        )
}

/// Larger than the maximum size of a frame, so that the limit can be tested.
const MAX_BYTES: usize = 64 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct Large {
    /// The number of bytes, at most 64 MiB. A result larger than a frame becomes an error.
    bytes: usize,
}

async fn large(Large { bytes }: Large) -> Result<String, ToolError> {
    if bytes > MAX_BYTES {
        return Err(ToolError::new(format!("at most {MAX_BYTES} bytes")));
    }
    Ok("x".repeat(bytes))
}

#[derive(Deserialize, JsonSchema)]
struct Print {
    /// The text to print.
    text: String,
}

#[expect(clippy::print_stdout, reason = "the tool shows that this does no harm")]
async fn print(Print { text }: Print) {
    println!("{text}");
}
