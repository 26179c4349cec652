//! JSON with `//` and `/* */` comments and trailing commas, as in settings files. Every value has
//! its position, for error messages.

use std::fmt;

/// A value with its offset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

/// A JSON value. A number is kept as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A syntax error with its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Parses a text.
///
/// # Errors
///
/// If the text isn't valid JSON with comments.
pub(crate) fn parse(text: &str) -> Result<Node, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let node = parser.parse_value(0)?;
    parser.skip_blank()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected("the end of the file")),
    }
}

impl Node {
    /// Returns the member of that name, if this is an object. The last of several members counts,
    /// as in other JSON readers.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let members = self.members()?.iter();
        let mut named = members.filter(|(key, _)| key == name);
        named.next_back().map(|(_, node)| node)
    }

    /// Returns the members, if this is an object.
    pub(crate) fn members(&self) -> Option<&[(String, Self)]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the text, if this is a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The kind of the value, for error messages.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(_) => f.write_str("a number"),
            Self::Text(_) => f.write_str("a string"),
            Self::List(_) => f.write_str("an array"),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

/// A recursive descent parser.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn parse_value(&mut self, depth: usize) -> Result<Node, ParseError> {
        self.skip_blank()?;
        let at = self.at;
        if depth > MAX_DEPTH {
            return Err(self.error(at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let value = match self.peek() {
            Some(b'{') => Value::Object(self.parse_object(depth)?),
            Some(b'[') => Value::List(self.parse_list(depth)?),
            Some(b'"') => Value::Text(self.parse_string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.parse_number()?),
            Some(b'a'..=b'z') => self.parse_keyword()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { at, value })
    }

    fn parse_object(&mut self, depth: usize) -> Result<Vec<(String, Node)>, ParseError> {
        let mut members = Vec::new();
        self.parse_elements(b'}', |parser| {
            if parser.peek() != Some(b'"') {
                return Err(parser.unexpected("a name in double quotes"));
            }
            let name = parser.parse_string()?;
            parser.skip_blank()?;
            if parser.peek() != Some(b':') {
                return Err(parser.unexpected("`:` after the name"));
            }
            parser.at += 1;
            members.push((name, parser.parse_value(depth + 1)?));
            Ok(())
        })?;
        Ok(members)
    }

    fn parse_list(&mut self, depth: usize) -> Result<Vec<Node>, ParseError> {
        let mut elements = Vec::new();
        self.parse_elements(b']', |parser| {
            elements.push(parser.parse_value(depth + 1)?);
            Ok(())
        })?;
        Ok(elements)
    }

    /// Parses the elements between an opening bracket, which is the next byte, and `end`.
    fn parse_elements(
        &mut self,
        end: u8,
        mut element: impl FnMut(&mut Self) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        let end_or_comma = format!("`,` or `{}`", char::from(end));
        self.at += 1;
        loop {
            self.skip_blank()?;
            if self.peek() == Some(end) {
                break;
            }
            element(self)?;
            self.skip_blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => break,
                _ => return Err(self.unexpected(&end_or_comma)),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn parse_string(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                // An escaped character never ends the string.
                Some(b'\\') => self.at += 2,
                Some(b'\n' | b'\r') | None => {
                    let message = "unterminated string";
                    return Err(self.error(start, message.to_owned()));
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let token = &self.text[start..self.at];
        serde_json::from_str(token).map_err(|error| {
            let at = start + error.column().saturating_sub(1);
            self.error(at, "invalid escape or character in a string".into())
        })
    }

    fn parse_number(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        let token =
            self.take_while(|byte| matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        match serde_json::from_str::<serde_json::Number>(&token) {
            Ok(_) => Ok(token),
            Err(_) => Err(self.error(start, "invalid number".to_owned())),
        }
    }

    fn parse_keyword(&mut self) -> Result<Value, ParseError> {
        let start = self.at;
        let word = self.take_while(|byte| byte.is_ascii_alphanumeric());
        match word.as_str() {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => {
                self.at = start;
                Err(self.unexpected("a value"))
            }
        }
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> String {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| is_part(*byte)).count();
        self.at += length;
        rest[..length].to_owned()
    }

    /// Skips whitespace and comments.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = &self.text[self.at..];
            let length = match rest.as_bytes() {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => 1,
                [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => match rest[2..].find("*/") {
                    Some(length) => length + 4,
                    None => return Err(self.error(self.at, "unterminated comment".to_owned())),
                },
                _ => return Ok(()),
            };
            self.at += length;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        let found = match self.text[self.at..].chars().next() {
            Some(character) => format!("`{character}`"),
            None => "the end of the file".to_owned(),
        };
        self.error(self.at, format!("expected {expected}, found {found}"))
    }

    fn error(&self, at: usize, message: String) -> ParseError {
        ParseError { at, message }
    }
}

/// The maximum nesting: the parser recurses once per level, and no settings file is deeper.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to_value(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(text) => serde_json::from_str(text).unwrap(),
            Value::Text(text) => text.as_str().into(),
            Value::List(nodes) => nodes.iter().map(to_value).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, node)| (key.clone(), to_value(node)))
                .collect(),
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_allowed() {
        let text = "// first\n{ /* a */ \"a\" /* b */ : [1, -2.5e3, /* c */], // d\n\
                    \"url\": \"http://x/*y*/\\\"//z\",\n\"n\": null, \"t\": true, \"f\": false,\n} // end";
        let node = parse(text).unwrap();
        assert_eq!(
            to_value(&node),
            serde_json::json!({"a": [1, -2500.0], "url": "http://x/*y*/\"//z", "n": null, "t": true, "f": false})
        );
        assert_eq!(node.at, text.find('{').unwrap());
        assert_eq!(node.get("t").unwrap().at, text.find("true").unwrap());
    }

    #[test]
    fn the_last_of_duplicate_members_counts() {
        let node = parse(r#"{"a": 1, "a": "x"}"#).unwrap();
        assert_eq!(node.get("a").unwrap().text(), Some("x"));
        assert_eq!(node.get("b"), None);
        assert_eq!(node.get("a").unwrap().get("a"), None);
    }

    #[test]
    fn errors_have_a_position_and_a_message() {
        for (text, at, message) in [
            ("", 0, "expected a value, found the end of the file"),
            ("{} {}", 3, "expected the end of the file, found `{`"),
            ("{\"a\" 1}", 5, "expected `:` after the name, found `1`"),
            ("{a: 1}", 1, "expected a name in double quotes, found `a`"),
            ("{\"a\": 1 \"b\": 2}", 8, "expected `,` or `}`, found `\"`"),
            ("[1", 2, "expected `,` or `]`, found the end of the file"),
            ("[,]", 1, "expected a value, found `,`"),
            ("[1,,]", 3, "expected a value, found `,`"),
            ("[tru]", 1, "expected a value, found `t`"),
            ("[ü]", 1, "expected a value, found `ü`"),
            ("[01]", 1, "invalid number"),
            ("[\"a\nb\"]", 1, "unterminated string"),
            ("\"a\\", 0, "unterminated string"),
            (r#"["a\q"]"#, 4, "invalid escape or character in a string"),
            ("{} /* x", 3, "unterminated comment"),
        ] {
            let error = ParseError {
                at,
                message: message.to_owned(),
            };
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH + 1)).is_ok());
        let error = parse(&nested(MAX_DEPTH + 2)).unwrap_err();
        assert_eq!(error.message, "nested deeper than 64 levels");
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    proptest! {
        #[test]
        fn no_input_panics(text in "[\\[\\]{}\":,/*\\\\ a-u0-9\nü.-]{0,40}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.at <= text.len());
            }
        }

        #[test]
        fn json_is_parsed_unchanged(values in prop::collection::btree_map(".{0,6}", (any::<i64>(), ".{0,9}"), 0..5)) {
            let value = serde_json::json!(values);
            let text = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(to_value(&parse(&text).unwrap()), value.clone());
            // Comments may stand between tokens, where pretty-printing breaks lines.
            let commented = text.replace('\n', " // \"{\n/* ] */");
            prop_assert_eq!(to_value(&parse(&commented).unwrap()), value);
        }
    }
}
