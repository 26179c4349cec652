//! `bowline tools`: lists the tools of a server, or shows one with its schemas.
//!
//! `text` formats them.

mod text;

use bowline_types::tools::Tool;

use crate::commands::named_items::{self, NamedItem};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::ServerConnection;
use crate::settings::ListSettings;

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
    named_items::list_or_show::<Tool>(settings, environment, printer)
}

impl NamedItem for Tool {
    const KIND: &'static str = "tool";
    const KINDS: &'static str = "tools";

    fn name(&self) -> &str {
        &self.name
    }

    async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Self>> {
        let tools = connection.client.tools().pages();
        connection.list(tools, Self::KIND).await
    }

    fn print_brief(&self, printer: &mut Printer) -> anyhow::Result<()> {
        text::brief(self, printer)
    }

    fn print_full(&self, printer: &mut Printer) -> anyhow::Result<()> {
        text::full(self, printer)
    }
}
