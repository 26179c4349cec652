//! `bowline explain`: describes each frame, and validates it for each revision.
//!
//! Frames come from a file, from stdin, or from the built-in example. Each becomes a
//! [`FrameReport`], which is printed before the next frame is read. `report` is the report, which
//! is also the output of `--json`; `text` prints it for users.

mod report;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

use anyhow::{Context, anyhow};
use bowline_types::inspect::Inspector;

use crate::commands::explain::report::FrameReport;
use crate::exit::ExitStatus;
use crate::failure::hinted;
use crate::frames::{Content, Frames};
use crate::printer::Printer;
use crate::settings::{ExplainSettings, Format, Source};

/// Explains the frames of the source.
///
/// # Errors
///
/// If the source can't be read, or the output can't be written.
pub(crate) fn explain(
    settings: &ExplainSettings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let mut frames = Frames::new(open(&settings.source)?, MAX_FRAME);
    print_introduction(&settings.source, printer);
    let mut inspector = Inspector::new();
    let mut tally = Tally::default();
    loop {
        let after = frames.line();
        let frame = frames
            .next()
            .with_context(|| format!("cannot read {} after line {after}", settings.source))?;
        let Some(frame) = frame else { break };
        let is_valid = match frame.content {
            Content::Whole(bytes) => {
                let inspection = inspector.inspect(bytes);
                let report =
                    FrameReport::of_frame(frame.line, bytes, &inspection, settings.revisions);
                print(&report, bytes, settings.format, printer)?
            }
            Content::TooLarge { bytes } => {
                let report = FrameReport::of_too_large(frame.line, bytes, MAX_FRAME);
                print(&report, &[], settings.format, printer)?
            }
        };
        tally.count(is_valid);
        printer.flush()?;
    }
    Ok(finish(settings, &tally, printer))
}

/// Prints the report of `frame`, and returns `true` if the frame is valid.
fn print(
    report: &FrameReport<'_>,
    frame: &[u8],
    format: Format,
    printer: &mut Printer,
) -> anyhow::Result<bool> {
    match format {
        Format::Text => text::print(report, frame, printer)?,
        Format::Json => printer.json(report)?,
    }
    Ok(report.valid)
}

/// Opens the source.
fn open(source: &Source) -> anyhow::Result<Box<dyn BufRead>> {
    Ok(match source {
        Source::File(path) => Box::new(BufReader::with_capacity(CHUNK, open_file(path)?)),
        Source::Stdin | Source::Terminal => Box::new(io::stdin().lock()),
        Source::Example => Box::new(EXAMPLE.as_bytes()),
    })
}

/// Opens a file. Errors have hints for the usual causes.
fn open_file(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    // Some systems fail to open a directory, others fail to read it.
    if path.is_dir() {
        let error = anyhow!("{name} is a directory");
        return Err(hinted(
            error,
            "specify a file with one JSON message per line",
        ));
    }
    File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => hinted(
            anyhow!("no such file: {name}"),
            "check the path, or pipe the messages into `bowline explain`",
        ),
        _ => anyhow::Error::new(error).context(format!("cannot open {name}")),
    })
}

/// Prints how the input is read, if it comes from a terminal or is the example.
fn print_introduction(source: &Source, printer: &mut Printer) {
    match source {
        Source::Example => {
            printer.note("no input: this explains a built-in example session");
            printer.note("hint: specify a file, or pipe messages into `bowline explain`");
        }
        Source::Terminal => {
            printer.note("reading messages from the terminal, one per line; Ctrl-D ends the input")
        }
        Source::File(_) | Source::Stdin => {}
    }
}

/// Prints the totals. Invalid frames of the example are intended, and not a failure.
fn finish(settings: &ExplainSettings, tally: &Tally, printer: &mut Printer) -> ExitStatus {
    if settings.format == Format::Text {
        printer.note(&tally.to_string());
    }
    if tally.invalid == 0 || settings.source == Source::Example {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    }
}

/// The number of frames.
#[derive(Debug, Default)]
struct Tally {
    valid: u64,
    invalid: u64,
}

impl Tally {
    /// Counts a frame.
    fn count(&mut self, is_valid: bool) {
        if is_valid {
            self.valid += 1;
        } else {
            self.invalid += 1;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { valid, invalid } = self;
        match valid + invalid {
            0 => f.write_str("0 frames"),
            1 => write!(f, "1 frame: {valid} valid, {invalid} invalid"),
            all => write!(f, "{all} frames: {valid} valid, {invalid} invalid"),
        }
    }
}

/// The maximum size of a frame, 16 MiB: the default limit of a connection.
pub(crate) const MAX_FRAME: usize = 16 * 1024 * 1024;

/// The number of bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// The example session.
const EXAMPLE: &str = include_str!("../../examples/session.jsonl");
