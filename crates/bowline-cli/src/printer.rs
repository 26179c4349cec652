//! The only place that writes to stdout and stderr.
//!
//! stdout is for data, stderr for messages. Everything passes through [`escape`] here, so callers
//! may pass on text of a peer.
//!
//! [`diagnostic`] formats errors, warnings and notes.

mod diagnostic;

use std::env;
use std::error::Error;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;

use crate::args::ColourChoice;
use crate::connect::server_error_of;
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, message_with_causes};
use crate::printer::diagnostic::Diagnostic;

/// Writes escaped lines.
pub(crate) struct Printer {
    data: Box<dyn Write>,
    messages: Box<dyn Write>,
    has_colour: bool,
    is_json: bool,
}

/// The tone of a line or a part of it, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Plain text.
    Plain,
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// Secondary information.
    Aside,
    /// A heading.
    Heading,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Piece {
    /// Creates a part with a tone.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { tone, text }
    }

    /// Creates a part without a tone.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }
}

/// The reader closed the output, which is not a failure.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl Printer {
    /// Creates a printer for stdout and stderr. With `auto`, colours are used on a terminal if
    /// `NO_COLOR` is not set.
    pub(crate) fn standard(colour: ColourChoice) -> Self {
        let data = io::stdout();
        let has_colour = match colour {
            ColourChoice::Always => true,
            ColourChoice::Never => false,
            ColourChoice::Auto => {
                let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let is_dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
                data.is_terminal() && !is_unwanted && !is_dumb
            }
        };
        Self::new(BufWriter::new(data), io::stderr(), has_colour)
    }

    /// Creates a printer for `data` and `messages`.
    fn new(data: impl Write + 'static, messages: impl Write + 'static, has_colour: bool) -> Self {
        Self {
            data: Box::new(data),
            messages: Box::new(messages),
            has_colour,
            is_json: false,
        }
    }

    /// Writes errors, warnings and notes as JSON objects from now on, one per line.
    pub(crate) fn write_messages_as_json(&mut self) {
        self.is_json = true;
    }

    /// Writes a line of data, indented by `depth` levels.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn line(&mut self, depth: usize, tone: Tone, text: &str) -> anyhow::Result<()> {
        self.pieces(depth, &[Piece::new(tone, text)])
    }

    /// Writes a line of data with several tones.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn pieces(&mut self, depth: usize, pieces: &[Piece]) -> anyhow::Result<()> {
        let mut line = " ".repeat(depth * 2);
        for Piece { tone, text } in pieces {
            let (on, off) = if self.has_colour {
                tone.codes()
            } else {
                ("", "")
            };
            line.extend([on, &escape::for_terminal(text), off]);
        }
        writeln!(self.data, "{line}").map_err(cannot_write)
    }

    /// Writes a text of one or more lines as data.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        let lines = escape::in_lines(text);
        self.data.write_all(lines.as_bytes()).map_err(cannot_write)
    }

    /// Writes a text that is the content of a result. Returns `true` if something in it was
    /// escaped.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn content(&mut self, text: &str) -> anyhow::Result<bool> {
        let (shown, is_escaped) = escape::content(text);
        let written = self.data.write_all(shown.as_bytes());
        written.map_err(cannot_write)?;
        Ok(is_escaped)
    }

    /// Writes raw bytes, where the user chose that and stdout is not a terminal.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.data.write_all(bytes).map_err(cannot_write)
    }

    /// Returns `true` if colours are used.
    pub(crate) fn has_colour(&self) -> bool {
        self.has_colour
    }

    /// Writes a JSON value as a line of data.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = serde_json::to_string(value).context("cannot serialize as JSON")?;
        let json = escape::in_json(&json);
        writeln!(self.data, "{json}").map_err(cannot_write)
    }

    /// Flushes the data that was written so far.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or an I/O error.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.data.flush().map_err(cannot_write)
    }

    /// Writes a note to stderr, which is not part of the data.
    pub(crate) fn note(&mut self, text: &str) {
        self.diagnostic(&Diagnostic {
            note: Some(text),
            ..Diagnostic::default()
        });
    }

    /// Writes a note as a JSON object of its own.
    pub(crate) fn note_object(&mut self, object: &Value) {
        let object = object.to_string();
        let json = escape::in_json(&object);
        // Nothing can be done if this fails.
        let _ = self.messages.write_all(format!("{json}\n").as_bytes());
    }

    /// Writes an error and its hint.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        // Data first, so that the error appears below it on a terminal.
        let _ = self.data.flush();
        self.diagnostic(&Diagnostic {
            error: Some(&message_with_causes(error)),
            stderr: Failure::stderr_tail_of(error),
            hint: Failure::hint_of(error),
            exit_code: Some(Failure::status_of(error).code()),
            ..Diagnostic::of_server(server_error_of(error))
        });
    }

    /// Writes a usage error and its hint.
    pub(crate) fn usage_error(&mut self, error: &str, hint: &str) {
        self.diagnostic(&Diagnostic {
            error: Some(error),
            hint: Some(hint),
            exit_code: Some(ExitStatus::Usage.code()),
            ..Diagnostic::default()
        });
    }

    /// Writes a warning and its hint.
    pub(crate) fn warning(&mut self, text: &str, hint: Option<&str>) {
        self.diagnostic(&Diagnostic {
            warning: Some(text),
            hint,
            ..Diagnostic::default()
        });
    }

    /// Writes a diagnostic in the format for messages.
    fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) {
        // Nothing can be done if this fails.
        let _ = self
            .messages
            .write_all(diagnostic.to_line(self.is_json).as_bytes());
    }
}

