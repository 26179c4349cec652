//! The items of a server that have names: its tools and its prompts. All are listed, or one is
//! shown.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::commands::find_by_name::find_by_name;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, ListSettings};

/// A tool or a prompt.
pub(super) trait NamedItem: Serialize + Sized {
    /// The word for one of them.
    const KIND: &'static str;
    /// The word for several, which is a member of the output of `--json`.
    const KINDS: &'static str;

    /// Returns the name.
    fn name(&self) -> &str;

    /// Returns all that the server has.
    async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Self>>;

    /// Prints it in a few lines.
    fn print_brief(&self, printer: &mut Printer) -> anyhow::Result<()>;

    /// Prints all its details.
    fn print_full(&self, printer: &mut Printer) -> anyhow::Result<()>;
}

/// Runs a command that lists all items, or shows one.
///
/// # Errors
///
/// The server can't be reached, doesn't list its items, or has none of that name.
pub(super) fn list_or_show<T: NamedItem>(
    settings: &ListSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| match &settings.name {
            None => print_all(&T::list(connection).await?, connection),
            Some(name) => print_one(&find::<T>(name, connection).await?, connection),
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Returns the item of a name.
///
/// # Errors
///
/// The server doesn't list its items, or has none of that name.
pub(super) async fn find<T: NamedItem>(
    name: &str,
    connection: &ServerConnection<'_>,
) -> anyhow::Result<T> {
    find_by_name(T::KIND, name, T::list(connection).await?, T::name)
}

fn print_all<T: NamedItem>(
    items: &[T],
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => {
            let all = BTreeMap::from([(T::KINDS, items)]);
            connection.printer.json(&all)
        }
        Format::Text => {
            for item in items {
                item.print_brief(connection.printer)?;
            }
            connection.print_count(items.len(), T::KIND)
        }
    }
}

fn print_one<T: NamedItem>(item: &T, connection: &mut ServerConnection<'_>) -> anyhow::Result<()> {
    match connection.format {
        Format::Json => connection.printer.json(item),
        Format::Text => item.print_full(connection.printer),
    }
}
