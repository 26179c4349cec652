//! Writing typed values as JSON text of one revision.
//!
//! [`Encoder`] appends to a byte buffer. It knows the revision, so that a type can
//! leave out what that revision doesn't have, or report with [`NotInRevision`] that it
//! can't be encoded at all. The output never contains a line break, not even from a raw value:
//! one message is one line.

use std::fmt;
use std::io::Write as _;

use memchr::memchr2;
use serde::Serialize;

use super::finite_serializer::Finite;
use super::raw_string::plain_prefix;
use super::reader::{index_path, key_path};
use super::{Key, Number, RawJsonRef};
use crate::revision::{Revision, Revisions};
use crate::wire::Encode;

/// Appends JSON text to a buffer, encoded for one revision.
#[derive(Debug)]
pub struct Encoder<'b> {
    out: &'b mut Vec<u8>,
    revision: Option<Revision>,
    allows_missing_meta: bool,
}

impl<'b> Encoder<'b> {
    /// Creates an encoder for `revision`.
    pub fn new(out: &'b mut Vec<u8>, revision: Revision) -> Self {
        Self {
            out,
            revision: Some(revision),
            allows_missing_meta: false,
        }
    }

    /// Allows parameters without the members of `_meta` that requests must have since 2026-07-28:
    /// the sender adds them later.
    #[must_use]
    pub fn allow_missing_meta(mut self) -> Self {
        self.allows_missing_meta = true;
        self
    }

    /// Returns `true` if the required members of `_meta` are added later.
    pub(crate) fn allows_missing_meta(&self) -> bool {
        self.allows_missing_meta
    }

    /// Creates an encoder that leaves nothing out: it writes every member that is set, in the form
    /// of the newest revision. For display and storage, not for a peer.
    pub fn lossless(out: &'b mut Vec<u8>) -> Self {
        Self {
            out,
            revision: None,
            allows_missing_meta: false,
        }
    }

    /// Returns the revision to encode for. `None` for a [lossless](Self::lossless) encoder.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Returns `true` if the revision to encode for is one of `revisions`.
    pub fn has_revision_in(&self, revisions: Revisions) -> bool {
        self.revision
            .is_none_or(|revision| revisions.contains(revision))
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.out.push(b'{');
    }

    /// Closes an object.
    pub fn end_object(&mut self) {
        self.out.push(b'}');
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.out.push(b'[');
    }

    /// Closes an array.
    pub fn end_array(&mut self) {
        self.out.push(b']');
    }

    /// Separates a member or element from the one before it.
    ///
    /// An open bracket is the last byte exactly when nothing stands before it in its
    /// container: no value ends with one.
    #[inline]
    pub fn separate(&mut self) {
        if !matches!(self.out.last(), None | Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    /// Writes the key of a member.
    pub fn key(&mut self, key: &str) {
        self.separate();
        self.string(key);
        self.out.push(b':');
    }

    /// Writes a member of an object.
    pub fn member<T: Encode + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
    ) -> Result<(), NotInRevision> {
        self.key(key);
        value.encode(self).map_err(|error| error.under_key(key))
    }

    /// Writes an array.
    pub fn array<'v, T: Encode + 'v>(
        &mut self,
        elements: impl IntoIterator<Item = &'v T>,
    ) -> Result<(), NotInRevision> {
        self.begin_array();
        for (index, element) in elements.into_iter().enumerate() {
            self.separate();
            element
                .encode(self)
                .map_err(|error| error.under_index(index))?;
        }
        self.end_array();
        Ok(())
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        loop {
            let (plain, special) = rest.split_at(plain_prefix(rest).min(rest.len()));
            self.out.extend_from_slice(plain);
            let Some((&byte, after)) = special.split_first() else {
                break;
            };
            self.escape(byte);
            rest = after;
        }
        self.out.push(b'"');
    }

    /// Writes an integer.
    pub fn integer(&mut self, integer: i64) {
        // Every response has an id, and formatting costs four times as much.
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut left = integer.unsigned_abs();
        for place in digits.iter_mut().rev() {
            *place = b'0' + (left % 10) as u8;
            start -= 1;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if integer < 0 {
            self.out.push(b'-');
        }
        self.out
            .extend_from_slice(digits.get(start..).unwrap_or_default());
    }

    /// Writes a number. JSON has no NaN and no infinities: they are [`NotInRevision`].
    pub fn number(&mut self, number: Number) -> Result<(), NotInRevision> {
        if !number.is_finite() {
            return Err(self.not_in_revision(Reason::NotFinite));
        }
        self.display(number);
        Ok(())
    }

    /// Writes `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    /// Writes a value that is JSON text already.
    pub fn raw(&mut self, json: RawJsonRef<'_>) {
        let start = self.out.len();
        self.out.extend_from_slice(json.as_str().as_bytes());
        self.join_lines(start);
    }

    /// Serializes a value with `serde`, and returns what was written.
    ///
    /// # Errors
    ///
    /// Fails if the value has no form in JSON: a number that is not finite, a key that is not a
    /// string. Then nothing is written.
    pub fn serialized<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<&[u8], serde_json::Error> {
        let start = self.out.len();
        if let Err(error) = serde_json::to_writer(&mut *self.out, &Finite(value)) {
            self.out.truncate(start);
            return Err(error);
        }
        // Text that its type held as JSON already may have lines.
        self.join_lines(start);
        Ok(&self.out[start..])
    }

    /// A line break can only be white space between tokens: inside a string it is escaped. It
    /// would end a frame of the newline framing, so it goes.
    fn join_lines(&mut self, mut start: usize) {
        // Nearly always there is none.
        while let Some(found) = memchr2(b'\n', b'\r', &self.out[start..]) {
            self.out[start + found] = b' ';
            start += found + 1;
        }
    }

    /// Creates an error that names this encoder's revision.
    pub fn not_in_revision(&self, reason: Reason) -> NotInRevision {
        NotInRevision(Box::new(Inner {
            path: String::new(),
            revision: self.revision,
            reason,
        }))
    }

    /// Returns the number of bytes that have been written.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written behind `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// Writes a key that stands in its quotes, with its colon, already.
    #[inline]
    pub(crate) fn quoted_key(&mut self, quoted: &'static str) {
        self.separate();
        self.out.extend_from_slice(quoted.as_bytes());
    }

    /// Writes a member as it stands in another object.
    pub(crate) fn raw_member(&mut self, key: Key<'_>, value: RawJsonRef<'_>) {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_written().as_bytes());
        self.out.extend_from_slice(b"\":");
        self.raw(value);
    }

    /// Writes text that is known to be JSON.
    #[inline]
    pub(crate) fn verbatim(&mut self, text: &'static str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn display(&mut self, value: impl fmt::Display) {
        write!(self.out, "{value}").expect("a vector takes every write");
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            control => {
                write!(self.out, "\\u{control:04x}").expect("a vector takes every write");
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }
}

/// Why a value has no form in a revision: what, where in the value, and which
/// revision was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInRevision(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    path: String,
    revision: Option<Revision>,
    reason: Reason,
}

impl NotInRevision {
    /// Returns what can't be encoded.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// Returns the place inside the value, such as `messages[0].content`.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the revision that was requested.
    pub fn revision(&self) -> Option<Revision> {
        self.0.revision
    }

