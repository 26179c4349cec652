//! Batches: several messages in one frame. Only 2025-03-26 has them.

use super::parse::message;
use super::{Envelope, EnvelopeError, Fault, MessageKind};
use crate::json::{Scanner, SyntaxError, SyntaxErrorKind};

/// A frame with several messages.
///
/// The text is valid JSON; each message is parsed when the iterator reaches it.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<'a> {
    text: &'a str,
    len: usize,
}

impl<'a> Batch<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, EnvelopeError> {
        let refuse = |fault, offset| EnvelopeError::new(fault, offset, None, MessageKind::Unknown);
        let len = count(text).map_err(|SyntaxError { kind, offset }| match kind {
            SyntaxErrorKind::TooDeep => refuse(Fault::TooDeep, offset),
            kind => refuse(Fault::Syntax(kind), offset),
        })?;
        if len == 0 {
            return Err(refuse(Fault::EmptyBatch, 0));
        }
        Ok(Self { text, len })
    }

    /// Returns the number of messages, which is never zero.
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is no batch")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the messages, or the errors of invalid ones. Offsets in errors count from the
    /// beginning of the message.
    pub fn messages(&self) -> BatchMessages<'a> {
        let mut scanner = Scanner::new(self.text);
        scanner.take(b'[');
        BatchMessages { scanner }
    }
}

/// The messages of a [`Batch`].
#[derive(Clone, Debug)]
pub struct BatchMessages<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Iterator for BatchMessages<'a> {
    type Item = Result<Envelope<'a>, EnvelopeError>;

    // The text was checked when the batch was made, so no step fails before its end.
    fn next(&mut self) -> Option<Self::Item> {
        self.scanner.take(b',');
        if self.scanner.peek() == Some(b'[') {
            self.scanner.value(1).ok()?;
            let error = EnvelopeError::new(Fault::NestedBatch, 0, None, MessageKind::Unknown);
            return Some(Err(error));
        }
        let part = self.scanner.value(1).ok()?;
        Some(message(part))
    }
}

/// Returns the number of values in the array in `text`.
fn count(text: &str) -> Result<usize, SyntaxError> {
    let mut scanner = Scanner::new(text);
    scanner.expect(b'[')?;
    let mut count = 0;
    if !scanner.take(b']') {
        loop {
            scanner.value(1)?;
            count += 1;
            if !scanner.take(b',') {
                break;
            }
        }
        scanner.expect(b']')?;
    }
    scanner.finish()?;
    Ok(count)
}
