//! The `bowline` command.
//!
//! The command line ([`args`]) becomes [`settings`], and a function per command ([`commands`]) runs
//! with them and a [`printer`]. This file connects them and turns the result into an exit code.
//!
//! - Command line: `args`, `command_line`, `settings`, `environment`, `suggestion`, `exit`.
//! - Which server: `target`, `launch`, `config`. Talking to it: `connect`, `server_connection`,
//!   `server_requests`, `interrupt`, `descriptors`.
//! - Input: `arguments`, `schema`, `frames`, `bounded_file`. Tools for a reader: `signature`.
//! - Output: `printer`, `content`, `output`, `table`, `paragraph`, `progress`, `timeline`,
//!   `excerpt`, `durations`, `charset`, `base64`. Errors: `failure`. Logs: `verbose`.
//! - Safety of output: `escape`, `redact`.
//! - `commands`: one file each. `demo`: the demo server. `scratch`: folders for tests.

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
mod environment;
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
mod table;
mod target;
mod timeline;
mod verbose;

use std::env;
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use crate::args::server_commands::ServerCommand;
use crate::args::{Args, Command};
use crate::charset::Charset;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::printer::{OutputClosed, Printer};
use crate::settings::{
    CompleteSettings, DemoSettings, ExplainSettings, Format, ListSettings, PingSettings,
    RequestSettings, ServeSettings, ServerSettings, ServersSettings, TerminalSettings,
    WatchSettings,
};

fn main() -> ExitCode {
    let args = match command_line::parse(&env::args_os().collect::<Vec<_>>()) {
        Ok(args) => args,
        Err(status) => return status.into(),
    };
    let mut printer = Printer::standard(args.color);
    if args.json {
        printer.write_messages_as_json();
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

/// Runs the command.
fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitStatus> {
    let format = Format::from_json_option(args.json);
    verbose::install(args.verbose, format)?;
    let terminal = TerminalSettings {
        format,
        charset: Charset::of_locale(|name| env::var_os(name)),
        is_verbose: args.verbose > 0,
        can_prompt: stdin().is_terminal() && stderr().is_terminal(),
    };
    match args.command {
        Command::Demo(demo) => {
            let settings = DemoSettings::resolve(&demo, terminal);
            commands::demo(&settings, printer)
        }
        Command::Explain(args) => {
            let settings = ExplainSettings::resolve(args, format, stdin().is_terminal());
            commands::explain(&settings, printer)
        }
        Command::Servers(args) => {
            let environment = Environment::current()?;
            let settings = ServersSettings::resolve(args, format);
            commands::servers(&settings, &environment, printer)
        }
        Command::Serve(args) => {
            let settings = ServeSettings::resolve(args, format, stdin().is_terminal())?;
            commands::serve(&settings, printer)
        }
        Command::Completions(args) => commands::completions(&args, printer),
        Command::Server(command) => {
            run_server_command(command, terminal, &Environment::current()?, printer)
        }
    }
}

/// Runs a command that connects to a server.
fn run_server_command(
    command: ServerCommand,
    terminal: TerminalSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let to_terminal = stdout().is_terminal();
    let request_settings = |args, what| RequestSettings::resolve(args, terminal, to_terminal, what);
    match command {
        ServerCommand::Call(args) => commands::call(
            &request_settings(args, ("tool", "tools"))?,
            environment,
            printer,
        ),
        ServerCommand::Complete(args) => commands::complete(
            &CompleteSettings::resolve(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Info(args) => commands::info(
            &ServerSettings::server_only(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Ping(args) => commands::ping(
            &PingSettings::resolve(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Prompt(args) => commands::prompt(
            &request_settings(args, ("prompt", "prompts"))?,
            environment,
            printer,
        ),
        ServerCommand::Prompts(args) => commands::prompts(
            &ListSettings::resolve(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Read(args) => {
            let settings =
                request_settings(args, ("resource", "resources"))?.without_arguments()?;
            commands::read(&settings, environment, printer)
        }
        ServerCommand::Resources(args) => commands::resources(
            &ServerSettings::server_only(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Tools(args) => commands::tools(
            &ListSettings::resolve(args, terminal)?,
            environment,
            printer,
        ),
        ServerCommand::Watch(args) => commands::watch(
            &WatchSettings::resolve(args, terminal)?,
            environment,
            printer,
        ),
    }
}
