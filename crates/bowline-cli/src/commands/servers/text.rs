//! Servers as text.

use std::borrow::Cow;

use crate::commands::servers::report::ServerReport;
use crate::printer::{Printer, Tone};
use crate::table::Table;

/// Prints all servers, a row each.
pub(super) fn list(reports: &[ServerReport<'_>], printer: &mut Printer) -> anyhow::Result<()> {
    let mut table = Table::new(["NAME", "TRANSPORT", "FILE", "STATE", "COMMAND OR URL"]);
    for report in reports {
        let tone = if state(report).is_empty() {
            Tone::Plain
        } else {
            Tone::Aside
        };
        let cells = [
            report.name.to_owned(),
            report.transport.unwrap_or_default().to_owned(),
            report.shown_file.to_owned(),
            state(report),
            address(report),
        ];
        let problem = report.problem.as_ref();
        table.row(
            tone,
            cells,
            problem.map(|problem| problem.line_of_text.clone()),
        );
    }
    table.print(printer)
}

/// Prints one server, a line for each detail.
pub(super) fn one(report: &ServerReport<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let mut lines = vec![("name", report.name.to_owned())];
    lines.extend(report.transport.map(|name| ("transport", name.to_owned())));
    if !report.command.is_empty() {
        lines.push(("command", address(report)));
    }
    lines.extend(report.url.clone().map(|url| ("url", url)));
    lines.extend(report.cwd.clone().map(|folder| ("cwd", folder)));
    for (name, value) in &report.env {
        lines.push(("env", format!("{name}={value}")));
    }
    lines.extend(report.env_file.clone().map(|file| ("env file", file)));
    for (name, value) in &report.headers {
        lines.push(("header", format!("{name}: {value}")));
    }
    lines.extend(report.timeout_ms.map(|ms| ("timeout", format!("{ms} ms"))));
    lines.push((
        "file",
        match report.line {
            Some(line) => format!("{}:{line}", report.shown_file),
            None => report.shown_file.to_owned(),
        },
    ));
    let state = state(report);
    if !state.is_empty() {
        lines.push(("state", state));
    }
    let shadows = report.shown_shadows.iter();
    lines.extend(shadows.map(|file| ("shadows", (*file).to_owned())));
    for (label, text) in lines {
        printer.line(0, Tone::Plain, &format!("{label:9}  {text}"))?;
    }
    Ok(())
}

/// Returns the number of servers and files.
pub(super) fn summary(servers: usize, files: usize) -> String {
    let plural = |count| if count == 1 { "" } else { "s" };
    match files {
        0 => {
            "no configuration file found; `bowline servers --help` lists where they are looked for"
                .to_owned()
        }
        _ => format!(
            "{servers} server{} in {files} file{}",
            plural(servers),
            plural(files)
        ),
    }
}

/// Returns the state of a server in a few words.
fn state(report: &ServerReport<'_>) -> String {
    let mut words = Vec::new();
    if report.disabled {
        words.push("disabled".to_owned());
    }
    if let Some(winner) = report.shown_winner {
        words.push(format!("shadowed by {winner}"));
    }
    if !report.supported {
        words.push("not supported yet".to_owned());
    }
    if report.problem.is_some() {
        words.push("unusable".to_owned());
    }
    words.join(", ")
}

/// Returns the command line as it would be typed, or the URL.
fn address(report: &ServerReport<'_>) -> String {
    match &report.url {
        Some(url) => url.clone(),
        None => {
            let words = report.command.iter().map(|word| quoted(word));
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Quotes a word for a shell, except for redacted parts and variables.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%${}[]~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''")).into()
    }
}
