//! A list of tools that changes while the server runs.

use std::sync::Arc;

use bowline::server::{Server, State, ToolError, tool};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;
use super::basics::read_only;

/// What a client may make the server keep.
const MOST: u32 = 100;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("plugin_add", plugin_add)
                .title("Add a plugin")
                .description("Adds a tool plugin_1, plugin_2, …; clients are told of the new list")
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(false)
                        .open_world_hint(false),
                ),
        )
        .add_tool(
            tool("plugin_remove", plugin_remove)
                .title("Remove a plugin")
                .description("Removes the tool that was added last")
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(true)
                        .open_world_hint(false),
                ),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Plugin {
    /// What the new tool answers.
    #[serde(default = "hello")]
    answer: String,
}

fn hello() -> String {
    "hello".to_owned()
}

async fn plugin_add(
    Plugin { answer }: Plugin,
    State(app): State<Arc<App>>,
) -> Result<String, ToolError> {
    let mut plugins = app.plugins();
    if *plugins == MOST {
        return Err(ToolError::new(format!("at most {MOST} plugins")));
    }
    let name = format!("plugin_{}", *plugins + 1);
    let plugin = tool(&name, move || {
        let answer = answer.clone();
        async move { answer }
    });
    let plugin = plugin.description("A tool that was added while the server ran");
    app.features.add_tool(plugin.annotations(read_only()))?;
    *plugins += 1;
    Ok(name)
}

async fn plugin_remove(State(app): State<Arc<App>>) -> Result<String, ToolError> {
    let mut plugins = app.plugins();
    if *plugins == 0 {
        return Err(ToolError::new("there is no plugin"));
    }
    let name = format!("plugin_{plugins}");
    *plugins -= 1;
    app.features.remove_tool(&name);
    Ok(name)
}
