//! `bowline prompts`: lists the prompts of a server, or shows one.
//!
//! `text` formats them.

mod text;

use bowline_types::prompts::Prompt;

use crate::commands::named_items::{self, NamedItem};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::ServerConnection;
use crate::settings::ListSettings;

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
    named_items::list_or_show::<Prompt>(settings, environment, printer)
}

impl NamedItem for Prompt {
    const KIND: &'static str = "prompt";
    const KINDS: &'static str = "prompts";

    fn name(&self) -> &str {
        &self.name
    }

    async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Self>> {
        let prompts = connection.client.prompts().pages();
        connection.list(prompts, Self::KIND).await
    }

    fn print_brief(&self, printer: &mut Printer) -> anyhow::Result<()> {
        text::brief(self, printer)
    }

    fn print_full(&self, printer: &mut Printer) -> anyhow::Result<()> {
        text::full(self, printer)
    }
}
