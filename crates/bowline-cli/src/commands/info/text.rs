//! The output of `bowline info` as text.

use bowline_types::JsonObject;
use bowline_types::capabilities::ServerCapabilities;

use super::{Count, Counts, InfoReport};
use crate::paragraph::row;
use crate::printer::Printer;

/// Prints a server, a row for each detail.
pub(super) fn print(report: &InfoReport, printer: &mut Printer) -> anyhow::Result<()> {
    if let Some(server) = &report.server {
        row(
            printer,
            "server",
            &format!("{} {}", server.name, server.version),
        )?;
        let known = [
            ("title", &server.title),
            ("description", &server.description),
            ("website", &server.website_url),
        ];
        for (label, text) in known {
            if let Some(text) = text {
                row(printer, label, text)?;
            }
        }
    }
    let InfoReport { revision, era, .. } = report;
    row(printer, "revision", &format!("{revision} ({era})"))?;
    for (label, words) in capability_rows(&report.capabilities, &report.counts) {
        row(printer, label, &words)?;
    }
    if let Some(instructions) = &report.instructions {
        row(printer, "instructions", instructions)?;
    }
    Ok(())
}

/// Returns the capabilities as rows.
fn capability_rows(
    capabilities: &ServerCapabilities,
    counts: &Counts,
) -> Vec<(&'static str, String)> {
    let mut capability_rows = Vec::new();
    if let Some(tools) = &capabilities.tools {
        let words = [
            count(counts.tools),
            words_if(tools.list_changed, "notifies of list changes"),
        ];
        capability_rows.push(("tools", join(words)));
    }
    if let Some(resources) = &capabilities.resources {
        let templates = match counts.resource_templates {
            Count::Of(1) => "1 template".to_owned(),
            Count::Of(count @ 2..) => format!("{count} templates"),
            _ => String::new(),
        };
        let words = [
            count(counts.resources),
            templates,
            words_if(resources.list_changed, "notifies of list changes"),
            words_if(resources.subscribe, "subscriptions"),
        ];
        capability_rows.push(("resources", join(words)));
    }
    if let Some(prompts) = &capabilities.prompts {
        let words = [
            count(counts.prompts),
            words_if(prompts.list_changed, "notifies of list changes"),
        ];
        capability_rows.push(("prompts", join(words)));
    }
    if capabilities.completions.is_some() {
        capability_rows.push(("completion", "of arguments".to_owned()));
    }
    if capabilities.logging.is_some() {
        capability_rows.push(("logging", "sent to clients that ask for it".to_owned()));
    }
    if capabilities.tasks.is_some() {
        capability_rows.push(("tasks", "calls can run as tasks".to_owned()));
    }
    capability_rows.extend(names("extensions", capabilities.extensions.as_ref()));
    capability_rows.extend(names("experimental", capabilities.experimental.as_ref()));
    capability_rows
}

/// Returns the names of the declared extensions or experimental capabilities.
fn names(label: &'static str, declared: Option<&JsonObject>) -> Option<(&'static str, String)> {
    let declared = serde_json::to_value(declared?).ok()?;
    let names: Vec<_> = declared.as_object()?.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| (label, names.join(", ")))
}

fn count(count: Count) -> String {
    match count {
        Count::NotRequested => "declared".to_owned(),
        Count::Of(count) => count.to_string(),
        Count::Missing => "declared, but not implemented".to_owned(),
        Count::Unlisted => "declared, but can't be listed".to_owned(),
    }
}

fn words_if(is_so: Option<bool>, words: &str) -> String {
    match is_so {
        Some(true) => words.to_owned(),
        Some(false) | None => String::new(),
    }
}

fn join<const COUNT: usize>(words: [String; COUNT]) -> String {
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(", ")
}
