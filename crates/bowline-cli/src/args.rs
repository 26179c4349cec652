//! The command line as it was typed. Nothing is resolved here; that is done by
//! [`settings`](crate::settings).
//!
//! - [`server_commands`]: the commands that connect to a server. [`serve`]: `bowline serve`.
//! - [`help`]: the texts below the options of commands that connect to a server.

mod help;
pub(crate) mod serve;
pub(crate) mod server_commands;

use std::path::PathBuf;
use std::sync::LazyLock;

use bowline_types::Revision;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::args::serve::ServeArgs;
use crate::args::server_commands::ServerCommand;
use crate::bounded_file::MAX_BYTES;
use crate::config::locations;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "bowline",
    version,
    about = "A tool for the Model Context Protocol (MCP)"
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColourChoice,

    /// Print data as JSON; errors, warnings and notes are JSON objects on stderr, one per line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Log to stderr what the library does; give it twice for more detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colours. The values are explained in the help of the option: help for each of them
/// would be most of the help of every command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a demonstration: a server is started, called, killed and called again
    #[command(after_long_help = DEMO_HELP)]
    Demo(DemoArgs),
    #[command(flatten)]
    Server(ServerCommand),
    /// List the servers in the configuration files of MCP clients
    #[command(after_long_help = SERVERS_HELP.as_str())]
    Servers(ServersArgs),
    /// Explain MCP messages: what each one is, and in which revisions it is valid
    #[command(after_long_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
    /// Serve MCP on stdin and stdout, or over HTTP
    #[command(after_long_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Print a script that lets a shell complete what is typed after `bowline`
    #[command(after_long_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
}

/// The arguments of `bowline demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Use this protocol revision only
    #[arg(long, value_name = "REVISION", value_parser = revision_parser())]
    pub(crate) revision: Option<Revision>,

    /// Draw with ASCII characters only (the default where the locale is not UTF-8)
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// The arguments of `bowline explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The file with the messages, one JSON text per line; `-` or nothing for stdin
    ///
    /// On a terminal and without FILE, a built-in example is explained.
    pub(crate) file: Option<PathBuf>,

    /// Validate against this revision only (may be given several times)
    #[arg(long, value_name = "REVISION", value_parser = revision_parser())]
    pub(crate) revision: Vec<Revision>,
}

/// The arguments of `bowline completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that the script is for
    pub(crate) shell: Shell,
}

/// The arguments of `bowline servers`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServersArgs {
    /// Show only this server, with all its details
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The option that sets where servers are looked for, for every command that takes the name of a
/// server.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Look for servers in this file only, instead of the known places (may be given several
    /// times)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
}

/// Parses revisions, and lists them in help and errors.
fn revision_parser() -> impl TypedValueParser<Value = Revision> {
    PossibleValuesParser::new(Revision::ALL.map(Revision::as_str)).try_map(|name| name.parse())
}

/// The text below the options in `bowline demo --help`.
const DEMO_HELP: &str = r#"Starts `bowline serve demo` as a child process, calls tools, reads a resource, kills the
process during a call, and shows how that call ends, how the connection recovers, and that
the next call succeeds. It needs nothing else, and takes two seconds.

Output with --json:
  One object per step and line. Times are in milliseconds since the start.

  connect   process (its id), server (name, version, title), revision, capabilities
            (as the server declared them), took_ms
  tools     names, took_ms
  call      tool, arguments, from_ms, to_ms, reports (the number of progress
            notifications, where they were requested), and outcome: answered or
            tool_error (with text), lost or failed (with error, kind, and may_have_run:
            true if the server may have executed the call)
  read      uri, text, took_ms
  kill      process, signal, tool (the one being called), progress (of that call), at_ms
  recover   process (the new one), changes: at_ms, from, to, cause of each change of the
            connection state since the kill
  timeline  states: state, from_ms, to_ms; calls: name, from_ms, to_ms, outcome

Exit codes:
  0  every step succeeded; also when the reader closed the output early
  1  a step failed, or writing failed
  2  the command line is wrong
  4  the server can't be started"#;

/// The text below the options in `bowline explain --help`.
const EXPLAIN_HELP: &str = r#"Input:
  Frames are separated by newlines. Blank lines, CRLF and a byte order mark at the
  beginning are fine. A frame of more than 16 MiB (16777216 bytes) is reported and
  skipped. Each frame is explained before the next one is read.

