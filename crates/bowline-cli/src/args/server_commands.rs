//! The arguments of the commands that connect to a server.
//!
//! The server is the first word, or a command after `--`. What the words mean depends on that, so
//! [`settings`](crate::settings) separates them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_types::Revision;
use bowline_types::logging::LoggingLevel;
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::args::{ConfigArgs, help, revision_parser};
use crate::server_requests::ServerRequestArgs;

/// The commands that connect to a server.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// List the tools of a server, or show one with its schema
    #[command(override_usage = help::TOOLS_USAGE, after_long_help = help::TOOLS_HELP)]
    Tools(ListArgs),
    /// Call a tool of a server
    #[command(override_usage = help::CALL_USAGE, after_long_help = help::CALL_HELP)]
    Call(RequestArgs),
    /// List the resources and resource templates of a server
    #[command(override_usage = help::RESOURCES_USAGE, after_long_help = help::RESOURCES_HELP)]
    Resources(ServerOnlyArgs),
    /// Read a resource of a server
    #[command(override_usage = help::READ_USAGE, after_long_help = help::READ_HELP)]
    Read(RequestArgs),
    /// List the prompts of a server, or show one
    #[command(override_usage = help::PROMPTS_USAGE, after_long_help = help::PROMPTS_HELP)]
    Prompts(ListArgs),
    /// Get a prompt of a server with its arguments filled in
    #[command(override_usage = help::PROMPT_USAGE, after_long_help = help::PROMPT_HELP)]
    Prompt(RequestArgs),
    /// Complete an argument of a prompt, or a variable of a resource template
    #[command(override_usage = help::COMPLETE_USAGE, after_long_help = help::COMPLETE_HELP)]
    Complete(CompleteArgs),
    /// Measure how long a server takes to respond
    #[command(override_usage = help::PING_USAGE, after_long_help = help::PING_HELP)]
    Ping(PingArgs),
    /// Show the identity and capabilities of a server
    #[command(override_usage = help::INFO_USAGE, after_long_help = help::INFO_HELP)]
    Info(ServerOnlyArgs),
    /// Follow the changes of a server: its state, lists, resources and log
    #[command(override_usage = help::WATCH_USAGE, after_long_help = help::WATCH_HELP)]
    Watch(WatchArgs),
}

/// The options of every command that connects to a server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,

    /// Use this protocol revision only
    #[arg(long, value_name = "REVISION", value_parser = revision_parser())]
    pub(crate) revision: Option<Revision>,

    /// Give up if the server takes longer than this to start, to respond, or to report progress
    /// (default: 30, or the timeout in its configuration)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Give up a call, or the task that it becomes, after this time in total, even if it reports
    /// progress (default: 600, or --timeout if that is longer)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_time: Option<Duration>,

    /// Show log messages of the server at this level and above: debug, info, notice, warning (the
    /// default), error, critical, alert or emergency
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, value_parser = level_parser())]
    pub(crate) log: Option<LoggingLevel>,

    /// Expose this folder to the server as a root (may be given several times)
    #[arg(long, value_name = "PATH")]
    pub(crate) root: Vec<PathBuf>,

    /// The command that starts the server, instead of the name of a server
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of commands that take only a server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerOnlyArgs {
    /// The server: `demo`, or a name that `bowline servers` lists
    #[arg(value_name = "SERVER")]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of `bowline ping`.
#[derive(Debug, clap::Args)]
pub(crate) struct PingArgs {
    /// The server: `demo`, or a name that `bowline servers` lists
    #[arg(value_name = "SERVER")]
    pub(crate) words: Vec<String>,

    /// How many pings to send
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,

    /// How long to wait between pings
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = pause)]
    pub(crate) interval: Duration,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of commands that list items of a server, or show one of them.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The server (`demo`, or a name that `bowline servers` lists), unless there is a COMMAND,
    /// followed by the name of the item to show
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of commands that request an item by its name.
#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// The server (`demo`, or a name that `bowline servers` lists), unless there is a COMMAND,
    /// followed by the name of the requested item and its arguments
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,

    /// Save images, audio and blobs in this directory, which must exist unless the path ends with
    /// a slash; or, if there is only one of them or only text, in this file, which is replaced.
    /// `-`: write everything to stdout, unescaped
    #[arg(short, long, value_name = "DIR/|FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    // Last, since arguments after it would be listed under its heading.
    #[command(flatten)]
    pub(crate) request_args: ServerRequestArgs,
}

/// The arguments of `bowline complete`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArgs {
    /// The server (`demo`, or a name that `bowline servers` lists), unless there is a COMMAND,
    /// followed by the prompt or template, the argument with what has been typed so far, and
    /// arguments whose values are known
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of `bowline watch`.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// The server: `demo`, or a name that `bowline servers` lists
    #[arg(value_name = "SERVER")]
    pub(crate) words: Vec<String>,

    /// Watch this resource as well (may be given several times)
    #[arg(short, long, value_name = "URI")]
    pub(crate) resource: Vec<String>,

    /// Stop after this many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time: Option<Duration>,

    /// Stop after this many events
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// Parses a duration in seconds that is greater than 0.
fn seconds(text: &str) -> Result<Duration, String> {
    match pause(text)? {
        Duration::ZERO => Err("must be greater than 0".to_owned()),
        time => Ok(time),
    }
}

/// Parses a duration in seconds, a day at most.
fn pause(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(format!("must be between 0 and {LONGEST}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses log levels, and lists them in errors.
fn level_parser() -> impl TypedValueParser<Value = LoggingLevel> {
    PossibleValuesParser::new(LEVELS).map(|name| LoggingLevel::from(name.as_str()))
}

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// A day, in seconds. No wait needs to be longer.
const LONGEST: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_within_reason() {
        for (text, time) in [
            ("0.5", Some(Duration::from_millis(500))),
            ("86400", Some(Duration::from_secs(86_400))),
            ("0", None),
            ("-1", None),
            ("86401", None),
            ("NaN", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text).ok(), time, "{text}");
        }
        assert_eq!(pause("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn every_level_is_known() {
        for name in LEVELS {
            assert!(!matches!(LoggingLevel::from(name), LoggingLevel::Other(_)));
        }
    }
}
