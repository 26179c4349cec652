//! Reading typed values from JSON text.
//!
//! [`Reader`] is a pull reader: a type asks for what it expects and gets it or a
//! [`DecodeError`] that names the place. It borrows from the text, so that a payload
//! is found as a span and copied once at most, and it can look ahead, so that a
//! tagged union is decided by its tag without buffering the value.

use std::borrow::Cow;
use std::fmt;

use super::raw_string::RawStr;
use super::scanner::Scanner;
use super::syntax_error::{SyntaxError, SyntaxErrorKind};
use super::{Number, RawJsonRef};

/// A place in a JSON text from which typed values are read.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    scanner: Scanner<'a>,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self {
            scanner: Scanner::new(text),
            depth: 0,
        }
    }

    /// Starts at the beginning of a text that is known to be JSON.
    pub(super) fn known(text: &'a str) -> Self {
        Self {
            scanner: Scanner::known(text),
            depth: 0,
        }
    }

    /// Reads an object. `member` is called with each key and must read the value.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.members(|reader, key| {
            let Ok(key) = key.unescape() else {
                // Half of a surrogate pair: no member that anyone knows is called so.
                return reader.raw().map(drop);
            };
            member(reader, &key).map_err(|error| error.under_key(&key))
        })
    }

    /// Reads an array. `element` is called for each element and must read it.
    pub fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.expect_kind(Kind::Array)?;
        self.enter()?;
        if !self.scanner.take(b']') {
            let mut index = 0;
            loop {
                element(self).map_err(|error| error.under_index(index))?;
                index += 1;
                if !self.scanner.take(b',') {
                    break;
                }
            }
            self.scanner.expect(b']')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads a string. Borrowed when it has no escapes.
    pub fn string(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        self.expect_kind(Kind::String)?;
        Ok(self.scanner.string()?.unescape()?)
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, DecodeError> {
        self.expect_kind(Kind::Boolean)?;
        let value = self.scanner.peek() == Some(b't');
        self.scanner.literal(if value { "true" } else { "false" })?;
        Ok(value)
    }

    /// Reads a number that a [`Number`] can hold.
    pub fn number(&mut self) -> Result<Number, DecodeError> {
        let text = self.number_text()?;
        Number::parse(text).ok_or_else(|| self.problem(Problem::OutOfRange("a finite number")))
    }

    /// Reads an integer. `5.0` and `5e0` are five, as JSON Schema has it.
    pub fn integer(&mut self) -> Result<i64, DecodeError> {
        let text = self.number_text()?;
        Number::parse(text)
            .and_then(Number::as_i64)
            .ok_or_else(|| self.problem(Problem::OutOfRange("a 64-bit integer")))
    }

    /// Reads a number as it is written.
    pub fn number_text(&mut self) -> Result<&'a str, DecodeError> {
        self.expect_kind(Kind::Number)?;
        Ok(self.scanner.number()?)
    }

    /// Reads `null` when it comes next.
    pub fn null(&mut self) -> Result<bool, DecodeError> {
        if self.scanner.peek() != Some(b'n') {
            return Ok(false);
        }
        self.scanner.literal("null")?;
        Ok(true)
    }

    /// Reads any value without looking into it.
    pub fn raw(&mut self) -> Result<RawJsonRef<'a>, DecodeError> {
        Ok(RawJsonRef::validated(self.scanner.value(self.depth)?))
    }

    /// Returns the kind of what comes next. Fails at the end of the text and where no value can
    /// begin.
    pub fn kind(&mut self) -> Result<Kind, DecodeError> {
        match self.scanner.peek() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Boolean),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.scanner.unexpected().into()),
        }
    }

    /// Looks for a member of the object that comes next, and stays before that object.
    /// The first of several of one name is found; nothing behind it is read. One that is
    /// `null` is as good as absent.
    pub fn peek_member(&self, name: &str) -> Result<Option<RawJsonRef<'a>>, DecodeError> {
        let mut ahead = self.clone();
        ahead.expect_kind(Kind::Object)?;
        ahead.enter()?;
        if ahead.scanner.take(b'}') {
            return Ok(None);
        }
        loop {
            let key = ahead.scanner.string()?;
            ahead.scanner.expect(b':')?;
            let value = ahead.raw()?;
            if key.is(name) {
                return Ok(Some(value).filter(|value| value.kind() != Kind::Null));
            }
            if !ahead.scanner.take(b',') {
                return Ok(None);
            }
        }
    }

    /// Returns `true` if the next object begins with a member of that name that isn't `null`.
    pub(crate) fn begins_with(&self, name: &str) -> bool {
        let mut ahead = self.scanner.clone();
        let is_named = ahead.take(b'{') && ahead.string().is_ok_and(|key| key.is(name));
        is_named && ahead.take(b':') && ahead.peek() != Some(b'n')
    }

    /// Looks for a member that is a string, such as the tag of a union.
    pub fn peek_tag(&self, name: &str) -> Result<Option<Cow<'a, str>>, DecodeError> {
        let Some(tag) = self.peek_member(name)? else {
            return Ok(None);
        };
        let tag = tag.reader().string();
        tag.map(Some).map_err(|error| error.under_key(name))
    }

    /// Checks that the text is used up.
    pub fn finish(mut self) -> Result<(), DecodeError> {
        Ok(self.scanner.finish()?)
    }

    /// Returns the error for a value of the wrong kind that comes next.
    pub fn expected(&mut self, expected: &'static str) -> DecodeError {
        match self.kind() {
            Ok(found) => self.problem(Problem::WrongKind { expected, found }),
            Err(error) => error,
        }
    }

    /// Returns an error at the current place.
    pub fn problem(&self, problem: Problem) -> DecodeError {
        DecodeError::new(problem, self.scanner.position())
    }

    fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, RawStr<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.expect_kind(Kind::Object)?;
        self.enter()?;
        if !self.scanner.take(b'}') {
            loop {
                let key = self.scanner.string()?;
                self.scanner.expect(b':')?;
                member(self, key)?;
                if !self.scanner.take(b',') {
                    break;
                }
            }
            self.scanner.expect(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), DecodeError> {
        if self.depth >= super::MAX_DEPTH {
            return Err(self.scanner.error(SyntaxErrorKind::TooDeep).into());
        }
        self.scanner.advance();
        self.depth += 1;
        Ok(())
    }

    fn expect_kind(&mut self, expected: Kind) -> Result<(), DecodeError> {
        let found = self.kind()?;
        if found == expected {
            return Ok(());
        }
        let expected = expected.as_str();
        Err(self.problem(Problem::WrongKind { expected, found }))
    }
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has these six and no others")]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl Kind {
    /// Returns the kind in words, with its article.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a value of the wanted type: what, where in the value, and at
/// which byte of the text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    path: String,
    problem: Problem,
    offset: usize,
}