Output with --json:
  One object per frame and line. Members that don't apply are left out.

  line            number of the line in the input, from 1
  kind            request, notification, result, error, batch or invalid
  method          of a request or notification; of a response, the method of its
                  request when that was in the input; cut after 64 characters
  id              exactly as in the input
  summary         the frame in a few words
  valid           true if the frame is valid in at least one of the chosen revisions
  valid_in        these revisions
  revisions       the findings for each chosen revision, by its name; left out when
                  the frame is not a message
    valid         true if the frame is valid in this revision
    findings      errors first, then notes; only the first ones when there are many
      severity    error (not valid), ignored (by the receiver) or note (for information)
      path        where, such as params.content[0]; empty for the frame itself
      message     what was found
  parts           the messages of a batch, each with the members above except line
  parts_left_out  how many more the batch has; the first 1024 are shown, all are checked
  reason          why the frame is not a message
  offset          bytes of the frame (or part) before the error
  hint            what to do about it

Exit codes:
  0  every frame is valid in at least one of the chosen revisions; also when the example
     was shown, or when the reader closed the output early
  1  a frame is not valid, or reading or writing failed
  2  the command line is wrong"#;

/// The text below the options in `bowline serve --help`.
const SERVE_HELP: &str = r#"Supports all revisions of the protocol: one JSON-RPC message per line until stdin ends, or
with --http any number of clients over HTTP/1.1 and HTTP/2 until a signal is received. After
SIGTERM or SIGINT running requests have half a second to finish; a second signal exits at
once.

With --http the URL of the endpoint is printed on stdout as soon as clients can connect, and
with --legacy-sse the URL of that transport on the next line; with --json both are printed as
{"url": …, "legacy_sse_url": …}. Only this machine can reach the server, unless ADDR is an
address of another interface (0.0.0.0:8000 is all of them) and --allowed-host names the host
in the URL that clients use, with its port unless that is 80 or 443. There is no authorization
and no TLS. /healthz and /readyz are for load balancers.

Examples:
  bowline serve demo
  bowline serve demo --http
  bowline serve demo --http 0.0.0.0:8000 --allowed-host mcp.example.com:8000

Exit codes:
  0  stdin ended, or a signal was received
  1  stdin or stdout can't be used, the client doesn't speak MCP, or the address is in use or
     not one of this machine
  2  the command line is wrong"#;

/// The text below the options in `bowline completions --help`.
const COMPLETIONS_HELP: &str = r#"Where to install the script:
  bash        bowline completions bash > ~/.local/share/bash-completion/completions/bowline
  zsh         bowline completions zsh > "${fpath[1]}/_bowline"
  fish        bowline completions fish > ~/.config/fish/completions/bowline.fish
  elvish      bowline completions elvish >> ~/.config/elvish/rc.elv
  powershell  bowline completions powershell >> $PROFILE

Exit codes:
  0  done; also when the reader closed the output early
  1  writing failed
  2  the command line is wrong"#;

/// The text below the options in `bowline servers --help`.
static SERVERS_HELP: LazyLock<String> = LazyLock::new(|| {
    format!(
        r#"Where servers are looked for without --config; of servers with the same name the first wins:
{places}

What the files may contain:
  mcpServers, servers, mcp, context_servers and mcp.servers, each with servers by name;
  comments, and a comma after the last element. A server has command, args, env, envFile
  and cwd, or url and headers, and may have type, timeout, disabled and enabled. In their
  values ${{VAR}}, ${{VAR:-default}} and ${{env:VAR}} are filled in, and ${{workspaceFolder}} and
  ${{userHome}}. A file has at most {mib} MiB.

  A server of a project is started in the folder of the project. It inherits only the
  environment variables that a program needs to start, and gets those of its env. timeout is
  in milliseconds; below 1000, or in context_servers, in seconds. A disabled server is used
  when it is named. A file of a project that is owned by another user is only read when
  --config names it. Where a project and the user have different servers of the same name,
  commands that connect to it require --config; of the files that it names the first wins.

What is not shown:
  Values of variables and headers, of arguments that look secret, and the user info and
  query values of URLs. References in them, such as ${{VAR}}, are shown.

Output with --json:
  One object with servers and files; with NAME the server alone. Members that don't apply
  are left out.

  servers
    name, transport (stdio, http or sse)
    command     the program and its arguments
    url, env, env_file, headers, cwd, timeout_ms
    origin      named, project, user or built-in
    file, line  where it is defined
    disabled    true if the file disables it
    supported   true if its transport is supported: http and sse are not yet
    shadowed_by the file whose server of the same name wins, or built-in
    shadows     files whose server of the same name loses; with NAME only
    problem     why it can't be used: message, line, column, field, hint
  files
    path, origin, problem

Exit codes:
  0  done
  1  the file or the server that was named can't be used
  2  the command line is wrong, or there is no file or server of that name"#,
        places = locations::HELP,
        mib = MAX_BYTES >> 20,
    )
});

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::commands::MAX_FRAME;

    #[test]
    fn the_command_line_is_well_defined() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_help_names_the_limits_of_the_code() {
        for limit in [MAX_FRAME, bowline_types::inspect::MAX_PARTS] {
            assert!(EXPLAIN_HELP.contains(&limit.to_string()), "{limit}");
        }
    }
}
