//! The tokens of a text that is known to be JSON, in one pass and without recursion.

use memchr::memchr2;

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `}` or `]`
    Close,
    /// The name of a member, with its quotes.
    Key(&'a str),
    /// A string with its quotes, a number, `true`, `false` or `null`.
    Scalar(&'a str),
}

/// The tokens. Of a text that is no JSON they mean nothing, but they end.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(json: &'a str) -> Self {
        Self { rest: json }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self
            .rest
            .trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        let token = match self.rest.as_bytes().first()? {
            b'{' => Token::Object,
            b'[' => Token::Array,
            b'}' | b']' => Token::Close,
            b'"' => {
                let string = self.take(string_length(self.rest.as_bytes()));
                // In JSON only a name is followed by a colon.
                let after = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
                return Some(if after.starts_with(':') {
                    Token::Key(string)
                } else {
                    Token::Scalar(string)
                });
            }
            _ => {
                let end = self.rest.find([' ', '\t', '\n', '\r', ',', ']', '}']);
                let length = end.unwrap_or(self.rest.len());
                return Some(Token::Scalar(self.take(length)));
            }
        };
        self.take(1);
        Some(token)
    }
}

/// Returns the length of the string that `text` begins with, both quotes counted.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        // A backslash and what it escapes; of `\uXXXX` the rest is plain.
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_once() {
        use Token::*;
        let text = r#" { "a\"" : [ 1.5e3,true , "x:\\", {} ],"b":null}"#;
        let tokens: Vec<_> = Tokens::new(text).collect();
        assert_eq!(
            tokens,
            [
                Object,
                Key(r#""a\"""#),
                Array,
                Scalar("1.5e3"),
                Scalar("true"),
                Scalar(r#""x:\\""#),
                Object,
                Close,
                Close,
                Key(r#""b""#),
                Scalar("null"),
                Close,
            ]
        );
    }

    #[test]
    fn tokens_end_where_a_text_is_not_json() {
        for text in ["\"", "\"\\", "\"é\\é", "é", "{{{", ":::", "\"a\\\"b"] {
            assert!(Tokens::new(text).count() <= text.len(), "{text}");
        }
    }
}
