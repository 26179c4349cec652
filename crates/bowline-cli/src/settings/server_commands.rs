//! The settings of the commands that connect to a server.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use bowline_types::Revision;
use bowline_types::logging::LoggingLevel;
use bowline_types::roots::Root;

use crate::args::server_commands::{
    CompleteArgs, ListArgs, PingArgs, RequestArgs, ServerArgs, ServerOnlyArgs, WatchArgs,
};
use crate::charset::Charset;
use crate::failure::usage;
use crate::output::Output;
use crate::server_requests::{self, ServerRequestArgs, ServerRequests};
use crate::settings::Format;
use crate::target::ServerChoice;

/// The server, and the options of the connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSettings {
    /// The server.
    pub(crate) choice: ServerChoice,
    /// The only files to look for it in. If empty, the known places.
    pub(crate) config: Vec<PathBuf>,
    /// Text or JSON.
    pub(crate) format: Format,
    /// The only protocol revision to use, if set.
    pub(crate) revision: Option<Revision>,
    /// How long to wait for the server.
    pub(crate) timeout: Option<Duration>,
    /// How long the whole command may take, including connecting. `None` is no limit.
    pub(crate) whole_time: Option<Duration>,
    /// How long a call may take in total.
    pub(crate) max_time: Option<Duration>,
    /// The level from which log messages are shown. `None` is the default.
    pub(crate) log: Option<LoggingLevel>,
    /// The roots.
    pub(crate) roots: Vec<PathBuf>,
    /// The options that answer requests of the server.
    pub(crate) request_args: ServerRequestArgs,
    /// `true` for `bowline watch`: the server is always started again, and its log is part of the
    /// output.
    pub(crate) is_watching: bool,
    /// The terminal.
    pub(crate) terminal: TerminalSettings,
}

/// How the terminal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSettings {
    /// Text or JSON.
    pub(crate) format: Format,
    /// The characters to draw with.
    pub(crate) charset: Charset,
    /// `true` with `--verbose`, whose lines a progress bar would disturb.
    pub(crate) is_verbose: bool,
    /// `true` if the user can be asked: stdin and stderr are a terminal.
    pub(crate) can_prompt: bool,
}

impl ServerSettings {
    /// Resolves `args`. Also returns the words that don't name the server.
    ///
    /// # Errors
    ///
    /// No server was given.
    pub(crate) fn resolve(
        args: ServerArgs,
        words: &[String],
        terminal: TerminalSettings,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let (choice, rest) = ServerChoice::parse(words, &args.command)?;
        let settings = Self {
            choice,
            config: args.config.config,
            format: terminal.format,
            revision: args.revision,
            timeout: args.timeout,
            whole_time: None,
            max_time: args.max_time,
            log: args.log,
            roots: args.root,
            request_args: ServerRequestArgs::default(),
            is_watching: false,
            terminal,
        };
        Ok((settings, rest.to_vec()))
    }

    /// Returns what answers the requests of the server.
    ///
    /// # Errors
    ///
    /// A given answer is not valid.
    pub(crate) fn server_requests(&self) -> anyhow::Result<ServerRequests> {
        let is_json = self.format == Format::Json;
        ServerRequests::resolve(&self.request_args, self.terminal.can_prompt, is_json)
    }

    /// Returns the roots.
    ///
    /// # Errors
    ///
    /// A path does not exist.
    pub(crate) fn roots(&self) -> anyhow::Result<Vec<Root>> {
        self.roots
            .iter()
            .map(|path| server_requests::root(path))
            .collect()
    }

    /// Resolves `args` of a command that takes only a server.
    ///
    /// # Errors
    ///
    /// No server was given, or more than one word.
    pub(crate) fn server_only(
        args: ServerOnlyArgs,
        terminal: TerminalSettings,
    ) -> anyhow::Result<Self> {
        Self::alone(args.server, &args.words, terminal)
    }

    fn alone(
        args: ServerArgs,
        words: &[String],
        terminal: TerminalSettings,
    ) -> anyhow::Result<Self> {
        let (settings, rest) = Self::resolve(args, words, terminal)?;
        refuse_extra_words(&rest)?;
        Ok(settings)
    }
}

/// The settings of `bowline ping`.
#[derive(Debug, PartialEq)]
pub(crate) struct PingSettings {
    pub(crate) server: ServerSettings,
    /// The number of pings.
    pub(crate) count: u32,
    /// The time between two pings.
    pub(crate) interval: Duration,
}

impl PingSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: PingArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        Ok(Self {
            server: ServerSettings::alone(args.server, &args.words, terminal)?,
            count: args.count,
            interval: args.interval,
        })
    }
}

