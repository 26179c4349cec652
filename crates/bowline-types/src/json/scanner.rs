//! A validating scan over JSON text that builds nothing.
//!
//! [`Scanner`] checks the grammar of RFC 8259 and yields spans of the text. It uses
//! no recursion and no memory of its own, so neither depth nor size of the input can
//! hurt it. Two things are accepted that a parser into values refuses, because a
//! span that is only passed on needs neither: numbers of any size, and `\u` escapes
//! of lone surrogates.
//!
//! A text that is [known](Scanner::known) to be JSON is not checked again: see `known.rs`.

use super::nesting::{Container, Nesting};
use super::raw_string::{RawStr, plain_prefix};
use super::syntax_error::{SyntaxError, SyntaxErrorKind};
use super::unchecked_scan;

/// A place in a JSON text that only moves forward.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    position: usize,
    /// The text has been gone over before.
    is_known: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            is_known: false,
        }
    }

    /// Over a text that is JSON. Of one that isn't, what is found makes no sense.
    pub(crate) fn known(text: &'a str) -> Self {
        Self {
            is_known: true,
            ..Self::new(text)
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Returns the next byte that is not white space, which is left where it is.
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
        let is_escaped = self.string_end();
        let is_escaped = self.located(is_escaped)?;
        let span = self.slice(start, self.position - 1);
        Ok(RawStr::new(span, is_escaped, start))
    }

    /// Steps over a number and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'a str, SyntaxError> {
        self.peek();
        let start = self.position;
        let outcome = self.skip_number();
        self.located(outcome)?;
        Ok(self.slice(start, self.position))
    }

    /// Steps over `word`, one of `true`, `false` and `null`.
    pub(crate) fn literal(&mut self, word: &str) -> Result<(), SyntaxError> {
        self.peek();
        let outcome = self.skip_literal(word);
        self.located(outcome)
    }

    /// Steps over one value of any kind, inside `outer` containers, and returns its text.
    pub(crate) fn value(&mut self, outer: usize) -> Result<&'a str, SyntaxError> {
        self.peek();
        let start = self.position;
        let outcome = self.skip_value(outer);
        self.located(outcome)?;
        Ok(self.slice(start, self.position))
    }

    /// Returns the text from `start`, where a value began, to the current place behind it.
    pub(crate) fn text_since(&self, start: usize) -> &'a str {
        self.slice(start, self.position)
    }

    /// Steps out of a value that is nested too deep: strings are respected, brackets
    /// only counted. `open` containers are around the current place.
    ///
    /// This reads on after [`SyntaxErrorKind::TooDeep`], in constant memory, so that
    /// the `id` of the message can still be found behind it.
    pub(crate) fn leave(&mut self, mut open: usize) -> Result<(), SyntaxError> {
        while open > 0 {
            let Some(byte) = self.peek() else {
                return Err(self.error(SyntaxErrorKind::UnexpectedEnd));
            };
            self.advance();
            match byte {
                b'"' => {
                    let outcome = self.string_end();
                    self.located(outcome)?;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
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

    /// Returns the error for the next byte that is not white space.
    pub(crate) fn unexpected(&mut self) -> SyntaxError {
        self.peek();
        self.error(self.unexpected_here())
    }

    fn located<T>(&self, outcome: Result<T, SyntaxErrorKind>) -> Result<T, SyntaxError> {
        outcome.map_err(|kind| self.error(kind))
    }
}

/// The loop over values. Its steps return the kind of a fault only, which fits a register,
/// and stop at its place.
impl<'a> Scanner<'a> {
    fn skip_value(&mut self, outer: usize) -> Result<(), SyntaxErrorKind> {
        if self.is_known {
            return self.skip_known();
        }
        let mut open = Nesting::new(outer);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.advance();
                    self.string_end()?;
                }
                Some(b'{') => {
                    open.push(Container::Object)?;
                    self.advance();
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                    self.advance();
                    open.pop();
                }
                Some(b'[') => {
                    open.push(Container::Array)?;
                    self.advance();
                    if self.peek() != Some(b']') {
                        continue;
                    }
                    self.advance();
                    open.pop();
                }
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                Some(b't') => self.skip_literal("true")?,
                Some(b'f') => self.skip_literal("false")?,
                Some(b'n') => self.skip_literal("null")?,
                _ => return Err(self.unexpected_here()),
            }
            if !self.next_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Steps over a value of a text that is known, however deep it is.
    fn skip_known(&mut self) -> Result<(), SyntaxErrorKind> {
        match unchecked_scan::value_end(self.bytes(), self.position) {
            Some(end) => {
                self.position = end;
                Ok(())
            }
            None => Err(self.unexpected_here()),
        }
    }

    /// After a value: closes what closes, and returns `true` if another value follows.
    #[inline]
    fn next_value(&mut self, open: &mut Nesting) -> Result<bool, SyntaxErrorKind> {
        while let Some(container) = open.innermost() {
            match (self.peek(), container) {
                (Some(b','), Container::Array) => {
                    self.advance();
                    return Ok(true);
                }
                (Some(b','), Container::Object) => {
                    self.advance();
                    self.key()?;
                    return Ok(true);
                }
                (Some(b']'), Container::Array) | (Some(b'}'), Container::Object) => {
                    self.advance();
                    open.pop();
                }
                _ => return Err(self.unexpected_here()),
            }
        }
        Ok(false)
    }

    #[inline]
    fn key(&mut self) -> Result<(), SyntaxErrorKind> {
        if !self.take(b'"') {
            return Err(self.unexpected_here());
        }
        self.string_end()?;
        if !self.take(b':') {
            return Err(self.unexpected_here());
        }
        Ok(())
    }

    /// Steps over the rest of a string and its quote. Returns `true` if there are escapes in it.
    #[inline]
    fn string_end(&mut self) -> Result<bool, SyntaxErrorKind> {
        let mut is_escaped = false;
        if self.is_known {
            return self.known_string_end();
        }
        loop {
            self.position += plain_prefix(self.rest());
            match self.byte() {
                Some(b'"') => {
                    self.advance();
                    return Ok(is_escaped);
                }
                Some(b'\\') => {
                    is_escaped = true;
                    self.escape()?;
                }
                Some(control) => return Err(SyntaxErrorKind::ControlCharacter(control)),
                None => return Err(SyntaxErrorKind::UnexpectedEnd),
            }
        }
    }

    /// Does the same in a text that is known to be JSON.
    fn known_string_end(&mut self) -> Result<bool, SyntaxErrorKind> {
        let string = unchecked_scan::string_end(self.bytes(), self.position);
        let Some(string) = string else {
            return Err(self.broken_off());
        };
        self.position = string.end;
        Ok(string.is_escaped)
    }

    #[inline]
    fn escape(&mut self) -> Result<(), SyntaxErrorKind> {
        match self.rest().get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.position += 2;
                Ok(())
            }
            Some(b'u') => self.unicode_escape(),
            Some(_) => Err(SyntaxErrorKind::BadEscape),
            None => Err(self.broken_off()),
        }
    }

    fn unicode_escape(&mut self) -> Result<(), SyntaxErrorKind> {
        let digits = self.rest().iter().skip(2).take(4);
        if !digits.clone().all(u8::is_ascii_hexdigit) {
            return Err(SyntaxErrorKind::BadEscape);
        }
        if digits.len() < 4 {
            return Err(self.broken_off());
        }
        self.position += 6;
        Ok(())
    }

    fn broken_off(&mut self) -> SyntaxErrorKind {
        self.position = self.text.len();
        SyntaxErrorKind::UnexpectedEnd
    }

    fn skip_number(&mut self) -> Result<(), SyntaxErrorKind> {
        self.take_here(b'-');
        match self.byte() {
            Some(b'0') => {
                self.advance();
                if matches!(self.byte(), Some(b'0'..=b'9')) {
                    return Err(SyntaxErrorKind::BadNumber);
                }
            }
            _ => self.digits()?,
        }
        if self.take_here(b'.') {
            self.digits()?;
        }
        if self.take_here(b'e') || self.take_here(b'E') {
            if !self.take_here(b'+') {
                self.take_here(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Steps over digits, at least one.
    #[inline]
    fn digits(&mut self) -> Result<(), SyntaxErrorKind> {
        let rest = self.rest();
        let is_other = |byte: &u8| !byte.is_ascii_digit();
        let count = rest.iter().position(is_other).unwrap_or(rest.len());
        self.position += count;
        if count == 0 {
            return Err(SyntaxErrorKind::BadNumber);
        }
        Ok(())
    }

    fn skip_literal(&mut self, word: &str) -> Result<(), SyntaxErrorKind> {
        for &wanted in word.as_bytes() {
            if !self.take_here(wanted) {
                return Err(self.unexpected_here());
            }
        }
        Ok(())
    }

    #[inline]
    fn take_here(&mut self, wanted: u8) -> bool {
        let found = self.byte() == Some(wanted);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected_here(&self) -> SyntaxErrorKind {
        match self.byte() {
            Some(byte) => SyntaxErrorKind::UnexpectedByte(byte),
            None => SyntaxErrorKind::UnexpectedEnd,
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.position).copied()
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.bytes().get(self.position..).unwrap_or_default()
    }

    #[inline]
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Both ends stand beside ASCII bytes, so they are character boundaries.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_DEPTH;
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