impl DecodeError {
    pub(crate) fn new(problem: Problem, offset: usize) -> Self {
        Self(Box::new(Inner {
            path: String::new(),
            problem,
            offset,
        }))
    }

    /// Returns what is wrong.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// Returns the place inside the value, such as `content[0].text`; empty for the value itself.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Bytes before the place in the text that was read.
    pub fn offset(&self) -> usize {
        self.0.offset
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

impl From<SyntaxError> for DecodeError {
    fn from(error: SyntaxError) -> Self {
        Self::new(Problem::Syntax(error.kind), error.offset)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            path,
            problem,
            offset,
        } = &*self.0;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{problem} (byte {offset})")
    }
}

impl std::error::Error for DecodeError {}

/// What can be wrong with a value that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not JSON.
    Syntax(SyntaxErrorKind),
    /// A value of another kind.
    WrongKind {
        /// What the type has here.
        expected: &'static str,
        /// What the text has.
        found: Kind,
    },
    /// A required member is absent.
    Missing(&'static str),
    /// A duplicate member.
    Duplicate,
    /// A member whose name is not the one of this member, though some parsers take it for that.
    AmbiguousName(&'static str),
    /// A string that must be another one.
    Unexpected {
        /// What it must be.
        expected: &'static str,
        /// What it is, shortened.
        found: Box<str>,
    },
    /// A number that is not what it must be.
    OutOfRange(&'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(kind) => kind.fmt(f),
            Self::WrongKind { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Missing(name) => write!(f, "required member `{name}` is missing"),
            Self::Duplicate => f.write_str("duplicate member"),
            Self::AmbiguousName(name) => {
                write!(f, "ambiguous member name: some parsers read it as `{name}`")
            }
            Self::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found {found:?}")
            }
            Self::OutOfRange(expected) => write!(f, "the number is not {expected}"),
        }
    }
}

/// Names of peers can be of any length; errors show this much of them.
const SHOWN: usize = 64;

/// Returns `text` as far as an error message shows it.
pub(crate) fn shortened(text: &str) -> Box<str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Returns `key` in front of `rest`.
pub(crate) fn key_path(key: &str, rest: &str) -> String {
    let is_plain = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-'));
    let key = if is_plain {
        shortened(key).into_string()
    } else {
        format!("[{:?}]", shortened(key))
    };
    match rest.as_bytes().first() {
        None | Some(b'[') => key + rest,
        Some(_) => key + "." + rest,
    }
}

/// Returns `index` in front of `rest`.
pub(crate) fn index_path(index: usize, rest: &str) -> String {
    match rest.as_bytes().first() {
        None | Some(b'[') => format!("[{index}]{rest}"),
        Some(_) => format!("[{index}].{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place() {
        let mut reader = Reader::new(r#"{"list":[1,{"io.x/y":true}]}"#);
        let error = reader
            .object(|reader, _| {
                reader.array(|reader| match reader.kind()? {
                    Kind::Object => reader.object(|reader, _| reader.string().map(drop)),
                    _ => reader.integer().map(drop),
                })
            })
            .unwrap_err();
        assert_eq!(error.path(), r#"list[1]["io.x/y"]"#);
        assert_eq!(
            error.to_string(),
            r#"list[1]["io.x/y"]: expected a string, found a boolean (byte 21)"#
        );
    }

    #[test]
    fn long_keys_are_shortened_in_errors() {
        let text = format!(r#"{{"{}":1}}"#, "k".repeat(1000));
        let error = Reader::new(&text)
            .object(|reader, _| reader.boolean().map(drop))
            .unwrap_err();
        assert_eq!(error.path().chars().count(), SHOWN + 1);
    }

    #[test]
    fn integers_may_be_written_as_other_numbers() {
        for (text, value) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("-5e0", Some(-5)),
            ("0.5", None),
        ] {
            assert_eq!(Reader::new(text).integer().ok(), value, "{text}");
        }
        assert_eq!(Reader::new("9223372036854775807").integer(), Ok(i64::MAX));
        assert!(Reader::new("9223372036854775808").integer().is_err());
        assert!(Reader::new("1e400").number().is_err());
    }

    #[test]
    fn looking_ahead_does_not_move() {
        let mut reader = Reader::new(r#" {"a":1,"type":"x","b":{"type":"y"},"type":"z"}"#);
        assert_eq!(reader.peek_tag("type").unwrap().as_deref(), Some("x"));
        assert_eq!(reader.peek_member("none").unwrap(), None);
        let error = reader.peek_tag("a").unwrap_err();
        assert_eq!(
            error.to_string(),
            "a: expected a string, found a number (byte 0)"
        );
        reader.raw().unwrap();
        reader.finish().unwrap();
    }
}
