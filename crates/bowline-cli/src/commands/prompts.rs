//! `bowline prompts`: which prompts a server has.

mod text;

use bowline_types::prompts::Prompt;
use serde::Serialize;

use crate::commands::find_by_name::pick;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::{self, Conversation};
use crate::settings::{Format, ListSettings};
use crate::surroundings::Surroundings;

/// Lists all prompts, or shows one.
///
/// # Errors
///
/// The server can't be reached, doesn't list its prompts, or has none of that name.
pub(crate) fn prompts(
    settings: &ListSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::hold(
        &settings.server,
        surroundings,
        printer,
        async |conversation| {
            let prompts = list(conversation).await?;
            match &settings.name {
                None => tell_all(&prompts, conversation),
                Some(name) => tell_one(&named(name, prompts)?, conversation),
            }
        },
    )?;
    Ok(ExitStatus::Done)
}

/// All prompts of the server.
pub(super) async fn list(conversation: &Conversation<'_>) -> anyhow::Result<Vec<Prompt>> {
    let prompts = conversation.client.prompts().pages();
    conversation.list(prompts, "prompt").await
}

/// The prompt of a name.
pub(super) fn named(name: &str, prompts: Vec<Prompt>) -> anyhow::Result<Prompt> {
    pick("prompt", name, prompts, |prompt| &prompt.name)
}

/// All of them as a program sees them.
#[derive(Serialize)]
struct All<'a> {
    prompts: &'a [Prompt],
}

fn tell_all(prompts: &[Prompt], conversation: &mut Conversation<'_>) -> anyhow::Result<()> {
    match conversation.format {
        Format::Json => conversation.printer.json(&All { prompts }),
        Format::Text => {
            for prompt in prompts {
                text::brief(prompt, conversation.printer)?;
            }
            conversation.tally(prompts.len(), "prompt")
        }
    }
}

fn tell_one(prompt: &Prompt, conversation: &mut Conversation<'_>) -> anyhow::Result<()> {
    match conversation.format {
        Format::Json => conversation.printer.json(prompt),
        Format::Text => text::full(prompt, conversation.printer),
    }
}
