//! Which server to start: a command, the demo, or a name from a configuration.
//!
//! The command line becomes a [`ServerChoice`], and that a [`Target`], which can be started.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use crate::config::Catalogue;
use crate::config::entry::Entry;
use crate::config::resolve::ResolvedTransport;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::{Failure, hinted, usage};
use crate::launch::Launch;
use crate::printer::Printer;
use crate::suggestion::did_you_mean;

/// The name of the demo server.
pub(crate) const DEMO: &str = "demo";

/// The server that the command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerChoice {
    /// `-- COMMAND ARGS…`
    Command {
        program: OsString,
        args: Vec<OsString>,
    },
    /// `demo`
    Demo,
    /// A URL.
    Url(String),
    /// A name from a configuration.
    Name(String),
}

/// A server that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name for messages.
    pub(crate) name: String,
    /// What to start.
    pub(crate) launch: Launch,
    /// The time limit of a call, if the configuration has one.
    pub(crate) timeout: Option<Duration>,
}

impl ServerChoice {
    /// Takes the server from the command line: `command` are the words after `--`, `words` those
    /// before. Without a command the first word names the server. Returns the remaining words
    /// unchanged.
    ///
    /// # Errors
    ///
    /// No server was given.
    pub(crate) fn parse<'a>(
        words: &'a [String],
        command: &[OsString],
    ) -> anyhow::Result<(Self, &'a [String])> {
        if let Some((program, args)) = command.split_first() {
            let (program, args) = (program.clone(), args.to_vec());
            return Ok((Self::Command { program, args }, words));
        }
        let Some((name, rest)) = words.split_first() else {
            let error = anyhow!("no server given");
            return Err(usage(error, SERVER_HINT));
        };
        Ok((Self::named(name), rest))
    }

    /// Returns the server for a name.
    pub(crate) fn named(name: &str) -> Self {
        if name == DEMO {
            return Self::Demo;
        }
        let lower = name.to_ascii_lowercase();
        let is_url = ["http://", "https://", "ws://", "wss://"]
            .iter()
            .any(|scheme| lower.starts_with(scheme));
        if is_url {
            Self::Url(name.to_owned())
        } else {
            Self::Name(name.to_owned())
        }
    }

    /// Finds the server. `config` are the files of `--config`; other files are only read if a name
    /// has to be looked up.
    ///
    /// # Errors
    ///
    /// There is no server of that name, its configuration is not valid, or a file of `--config`
    /// can't be read (even if it isn't needed).
    pub(crate) fn find(
        self,
        config: &[PathBuf],
        environment: &Environment,
        printer: &mut Printer,
    ) -> anyhow::Result<Target> {
        if !config.is_empty() && !matches!(self, Self::Name(_)) {
            Catalogue::load(config, environment)?;
        }
        let (name, launch) = match self {
            Self::Command { program, args } => {
                let name = program.to_string_lossy().into_owned();
                (name, Launch::typed(program, &args))
            }
            Self::Demo => (DEMO.to_owned(), demo()?),
            Self::Url(_) => return Err(no_http()),
            Self::Name(name) => return in_catalogue(&name, config, environment, printer),
        };
        Ok(Target {
            name,
            launch,
            timeout: None,
        })
    }
}

/// Returns what starts the demo: this program.
pub(crate) fn demo() -> anyhow::Result<Launch> {
    let own = env::current_exe().context("cannot find the path of this program")?;
    Ok(Launch {
        program: own.into(),
        args: vec!["serve".into(), DEMO.into()],
        ..Launch::default()
    })
}

/// Returns the server of this name from the configuration files.
fn in_catalogue(
    name: &str,
    config: &[PathBuf],
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<Target> {
    let catalogue = Catalogue::load(config, environment)?;
    let Some(found) = catalogue.find(name) else {
        return Err(unknown_server(name, &catalogue, printer));
    };
    if let Some(own) = catalogue.conflicting_user_entry(&found) {
        return Err(ambiguous(found.entry, own));
    }
    warn_of_broken_files(&catalogue, printer);
    if found.entry.is_disabled() {
        let file = &found.entry.source.shown;
        printer.note(&format!(
            "`{name}` is disabled in {file}; using it because it was named explicitly"
        ));
    }
    // Before variables are resolved: no variable makes it reachable.
    if found.entry.has_url() {
        return Err(no_http().context(format!("cannot reach `{name}`")));
    }
    let resolved = found.entry.resolve(found.location, environment);
    let resolved = resolved.map_err(|problem| problem.into_error())?;
    match resolved.transport {
        ResolvedTransport::Command(launch) => Ok(Target {
            name: name.to_owned(),
            launch,
            timeout: resolved.timeout,
        }),
        ResolvedTransport::Url { .. } => Err(no_http().context(format!("cannot reach `{name}`"))),
    }
}

/// Returns the error for a project and a user that have different servers of the same name. A
/// project that was downloaded must not replace a server of the user.
fn ambiguous(of_project: &Entry, own: &Entry) -> anyhow::Error {
    let error = anyhow!(
        "two servers are named `{}`: one in {} of the project, one in your {}",
        own.name,
        of_project.source.shown,
        own.source.shown
    );
    usage(error, "choose one with `--config FILE`")
}

/// Warns of configuration files that can't be used and were not named by the user.
pub(crate) fn warn_of_broken_files(catalogue: &Catalogue, printer: &mut Printer) {
    for problem in catalogue.problems() {
        printer.warning(&problem.to_string(), Some(&problem.hint));
    }
}

/// Returns the error for an unknown name. Unless it is a typing error, a file that can't be read
/// may have the server.
pub(crate) fn unknown_server(
    name: &str,
    catalogue: &Catalogue,
    printer: &mut Printer,
) -> anyhow::Error {
    let servers = catalogue.servers();
    let names = servers.iter().map(|found| found.entry.name.as_str());
    let error = anyhow!("no server named `{name}`");
    if let Some(question) = did_you_mean(name, names.chain([DEMO])) {
        warn_of_broken_files(catalogue, printer);
        return usage(error, question);
    }
    if let Some(problem) = catalogue.problems().next() {
        let hint = problem.hint.clone();
        let error = anyhow!("{problem}");
        return hinted(error.context(format!("no server named `{name}`")), hint);
    }
    let hint = "`bowline servers` lists the configured servers; a command goes after --";
    usage(error, hint)
}

fn no_http() -> anyhow::Error {
    let error = anyhow!("servers with a URL are not supported yet");
    let hint = "give a command after --, such as -- npx -y mcp-remote URL";
    Failure::new(ExitStatus::Unreachable, error)
        .hint(hint)
        .into()
}

/// How to name a server.
const SERVER_HINT: &str =
    "give the name of a server that `bowline servers` lists, `demo`, or a command after --";

#[cfg(test)]
mod tests;
