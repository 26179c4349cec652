//! `bowline tools`: lists the tools of a server, or shows one with its schemas.
//!
//! `text` formats them.

mod text;

use bowline_types::tools::Tool;
use serde::Serialize;

use crate::commands::find_by_name::find_by_name;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, ListSettings};

/// Lists all tools, or shows one.
///
/// # Errors
///
/// The server can't be reached, doesn't list its tools, or has none of that name.
pub(crate) fn tools(
    settings: &ListSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| {
            let tools = list(connection).await?;
            match &settings.name {
                None => print_all(&tools, connection),
                Some(name) => print_one(&find(name, tools)?, connection),
            }
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Returns all tools of the server.
pub(super) async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Tool>> {
    let tools = connection.client.tools().pages();
    connection.list(tools, "tool").await
}

/// Returns the tool of a name.
pub(super) fn find(name: &str, tools: Vec<Tool>) -> anyhow::Result<Tool> {
    find_by_name("tool", name, tools, |tool| &tool.name)
}

/// The output of `--json`.
#[derive(Serialize)]
struct All<'a> {
    tools: &'a [Tool],
}

fn print_all(tools: &[Tool], connection: &mut ServerConnection<'_>) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => connection.printer.json(&All { tools }),
        Format::Text => {
            for tool in tools {
                text::brief(tool, connection.printer)?;
            }
            connection.print_count(tools.len(), "tool")
        }
    }
}

fn print_one(tool: &Tool, connection: &mut ServerConnection<'_>) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => connection.printer.json(tool),
        Format::Text => text::full(tool, connection.printer),
    }
}
