//! A validating scan over JSON text that builds nothing.
//!
//! [`Scanner`] checks the grammar of RFC 8259 and yields spans of the text. It uses
//! no recursion and no memory of its own, so neither depth nor size of the input can
//! hurt it. Two things are accepted that a parser into values refuses, because a
//! span that is only passed on needs neither: numbers of any size, and `\u` escapes
//! of lone surrogates.

use std::fmt;

use super::string::{RawStr, plain_prefix};

/// Containers that may be nested in a message, the message itself counted.
///
/// 128 is far above what any MCP message needs, and small enough that recursive
/// parsers behind us (a handler's own, for one) keep within their stack.
pub const MAX_DEPTH: usize = 128;

/// What is wrong with a JSON text, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The fault.
    pub kind: SyntaxErrorKind,
    /// Bytes before the fault.
    pub offset: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl std::error::Error for SyntaxError {}

/// The ways in which a text can fail to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A byte that can't stand here.
    UnexpectedByte(u8),
    /// A control character inside a string, where only its escape is allowed.
    ControlCharacter(u8),
    /// A backslash followed by something that is no escape.
    BadEscape,
    /// A `\u` escape of half a surrogate pair, where the text is needed as a string.
    LoneSurrogate,
    /// A number with a leading zero, a lone minus, or no digit where one must be.
    BadNumber,
    /// Containers nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Something other than white space after the value.
    TrailingText,
}

impl fmt::Display for SyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnexpectedEnd => f.write_str("the text ends inside a value"),
            Self::UnexpectedByte(byte) => {
                write!(f, "unexpected `{}`", [byte].escape_ascii())
            }
            Self::ControlCharacter(byte) => {
                write!(f, "unescaped control character 0x{byte:02x} in a string")
            }
            Self::BadEscape => f.write_str("unknown escape in a string"),
            Self::LoneSurrogate => f.write_str("escape of a lone surrogate in a string"),
            Self::BadNumber => f.write_str("malformed number"),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Self::TrailingText => f.write_str("text after the end of the value"),
        }
    }
}

