//! Which server is meant: a command, the demo, or a name from a configuration.
//!
//! What was typed becomes a [`Wanted`], and that a [`Target`], which knows how to start it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use crate::config::Catalogue;
use crate::config::complete::CompleteReach;
use crate::config::entry::Entry;
use crate::exit::ExitStatus;
use crate::failure::{Failure, hinted, usage};
use crate::launch::Launch;
use crate::printer::Printer;
use crate::suggestion::did_you_mean;
use crate::surroundings::Surroundings;

/// The name of the demo.
pub(crate) const DEMO: &str = "demo";

/// What somebody typed to name a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerChoice {
    /// `-- COMMAND ARGS…`
    Command {
        program: OsString,
        args: Vec<OsString>,
    },
    /// `demo`
    Demo,
    /// An address.
    Url(String),
    /// A name from a configuration.
    Name(String),
}

/// A server that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// What to call it.
    pub(crate) name: String,
    /// What to start.
    pub(crate) launch: Launch,
    /// How long a call may take, if a configuration says so.
    pub(crate) timeout: Option<Duration>,
}

impl ServerChoice {
    /// The server among what was typed: `command` is what stands after `--`, `words` what
    /// stands before. The first word names the server unless there is a command; the other
    /// words are answered as they are.
    ///
    /// # Errors
    ///
    /// No server was named.
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

    /// The server of that name.
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

    /// The server itself. `config` are the files that were named; no other is read unless a
    /// name has to be looked up.
    ///
    /// # Errors
    ///
    /// There is none of that name, or its configuration makes no sense; or a file that was
    /// named, though nothing of it may be needed.
    pub(crate) fn find(
        self,
        config: &[PathBuf],
        surroundings: &Surroundings,
        printer: &mut Printer,
    ) -> anyhow::Result<Target> {
        if !config.is_empty() && !matches!(self, Self::Name(_)) {
            Catalogue::load(config, surroundings)?;
        }
        let (name, launch) = match self {
            Self::Command { program, args } => {
                let name = program.to_string_lossy().into_owned();
                (name, Launch::typed(program, &args))
            }
            Self::Demo => (DEMO.to_owned(), demo()?),
            Self::Url(_) => return Err(no_http()),
            Self::Name(name) => return in_catalogue(&name, config, surroundings, printer),
        };
        Ok(Target {
            name,
            launch,
            timeout: None,
        })
    }
}

/// What starts the demo: this very program.
pub(crate) fn demo() -> anyhow::Result<Launch> {
    let own = env::current_exe().context("cannot find the path of this program")?;
    Ok(Launch {
        program: own.into(),
        args: vec!["serve".into(), DEMO.into()],
        ..Launch::default()
    })
}

/// The server that a configuration has under this name.
fn in_catalogue(
    name: &str,
    config: &[PathBuf],
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<Target> {
    let catalogue = Catalogue::load(config, surroundings)?;
    let Some(found) = catalogue.find(name) else {
        return Err(unknown_server(name, &catalogue, printer));
    };
    if let Some(own) = catalogue.rival(&found) {
        return Err(ambiguous(found.entry, own));
    }
    warn_of_broken_files(&catalogue, printer);
    if found.entry.is_disabled() {
        let file = &found.entry.source.shown;
        printer.talk(&format!(
            "`{name}` is disabled in {file}; using it because it was named explicitly"
        ));
    }
    // Before what it refers to: no variable makes it reachable.
    if found.entry.has_url() {
        return Err(no_http().context(format!("cannot reach `{name}`")));
    }
    let complete = found.entry.complete(found.place, surroundings);
    let complete = complete.map_err(|problem| problem.into_error())?;
    match complete.reach {
        CompleteReach::Command(launch) => Ok(Target {
            name: name.to_owned(),
            launch,
            timeout: complete.timeout,
        }),
        CompleteReach::Url { .. } => Err(no_http().context(format!("cannot reach `{name}`"))),
    }
}

/// The project and the user have a server of the name, and not the same one. A project that
/// was fetched from somewhere shall not answer for a server of the user's.
fn ambiguous(of_project: &Entry, own: &Entry) -> anyhow::Error {
    let error = anyhow!(
        "two servers are named `{}`: one in {} of the project, one in your {}",
        own.name,
        of_project.source.shown,
        own.source.shown
    );
    usage(error, "choose one with `--config FILE`")
}

/// Tells of files that nobody named and that can't be used.
pub(crate) fn warn_of_broken_files(catalogue: &Catalogue, printer: &mut Printer) {
    for problem in catalogue.broken() {
        printer.warning(&problem.to_string(), Some(&problem.hint));
    }
}

/// There is no server of that name; unless it is a slip, perhaps a file that can't be read has
/// it.
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
    if let Some(problem) = catalogue.broken().next() {
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

/// How a server can be named.
const SERVER_HINT: &str =
    "give the name of a server that `bowline servers` lists, `demo`, or a command after --";

#[cfg(test)]
mod tests;
