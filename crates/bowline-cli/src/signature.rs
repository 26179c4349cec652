//! Signatures of tools: `add(a: integer, b: integer) -> {sum: integer}`.
//!
//! Names and values of a server are shortened and escaped, so that a signature has at most a few
//! lines, and nothing that a terminal interprets.

use serde_json::Value;

use crate::escape;
use crate::schema::{Kind, Members, Schema};

/// Returns the signature of a tool: its arguments, with `?` after optional ones, and its structured
/// result, if it declares one.
pub(crate) fn signature(name: &str, input: &Value, output: Option<&Value>) -> String {
    let mut writer = Writer {
        out: String::new(),
        budget: MAX_PARTS,
    };
    writer.out.push_str(&shortened(name, LONGEST_NAME));
    writer.out.push('(');
    writer.members(&Schema::of(input).members(), MAX_ARGUMENTS, 0);
    writer.out.push(')');
    if let Some(output) = output {
        writer.out.push_str(" -> ");
        writer.schema(Schema::of(output), 0);
    }
    escape::for_terminal(&writer.out).into_owned()
}

/// Returns the type of a value: `integer`, `"a" | "b"`, `string[]`.
pub(crate) fn type_of(schema: Schema<'_>) -> String {
    let mut writer = Writer {
        out: String::new(),
        budget: MAX_PARTS,
    };
    writer.schema(schema, 0);
    escape::for_terminal(&writer.out).into_owned()
}

/// Writes a signature up to a limit.
struct Writer {
    out: String,
    budget: usize,
}

impl Writer {
    /// Writes the members of an object, without braces.
    fn members(&mut self, members: &Members<'_>, most: usize, depth: usize) {
        for (index, (name, schema)) in members.known.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            if index == most || self.budget == 0 {
                self.out.push('…');
                return;
            }
            self.name(name);
            if !members.required.contains(name) {
                self.out.push('?');
            }
            self.out.push_str(": ");
            self.schema(*schema, depth);
            if let Some(default) = schema.keyword("default") {
                self.out.push_str(" = ");
                self.literal(default);
            }
        }
    }

    fn schema(&mut self, schema: Schema<'_>, depth: usize) {
        let kinds = schema.kinds();
        if kinds.is_empty() {
            self.out.push_str("never");
        }
        let mut written: Vec<String> = Vec::new();
        for kind in kinds {
            let start = self.out.len();
            self.kind(kind, depth);
            let text = self.out.split_off(start);
            if written.contains(&text) {
                continue;
            }
            if written.len() == MAX_ALTERNATIVES {
                written.push("…".to_owned());
                break;
            }
            written.push(text);
        }
        self.out.push_str(&written.join(" | "));
    }

    fn kind(&mut self, kind: Kind<'_>, depth: usize) {
        let Some(left) = self.budget.checked_sub(1) else {
            self.out.push('…');
            return;
        };
        self.budget = left;
        match kind {
            Kind::OneOf(values) => self.one_of(values),
            Kind::Null => self.out.push_str("null"),
            Kind::Boolean => self.out.push_str("boolean"),
            Kind::Integer => self.out.push_str("integer"),
            Kind::Number => self.out.push_str("number"),
            Kind::Text => self.out.push_str("string"),
            Kind::List(schema) => self.list(schema, depth),
            Kind::Object(schema) => self.object(schema, depth),
            Kind::Any => self.out.push_str("any"),
        }
    }

    fn one_of(&mut self, values: &[Value]) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push_str(" | ");
            }
            if index == MAX_VALUES {
                self.out.push('…');
                return;
            }
            self.literal(value);
        }
    }

    fn list(&mut self, schema: Schema<'_>, depth: usize) {
        // Arrays in arrays don't count as nested objects, but may go on as long.
        if depth == MAX_DEPTH {
            self.out.push_str("…[]");
            return;
        }
        let start = self.out.len();
        self.schema(schema.items(), depth + 1);
        let items = self.out.split_off(start);
        if items.contains(" | ") && !items.starts_with('{') {
            self.out.extend(["(", &items, ")[]"]);
        } else {
            self.out.extend([&items, "[]"]);
        }
    }

    fn object(&mut self, schema: Schema<'_>, depth: usize) {
        let members = schema.members();
        if members.known.is_empty() {
            match members.others.filter(|others| !is_any(*others)) {
                Some(others) if depth < MAX_DEPTH => {
                    self.out.push_str("{[key]: ");
                    self.schema(others, depth + 1);
                    self.out.push('}');
                }
                _ => self.out.push_str("object"),
            }
        } else if depth == MAX_DEPTH {
            self.out.push_str("{…}");
        } else {
            self.out.push('{');
            self.members(&members, MAX_MEMBERS, depth + 1);
            self.out.push('}');
        }
    }

    fn name(&mut self, name: &str) {
        let is_part = |c: char| c.is_alphanumeric() || "_-$.".contains(c);
        let name = shortened(name, LONGEST_NAME);
        if !name.is_empty() && name.chars().all(|c| is_part(c) || c == '…') {
            self.out.push_str(&name);
        } else {
            self.literal(&Value::String(name));
        }
    }

    /// Writes a value as JSON, shortened if it is long.
    fn literal(&mut self, value: &Value) {
        let text = match value {
            Value::String(text) => Value::String(shortened(text, LONGEST_LITERAL)).to_string(),
            Value::Array(values) if !values.is_empty() => "[…]".to_owned(),
            Value::Object(members) if !members.is_empty() => "{…}".to_owned(),
            other => other.to_string(),
        };
        self.out.push_str(&text);
    }
}

fn is_any(schema: Schema<'_>) -> bool {
    matches!(schema.kinds()[..], [Kind::Any])
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The depth up to which objects and arrays are unfolded.
const MAX_DEPTH: usize = 2;

/// The number of arguments, of members of an object in them, and of values or types of a choice.
const MAX_ARGUMENTS: usize = 24;
const MAX_MEMBERS: usize = 8;
const MAX_VALUES: usize = 8;
const MAX_ALTERNATIVES: usize = 6;

/// The number of types in one signature, at any depth.
const MAX_PARTS: usize = 120;

/// The number of characters of a name or a text.
const LONGEST_NAME: usize = 64;
const LONGEST_LITERAL: usize = 32;

#[cfg(test)]
mod tests;