/// A place in a JSON text that only moves forward.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The next byte that is not white space, which is left where it is.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes().get(self.position) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// Steps over the byte that `peek` showed.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.position += 1;
    }

    /// Steps over `wanted` when it comes next.
    #[inline]
    pub(crate) fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.advance();
        }
        found
    }

    /// Steps over `wanted`, which must come next.
    #[inline]
    pub(crate) fn expect(&mut self, wanted: u8) -> Result<(), SyntaxError> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn finish(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(SyntaxErrorKind::TrailingText)),
        }
    }

    /// Steps over a string and returns what stands between its quotes.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<RawStr<'a>, SyntaxError> {
        self.expect(b'"')?;
        let start = self.position;
        let mut escaped = false;
        loop {
            let rest = self.bytes().get(self.position..).unwrap_or_default();
            self.position += plain_prefix(rest);
            match self.bytes().get(self.position) {
                Some(b'"') => {
                    let span = self.slice(start, self.position);
                    self.advance();
                    return Ok(RawStr::new(span, escaped, start));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(&control) => {
                    return Err(self.error(SyntaxErrorKind::ControlCharacter(control)));
                }
                None => return Err(self.error(SyntaxErrorKind::UnexpectedEnd)),
            }
        }
    }

    /// Steps over a number and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'a str, SyntaxError> {
        self.peek();
        let start = self.position;
        self.take_here(b'-');
        match self.byte() {
            Some(b'0') => self.advance(),
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error(SyntaxErrorKind::BadNumber)),
        }
        if self.take_here(b'.') {
            self.some_digits()?;
        }
        if self.take_here(b'e') || self.take_here(b'E') {
            if !self.take_here(b'+') {
                self.take_here(b'-');
            }
            self.some_digits()?;
        }
        if matches!(self.byte(), Some(b'0'..=b'9')) {
            return Err(self.error(SyntaxErrorKind::BadNumber));
        }
        Ok(self.slice(start, self.position))
    }

    /// Steps over `word`, one of `true`, `false` and `null`.
    pub(crate) fn literal(&mut self, word: &str) -> Result<(), SyntaxError> {
        self.peek();
        for &wanted in word.as_bytes() {
            if !self.take_here(wanted) {
                return Err(self.unexpected_here());
            }
        }
        Ok(())
    }

    /// Steps over one value of any kind, inside `outer` containers, and returns its text.
    pub(crate) fn value(&mut self, outer: usize) -> Result<&'a str, SyntaxError> {
        self.peek();
        let start = self.position;
        let mut open = Nesting::new(outer);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{') => {
                    self.enter(&mut open, Container::Object)?;
                    if !self.take(b'}') {
                        self.key()?;
                        continue;
                    }
                    open.pop();
                }
                Some(b'[') => {
                    self.enter(&mut open, Container::Array)?;
                    if !self.take(b']') {
                        continue;
                    }
                    open.pop();
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                }
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return Err(self.unexpected()),
            }
            if !self.next_value(&mut open)? {
                return Ok(self.slice(start, self.position));
            }
        }
    }

    /// Steps out of a value that is nested too deep: strings are respected, brackets
    /// only counted. `open` containers are around the current place.
    ///
    /// This reads on after [`SyntaxErrorKind::TooDeep`], in constant memory, so that
    /// the `id` of the message can still be found behind it.
    pub(crate) fn leave(&mut self, mut open: usize) -> Result<(), SyntaxError> {
        while open > 0 {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    open += 1;
                    self.advance();
                }
                Some(b'}' | b']') => {
                    open -= 1;
                    self.advance();
                }
                Some(_) => self.advance(),
                None => return Err(self.error(SyntaxErrorKind::UnexpectedEnd)),
            }
        }
        Ok(())
    }

    pub(crate) fn error(&self, kind: SyntaxErrorKind) -> SyntaxError {
        SyntaxError {
            kind,
            offset: self.position,
        }
    }

    /// The error for the next byte that is not white space.
    pub(crate) fn unexpected(&mut self) -> SyntaxError {
        self.peek();
        self.unexpected_here()
    }

    /// After a value: closes what closes, and says whether another value follows.
    fn next_value(&mut self, open: &mut Nesting) -> Result<bool, SyntaxError> {
        while let Some(container) = open.innermost() {
            let (closing, is_object) = match container {
                Container::Object => (b'}', true),
                Container::Array => (b']', false),
            };
            if self.take(b',') {
                if is_object {
                    self.key()?;
                }
                return Ok(true);
            }
            self.expect(closing)?;
            open.pop();
        }
        Ok(false)
    }

    fn key(&mut self) -> Result<(), SyntaxError> {
        self.string()?;
        self.expect(b':')
    }

    fn enter(&mut self, open: &mut Nesting, container: Container) -> Result<(), SyntaxError> {
        if !open.push(container) {
            return Err(self.error(SyntaxErrorKind::TooDeep));
        }
        self.advance();
        Ok(())
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let bad = self.error(SyntaxErrorKind::BadEscape);
        self.advance();
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.advance(),
            Some(b'u') => {
                self.advance();
                for _ in 0..4 {
                    match self.byte() {
                        Some(byte) if byte.is_ascii_hexdigit() => self.advance(),
                        Some(_) => return Err(bad),
                        None => return Err(self.error(SyntaxErrorKind::UnexpectedEnd)),
                    }
                }
            }
            Some(_) => return Err(bad),
            None => return Err(self.error(SyntaxErrorKind::UnexpectedEnd)),
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.advance();
        }
    }

    fn some_digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.position;
        self.digits();
        if self.position == start {
            return Err(self.error(SyntaxErrorKind::BadNumber));
        }
        Ok(())
    }

    fn take_here(&mut self, wanted: u8) -> bool {
        let found = self.byte() == Some(wanted);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected_here(&self) -> SyntaxError {
        self.error(match self.byte() {
            Some(byte) => SyntaxErrorKind::UnexpectedByte(byte),
            None => SyntaxErrorKind::UnexpectedEnd,
        })
    }

    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.position).copied()
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Both ends stand beside ASCII bytes, so they are character boundaries.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
enum Container {
    Object,
    Array,
}

