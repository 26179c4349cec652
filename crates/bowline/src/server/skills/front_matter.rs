//! The front matter of a `SKILL.md`: YAML between two lines `---`, as JSON.
//!
//! It has the part of YAML that front matter is written in: maps and lists by indentation, lists in
//! brackets, text in quotes or without, blocks of text (`|`, `>`), and comments. Anything else is
//! an error that names its line; nothing is guessed, since a client compares what it gets with what
//! a complete parser reads.

use bowline_types::JsonObject;
use serde_json::{Map, Value};

const MAX_BYTES: usize = 64 * 1024;
const MAX_DEPTH: usize = 8;

/// Parses the front matter of a file.
///
/// # Errors
///
/// When there is none, or it has what is not supported: the message names the line.
pub(super) fn parse(file: &str) -> Result<JsonObject, String> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let mut lines = file.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Err("no front matter: the first line must be ---".to_owned());
    }
    let mut found = Vec::new();
    let mut bytes = 0;
    for (number, text) in (2..).zip(lines) {
        if text.trim_end() == "---" {
            let mut parser = Parser {
                lines: found,
                at: 0,
            };
            let map = parser.map(0, 1)?;
            return match parser.peek() {
                Some(line) => Err(line.error("unexpected indentation")),
                None => Ok(map.into()),
            };
        }
        bytes += text.len();
        if bytes > MAX_BYTES {
            return Err(format!("the front matter has more than {MAX_BYTES} bytes"));
        }
        found.push(Line { number, text });
    }
    Err("the front matter has no closing line ---".to_owned())
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn indent(self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    fn content(self) -> &'a str {
        self.text.trim()
    }

    /// Returns `true` for a line that means nothing: blank, or a comment.
    fn is_skipped(self) -> bool {
        self.content().is_empty() || self.content().starts_with('#')
    }

    fn error(self, reason: &str) -> String {
        format!("line {}: {reason}", self.number)
    }
}

struct Parser<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// Returns the next line that means something.
    fn peek(&mut self) -> Option<Line<'a>> {
        while let Some(line) = self.lines.get(self.at) {
            if !line.is_skipped() {
                return Some(*line);
            }
            self.at += 1;
        }
        None
    }

    /// Parses the keys of one indentation.
    fn map(&mut self, indent: usize, depth: usize) -> Result<Map<String, Value>, String> {
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent() == indent) {
            if depth > MAX_DEPTH {
                return Err(line.error("nested too deeply"));
            }
            let (key, rest) = key_of(line)?;
            self.at += 1;
            let value = self.value(line, rest, indent, depth)?;
            if map.insert(key.to_owned(), value).is_some() {
                return Err(line.error("duplicate key"));
            }
        }
        Ok(map)
    }

    fn value(
        &mut self,
        line: Line<'a>,
        rest: &'a str,
        indent: usize,
        depth: usize,
    ) -> Result<Value, String> {
        let rest = without_comment(rest);
        match rest {
            "" => self.nested(indent, depth),
            "|" | "|-" | ">" | ">-" => self.block(line, rest, indent),
            _ if rest.starts_with(['"', '\'', '[']) => inline(line, rest),
            _ => {
                // Text without quotes goes on where lines are indented further.
                let mut text = rest.to_owned();
                while let Some(next) = self.lines.get(self.at).copied() {
                    if next.is_skipped() || next.indent() <= indent {
                        break;
                    }
                    text.push(' ');
                    text.push_str(without_comment(next.content()));
                    self.at += 1;
                }
                plain(line, &text)
            }
        }
    }

    /// Parses what is below a key without a value on its line.
    fn nested(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let Some(line) = self.peek() else {
            return Ok(Value::Null);
        };
        let is_item = line.content() == "-" || line.content().starts_with("- ");
        match line.indent() {
            inner if is_item && inner >= indent => self.list(inner),
            inner if inner > indent => self.map(inner, depth + 1).map(Value::Object),
            _ => Ok(Value::Null),
        }
    }

    /// Parses a list of texts.
    fn list(&mut self, indent: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent() == indent) {
            let Some(item) = line.content().strip_prefix("- ") else {
                break;
            };
            items.push(inline(line, without_comment(item.trim()))?);
            self.at += 1;
        }
        Ok(Value::Array(items))
    }

    /// Parses a block of text.
    fn block(&mut self, line: Line<'a>, mark: &str, indent: usize) -> Result<Value, String> {
        let mut texts = Vec::new();
        let mut inner = None;
        while let Some(next) = self.lines.get(self.at).copied() {
            if next.content().is_empty() {
                texts.push("");
            } else if next.indent() > indent {
                let inner = *inner.get_or_insert(next.indent());
                let is_further = next.indent() > inner && mark.starts_with('>');
                if next.indent() < inner || is_further {
                    return Err(next.error("inconsistent indentation in a block scalar"));
                }
                texts.push(next.text[inner..].trim_end_matches('\r'));
            } else {
                break;
            }
            self.at += 1;
        }
        while texts.last() == Some(&"") {
            texts.pop();
        }
        if inner.is_none() {
            return Err(line.error("empty block scalar"));
        }
        let mut text = if mark.starts_with('|') {
            texts.join("\n")
        } else {
            folded(&texts)
        };
        if !mark.ends_with('-') {
            text.push('\n');
        }
        Ok(Value::String(text))
    }
}

