//! The `bowline` command.
//!
//! What was typed ([`args`]) becomes what is wanted ([`settings`]), and a function per
//! command ([`commands`]) does it, with a [`printer`] to say it through. This file only
//! ties them together and turns the outcome into an exit code.

mod args;
mod arguments;
mod base64;
mod bounded_file;
mod charset;
mod command_line;
mod commands;
mod config;
mod connect;
mod content;
mod demo;
mod descriptors;
mod durations;
mod escape;
mod excerpt;
mod exit;
mod failure;
mod frames;
mod interrupt;
mod launch;
mod output;
mod paragraph;
mod printer;
mod progress;
mod redact;
mod schema;
#[cfg(test)]
mod scratch;
mod server_connection;
mod server_requests;
mod settings;
mod signature;
mod suggestion;
mod surroundings;
mod table;
mod target;
mod timeline;
mod verbose;

use std::env;
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use crate::args::server_commands::TalkCommand;
use crate::args::{Args, Command};
use crate::charset::Charset;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::printer::{OutputClosed, Printer};
use crate::settings::{
    AskSettings, CompleteSettings, DemoSettings, ExplainSettings, Format, ListSettings,
    PingSettings, Screen, ServeSettings, ServerSettings, ServersSettings, WatchSettings,
};
use crate::surroundings::Surroundings;

fn main() -> ExitCode {
    let args = match command_line::parse(&env::args_os().collect::<Vec<_>>()) {
        Ok(args) => args,
        Err(status) => return status.into(),
    };
    let mut printer = Printer::standard(args.color);
    if args.json {
        printer.talk_json();
    }
    let outcome = run(args, &mut printer);
    outcome
        .unwrap_or_else(|error| {
            if error.is::<OutputClosed>() {
                return ExitStatus::Done;
            }
            printer.error(&error);
            Failure::status_of(&error)
        })
        .into()
}

/// Does what was asked for.
fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitStatus> {
    let format = Format::wanted(args.json);
    verbose::begin(args.verbose, format)?;
    let screen = Screen {
        format,
        charset: Charset::of_locale(|name| env::var_os(name)),
        is_verbose: args.verbose > 0,
        is_attended: stdin().is_terminal() && stderr().is_terminal(),
    };
    match args.command {
        Command::Demo(demo) => {
            let settings = DemoSettings::resolve(&demo, screen);
            commands::demo(&settings, printer)
        }
        Command::Explain(args) => {
            let settings = ExplainSettings::resolve(args, format, stdin().is_terminal());
            commands::explain(&settings, printer)
        }
        Command::Servers(args) => {
            let surroundings = Surroundings::current()?;
            let settings = ServersSettings::resolve(args, format);
            commands::servers(&settings, &surroundings, printer)
        }
        Command::Serve(args) => {
            let settings = ServeSettings::resolve(&args, stdin().is_terminal());
            commands::serve(&settings, printer)
        }
        Command::Completions(args) => commands::completions(&args, printer),
        Command::Talk(command) => talk(command, screen, &Surroundings::current()?, printer),
    }
}

/// Does what was asked for of a server.
fn talk(
    command: TalkCommand,
    screen: Screen,
    here: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let to_terminal = stdout().is_terminal();
    let asking = |args, what| AskSettings::resolve(args, screen, to_terminal, what);
    match command {
        TalkCommand::Call(args) => commands::call(&asking(args, ("tool", "tools"))?, here, printer),
        TalkCommand::Complete(args) => {
            commands::complete(&CompleteSettings::resolve(args, screen)?, here, printer)
        }
        TalkCommand::Info(args) => {
            commands::info(&ServerSettings::only(args, screen)?, here, printer)
        }
        TalkCommand::Ping(args) => {
            commands::ping(&PingSettings::resolve(args, screen)?, here, printer)
        }
        TalkCommand::Prompt(args) => {
            commands::prompt(&asking(args, ("prompt", "prompts"))?, here, printer)
        }
        TalkCommand::Prompts(args) => {
            commands::prompts(&ListSettings::resolve(args, screen)?, here, printer)
        }
        TalkCommand::Read(args) => {
            let settings = asking(args, ("resource", "resources"))?.without_arguments()?;
            commands::read(&settings, here, printer)
        }
        TalkCommand::Resources(args) => {
            commands::resources(&ServerSettings::only(args, screen)?, here, printer)
        }
        TalkCommand::Tools(args) => {
            commands::tools(&ListSettings::resolve(args, screen)?, here, printer)
        }
        TalkCommand::Watch(args) => {
            commands::watch(&WatchSettings::resolve(args, screen)?, here, printer)
        }
    }
}
