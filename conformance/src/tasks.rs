//! Tools that run as tasks (SEP-2663), and one that doesn't.

use std::time::Duration;

use bowline::server::{Context, Server, ToolDef, ToolError, tool};
use bowline::types::ErrorObject;
use bowline::types::tools::TaskSupport;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use crate::client_input::{required_boolean, required_text, user_response};
use crate::input_rounds::ask_name;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool("greet", "Greets, and never as a task", greet)
        .add_tool(
            tool("slow_compute", compute)
                .description("Takes as long as it is asked to")
                .as_task_after(SOON),
        )
        .add_tool(required(tool("failing_job", fail)).description("Fails after a second"))
        .add_tool(
            required(tool("protocol_error_job", fail_with_protocol_error))
                .description("Fails with a protocol error"),
        )
        .add_tool(
            required(tool("confirm_delete", confirm_delete)).description("Asks before it deletes"),
        )
        .add_tool(
            required(tool("multi_input", multi_input)).description("Asks two questions at once"),
        )
        .add_tool(
            tool("test_tool_with_task", greet_slowly)
                .description("Asks for a name, and then becomes a task")
                .as_task_after(SOON),
        )
}

/// What takes longer becomes a task.
const SOON: Duration = Duration::from_millis(50);

fn required(tool: ToolDef) -> ToolDef {
    tool.task_support(TaskSupport::Required)
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// The name to greet.
    name: String,
}

async fn greet(Name { name }: Name) -> String {
    format!("Hello, {name}!")
}

#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// How long it takes.
    seconds: f64,
    /// A word for the result.
    #[serde(default)]
    label: String,
}

async fn compute(Compute { seconds, label }: Compute) -> String {
    // At most the longest that a scenario cancels.
    sleep(Duration::from_secs_f64(seconds.clamp(0.0, 600.0))).await;
    format!("Computed {label} in {seconds} s.")
}

async fn fail() -> Result<(), ToolError> {
    sleep(Duration::from_secs(1)).await;
    Err(ToolError::new("the job failed"))
}

async fn fail_with_protocol_error() -> Result<(), ToolError> {
    sleep(SOON).await;
    let error = ErrorObject::internal_error("the job failed with a protocol error");
    Err(ToolError::protocol(error))
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// The name of the file.
    filename: String,
}

async fn confirm_delete(File { filename }: File, cx: Context) -> Result<String, ToolError> {
    let question = required_boolean(&format!("Delete {filename}?"), "confirm");
    let answer = cx.elicit("confirm", question).await?;
    Ok(user_response(&answer))
}

async fn multi_input(cx: Context) -> Result<String, ToolError> {
    let (first, second) = tokio::join!(
        cx.elicit("first", required_text("What is first?", "value")),
        cx.elicit("second", required_text("What is second?", "value")),
    );
    Ok(format!(
        "{}; {}",
        user_response(&first?),
        user_response(&second?)
    ))
}

async fn greet_slowly(cx: Context) -> Result<String, ToolError> {
    let name = ask_name(&cx).await?;
    sleep(10 * SOON).await;
    Ok(format!("Hello, {name}!"))
}
