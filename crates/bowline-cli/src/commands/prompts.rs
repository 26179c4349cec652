//! `bowline prompts`: lists the prompts of a server.
//!
//! `text` formats them.

mod text;

use bowline_types::prompts::Prompt;
use serde::Serialize;

use crate::commands::find_by_name::find_by_name;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, ListSettings};

/// Lists all prompts, or shows one.
///
/// # Errors
///
/// The server can't be reached, doesn't list its prompts, or has none of that name.
pub(crate) fn prompts(
    settings: &ListSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| {
            let prompts = list(connection).await?;
            match &settings.name {
                None => print_all(&prompts, connection),
                Some(name) => print_one(&find(name, prompts)?, connection),
            }
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Returns all prompts of the server.
pub(super) async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Prompt>> {
    let prompts = connection.client.prompts().pages();
    connection.list(prompts, "prompt").await
}

/// Returns the prompt of a name.
pub(super) fn find(name: &str, prompts: Vec<Prompt>) -> anyhow::Result<Prompt> {
    find_by_name("prompt", name, prompts, |prompt| &prompt.name)
}

/// The output of `--json`.
#[derive(Serialize)]
struct All<'a> {
    prompts: &'a [Prompt],
}

fn print_all(prompts: &[Prompt], connection: &mut ServerConnection<'_>) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => connection.printer.json(&All { prompts }),
        Format::Text => {
            for prompt in prompts {
                text::brief(prompt, connection.printer)?;
            }
            connection.print_count(prompts.len(), "prompt")
        }
    }
}

fn print_one(prompt: &Prompt, connection: &mut ServerConnection<'_>) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => connection.printer.json(prompt),
        Format::Text => text::full(prompt, connection.printer),
    }
}
