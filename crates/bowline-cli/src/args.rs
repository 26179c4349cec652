//! What was typed. Nothing is resolved here; that is for [`settings`](crate::settings).

use std::path::PathBuf;

use bowline_types::Revision;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

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
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say of each message what it is, whether it is valid, and in which revisions
    #[command(after_long_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
    /// Serve MCP on stdin and stdout
    #[command(after_long_help = SERVE_HELP)]
    Serve(ServeArgs),
}

/// The arguments of `bowline explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Where the messages are, one JSON text per line; `-` or nothing for stdin
    ///
    /// On a terminal and without FILE, a built-in example is explained.
    pub(crate) file: Option<PathBuf>,

    /// Print a JSON object for each frame
    #[arg(long)]
    pub(crate) json: bool,

    /// Judge by this revision only (may be given several times)
    #[arg(long, value_name = "REVISION", value_parser = revision_parser())]
    pub(crate) revision: Vec<Revision>,
}

/// The arguments of `bowline serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// What to serve
    pub(crate) what: What,
}

/// What can be served.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum What {
    /// A server that has everything the protocol has, to try clients with
    Demo,
}

/// Knows the revisions, so that help and errors can list them.
fn revision_parser() -> impl TypedValueParser<Value = Revision> {
    PossibleValuesParser::new(Revision::ALL.map(Revision::as_str)).try_map(|name| name.parse())
}

/// What stands below the options in `bowline explain --help`.
const EXPLAIN_HELP: &str = r#"Input:
  Frames are separated by newlines. Blank lines, CRLF and a byte order mark at the
  beginning are fine. A frame of more than 16 MiB (16777216 bytes) is reported and
  skipped. Each frame is explained before the next one is read.

Output with --json:
  One object per frame and line. Members that don't apply are left out.

  line            number of the line in the input, from 1
  kind            request, notification, result, error, batch or invalid
  method          of a request or notification; of an answer, that of its request
                  when it was in the input; cut after 64 characters
  id              exactly as it was
  summary         the frame in a few words
  valid           whether the frame is valid in some revision that was asked for
  valid_in        these revisions
  revisions       what each revision that was asked for has to say, by its name;
                  nothing when the frame is no message
    valid         whether the frame is valid in this revision
    findings      why not, and notes; of many the first ones, errors before notes
      severity    error (not valid), ignored (by the receiver) or note (good to know)
      path        where, such as params.content[0]; empty for the frame itself
      message     what
  parts           the messages of a batch, each with the members above except line
  parts_left_out  how many more the batch has; the first 1024 are shown, all are checked
  reason          why the frame is no message
  offset          bytes of the frame (or part) before the fault
  hint            what to do about it

Exit codes:
  0  every frame is valid in some revision that was asked for; also when the example
     was shown, or when whoever reads the output has enough of it
  1  some frame isn't, or reading or writing failed
  2  the command line is wrong"#;

/// What stands below the options in `bowline serve --help`.
const SERVE_HELP: &str = r#"It speaks all revisions of the protocol, one JSON-RPC message a line, until stdin ends.
SIGTERM and SIGINT let it finish what it does, within half a second; a second one ends it.

Exit codes:
  0  the client has left, or a signal came
  1  stdin or stdout can't be used, or the client speaks anything but MCP
  2  the command line is wrong"#;

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