/// The containers around the current place: one bit each, so no allocation.
struct Nesting {
    objects: u128,
    depth: usize,
    /// Containers around the value that is scanned; they count against the limit.
    outer: usize,
}

impl Nesting {
    fn new(outer: usize) -> Self {
        Self {
            objects: 0,
            depth: 0,
            outer,
        }
    }

    /// `false` when the limit is reached.
    fn push(&mut self, container: Container) -> bool {
        if self.outer + self.depth >= MAX_DEPTH {
            return false;
        }
        self.objects = self.objects << 1 | u128::from(matches!(container, Container::Object));
        self.depth += 1;
        true
    }

    fn pop(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    fn innermost(&self) -> Option<Container> {
        match (self.depth, self.objects & 1) {
            (0, _) => None,
            (_, 1) => Some(Container::Object),
            (_, _) => Some(Container::Array),
        }
    }
}

// Every level has its bit.
const _: () = assert!(MAX_DEPTH <= u128::BITS as usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), SyntaxErrorKind> {
        let mut scanner = Scanner::new(text);
        scanner
            .value(0)
            .and_then(|_| scanner.finish())
            .map_err(|error| error.kind)
    }

    #[test]
    fn accepts_what_the_grammar_allows() {
        for text in [
            "0",
            "-0",
            "1e9",
            "-1.5E-3",
            "1e400",
            "\"\"",
            "\"\\ud800\"",
            "true",
            "false",
            "null",
            "{}",
            "[]",
            " [ 1 , {\"a\" : [ ] } ] ",
            "{\"a\":{\"b\":[[],{}]}}",
            "\"\u{7f}é😀\"",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_by_name() {
        use SyntaxErrorKind::*;
        for (text, kind) in [
            ("", UnexpectedEnd),
            ("{", UnexpectedEnd),
            ("[1", UnexpectedEnd),
            ("\"abc", UnexpectedEnd),
            ("\"\\u12", UnexpectedEnd),
            ("nul", UnexpectedEnd),
            ("nulL", UnexpectedByte(b'L')),
            ("NaN", UnexpectedByte(b'N')),
            ("Infinity", UnexpectedByte(b'I')),
            ("{a:1}", UnexpectedByte(b'a')),
            ("{\"a\":1,}", UnexpectedByte(b'}')),
            ("{\"a\" 1}", UnexpectedByte(b'1')),
            ("[1,]", UnexpectedByte(b']')),
            ("[1}", UnexpectedByte(b'}')),
            ("[1 2]", UnexpectedByte(b'2')),
            ("01", BadNumber),
            ("-", BadNumber),
            ("1.", BadNumber),
            ("1e", BadNumber),
            (".5", UnexpectedByte(b'.')),
            ("\"a\nb\"", ControlCharacter(b'\n')),
            ("\"\0\"", ControlCharacter(0)),
            ("\"\\x\"", BadEscape),
            ("\"\\u12g4\"", BadEscape),
            ("{} {}", TrailingText),
            ("\u{feff}{}", UnexpectedByte(0xef)),
        ] {
            assert_eq!(check(text), Err(kind), "{text}");
        }
    }

    // proves: F-JR-09
    #[test]
    fn depth_is_limited_without_recursion() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(SyntaxErrorKind::TooDeep));
        let deep = "[".repeat(1_000_000);
        std::thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(move || assert_eq!(check(&deep), Err(SyntaxErrorKind::TooDeep)))
            .unwrap()
            .join()
            .unwrap();
    }
}
