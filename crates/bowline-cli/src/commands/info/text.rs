//! The words of `bowline info`.

use bowline_types::JsonObject;
use bowline_types::capabilities::ServerCapabilities;

use super::{Account, Count, Counts};
use crate::paragraph::row;
use crate::printer::Printer;

/// Tells of a server, a row for each thing that is known.
pub(super) fn print(account: &Account, printer: &mut Printer) -> anyhow::Result<()> {
    if let Some(server) = &account.server {
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
    let Account { revision, era, .. } = account;
    row(printer, "revision", &format!("{revision} ({era})"))?;
    for (label, words) in offers(&account.capabilities, &account.counts) {
        row(printer, label, &words)?;
    }
    if let Some(instructions) = &account.instructions {
        row(printer, "instructions", instructions)?;
    }
    Ok(())
}

/// What a server can do, in words.
fn offers(capabilities: &ServerCapabilities, counts: &Counts) -> Vec<(&'static str, String)> {
    let mut offers = Vec::new();
    if let Some(tools) = &capabilities.tools {
        let words = [
            count(counts.tools),
            told(tools.list_changed, "notifies of list changes"),
        ];
        offers.push(("tools", join(words)));
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
            told(resources.list_changed, "notifies of list changes"),
            told(resources.subscribe, "subscriptions"),
        ];
        offers.push(("resources", join(words)));
    }
    if let Some(prompts) = &capabilities.prompts {
        let words = [
            count(counts.prompts),
            told(prompts.list_changed, "notifies of list changes"),
        ];
        offers.push(("prompts", join(words)));
    }
    if capabilities.completions.is_some() {
        offers.push(("completion", "of arguments".to_owned()));
    }
    if capabilities.logging.is_some() {
        offers.push(("logging", "sent to clients that ask for it".to_owned()));
    }
    if capabilities.tasks.is_some() {
        offers.push(("tasks", "calls can run as tasks".to_owned()));
    }
    offers.extend(names("extensions", capabilities.extensions.as_ref()));
    offers.extend(names("experimental", capabilities.experimental.as_ref()));
    offers
}

/// The names of what is declared by name.
fn names(label: &'static str, declared: Option<&JsonObject>) -> Option<(&'static str, String)> {
    let declared = serde_json::to_value(declared?).ok()?;
    let names: Vec<_> = declared.as_object()?.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| (label, names.join(", ")))
}

fn count(count: Count) -> String {
    match count {
        Count::Unasked => "declared".to_owned(),
        Count::Of(count) => count.to_string(),
        Count::Missing => "declared, but not implemented".to_owned(),
        Count::Unlisted => "declared, but can't be listed".to_owned(),
    }
}

fn told(is_so: Option<bool>, words: &str) -> String {
    match is_so {
        Some(true) => words.to_owned(),
        Some(false) | None => String::new(),
    }
}

fn join<const COUNT: usize>(words: [String; COUNT]) -> String {
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(", ")
}
