//! `bowline resources`: lists the resources and resource templates of a server.

use bowline_types::resources::{Resource, ResourceTemplate};
use serde::Serialize;

use crate::connect::is_unknown_method;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::{Printer, Tone};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, ServerSettings};
use crate::table::Table;

/// Lists resources and templates.
///
/// # Errors
///
/// The server can't be reached, or doesn't list them.
pub(crate) fn resources(
    settings: &ServerSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(settings, environment, printer, async |connection| {
        let resources = list(connection).await?;
        let templates = templates(connection).await?;
        match connection.format {
            Format::Json => connection.printer.json(&All {
                resources: &resources,
                templates: &templates,
            }),
            Format::Text => print_tables(&resources, &templates, connection),
        }
    })?;
    Ok(ExitStatus::Done)
}

/// The output of `--json`.
#[derive(Serialize)]
struct All<'a> {
    resources: &'a [Resource],
    #[serde(rename = "resourceTemplates")]
    templates: &'a [ResourceTemplate],
}

/// Returns all resources of the server.
pub(super) async fn list(connection: &ServerConnection<'_>) -> anyhow::Result<Vec<Resource>> {
    let resources = connection.client.resources().pages();
    connection.list(resources, "resource").await
}

/// Returns all resource templates of the server. A server with resources that does not implement
/// the method has none.
pub(super) async fn templates(
    connection: &ServerConnection<'_>,
) -> anyhow::Result<Vec<ResourceTemplate>> {
    let templates = connection.client.resources().template_pages();
    let templates = connection.list(templates, "template").await;
    match templates {
        Err(error) if is_unknown_method(&error) => Ok(Vec::new()),
        templates => templates,
    }
}

fn print_tables(
    resources: &[Resource],
    templates: &[ResourceTemplate],
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    let mut table = Table::new(["NAME", "TYPE", "BYTES", "DESCRIPTION", "URI"]);
    for resource in resources {
        let size = resource.size.map(|size| size.to_string());
        let cells = [
            resource.name.clone(),
            resource.mime_type.clone().unwrap_or_default(),
            size.unwrap_or_default(),
            about(resource.description.as_ref(), resource.title.as_ref()),
            // Last, where it is not cut.
            resource.uri.clone(),
        ];
        table.row(Tone::Plain, cells, None);
    }
    if !resources.is_empty() {
        table.print(connection.printer)?;
    }
    let mut table = Table::new(["NAME", "TYPE", "DESCRIPTION", "URI TEMPLATE"]);
    for template in templates {
        let cells = [
            template.name.clone(),
            template.mime_type.clone().unwrap_or_default(),
            about(template.description.as_ref(), template.title.as_ref()),
            template.uri_template.clone(),
        ];
        table.row(Tone::Plain, cells, None);
    }
    if !templates.is_empty() {
        if !resources.is_empty() {
            connection.printer.line(0, Tone::Plain, "")?;
        }
        table.print(connection.printer)?;
    }
    connection.print_count(resources.len(), "resource")?;
    connection.print_count(templates.len(), "template")
}

/// Returns a one-line description.
fn about(description: Option<&String>, title: Option<&String>) -> String {
    let about = description.or(title).map_or("", |text| text.trim());
    about.lines().next().unwrap_or_default().to_owned()
}
