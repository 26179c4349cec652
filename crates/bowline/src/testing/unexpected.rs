//! The transcript of a conversation, and the error with it.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

/// The number of lines that are kept.
const MAX_LINES: usize = 1000;

/// The number of characters of a line that are printed.
const MAX_LINE_LENGTH: usize = 400;

/// A test expected something else of the client.
///
/// Both `Display` and `Debug` print the whole transcript, so `expect`, and a test that returns the
/// error, show what happened.
#[derive(Clone, PartialEq, Eq)]
pub struct Unexpected(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    expected: String,
    actual: String,
    transcript: Vec<TranscriptLine>,
}

impl Unexpected {
    pub(super) fn new(
        expected: impl Into<String>,
        actual: impl Into<String>,
        transcript: Vec<TranscriptLine>,
    ) -> Self {
        Self(Box::new(Inner {
            expected: expected.into(),
            actual: actual.into(),
            transcript,
        }))
    }

    /// Creates the error for an absent stream.
    pub(super) fn without_stream(actual: impl Into<String>) -> Self {
        Self::new("a stream", actual, Vec::new())
    }

    /// Returns what was expected.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// Returns what happened instead.
    pub fn actual(&self) -> &str {
        &self.0.actual
    }

    /// Returns the transcript until then.
    pub fn transcript(&self) -> &[TranscriptLine] {
        &self.0.transcript
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            expected,
            actual,
            transcript,
        } = &*self.0;
        write!(f, "expected {expected}, but {actual}")?;
        if transcript.is_empty() {
            return f.write_str("; the transcript is empty");
        }
        f.write_str("; transcript:")?;
        transcript
            .iter()
            .try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl fmt::Debug for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Unexpected {}

/// A side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a conversation has two sides")]
pub enum Side {
    /// The client under test.
    Client,
    /// The server, which the test scripts.
    Server,
}

/// A line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptLine {
    /// The sender.
    pub side: Side,
    /// The line without its line break. Invalid UTF-8 is replaced.
    pub text: String,
}

impl fmt::Display for TranscriptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        write!(f, "{side} → ")?;
        match self.text.char_indices().nth(MAX_LINE_LENGTH) {
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
pub(super) struct Transcript(VecDeque<TranscriptLine>);

impl Transcript {
    pub(super) fn push(&mut self, side: Side, line: &[u8]) {
        if self.0.len() == MAX_LINES {
            self.0.pop_front();
        }
        let text = String::from_utf8_lossy(line).into_owned();
        self.0.push_back(TranscriptLine { side, text });
    }

    pub(super) fn lines(&self) -> Vec<TranscriptLine> {
        self.0.iter().cloned().collect()
    }
}