/// Joins lines with blanks; an empty line ends a paragraph.
fn folded(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut is_begun = false;
    for line in lines {
        if line.is_empty() {
            text.push('\n');
            is_begun = false;
        } else {
            if is_begun {
                text.push(' ');
            }
            text.push_str(line);
            is_begun = true;
        }
    }
    text
}

/// Returns the key of a line, and what follows its colon.
fn key_of(line: Line<'_>) -> Result<(&str, &str), String> {
    let content = line.content();
    if line.text.starts_with('\t') {
        return Err(line.error("indentation with tabs (use spaces)"));
    }
    let found = match content.split_once(": ") {
        Some(found) => Some(found),
        None => content.strip_suffix(':').map(|key| (key, "")),
    };
    let (key, rest) = found.ok_or_else(|| line.error("expected `key: value`"))?;
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let begins = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || !key.chars().all(is_allowed) {
        return Err(line.error("invalid key: expected a letter, then letters, digits, - _ . /"));
    }
    Ok((key, rest.trim()))
}

/// Returns a text without the comment at its end.
fn without_comment(text: &str) -> &str {
    if text.starts_with(['"', '\'', '[']) {
        return text;
    }
    if text.starts_with('#') {
        return "";
    }
    text.split(" #").next().unwrap_or(text).trim_end()
}

/// Parses a value that is on one line.
fn inline(line: Line<'_>, text: &str) -> Result<Value, String> {
    let wrong = |_| line.error("unterminated string, or unknown escape in it");
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text)
            .map(Value::String)
            .map_err(wrong);
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let inner = rest.strip_suffix('\'').unwrap_or("'");
        if inner.replace("''", "").contains('\'') {
            return Err(line.error("unterminated string"));
        }
        return Ok(Value::String(inner.replace("''", "'")));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let inner = rest.strip_suffix(']');
        let inner = inner.ok_or_else(|| line.error("unterminated list (close it on its line)"))?;
        if inner.contains(['"', '\'', '[', ']', '{', '}', '#']) {
            return Err(line.error("quotes inside [ ] are not supported: write one item per line"));
        }
        let items = inner.split(',').map(str::trim);
        let items = items.filter(|item| !item.is_empty());
        let items: Result<Vec<_>, _> = items.map(|item| plain(line, item)).collect();
        return items.map(Value::Array);
    }
    plain(line, text)
}

/// Parses text without quotes: also numbers, booleans and null.
fn plain(line: Line<'_>, text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let is_special = text.starts_with([
        '&', '*', '!', '%', '@', '`', '{', '}', ']', ',', '|', '>', '"', '\'', '#',
    ]);
    let is_indicator = text == "-" || text.starts_with("- ") || text.starts_with("? ");
    if is_special || is_indicator || text.contains(": ") || text.ends_with(':') {
        return Err(line.error("this text must be in quotes"));
    }
    let digits = text.trim_start_matches(['-', '+', '.']);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return match digits.to_ascii_lowercase().as_str() {
            "inf" | "nan" => Err(line.error("a number that JSON can't represent")),
            _ => Ok(Value::String(text.to_owned())),
        };
    }
    // A number as in JSON; what another parser may take for one has to be in quotes.
    if let Ok(number) = serde_json::from_str::<serde_json::Number>(text) {
        return Ok(Value::Number(number));
    }
    let looks_numeric =
        text.parse::<f64>().is_ok() || text.starts_with("0x") || text.starts_with("0o");
    if looks_numeric {
        return Err(line.error("a number that is not written as in JSON: put it in quotes"));
    }
    Ok(Value::String(text.to_owned()))
}
