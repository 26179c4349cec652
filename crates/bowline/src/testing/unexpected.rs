//! What was said, and what was said instead of what should have been.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

/// Lines that are remembered. A conversation of more is tested by other means than reading.
const LINES: usize = 1000;

/// Characters of a line that are shown.
const SHOWN: usize = 400;

/// Something else happened than what a test expected.
///
/// It is shown with everything that was said, also as `{:?}`: so `expect` and a test that
/// returns it tell what happened.
#[derive(Clone, PartialEq, Eq)]
pub struct Unexpected(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    wanted: String,
    instead: String,
    said: Vec<Line>,
}

impl Unexpected {
    pub(super) fn new(
        wanted: impl Into<String>,
        instead: impl Into<String>,
        said: Vec<Line>,
    ) -> Self {
        Self(Box::new(Inner {
            wanted: wanted.into(),
            instead: instead.into(),
            said,
        }))
    }

    /// There was no stream.
    pub(super) fn at_first(instead: impl Into<String>) -> Self {
        Self::new("a stream", instead, Vec::new())
    }

    /// What was expected.
    pub fn wanted(&self) -> &str {
        &self.0.wanted
    }

    /// What happened instead.
    pub fn instead(&self) -> &str {
        &self.0.instead
    }

    /// What was said until then.
    pub fn said(&self) -> &[Line] {
        &self.0.said
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            wanted,
            instead,
            said,
        } = &*self.0;
        write!(f, "expected {wanted}, but {instead}")?;
        if said.is_empty() {
            return f.write_str("; nothing was said");
        }
        f.write_str("; this was said:")?;
        said.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl fmt::Debug for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Unexpected {}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a conversation has two sides")]
pub enum Side {
    /// The client, which is tested.
    Client,
    /// The server, which the test plays.
    Server,
}

/// A line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Who said it.
    pub side: Side,
    /// What, without the line break. What is no UTF-8 is replaced.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        write!(f, "{side} → ")?;
        match self.text.char_indices().nth(SHOWN) {
            None => f.write_str(&self.text),
            Some((at, _)) => {
                let more = self.text.len() - at;
                write!(f, "{}… and {more} bytes", &self.text[..at])
            }
        }
    }
}

/// The last lines of a conversation.
#[derive(Debug, Default)]
pub(super) struct Transcript(VecDeque<Line>);

impl Transcript {
    pub(super) fn push(&mut self, side: Side, line: &[u8]) {
        if self.0.len() == LINES {
            self.0.pop_front();
        }
        let text = String::from_utf8_lossy(line).into_owned();
        self.0.push_back(Line { side, text });
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        self.0.iter().cloned().collect()
    }
}
