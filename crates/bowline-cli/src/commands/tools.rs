//! `bowline tools`: which tools a server has, and all that it says of one.

mod text;

use bowline_types::tools::Tool;
use serde::Serialize;

use crate::commands::find_by_name::pick;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::{self, Conversation};
use crate::settings::{Format, ListSettings};
use crate::surroundings::Surroundings;

/// Lists all tools, or shows one.
///
/// # Errors
///
/// The server can't be reached, doesn't list its tools, or has none of that name.
pub(crate) fn tools(
    settings: &ListSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::hold(
        &settings.server,
        surroundings,
        printer,
        async |conversation| {
            let tools = list(conversation).await?;
            match &settings.name {
                None => tell_all(&tools, conversation),
                Some(name) => tell_one(&named(name, tools)?, conversation),
            }
        },
    )?;
    Ok(ExitStatus::Done)
}

/// All tools of the server.
pub(super) async fn list(conversation: &Conversation<'_>) -> anyhow::Result<Vec<Tool>> {
    let tools = conversation.client.tools().pages();
    conversation.list(tools, "tool").await
}

/// The tool of a name.
pub(super) fn named(name: &str, tools: Vec<Tool>) -> anyhow::Result<Tool> {
    pick("tool", name, tools, |tool| &tool.name)
}

/// All of them as a program sees them.
#[derive(Serialize)]
struct All<'a> {
    tools: &'a [Tool],
}

fn tell_all(tools: &[Tool], conversation: &mut Conversation<'_>) -> anyhow::Result<()> {
    match conversation.format {
        Format::Json => conversation.printer.json(&All { tools }),
        Format::Text => {
            for tool in tools {
                text::brief(tool, conversation.printer)?;
            }
            conversation.tally(tools.len(), "tool")
        }
    }
}

fn tell_one(tool: &Tool, conversation: &mut Conversation<'_>) -> anyhow::Result<()> {
    match conversation.format {
        Format::Json => conversation.printer.json(tool),
        Format::Text => text::full(tool, conversation.printer),
    }
}
