//! A problem of a configuration, with its position and a hint.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use crate::failure::{hinted, usage};

/// A configuration file with its text.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// The path for display.
    pub(crate) shown: String,
    /// The text of the file.
    text: String,
    /// The positions of some bytes, one in [`STEP`] or so, so that no position is found by a walk
    /// through the whole text: a file may have any number of servers, all on one line.
    marks: OnceCell<Vec<(usize, Position)>>,
}

impl Source {
    /// Creates the source of a file that is displayed as `shown`.
    pub(crate) fn new(path: PathBuf, shown: String, text: String) -> Self {
        Self {
            path,
            shown,
            text,
            marks: OnceCell::new(),
        }
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte. Both count from 1, the column in characters.
    pub(crate) fn position(&self, at: usize) -> Position {
        let at = self.text.floor_char_boundary(at);
        let (from, mut position) = self.mark_before(at);
        for character in self.text[from..at].chars() {
            position.pass(character);
        }
        position
    }

    /// Returns the nearest byte that is not behind `at` and whose position is known.
    fn mark_before(&self, at: usize) -> (usize, Position) {
        let marks = self.marks.get_or_init(|| marks(&self.text));
        let next = marks.partition_point(|(byte, _)| *byte <= at);
        // The first byte is always one of them.
        let mark = next.checked_sub(1).and_then(|index| marks.get(index));
        mark.copied().unwrap_or((0, Position::FIRST))
    }
}

fn marks(text: &str) -> Vec<(usize, Position)> {
    let mut marks = Vec::with_capacity(text.len() / STEP + 1);
    let mut position = Position::FIRST;
    let mut next = 0;
    for (at, character) in text.char_indices() {
        if at >= next {
            marks.push((at, position));
            next = at + STEP;
        }
        position.pass(character);
    }
    marks
}

/// Bytes between two marks.
const STEP: usize = 1024;

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    const FIRST: Self = Self { line: 1, column: 1 };

    /// Goes on behind a character.
    fn pass(&mut self, character: char) {
        if character == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
    }
}

/// A problem of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The path of the file, for display.
    pub(crate) file: Box<str>,
    /// The position in the file.
    pub(crate) position: Option<Position>,
    /// The name of the server.
    pub(crate) server: Option<Box<str>>,
    /// The field of the server, such as `env.TOKEN` or `args[2]`.
    pub(crate) field: Option<Box<str>>,
    /// What is wrong.
    pub(crate) message: Box<str>,
    /// What to do about it.
    pub(crate) hint: Cow<'static, str>,
    /// `true` if a named file doesn't exist, which is an error in the usage of the command.
    pub(crate) is_usage_error: bool,
}

impl Problem {
    /// Creates a problem of a whole file.
    pub(crate) fn of_file(
        file: &str,
        message: impl Into<Box<str>>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            file: file.into(),
            position: None,
            server: None,
            field: None,
            message: message.into(),
            hint: hint.into(),
            is_usage_error: false,
        }
    }

    /// Creates a problem at an offset of a file.
    pub(crate) fn in_file(
        source: &Source,
        at: usize,
        message: impl Into<Box<str>>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            position: Some(source.position(at)),
            ..Self::of_file(&source.shown, message, hint)
        }
    }

    /// Converts the problem to the error that ends the command.
    pub(crate) fn into_error(self) -> anyhow::Error {
        let hint = self.hint.clone();
        if self.is_usage_error {
            usage(self.into(), hint)
        } else {
            hinted(self.into(), hint)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        f.write_str(": ")?;
        if let Some(server) = &self.server {
            write!(f, "server `{server}`: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    fn source(text: &str) -> Source {
        Source::new("/x/mcp.json".into(), "mcp.json".to_owned(), text.to_owned())
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = source("aü\nb\r\ncd");
        for (at, line, column) in [
            (0, 1, 1),
            (3, 1, 3),
            (4, 2, 1),
            (7, 3, 1),
            (8, 3, 2),
            (99, 3, 3),
        ] {
            assert_eq!(source.position(at), Position { line, column }, "{at}");
        }
    }

    // proves: F-CL-01
    #[test]
    fn a_position_is_found_in_a_few_steps_wherever_it_is() {
        // Many lines, and one.
        for separator in ["\n", "ü"] {
            let text = vec!["12345"; 100_000].join(separator);
            let source = source(&text);
            for at in (0..text.len()).step_by(997).chain([text.len()]) {
                let (from, _) = source.mark_before(at);
                assert!(at - from <= STEP + 4, "{at} is looked for from {from} on");
            }
            let before = text.trim_end_matches("12345");
            let column = if separator == "\n" { 1 } else { 6 * 99_999 + 1 };
            let line = if separator == "\n" { 100_000 } else { 1 };
            assert_eq!(source.position(before.len()), Position { line, column });
        }
        assert_eq!(source("").position(0), Position::FIRST);
    }

    #[test]
    fn a_problem_has_the_most_precise_position() {
        let mut problem = Problem::of_file("mcp.json", "invalid", "fix it");
        assert_eq!(problem.to_string(), "mcp.json: invalid");
        problem = Problem::in_file(&source("\n x"), 2, "invalid", "fix it");
        assert_eq!(problem.to_string(), "mcp.json:2:2: invalid");
        problem.server = Some("git".into());
        problem.field = Some("env.A".into());
        assert_eq!(
            problem.to_string(),
            "mcp.json:2:2: server `git`: env.A: invalid"
        );
        let error = problem.into_error();
        assert_eq!(
            format!("{error:#}"),
            "mcp.json:2:2: server `git`: env.A: invalid"
        );
        assert_eq!(Failure::hint_of(&error), Some("fix it"));
    }
}
