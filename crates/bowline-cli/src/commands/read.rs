//! `bowline read`: reads a resource.

use bowline_types::resources::ReadResourceResult;

use crate::commands::resources;
use crate::connect::server_error_of;
use crate::content::{Part, ResultPrinter};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, RequestSettings};
use crate::suggestion::did_you_mean;

/// Reads a resource.
///
/// # Errors
///
/// The server can't be reached, or the resource can't be read.
pub(crate) fn read(
    settings: &RequestSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    settings.output.check()?;
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| {
            let read = read_resource(&settings.name, connection).await?;
            let parts: Vec<Part<'_>> = read.contents.iter().map(Part::from).collect();
            let mut results = ResultPrinter::new(&settings.output, connection.printer);
            match connection.format {
                Format::Text => results.print(&parts)?,
                Format::Json => {
                    results.printer().json(&read)?;
                    results.save_beside(&parts)?;
                }
            }
            results.finish(connection.format, None)
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Reads a resource. If the server refuses, the hint suggests a URI that it lists.
async fn read_resource(
    uri: &str,
    connection: &ServerConnection<'_>,
) -> anyhow::Result<ReadResourceResult> {
    let read = {
        let shown = connection.progress(uri);
        let bar = shown.bar();
        let read = connection.client.resources().read(uri);
        let read = read.on_progress(move |report| bar.report(&report));
        connection.complete_call(read).await
    };
    let error = match read {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    if server_error_of(&error).is_none() {
        return Err(error);
    }
    // If the list can't be read either, the first error is reported.
    let known = resources::list(connection).await.unwrap_or_default();
    let mut known = known.iter().map(|resource| resource.uri.as_str());
    if known.clone().any(|known| known == uri) {
        return Err(error);
    }
    let listed = "`bowline resources` lists what can be read";
    let hint = did_you_mean(uri, &mut known).unwrap_or_else(|| listed.to_owned());
    Err(hinted(error, hint))
}
