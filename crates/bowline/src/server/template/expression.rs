//! Expressions: what stands between the braces of a template.

use super::sequence::{Kind, Variable};
use super::{Member, Part};

/// Parses one expression into its parts. The error is the reason why it is invalid.
pub(super) fn parse(inside: &str) -> Result<Vec<Part>, String> {
    let (operator, list) = match inside.chars().next() {
        // RFC 6570, 2.2: the first ones have a meaning, the others are reserved for later.
        Some(operator @ ('+' | '#' | '.' | '/' | ';' | '?' | '&')) => (operator, &inside[1..]),
        Some(operator @ ('=' | ',' | '!' | '@' | '|')) => {
            return Err(format!("begins with `{operator}`, which is reserved"));
        }
        _ => (' ', inside),
    };
    let names: Result<Vec<Name>, String> = list.split(',').map(Name::parse).collect();
    let names = names?;
    let is_exploded = names.iter().any(|name| name.is_exploded);
    if is_exploded && names.len() > 1 {
        return Err(
            "has an explode modifier (`*`) beside other names: the end of its list is ambiguous"
                .to_owned(),
        );
    }
    if is_exploded && matches!(operator, ';' | '?' | '&') {
        return Err("has an explode modifier (`*`) in a query, which is not supported".to_owned());
    }
    match operator {
        '?' | '&' => Ok(vec![Part::Query {
            first: operator,
            members: names.into_iter().map(Name::member).collect(),
        }]),
        _ => Ok(sequence(operator, names, is_exploded)),
    }
}

/// Returns the literals and variables of an expression that is not a query.
fn sequence(operator: char, names: Vec<Name>, is_exploded: bool) -> Vec<Part> {
    let kind = match (operator, is_exploded) {
        ('+' | '#', _) if names.len() > 1 => Kind::ReservedInList,
        ('+' | '#', _) => Kind::Reserved,
        (';', _) => Kind::Parameter,
        ('/', true) => Kind::Path,
        (' ', true) => Kind::List,
        _ => Kind::Simple,
    };
    let mut parts = Vec::with_capacity(2 * names.len());
    for (at, name) in names.into_iter().enumerate() {
        // RFC 6570, 3.2.1 and appendix A: what an expression begins with, and what separates
        // its values, which is a comma where there is nothing better.
        let literal = match (operator, at) {
            (';', _) => format!(";{}=", name.name),
            ('.' | '/', _) | ('#', 0) => operator.to_string(),
            (_, 0) => String::new(),
            _ => ",".to_owned(),
        };
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        let (name, most) = (name.name, name.most);
        parts.push(Part::Variable(Variable { name, kind, most }));
    }
    parts
}

/// A name, and what is behind it.
struct Name {
    name: String,
    /// `:3`
    most: Option<usize>,
    /// `*`
    is_exploded: bool,
}

impl Name {
    fn parse(text: &str) -> Result<Self, String> {
        let (text, is_exploded) = match text.strip_suffix('*') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (name, most) = match text.split_once(':') {
            Some((name, most)) => (name, Some(length(most)?)),
            None => (text, None),
        };
        if most.is_some() && is_exploded {
            return Err("has both a length (`:`) and an explode modifier (`*`)".to_owned());
        }
        // RFC 6570, 2.3, and `-`, which other implementations accept too. Not `%`, which is hardly
        // used.
        let is_part = |part: &str| {
            let mut characters = part.chars();
            !part.is_empty()
                && characters.all(|character| {
                    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
                })
        };
        if !name.split('.').all(is_part) {
            return Err(
                "is invalid: a name has letters, digits, `_` and `-`, and dots between them"
                    .to_owned(),
            );
        }
        Ok(Self {
            name: name.to_owned(),
            most,
            is_exploded,
        })
    }

    fn member(self) -> Member {
        let (name, most) = (self.name, self.most);
        Member { name, most }
    }
}

/// Parses how many characters a prefix has (RFC 6570, 2.4.1: from 1 to 9999).
fn length(text: &str) -> Result<usize, String> {
    let is_number = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let length = text.parse().ok().filter(|_| is_number);
    let length = length.filter(|length| *length > 0 && !text.starts_with('0'));
    length.ok_or_else(|| "is invalid: a length is a number from 1 to 9999".to_owned())
}
