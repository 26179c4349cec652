//! A list of tools that changes while the server runs.

use std::sync::Arc;

use bowline::server::{Server, State, ToolError, tool};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;
use super::basics::read_only;

/// The maximum number of plugins that clients can add.
const MAX_PLUGINS: u32 = 100;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("plugin_add", plugin_add)
                .title("Add a plugin")
                .description(
                    "Adds a tool plugin_1, plugin_2, …; clients are notified of the change",
                )
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(false)
                        .open_world_hint(false),
                ),
        )
        .add_tool(
            tool("plugin_remove", plugin_remove)
                .title("Remove a plugin")
                .description("Removes the most recently added tool")
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(true)
                        .open_world_hint(false),
                ),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Plugin {
    /// The result of the new tool.
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
    if *plugins == MAX_PLUGINS {
        return Err(ToolError::new(format!("at most {MAX_PLUGINS} plugins")));
    }
    let name = format!("plugin_{}", *plugins + 1);
    let plugin = tool(&name, move || {
        let answer = answer.clone();
        async move { answer }
    });
    let plugin = plugin.description("A tool that was added while the server was running");
    app.features.add_tool(plugin.annotations(read_only()))?;
    *plugins += 1;
    Ok(name)
}

async fn plugin_remove(State(app): State<Arc<App>>) -> Result<String, ToolError> {
    let mut plugins = app.plugins();
    if *plugins == 0 {
        return Err(ToolError::new("no plugin to remove"));
    }
    let name = format!("plugin_{plugins}");
    *plugins -= 1;
    app.features.remove_tool(&name);
    Ok(name)
}
