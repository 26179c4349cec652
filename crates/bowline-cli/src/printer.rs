//! The only place that writes to stdout and stderr.
//!
//! stdout is data, stderr is talk. Whatever is said passes through
//! [`escape`] here, so callers may hand over what peers wrote.

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

/// Writes lines, harmless ones.
pub(crate) struct Printer {
    data: Box<dyn Write>,
    talk: Box<dyn Write>,
    has_colour: bool,
    talks_json: bool,
}

/// What a line is, so that it can be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Neither of the others.
    Plain,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// An aside.
    Aside,
    /// What the lines below are about.
    Heading,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Piece {
    /// A part of a tone.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { tone, text }
    }

    /// A part of no tone.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }
}

/// Whoever reads our output has enough of it. Not an error to anyone.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl Printer {
    /// Writes to stdout and stderr. Unless it was asked for, there is colour on a terminal that
    /// has it when `NO_COLOR` is not set.
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

    /// Writes to `data` and `talk`.
    fn new(data: impl Write + 'static, talk: impl Write + 'static, has_colour: bool) -> Self {
        Self {
            data: Box::new(data),
            talk: Box::new(talk),
            has_colour,
            talks_json: false,
        }
    }

    /// Errors, warnings and notes are for a program from now on: one JSON object a line.
    pub(crate) fn talk_json(&mut self) {
        self.talks_json = true;
    }

    /// A line of data for a reader, `depth` levels indented.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn line(&mut self, depth: usize, tone: Tone, text: &str) -> anyhow::Result<()> {
        self.pieces(depth, &[Piece::new(tone, text)])
    }

    /// A line of data for a reader, of several tones.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn pieces(&mut self, depth: usize, pieces: &[Piece]) -> anyhow::Result<()> {
        let mut line = " ".repeat(depth * 2);
        for Piece { tone, text } in pieces {
            let (on, off) = match self.has_colour {
                true => tone.codes(),
                false => ("", ""),
            };
            line.extend([on, &escape::for_terminal(text), off]);
        }
        writeln!(self.data, "{line}").map_err(cannot_write)
    }

    /// A text of data for a reader, on as many lines as it has.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        let lines = escape::in_lines(text);
        self.data.write_all(lines.as_bytes()).map_err(cannot_write)
    }

    /// A text that is the content of an answer, as it is but for what is harmful. Whether
    /// there was something harmful in it.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn content(&mut self, text: &str) -> anyhow::Result<bool> {
        let (shown, is_escaped) = escape::content(text);
        let written = self.data.write_all(shown.as_bytes());
        written.map_err(cannot_write)?;
        Ok(is_escaped)
    }

    /// Data as it is, for whoever asked for exactly that and is no terminal.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.data.write_all(bytes).map_err(cannot_write)
    }

    /// Whether there are colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.has_colour
    }

    /// A line of data for a program.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = serde_json::to_string(value).context("cannot serialize as JSON")?;
        let json = escape::in_json(&json);
        writeln!(self.data, "{json}").map_err(cannot_write)
    }

    /// Lets the reader see what was written so far.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.data.flush().map_err(cannot_write)
    }

    /// A line about the work, not a part of it.
    pub(crate) fn talk(&mut self, text: &str) {
        self.diagnostic(&Diagnostic {
            note: Some(text),
            ..Diagnostic::default()
        });
    }

    /// The same for a program, as an object of its own.
    pub(crate) fn talk_object(&mut self, object: &Value) {
        let object = object.to_string();
        let json = escape::in_json(&object);
        // There is nobody left to tell when this fails.
        let _ = self.talk.write_all(format!("{json}\n").as_bytes());
    }

    /// Why there is no more, and what to do about it where we know.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        // Data first: a reader of both sees what came before the error above it.
        let _ = self.data.flush();
        self.diagnostic(&Diagnostic {
            error: Some(&message_with_causes(error)),
            last_words: Failure::last_words_of(error),
            hint: Failure::hint_of(error),
            exit_code: Some(Failure::status_of(error).code()),
            ..Diagnostic::of_server(server_error_of(error))
        });
    }

    /// The command line makes no sense, which is said in the same way.
    pub(crate) fn usage_error(&mut self, error: &str, hint: &str) {
        self.diagnostic(&Diagnostic {
            error: Some(error),
            hint: Some(hint),
            exit_code: Some(ExitStatus::Usage.code()),
            ..Diagnostic::default()
        });
    }

    /// What is not well but no reason to stop, and what to do about it.
    pub(crate) fn warning(&mut self, text: &str, hint: Option<&str>) {
        self.diagnostic(&Diagnostic {
            warning: Some(text),
            hint,
            ..Diagnostic::default()
        });
    }

    /// Says it in the words of whoever listens.
    fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) {
        // There is nobody left to tell when this fails.
        let _ = self
            .talk
            .write_all(diagnostic.to_line(self.talks_json).as_bytes());
    }
}

/// A warning from wherever there is no printer: what becomes of a question of the server.
pub(crate) fn warn_aside(talks_json: bool, text: &str, hint: Option<&str>) {
    let diagnostic = Diagnostic {
        warning: Some(text),
        hint,
        ..Diagnostic::default()
    };
    // There is nobody left to tell when this fails.
    let _ = io::stderr()
        .lock()
        .write_all(diagnostic.to_line(talks_json).as_bytes());
}

/// A line about the work from wherever there is no printer: what the library tells of itself.
pub(crate) fn note(talks_json: bool, text: &str) {
    let diagnostic = Diagnostic {
        note: Some(text),
        ..Diagnostic::default()
    };
    // There is nobody left to tell when this fails.
    let _ = io::stderr()
        .lock()
        .write_all(diagnostic.to_line(talks_json).as_bytes());
}

/// What stands before that which somebody is to type.
pub(crate) fn prompt(text: &str) {
    // There is nobody left to ask when this fails.
    let _ = io::stderr()
        .lock()
        .write_all(escape::for_terminal(text).as_bytes());
}

/// A line for whoever sits there, or an object for a program that is ready to be written.
pub(crate) fn aside(text: &str) {
    // There is nobody left to tell when this fails.
    let _ = io::stderr().lock().write_all(harmless(text).as_bytes());
}

/// `text` as a line of talk. It is written as a whole, since other threads may have something
/// to say as well.
fn harmless(text: &str) -> String {
    format!("{}\n", escape::for_terminal(text))
}

/// Columns for texts: those of the terminal that stdout is, or of a page where it is none.
pub(crate) fn width() -> usize {
    screen().map_or(PAGE, |columns| columns.clamp(NARROWEST, WIDEST))
}

/// Columns of the terminal that stdout is, if it is one that knows.
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
    /// What switches its colour on and off.
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

/// What it means that writing data failed.
fn cannot_write(error: io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        OutputClosed.into()
    } else {
        anyhow::Error::new(error).context("cannot write the output")
    }
}

/// Columns of what is read elsewhere.
const PAGE: usize = 80;

/// What is narrower is treated as if it were not.
const NARROWEST: usize = 40;

/// Lines that are longer are hard to read.
const WIDEST: usize = 120;

#[cfg(test)]
pub(crate) mod capture {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// Keeps what is written where the test can see it.
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
        /// Writes data and talk to one page, without colours.
        pub(crate) fn captured() -> (Self, CapturedOutput) {
            let page = CapturedOutput::default();
            (Self::new(page.clone(), page.clone(), false), page)
        }
    }
}

#[cfg(test)]
mod tests;