/// Writes a warning where there is no printer, such as in a handler of server requests.
pub(crate) fn warning_to_stderr(is_json: bool, text: &str, hint: Option<&str>) {
    let diagnostic = Diagnostic {
        warning: Some(text),
        hint,
        ..Diagnostic::default()
    };
    // Nothing can be done if this fails.
    let _ = io::stderr()
        .lock()
        .write_all(diagnostic.to_line(is_json).as_bytes());
}

/// Writes a note where there is no printer, such as a log line of the library.
pub(crate) fn note_to_stderr(is_json: bool, text: &str) {
    let diagnostic = Diagnostic {
        note: Some(text),
        ..Diagnostic::default()
    };
    // Nothing can be done if this fails.
    let _ = io::stderr()
        .lock()
        .write_all(diagnostic.to_line(is_json).as_bytes());
}

/// Writes the prompt before input.
pub(crate) fn prompt(text: &str) {
    // Nothing can be done if this fails.
    let _ = io::stderr()
        .lock()
        .write_all(escape::for_terminal(text).as_bytes());
}

/// Writes a line to stderr: text, or a JSON object that is already serialized.
pub(crate) fn aside(text: &str) {
    // Nothing can be done if this fails.
    let _ = io::stderr().lock().write_all(harmless(text).as_bytes());
}

/// Escapes `text` as a line of a message. A line is written as a whole, since other threads may
/// write too.
fn harmless(text: &str) -> String {
    format!("{}\n", escape::for_terminal(text))
}

/// Returns the width for texts: that of the terminal, or a default elsewhere.
pub(crate) fn width() -> usize {
    screen().map_or(PAGE, |columns| columns.clamp(NARROWEST, WIDEST))
}

/// Returns the width of the terminal that stdout is, if it is one.
pub(crate) fn screen() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Printer").finish_non_exhaustive()
    }
}

impl Tone {
    /// Returns the escape sequences that switch the colour on and off.
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("", ""),
            Self::Good => ("\x1b[32m", "\x1b[0m"),
            Self::Bad => ("\x1b[31m", "\x1b[0m"),
            Self::Aside => ("\x1b[2m", "\x1b[0m"),
            Self::Heading => ("\x1b[1m", "\x1b[0m"),
        }
    }
}

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the output was closed")
    }
}

impl Error for OutputClosed {}

/// Returns the error for data that can't be written.
fn cannot_write(error: io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        OutputClosed.into()
    } else {
        anyhow::Error::new(error).context("cannot write the output")
    }
}

/// The width where stdout is not a terminal.
const PAGE: usize = 80;

/// Narrower terminals are treated as this wide.
const NARROWEST: usize = 40;

/// Longer lines are hard to read.
const WIDEST: usize = 120;

#[cfg(test)]
pub(crate) mod capture {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// Records what is written, for tests.
    #[derive(Clone, Default)]
    pub(crate) struct CapturedOutput(Rc<RefCell<Vec<u8>>>);

    impl CapturedOutput {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Printer {
        /// Creates a printer that writes data and messages to one record, without colours.
        pub(crate) fn captured() -> (Self, CapturedOutput) {
            let page = CapturedOutput::default();
            (Self::new(page.clone(), page.clone(), false), page)
        }
    }
}

#[cfg(test)]
mod tests;
