//! A problem of a configuration, with its position and a hint.

use std::borrow::Cow;
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
    pub(crate) text: String,
}

impl Source {
    /// Returns the line and column of an offset. Both count from 1, the column in characters.
    pub(crate) fn position(&self, at: usize) -> Position {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
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
        Source {
            path: "/x/mcp.json".into(),
            shown: "mcp.json".to_owned(),
            text: text.to_owned(),
        }
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
