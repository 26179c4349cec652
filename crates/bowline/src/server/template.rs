//! Matching of URIs against URI templates (RFC 6570), which yields the variables. `expression`
//! parses what is between braces, `sequence` matches literals and variables.
//!
//! Matching takes time linear in the URI, whatever the template and the URI are. A template
//! in which two variables stand side by side, so that any split would be a guess, is refused
//! when it is made.

mod expression;
mod sequence;

use sequence::{Sequence, Variable};

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UriTemplate {
    /// The part before the query: all of it where there is none.
    head: Sequence,
    query: Option<Query>,
}

/// `{?a,b}` and `{&a,b}`: in any order, and each may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Query {
    first: char,
    members: Vec<Member>,
    /// How often `first` stands in the template before it.
    skip: usize,
    /// What comes after it: a fragment, if anything.
    tail: Sequence,
}

/// A variable of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    name: String,
    /// The most characters that it has.
    most: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Also what expressions such as `{#name}`, `{/name}` and `{;name}` begin with.
    Literal(String),
    Variable(Variable),
    Query {
        first: char,
        members: Vec<Member>,
    },
}

impl UriTemplate {
    /// Parses a template.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, expression) = match rest.split_once('{') {
                None => (rest, None),
                Some((literal, behind)) => {
                    let (inside, behind) = behind
                        .split_once('}')
                        .ok_or_else(|| format!("{text:?}: `{{` without a `}}`"))?;
                    (literal, Some((inside, behind)))
                }
            };
            if literal.contains('}') {
                return Err(format!("{text:?}: `}}` without a `{{`"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some((inside, behind)) = expression else {
                break;
            };
            let parsed = expression::parse(inside);
            let parsed = parsed.map_err(|message| format!("{text:?}: {{{inside}}} {message}"))?;
            parts.extend(parsed);
            rest = behind;
        }
        Self::from_parts(text, parts)
    }

    fn from_parts(text: &str, parts: Vec<Part>) -> Result<Self, String> {
        let mut head = Sequence::default();
        let mut query: Option<Query> = None;
        for part in parts {
            match (part, &mut query) {
                (Part::Literal(literal), None) => head.literal(&literal),
                (Part::Literal(literal), Some(query)) => query.tail.literal(&literal),
                (Part::Variable(variable), sequence) => {
                    let sequence = sequence.as_mut().map_or(&mut head, |query| &mut query.tail);
                    sequence.variable(variable).map_err(|variable| {
                        let name = variable.name;
                        format!(
                            "{text:?}: {{{name}}} directly follows another variable: put text between them"
                        )
                    })?;
                }
                (Part::Query { first, members }, None) => {
                    let skip = head.count(first);
                    query = Some(Query {
                        first,
                        members,
                        skip,
                        tail: Sequence::default(),
                    });
                }
                // `{?a}{&b}`: more of the same.
                (Part::Query { members, .. }, Some(query)) => query.members.extend(members),
            }
        }
        if let Some(query) = &query
            && !(query.tail.is_empty() || query.tail.begins_with('#'))
        {
            return Err(format!(
                "{text:?}: only a fragment (`#`) may follow the query"
            ));
        }
        let template = Self { head, query };
        let mut names: Vec<&str> = template.names().collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{text:?}: variable {{{}}} occurs twice", pair[0])),
            None => Ok(template),
        }
    }

    /// Returns the names of the variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let of_query = self.query.iter().flat_map(|query| {
            let names = query.members.iter().map(|member| member.name.as_str());
            names.chain(query.tail.names())
        });
        self.head.names().chain(of_query)
    }

    /// Returns the variables of a URI that matches the template.
    pub(super) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let Some(query) = &self.query else {
            return self.head.matches(uri);
        };
        let end = if query.tail.is_empty() {
            uri.len()
        } else {
            uri.find('#')?
        };
        let (rest, fragment) = uri.split_at(end);
        let mut firsts = rest.match_indices(query.first);
        let begin = firsts.nth(query.skip).map_or(end, |(at, _)| at);
        let (path, queried) = rest.split_at(begin);
        let mut found = self.head.matches(path)?;
        found.extend(query.matches(queried)?);
        found.extend(query.tail.matches(fragment)?);
        Some(found)
    }
}

impl Query {
    /// Returns the known members of a query. An unknown one makes it another URI.
    fn matches(&self, query: &str) -> Option<Vec<(String, String)>> {
        let mut found: Vec<(String, String)> = Vec::new();
        if query.is_empty() {
            return Some(found);
        }
        for member in query.strip_prefix(self.first)?.split('&') {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            if found.iter().any(|(known, _)| known == name) {
                return None;
            }
            let wanted = self.members.iter().find(|member| member.name == name)?;
            let value = decoded(value)?;
            if wanted
                .most
                .is_some_and(|most| value.chars().nth(most).is_some())
            {
                return None;
            }
            found.push((name.to_owned(), value));
        }
        Some(found)
    }
}

/// Percent-decodes a value. `None` when it is not UTF-8.
fn decoded(value: &str) -> Option<String> {
    if !value.contains('%') {
        return Some(value.to_owned());
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, behind) = rest.split_first_chunk::<2>()?;
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = digit(digits[0])? * 16 + digit(digits[1])?;
        bytes.push(u8::try_from(byte).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