/// The settings of a command that lists items of a server, or shows one of them.
#[derive(Debug, PartialEq)]
pub(crate) struct ListSettings {
    pub(crate) server: ServerSettings,
    /// The name of the only item to show.
    pub(crate) name: Option<String>,
}

impl ListSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: ListArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        let (server, rest) = ServerSettings::resolve(args.server, &args.words, terminal)?;
        let mut rest = rest.into_iter();
        let name = rest.next();
        refuse_extra_words(rest.as_slice())?;
        Ok(Self { server, name })
    }
}

/// The settings of a command that requests an item by its name.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestSettings {
    pub(crate) server: ServerSettings,
    /// The name of the item.
    pub(crate) name: String,
    /// Its arguments, as they were typed.
    pub(crate) words: Vec<String>,
    /// Where the result goes.
    pub(crate) output: Output,
}

impl RequestSettings {
    /// Resolves `args`. `kind` is what is requested, `list` the command that lists the items.
    pub(crate) fn resolve(
        args: RequestArgs,
        terminal: TerminalSettings,
        stdout_is_terminal: bool,
        (kind, list): (&str, &str),
    ) -> anyhow::Result<Self> {
        let (mut server, rest) = ServerSettings::resolve(args.server, &args.words, terminal)?;
        server.request_args = args.request_args;
        let mut rest = rest.into_iter();
        let Some(name) = rest.next() else {
            let error = anyhow!("no {kind} given");
            return Err(usage(error, format!("`bowline {list}` lists them")));
        };
        let output = Output::resolve(args.output);
        if output == Output::Stdout && stdout_is_terminal {
            let error = anyhow!("refusing to write unescaped output of a server to a terminal");
            return Err(usage(
                error,
                "omit `--output -`, or redirect stdout to a file or pipe",
            ));
        }
        Ok(Self {
            server,
            name,
            words: rest.collect(),
            output,
        })
    }

    /// Returns the settings of a request that takes no arguments.
    pub(crate) fn without_arguments(self) -> anyhow::Result<Self> {
        refuse_extra_words(&self.words)?;
        Ok(self)
    }
}

/// The settings of `bowline watch`.
#[derive(Debug, PartialEq)]
pub(crate) struct WatchSettings {
    pub(crate) server: ServerSettings,
    /// The resources to subscribe to.
    pub(crate) resources: Vec<String>,
    /// The number of events after which it ends, if set.
    pub(crate) count: Option<u64>,
}

impl WatchSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: WatchArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        let mut server = ServerSettings::alone(args.server, &args.words, terminal)?;
        server.is_watching = true;
        server.whole_time = args.time;
        Ok(Self {
            server,
            resources: args.resource,
            count: args.count,
        })
    }
}

/// The settings of `bowline complete`.
#[derive(Debug, PartialEq)]
pub(crate) struct CompleteSettings {
    pub(crate) server: ServerSettings,
    /// The prompt or resource template.
    pub(crate) reference: String,
    /// The argument to complete.
    pub(crate) argument: String,
    /// What has been typed of it so far.
    pub(crate) typed: String,
    /// Arguments whose values are known.
    pub(crate) known: Vec<(String, String)>,
}

impl CompleteSettings {
    /// Resolves `args`.
    pub(crate) fn resolve(args: CompleteArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        let (server, rest) = ServerSettings::resolve(args.server, &args.words, terminal)?;
        let mut rest = rest.into_iter();
        let Some(reference) = rest.next() else {
            let error = anyhow!("no prompt or template given");
            let hint = "`bowline prompts` and `bowline resources` list them";
            return Err(usage(error, hint));
        };
        let pairs = rest.map(|word| match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => {
                let error = anyhow!("`{word}` is not an argument");
                Err(usage(error, "write name=value"))
            }
        });
        let mut pairs = pairs.collect::<anyhow::Result<Vec<_>>>()?.into_iter();
        let Some((argument, typed)) = pairs.next() else {
            let error = anyhow!("no argument given to complete");
            return Err(usage(
                error,
                "write name= followed by what has been typed so far",
            ));
        };
        Ok(Self {
            server,
            reference,
            argument,
            typed,
            known: pairs.collect(),
        })
    }
}

/// Refuses words after the last argument.
fn refuse_extra_words(words: &[String]) -> anyhow::Result<()> {
    match words.first() {
        None => Ok(()),
        Some(word) => {
            let error = anyhow!("unexpected argument `{word}`");
            Err(usage(error, "`--help` shows the usage of the command"))
        }
    }
}
