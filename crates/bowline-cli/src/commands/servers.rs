//! `bowline servers`: lists the configured servers and the files that define them.
//!
//! `report` is the data that `--json` prints; `text` formats it for users.

mod report;
mod text;

use crate::commands::servers::report::ServerReport;
use crate::config::problem::Problem;
use crate::config::{Catalogue, ConfiguredServer};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::settings::{Format, ServersSettings};
use crate::target::{DEMO, unknown_server, warn_of_broken_files};

/// Lists all servers, or shows one.
///
/// # Errors
///
/// A file of `--config` can't be used, or there is no server of the name.
pub(crate) fn servers(
    settings: &ServersSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let catalogue = Catalogue::load(&settings.config, environment)?;
    match &settings.name {
        Some(name) => show(name, &catalogue, settings.format, environment, printer),
        None => list(&catalogue, settings.format, environment, printer),
    }
}

fn list(
    catalogue: &Catalogue,
    format: Format,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let servers = catalogue.servers();
    let reports = servers
        .iter()
        .map(|found| ServerReport::of_found(found, environment).0);
    let reports: Vec<_> = reports.chain([ServerReport::of_demo()]).collect();
    match format {
        Format::Json => printer.json(&report::ServerList::new(&reports, catalogue))?,
        Format::Text => text::list(&reports, printer)?,
    }
    printer.flush()?;
    warn_of_broken_files(catalogue, printer);
    if format == Format::Text {
        printer.note(&text::summary(servers.len(), catalogue.files.len()));
    }
    Ok(ExitStatus::Done)
}

/// Shows one server. Its problem is reported after it, as an error.
fn show(
    name: &str,
    catalogue: &Catalogue,
    format: Format,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let (report, problem) = server_report(name, catalogue, environment, printer)?;
    match format {
        Format::Json => printer.json(&report)?,
        Format::Text => text::one(&report, printer)?,
    }
    printer.flush()?;
    warn_of_broken_files(catalogue, printer);
    match problem {
        Some(problem) => Err(problem.into_error()),
        None => Ok(ExitStatus::Done),
    }
}

fn server_report<'a>(
    name: &str,
    catalogue: &'a Catalogue,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<(ServerReport<'a>, Option<Problem>)> {
    let same_name = |found: &ConfiguredServer<'_>| found.entry.name == name;
    let others = catalogue.servers().into_iter().filter(same_name);
    let others: Vec<_> = others.filter(|found| found.shadowed_by.is_some()).collect();
    let (report, problem) = if name == DEMO {
        (ServerReport::of_demo(), None)
    } else {
        match catalogue.find(name) {
            Some(found) => ServerReport::of_found(&found, environment),
            None => return Err(unknown_server(name, catalogue, printer)),
        }
    };
    Ok((report.shadowing(&others), problem))
}
