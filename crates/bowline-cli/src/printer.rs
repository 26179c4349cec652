//! The only place that writes to stdout and stderr.
//!
//! stdout is data, stderr is talk. Whatever is said passes through
//! [`escape`] here, so callers may hand over what peers wrote.

use std::env;
use std::error::Error;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;

use crate::escape;
use crate::hint::Hinted;

/// Writes lines, harmless ones.
pub(crate) struct Printer {
    data: Box<dyn Write>,
    talk: Box<dyn Write>,
    has_colour: bool,
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
}

/// Whoever reads our output has enough of it. Not an error to anyone.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl Printer {
    /// Writes to stdout and stderr, in colour on a terminal unless `NO_COLOR` is set.
    pub(crate) fn standard() -> Self {
        let data = io::stdout();
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let has_colour = data.is_terminal() && !is_unwanted;
        Self::new(BufWriter::new(data), io::stderr(), has_colour)
    }

    /// Writes to `data` and `talk`.
    fn new(data: impl Write + 'static, talk: impl Write + 'static, has_colour: bool) -> Self {
        Self {
            data: Box::new(data),
            talk: Box::new(talk),
            has_colour,
        }
    }

    /// A line of data for a reader, `depth` levels indented.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn line(&mut self, depth: usize, tone: Tone, text: &str) -> anyhow::Result<()> {
        let (on, off) = if self.has_colour {
            tone.codes()
        } else {
            ("", "")
        };
        let indent = depth * 2;
        let text = escape::for_terminal(text);
        let written = writeln!(self.data, "{:indent$}{on}{text}{off}", "");
        written.map_err(cannot_write)
    }

    /// A line of data for a program.
    ///
    /// # Errors
    ///
    /// [`OutputClosed`], or what the output says.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = serde_json::to_string(value).context("cannot put this into JSON")?;
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
        // There is nobody left to tell when this fails.
        let _ = writeln!(self.talk, "{}", escape::for_terminal(text));
    }

    /// Why there is no more, and what to do about it where we know.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        // Data first: a reader of both sees what came before the error above it.
        let _ = self.data.flush();
        self.talk(&format!("error: {error:#}"));
        if let Some(hinted) = error.downcast_ref::<Hinted>() {
            self.talk(&format!("hint: {}", hinted.hint()));
        }
    }
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::hint::hinted;

    /// Keeps what is written where the test can see it.
    #[derive(Clone, Default)]
    struct Page(Rc<RefCell<Vec<u8>>>);

    impl Page {
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes nothing.
    struct Refusing(ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // proves: F-CL-01
    #[test]
    fn only_our_own_escapes_reach_the_output() {
        let hostile = "\u{1b}[31mred\u{1b}]52;c;aGk=\u{7}\nforged";
        for (has_colour, on, off) in [(false, "", ""), (true, "\u{1b}[31m", "\u{1b}[0m")] {
            let (data, talk) = (Page::default(), Page::default());
            let mut printer = Printer::new(data.clone(), talk.clone(), has_colour);
            printer.line(1, Tone::Bad, hostile).unwrap();
            printer.talk(hostile);
            let shown = "\\u{1b}[31mred\\u{1b}]52;c;aGk=\\u{7}\\nforged";
            assert_eq!(data.text(), format!("  {on}{shown}{off}\n"));
            assert_eq!(talk.text(), format!("{shown}\n"));
        }
    }

    // proves: F-CL-01
    #[test]
    fn json_is_harmless_and_says_the_same() {
        let hostile = "\u{9b}31m\u{202e}\u{7f}\n\u{e0041}\"\\";
        let data = Page::default();
        let mut printer = Printer::new(data.clone(), Page::default(), false);
        printer.json(&hostile).unwrap();
        let text = data.text();
        assert!(
            text.trim_end()
                .bytes()
                .all(|byte| (0x20..0x7f).contains(&byte))
        );
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }

    // proves: F-CL-02
    #[test]
    fn a_closed_pipe_is_told_from_a_full_disk() {
        let print = |kind| {
            let mut printer = Printer::new(Refusing(kind), Page::default(), false);
            printer.line(0, Tone::Plain, "x").unwrap_err()
        };
        assert!(print(ErrorKind::BrokenPipe).is::<OutputClosed>());
        let full = print(ErrorKind::StorageFull);
        assert!(!full.is::<OutputClosed>());
        assert_eq!(
            format!("{full:#}"),
            "cannot write the output: no storage space"
        );
    }

    #[test]
    fn errors_end_with_their_hint() {
        let talk = Page::default();
        let mut printer = Printer::new(Page::default(), talk.clone(), false);
        let error = anyhow::anyhow!("the cause").context("what happened");
        printer.error(&hinted(error, "what to do"));
        assert_eq!(
            talk.text(),
            "error: what happened: the cause\nhint: what to do\n"
        );
    }
}
