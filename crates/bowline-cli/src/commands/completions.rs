//! `bowline completions`: prints a completion script for a shell.

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Prints the script.
///
/// # Errors
///
/// The output can't be written.
pub(crate) fn completions(
    args: &CompletionsArgs,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "bowline", &mut script);
    printer.bytes(&script)?;
    printer.flush()?;
    Ok(ExitStatus::Done)
}
