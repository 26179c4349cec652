//! Failures, and what a client sees of them.

use bowline::server::{Server, ToolError, resource, tool};
use bowline::types::{ErrorObject, JsonObject};
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("fail", fail)
                .title("Fail")
                .description("Fails with a message that the model should see")
                .annotations(read_only()),
        )
        .add_tool(
            tool("fail_inside", fail_inside)
                .title("Internal error")
                .description("Fails with an internal error, whose text is hidden from clients")
                .annotations(read_only()),
        )
        .add_tool(
            tool("protocol_error", protocol_error)
                .title("Protocol error")
                .description("Returns a protocol error in place of a result")
                .annotations(read_only()),
        )
        .add_tool(
            tool("panic", panics)
                .title("Panic")
                .description("Panics, without affecting other calls")
                .annotations(read_only()),
        )
        .add_resource(
            resource("demo://broken", "broken", broken)
                .title("Broken")
                .description("A resource that can't be read"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Fail {
    /// The error message.
    #[serde(default = "no_luck")]
    message: String,
}

fn no_luck() -> String {
    "no such file".to_owned()
}

async fn fail(Fail { message }: Fail) -> Result<(), ToolError> {
    Err(ToolError::new(message))
}

/// `?` hides the text of the error, which may contain paths, names or secrets.
async fn fail_inside() -> Result<String, ToolError> {
    Ok(std::fs::read_to_string("/nowhere/secret")?)
}

async fn protocol_error() -> Result<(), ToolError> {
    let data: JsonObject = [("reason", "demonstration")].into_iter().collect();
    let error = ErrorObject::new(-31000, "an error of the application").data(data);
    Err(ToolError::protocol(error))
}

async fn panics() -> &'static str {
    panic!("this is what a bug looks like")
}

async fn broken() -> Result<String, ToolError> {
    Err(ToolError::new("database connection lost"))
}
