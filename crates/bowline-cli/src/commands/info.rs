//! `bowline info`: shows the identity and capabilities of a server.
//!
//! `text` formats what `--json` prints as data.

mod text;

use anyhow::Context as _;
use bowline_types::Era;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::prompts::Prompt;
use bowline_types::tools::Tool;
use serde::Serialize;

use crate::commands::named_items::NamedItem as _;
use crate::commands::resources;
use crate::connect::is_unknown_method;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::{Failure, message_with_causes};
use crate::printer::Printer;
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, ServerSettings};

/// Shows a server.
///
/// # Errors
///
/// The server can't be reached, or the connection is lost. A list that can't be read otherwise is a
/// warning.
pub(crate) fn info(
    settings: &ServerSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(settings, environment, printer, async |connection| {
        let (report, lost) = InfoReport::of(connection).await?;
        match connection.format {
            Format::Text => text::print(&report, connection.printer)?,
            Format::Json => connection.printer.json(&report)?,
        }
        lost.map_or(Ok(()), Err)
    })?;
    Ok(ExitStatus::Done)
}

/// What is shown of a server; the output of `bowline info --json`.
#[derive(Debug, Serialize)]
struct InfoReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Implementation>,
    revision: &'static str,
    era: &'static str,
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    counts: Counts,
}

/// The number of items in each list.
#[derive(Debug, Default, Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Count::is_unknown")]
    tools: Count,
    #[serde(skip_serializing_if = "Count::is_unknown")]
    resources: Count,
    #[serde(skip_serializing_if = "Count::is_unknown")]
    resource_templates: Count,
    #[serde(skip_serializing_if = "Count::is_unknown")]
    prompts: Count,
}

/// The number of items in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Count {
    /// Not requested: the capability is not declared, or the connection was lost before.
    #[default]
    NotRequested,
    /// The number of items.
    Of(usize),
    /// The capability is declared, but the server does not implement the method.
    Missing,
    /// The list can't be read; a warning was written.
    Unlisted,
}

impl InfoReport {
    /// Collects the report. Also returns the error if the connection was lost meanwhile.
    async fn of(
        connection: &ServerConnection<'_>,
    ) -> anyhow::Result<(Self, Option<anyhow::Error>)> {
        let agreement = connection.client.agreement();
        let agreement = agreement.context("no revision was negotiated")?;
        let mut counts = Counts::default();
        let counted = counts.count(connection, &agreement.capabilities).await;
        let report = Self {
            server: agreement.server_info.clone(),
            revision: agreement.revision.as_str(),
            era: match agreement.revision.era() {
                Era::Handshake => "handshake",
                Era::Stateless => "stateless",
            },
            capabilities: agreement.capabilities.clone(),
            instructions: agreement.instructions.clone(),
            counts,
        };
        Ok((report, counted.err()))
    }
}

impl Counts {
    /// Counts the items of each declared capability.
    ///
    /// # Errors
    ///
    /// The connection was lost.
    async fn count(
        &mut self,
        connection: &ServerConnection<'_>,
        capabilities: &ServerCapabilities,
    ) -> anyhow::Result<()> {
        let of = |listed, what| Count::of(listed, what, connection);
        if capabilities.tools.is_some() {
            let tools = Tool::list(connection).await;
            self.tools = of(tools.map(|tools| tools.len()), "tools")?;
        }
        if capabilities.resources.is_some() {
            let resources = resources::list(connection).await;
            self.resources = of(resources.map(|resources| resources.len()), "resources")?;
            let templates = resources::templates(connection).await;
            self.resource_templates = of(templates.map(|templates| templates.len()), "templates")?;
        }
        if capabilities.prompts.is_some() {
            let prompts = Prompt::list(connection).await;
            self.prompts = of(prompts.map(|prompts| prompts.len()), "prompts")?;
        }
        Ok(())
    }
}

impl Count {
    fn of(
        listed: anyhow::Result<usize>,
        what: &str,
        connection: &ServerConnection<'_>,
    ) -> anyhow::Result<Self> {
        match listed {
            Ok(count) => Ok(Self::Of(count)),
            Err(error) if is_unknown_method(&error) => Ok(Self::Missing),
            // The next list can't be read either.
            Err(error) if Failure::status_of(&error) != ExitStatus::Failed => Err(error),
            Err(error) => {
                let words = format!("cannot list the {what}: {}", message_with_causes(&error));
                connection.warn(&words, Failure::hint_of(&error));
                Ok(Self::Unlisted)
            }
        }
    }

    fn is_unknown(&self) -> bool {
        !matches!(self, Self::Of(_))
    }
}
