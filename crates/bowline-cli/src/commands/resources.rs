//! `bowline resources`: which resources a server has, and which templates.

use bowline_types::resources::{Resource, ResourceTemplate};
use serde::Serialize;

use crate::connect::is_unknown_method;
use crate::exit::ExitStatus;
use crate::printer::{Printer, Tone};
use crate::server_connection::{self, Conversation};
use crate::settings::{Format, ServerSettings};
use crate::surroundings::Surroundings;
use crate::table::Table;

/// Lists resources and templates.
///
/// # Errors
///
/// The server can't be reached, or doesn't list them.
pub(crate) fn resources(
    settings: &ServerSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::hold(settings, surroundings, printer, async |conversation| {
        let resources = list(conversation).await?;
        let templates = templates(conversation).await?;
        match conversation.format {
            Format::Json => conversation.printer.json(&All {
                resources: &resources,
                templates: &templates,
            }),
            Format::Text => tell(&resources, &templates, conversation),
        }
    })?;
    Ok(ExitStatus::Done)
}

/// All of them as a program sees them.
#[derive(Serialize)]
struct All<'a> {
    resources: &'a [Resource],
    #[serde(rename = "resourceTemplates")]
    templates: &'a [ResourceTemplate],
}

/// All resources of the server.
pub(super) async fn list(conversation: &Conversation<'_>) -> anyhow::Result<Vec<Resource>> {
    let resources = conversation.client.resources().pages();
    conversation.list(resources, "resource").await
}

/// All templates of the server. One that has resources and has never heard of templates has
/// none.
pub(super) async fn templates(
    conversation: &Conversation<'_>,
) -> anyhow::Result<Vec<ResourceTemplate>> {
    let templates = conversation.client.resources().template_pages();
    let templates = conversation.list(templates, "template").await;
    match templates {
        Err(error) if is_unknown_method(&error) => Ok(Vec::new()),
        templates => templates,
    }
}

fn tell(
    resources: &[Resource],
    templates: &[ResourceTemplate],
    conversation: &mut Conversation<'_>,
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
        table.print(conversation.printer)?;
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
            conversation.printer.line(0, Tone::Plain, "")?;
        }
        table.print(conversation.printer)?;
    }
    conversation.tally(resources.len(), "resource")?;
    conversation.tally(templates.len(), "template")
}

/// What something is, in a line.
fn about(description: Option<&String>, title: Option<&String>) -> String {
    let about = description.or(title).map_or("", |text| text.trim());
    about.lines().next().unwrap_or_default().to_owned()
}
