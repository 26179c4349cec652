//! What is wanted of a server.

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

/// Which server, and how to talk to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSettings {
    /// The server.
    pub(crate) choice: ServerChoice,
    /// The only files to look for it in. None: the known ones.
    pub(crate) config: Vec<PathBuf>,
    /// How answers are told.
    pub(crate) format: Format,
    /// The revision to speak, when it may be only one.
    pub(crate) revision: Option<Revision>,
    /// How long to wait for the server.
    pub(crate) timeout: Option<Duration>,
    /// How long the whole command may take, and with it connecting. None: there is no end to it.
    pub(crate) whole_time: Option<Duration>,
    /// How long a call may take in all.
    pub(crate) max_time: Option<Duration>,
    /// From which level on the server's log is shown. None: from the usual one.
    pub(crate) log: Option<LoggingLevel>,
    /// Folders that it may work in.
    pub(crate) roots: Vec<PathBuf>,
    /// Answers to what it asks, given before it does.
    pub(crate) request_args: ServerRequestArgs,
    /// Whether it is followed: it is always tried again, and its log is not talk but data.
    pub(crate) is_watching: bool,
    /// How things are drawn.
    pub(crate) terminal: TerminalSettings,
}

/// What is drawn with, and whether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSettings {
    /// Whether a person reads it, or a program.
    pub(crate) format: Format,
    /// What is drawn with.
    pub(crate) charset: Charset,
    /// Whether the library tells what it does, which a bar would get in the way of.
    pub(crate) is_verbose: bool,
    /// Whether somebody sits there who can be asked: stdin and stderr are a terminal.
    pub(crate) can_prompt: bool,
}

impl ServerSettings {
    /// What `args` mean, and the words that don't name the server.
    ///
    /// # Errors
    ///
    /// No server was named.
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

    /// Answers what the server asks.
    ///
    /// # Errors
    ///
    /// An answer that was given makes no sense.
    pub(crate) fn server_requests(&self) -> anyhow::Result<ServerRequests> {
        let is_json = self.format == Format::Json;
        ServerRequests::resolve(&self.request_args, self.terminal.can_prompt, is_json)
    }

    /// The folders that it may work in.
    ///
    /// # Errors
    ///
    /// One of them is not there.
    pub(crate) fn roots(&self) -> anyhow::Result<Vec<Root>> {
        self.roots
            .iter()
            .map(|path| server_requests::root(path))
            .collect()
    }

    /// What `args` mean to a command that takes nothing but a server.
    ///
    /// # Errors
    ///
    /// None was named, or more than one.
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

/// What `bowline ping` shall do.
#[derive(Debug, PartialEq)]
pub(crate) struct PingSettings {
    pub(crate) server: ServerSettings,
    /// How often.
    pub(crate) count: u32,
    /// The time before the next one.
    pub(crate) interval: Duration,
}

impl PingSettings {
    /// What `args` mean.
    pub(crate) fn resolve(args: PingArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        Ok(Self {
            server: ServerSettings::alone(args.server, &args.words, terminal)?,
            count: args.count,
            interval: args.interval,
        })
    }
}

/// What a command shall do that lists what a server has, or shows one of them.
#[derive(Debug, PartialEq)]
pub(crate) struct ListSettings {
    pub(crate) server: ServerSettings,
    /// The only one to show.
    pub(crate) name: Option<String>,
}

impl ListSettings {
    /// What `args` mean.
    pub(crate) fn resolve(args: ListArgs, terminal: TerminalSettings) -> anyhow::Result<Self> {
        let (server, rest) = ServerSettings::resolve(args.server, &args.words, terminal)?;
        let mut rest = rest.into_iter();
        let name = rest.next();
        refuse_extra_words(rest.as_slice())?;
        Ok(Self { server, name })
    }
}

/// What a command shall do that asks a server for something by its name.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestSettings {
    pub(crate) server: ServerSettings,
    /// The name of what is asked for.
    pub(crate) name: String,
    /// Its arguments, as they were typed.
    pub(crate) words: Vec<String>,
    /// Where the answer goes.
    pub(crate) output: Output,
}

impl RequestSettings {
    /// What `args` mean. `kind` is what is asked for, `list` the command that lists them.
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

    /// The same for what takes no arguments.
    pub(crate) fn without_arguments(self) -> anyhow::Result<Self> {
        refuse_extra_words(&self.words)?;
        Ok(self)
    }
}

/// What `bowline watch` shall do.
#[derive(Debug, PartialEq)]
pub(crate) struct WatchSettings {
    pub(crate) server: ServerSettings,
    /// Resources to watch.
    pub(crate) resources: Vec<String>,
    /// How many events, if there is an end to it.
    pub(crate) count: Option<u64>,
}

impl WatchSettings {
    /// What `args` mean.
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

/// What `bowline complete` shall do.
#[derive(Debug, PartialEq)]
pub(crate) struct CompleteSettings {
    pub(crate) server: ServerSettings,
    /// The prompt or template.
    pub(crate) reference: String,
    /// The argument to complete.
    pub(crate) argument: String,
    /// What has been typed of it.
    pub(crate) typed: String,
    /// Arguments that have their values already.
    pub(crate) known: Vec<(String, String)>,
}

impl CompleteSettings {
    /// What `args` mean.
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

/// Refuses words that nobody knows what to do with.
fn refuse_extra_words(words: &[String]) -> anyhow::Result<()> {
    match words.first() {
        None => Ok(()),
        Some(word) => {
            let error = anyhow!("unexpected argument `{word}`");
            Err(usage(error, "`--help` shows the usage of the command"))
        }
    }
}
