//! The settings of the commands: the command line, resolved against its environment.
//!
//! [`server_commands`] has those of commands that connect to a server, [`serve`] those of
//! `bowline serve`.

mod serve;
mod server_commands;

use std::fmt;
use std::path::PathBuf;

use bowline_types::{Revision, Revisions};

use crate::args::{DemoArgs, ExplainArgs, ServersArgs};
use crate::charset::Charset;

pub(crate) use serve::{HttpSettings, ServeSettings, Served, ServedOver};
pub(crate) use server_commands::{
    CompleteSettings, ListSettings, PingSettings, RequestSettings, ServerSettings,
    TerminalSettings, WatchSettings,
};

/// The settings of `bowline explain`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExplainSettings {
    /// Where frames come from.
    pub(crate) source: Source,
    /// Text or JSON.
    pub(crate) format: Format,
    /// The revisions to validate against. Never empty.
    pub(crate) revisions: Revisions,
}

impl ExplainSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: ExplainArgs, format: Format, stdin_is_terminal: bool) -> Self {
        let source = match args.file {
            Some(path) if path.as_os_str() != "-" => Source::File(path),
            None if stdin_is_terminal => Source::Example,
            Some(_) if stdin_is_terminal => Source::Terminal,
            Some(_) | None => Source::Stdin,
        };
        let revisions = if args.revision.is_empty() {
            Revisions::ALL
        } else {
            args.revision.into_iter().collect()
        };
        Self {
            source,
            format,
            revisions,
        }
    }
}

/// Where frames come from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// A pipe, or a file that the shell opened.
    Stdin,
    /// The terminal, chosen with `-`.
    Terminal,
    /// The built-in example, if no input is given.
    Example,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("stdin"),
            Self::Terminal => f.write_str("the terminal"),
            Self::Example => f.write_str("the example"),
        }
    }
}

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for a reader.
    Text,
    /// JSON for a program.
    Json,
}

impl Format {
    /// Returns the format for the `--json` option.
    pub(crate) fn from_json_option(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// The settings of `bowline servers`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServersSettings {
    /// The only server to show, if set.
    pub(crate) name: Option<String>,
    /// The only files to look at. If empty, the known places.
    pub(crate) config: Vec<PathBuf>,
    /// Text or JSON.
    pub(crate) format: Format,
}

impl ServersSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: ServersArgs, format: Format) -> Self {
        Self {
            name: args.name,
            config: args.config.config,
            format,
        }
    }
}

/// The settings of `bowline demo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DemoSettings {
    /// Text or JSON.
    pub(crate) format: Format,
    /// The only protocol revision to use, if set.
    pub(crate) revision: Option<Revision>,
    /// The characters to draw with.
    pub(crate) charset: Charset,
    /// `true` with `--verbose`, whose lines a progress bar would disturb.
    pub(crate) is_verbose: bool,
}

impl DemoSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: &DemoArgs, terminal: TerminalSettings) -> Self {
        Self {
            format: terminal.format,
            revision: args.revision,
            charset: if args.ascii {
                Charset::Ascii
            } else {
                terminal.charset
            },
            is_verbose: terminal.is_verbose,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn resolve(arguments: &[&str], stdin_is_terminal: bool) -> ExplainSettings {
        let line = ["bowline", "explain"].iter().chain(arguments);
        let Command::Explain(args) = Args::try_parse_from(line).unwrap().command else {
            panic!("not explain");
        };
        ExplainSettings::resolve(args, Format::Text, stdin_is_terminal)
    }

    #[test]
    fn frames_come_from_where_they_are_given() {
        let file = || Source::File("a.jsonl".into());
        for (arguments, from_pipe, on_terminal) in [
            (&[][..], Source::Stdin, Source::Example),
            (&["-"], Source::Stdin, Source::Terminal),
            (&["a.jsonl"], file(), file()),
        ] {
            assert_eq!(resolve(arguments, false).source, from_pipe);
            assert_eq!(resolve(arguments, true).source, on_terminal);
        }
    }

    #[test]
    fn every_revision_judges_unless_some_are_named() {
        assert_eq!(resolve(&[], false).revisions, Revisions::ALL);
        let two = ["--revision", "2026-07-28", "--revision=2025-03-26"];
        let expected = Revisions::NONE
            .with(Revision::V2025_03_26)
            .with(Revision::V2026_07_28);
        assert_eq!(resolve(&two, false).revisions, expected);
    }
}
