//! The `bowline` command.
//!
//! What was typed ([`args`]) becomes what is wanted ([`settings`]), and a function per
//! command ([`commands`]) does it, with a [`printer`] to say it through. This file only
//! ties them together and turns the outcome into an exit code.

mod args;
mod commands;
mod demo;
mod escape;
mod excerpt;
mod exit;
mod frames;
mod hint;
mod printer;
mod settings;

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::exit::ExitStatus;
use crate::printer::{OutputClosed, Printer};
use crate::settings::{ExplainSettings, ServeSettings};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refusal) => return refuse(&refusal).into(),
    };
    let mut printer = Printer::standard();
    let outcome = run(args, &mut printer);
    outcome
        .unwrap_or_else(|error| {
            if error.is::<OutputClosed>() {
                return ExitStatus::Done;
            }
            printer.error(&error);
            ExitStatus::Failed
        })
        .into()
}

/// Does what was asked for.
fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitStatus> {
    match args.command {
        Command::Explain(args) => {
            let settings = ExplainSettings::resolve(args, stdin().is_terminal());
            commands::explain(&settings, printer)
        }
        Command::Serve(args) => {
            let settings = ServeSettings::resolve(&args, stdin().is_terminal());
            commands::serve(&settings, printer)
        }
    }
}

/// Says why nothing was done. A plea for help or for the version comes this way too.
fn refuse(refusal: &clap::Error) -> ExitStatus {
    // There is nobody left to tell when this fails.
    let _ = refusal.print();
    if refusal.use_stderr() {
        ExitStatus::Usage
    } else {
        ExitStatus::Done
    }
}
