//! Servers for a reader.

use std::borrow::Cow;

use crate::commands::servers::report::Account;
use crate::printer::{Printer, Tone};
use crate::table::Table;

/// All servers, a row each.
pub(super) fn list(accounts: &[Account<'_>], printer: &mut Printer) -> anyhow::Result<()> {
    let mut table = Table::new(["NAME", "TRANSPORT", "FILE", "STATE", "COMMAND OR URL"]);
    for account in accounts {
        let tone = match state(account).is_empty() {
            true => Tone::Plain,
            false => Tone::Aside,
        };
        let cells = [
            account.name.to_owned(),
            account.transport.unwrap_or_default().to_owned(),
            account.shown_file.to_owned(),
            state(account),
            address(account),
        ];
        let trouble = account.problem.as_ref();
        table.row(
            tone,
            cells,
            trouble.map(|trouble| trouble.line_of_text.clone()),
        );
    }
    table.print(printer)
}

/// One server, a line for each thing that is known of it.
pub(super) fn one(account: &Account<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let mut lines = vec![("name", account.name.to_owned())];
    lines.extend(account.transport.map(|name| ("transport", name.to_owned())));
    if !account.command.is_empty() {
        lines.push(("command", address(account)));
    }
    lines.extend(account.url.clone().map(|url| ("url", url)));
    lines.extend(account.cwd.clone().map(|folder| ("cwd", folder)));
    for (name, value) in &account.env {
        lines.push(("env", format!("{name}={value}")));
    }
    lines.extend(account.env_file.clone().map(|file| ("env file", file)));
    for (name, value) in &account.headers {
        lines.push(("header", format!("{name}: {value}")));
    }
    lines.extend(account.timeout_ms.map(|ms| ("timeout", format!("{ms} ms"))));
    lines.push((
        "file",
        match account.line {
            Some(line) => format!("{}:{line}", account.shown_file),
            None => account.shown_file.to_owned(),
        },
    ));
    let state = state(account);
    if !state.is_empty() {
        lines.push(("state", state));
    }
    let shadows = account.shown_shadows.iter();
    lines.extend(shadows.map(|file| ("shadows", (*file).to_owned())));
    for (label, text) in lines {
        printer.line(0, Tone::Plain, &format!("{label:9}  {text}"))?;
    }
    Ok(())
}

/// How much was found.
pub(super) fn tally(servers: usize, files: usize) -> String {
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

/// What is special about it, in a few words.
fn state(account: &Account<'_>) -> String {
    let mut words = Vec::new();
    if account.disabled {
        words.push("disabled".to_owned());
    }
    if let Some(winner) = account.shown_winner {
        words.push(format!("shadowed by {winner}"));
    }
    if !account.supported {
        words.push("not supported yet".to_owned());
    }
    if account.problem.is_some() {
        words.push("unusable".to_owned());
    }
    words.join(", ")
}

/// The command line as one would type it, or the URL.
fn address(account: &Account<'_>) -> String {
    match &account.url {
        Some(url) => url.clone(),
        None => {
            let words = account.command.iter().map(|word| quoted(word));
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// A word as a shell takes it, except for what was hidden or is filled in.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%${}[]~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''")).into()
    }
}