    /// Returns the same error, seen from the object that has the value under `key`.
    #[must_use]
    pub fn under_key(mut self, key: &str) -> Self {
        self.0.path = key_path(key, &self.0.path);
        self
    }

    /// Returns the same error, seen from the array that has the value at `index`.
    #[must_use]
    pub fn under_index(mut self, index: usize) -> Self {
        self.0.path = index_path(index, &self.0.path);
        self
    }
}

impl fmt::Display for NotInRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            path,
            revision,
            reason,
        } = &*self.0;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        match revision {
            Some(revision) => write!(f, "can't be encoded for {revision}: {reason}"),
            None => write!(f, "can't be encoded: {reason}"),
        }
    }
}

impl std::error::Error for NotInRevision {}

/// Why a value can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// An item that only other revisions have.
    NotInRevision {
        /// What it is.
        what: &'static str,
        /// The revisions that have it.
        known_in: Revisions,
    },
    /// An item that the revision requires is not set.
    Missing(&'static str),
    /// An item is not of the type that the protocol defines.
    Invalid(&'static str),
    /// NaN or an infinity.
    NotFinite,
    /// More elements than the protocol allows.
    TooMany {
        /// What it allows.
        limit: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInRevision { what, known_in } => {
                write!(f, "{what} exists in {known_in} only")
            }
            Self::Missing(what) => write!(f, "{what} is required and not set"),
            Self::Invalid(what) => write!(f, "{what} is invalid"),
            Self::NotFinite => f.write_str("JSON can't represent NaN or infinity"),
            Self::TooMany { limit } => write!(f, "more than {limit} elements"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Encoder<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Encoder::lossless(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_of_ones_own_are_written_in_one_line_or_not_at_all() {
        let lines = serde_json::value::RawValue::from_string("[1,\n2]".to_owned());
        let mut out = Vec::new();
        let mut encoder = Encoder::lossless(&mut out);
        let written = encoder.serialized(&(lines.expect("JSON"), "a\nb"));
        assert_eq!(written.expect("it is JSON"), br#"[[1, 2],"a\nb"]"#);
        let error = encoder.serialized(&(1, f64::NAN)).expect_err("no number");
        assert!(error.to_string().contains("not a JSON number"), "{error}");
        assert_eq!(out, br#"[[1, 2],"a\nb"]"#);
    }

    #[test]
    fn integers_are_written_as_formatting_does() {
        let powers = (0..19).map(|power| 10_i64.pow(power));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, -power, 1 - power]);
        for integer in near.chain([i64::MIN, i64::MIN + 1, i64::MAX]) {
            let json = written(|encoder| encoder.integer(integer));
            assert_eq!(json, integer.to_string());
        }
    }

    #[test]
    fn strings_are_escaped_as_serde_json_does() {
        let text: String = (0..0x250)
            .filter_map(char::from_u32)
            .chain(['😀'])
            .collect();
        let json = written(|encoder| encoder.string(&text));
        assert_eq!(json, serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn members_and_elements_are_separated() {
        let json = written(|encoder| {
            encoder.begin_object();
            encoder.key("a");
            encoder.begin_array();
            for n in [1, 2] {
                encoder.separate();
                encoder.integer(n);
            }
            encoder.end_array();
            encoder.key("b{");
            encoder.string("{");
            encoder.key("c");
            encoder.null();
            encoder.end_object();
        });
        assert_eq!(json, r#"{"a":[1,2],"b{":"{","c":null}"#);
    }

    #[test]
    fn raw_values_never_break_the_line() {
        let json = written(|encoder| {
            encoder.raw(RawJsonRef::parse("{\r\n\"a\\n\":\n1}").unwrap());
        });
        assert_eq!(json, "{  \"a\\n\": 1}");
    }

    // proves: F-HD-05
    #[test]
    fn numbers_that_json_lacks_are_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Encoder::lossless(&mut Vec::new())
                .number(number.into())
                .unwrap_err();
            assert_eq!(error.reason(), &Reason::NotFinite);
        }
    }
}
