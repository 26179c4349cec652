//! `bowline demo`: starts the demo server as a child process, calls it, kills it during a call, and
//! shows that the connection recovers.
//!
//! [`demo_run`] does the work. Each part of it becomes a [`Step`], which is printed before the next
//! part begins, so that only what has happened is printed.
//!
//! - [`demo_run`]: the server process, its client, and a record of what happened.
//! - [`step`]: the steps as data, which is the output of `--json`.
//! - [`text`]: the steps as text.

mod demo_run;
mod step;
mod text;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::runtime::Builder;

use crate::commands::demo::demo_run::DemoRun;
use crate::commands::demo::step::{Outcome, Step};
use crate::descriptors;
use crate::exit::ExitStatus;
use crate::printer::{Printer, Tone};
use crate::progress::BarStyle;
use crate::settings::{DemoSettings, Format};

/// Runs the demo.
///
/// # Errors
///
/// The server can't be started, a step failed, or the output can't be written.
pub(crate) fn demo(settings: &DemoSettings, printer: &mut Printer) -> anyhow::Result<ExitStatus> {
    descriptors::check(descriptors::OF_CLIENT)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let mut steps = StepPrinter {
        settings,
        printer,
        has_heading: false,
    };
    let finished = runtime.block_on(run_steps(&mut steps));
    runtime.shutdown_background();
    finished.map(|()| ExitStatus::Done)
}

/// Runs all steps in order.
async fn run_steps(steps: &mut StepPrinter<'_>) -> anyhow::Result<()> {
    steps.heading("A server is started and agrees on a revision")?;
    let bar_style = steps.bar_style();
    let (mut run, connected) = DemoRun::open(steps.settings.revision, bar_style).await?;
    steps.print(&connected)?;

    steps.heading("Its tools are listed and called")?;
    steps.print(&run.list_tools().await?)?;
    let quick = [
        ("add", json!({"a": 2, "b": 3})),
        ("count_words", json!({"text": "it holds"})),
        ("fail", json!({"message": "no such file"})),
    ];
    for (tool, arguments) in quick {
        steps.print(&run.call(tool, arguments).await?.into())?;
    }

    steps.heading("A slow call reports progress")?;
    let countdown = json!({"from": 10, "pause_ms": 60});
    steps.print(&run.call_with_progress("countdown", countdown).await?.into())?;

    steps.heading("A resource is read")?;
    steps.print(&run.read("demo://books/ashley/knots").await?)?;

    steps.heading("The server is killed in the middle of a call")?;
    let mut dying = run.start_countdown(json!({"from": 100, "pause_ms": 40}));
    run.wait_for_progress(&mut dying, REPORTS_BEFORE_KILL)
        .await?;
    steps.print(&run.kill(&dying)?)?;
    steps.print(&run.finish_call(dying).await.into())?;

    steps.heading("The connection recovers, and the next call waits for it")?;
    let next = run.call("add", json!({"a": 20, "b": 22})).await?;
    steps.print(&run.recovery())?;
    let is_answered = matches!(next.outcome, Outcome::Answered { .. });
    steps.print(&next.into())?;
    ensure!(is_answered, "the next call had no response");

    let timeline = run.close().await;
    steps.heading("Timeline")?;
    steps.print(&timeline)
}

/// Prints the steps.
struct StepPrinter<'a> {
    settings: &'a DemoSettings,
    printer: &'a mut Printer,
    has_heading: bool,
}

impl StepPrinter<'_> {
    /// Prints a heading, in text output only.
    fn heading(&mut self, heading: &str) -> anyhow::Result<()> {
        if self.settings.format == Format::Text {
            if self.has_heading {
                self.printer.line(0, Tone::Plain, "")?;
            }
            self.printer.line(0, Tone::Heading, heading)?;
            self.has_heading = true;
        }
        self.printer.flush()
    }

    /// Prints a step.
    fn print(&mut self, step: &Step) -> anyhow::Result<()> {
        match self.settings.format {
            Format::Text => text::print(step, self.settings.charset, self.printer)?,
            Format::Json => self.printer.json(step)?,
        }
        self.printer.flush()
    }

    fn bar_style(&self) -> BarStyle {
        BarStyle {
            charset: self.settings.charset,
            has_colour: self.printer.has_colour(),
            is_hidden: self.settings.is_verbose,
        }
    }
}

/// The number of progress notifications before the server is killed: enough that the call plainly
/// runs.
const REPORTS_BEFORE_KILL: u32 = 5;
