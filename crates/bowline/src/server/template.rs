//! URI templates (RFC 6570), read backwards: which variables a URI has.
//!
//! Matching takes time linear in the URI, whatever the template and the URI are: a variable
//! takes as much as it may, up to the next literal of the template, and never gives back. A
//! template in which two variables stand side by side, so that this would be a guess, is
//! refused when it is made.

/// A template that can be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UriTemplate(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `{name}`, `{+name}`, `{#name}`, `{.name}`, `{/name}`: what comes first, what may be in
    /// it, and the name.
    Variable {
        first: &'static str,
        reserved: bool,
        name: String,
    },
    /// `{?a,b}` and `{&a,b}`: in any order, and each may be missing.
    Query {
        first: char,
        names: Vec<String>,
    },
}

impl UriTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, expression) = match rest.split_once('{') {
                None => (rest, None),
                Some((literal, behind)) => {
                    let (inside, behind) = behind
                        .split_once('}')
                        .ok_or_else(|| format!("{text:?}: a brace is not closed"))?;
                    (literal, Some((inside, behind)))
                }
            };
            if literal.contains('}') {
                return Err(format!("{text:?}: a brace is not opened"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some((inside, behind)) = expression else {
                break;
            };
            parts.extend(expressions(text, inside)?);
            rest = behind;
        }
        check(text, &parts)?;
        Ok(Self(parts))
    }

    /// The names of the variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|part| match part {
            Part::Literal(_) => Vec::new(),
            Part::Variable { name, .. } => vec![name.as_str()],
            Part::Query { names, .. } => names.iter().map(String::as_str).collect(),
        })
    }

    /// The variables of a URI that follows the template.
    pub(super) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut rest = uri;
        let mut found = Vec::new();
        for (at, part) in self.0.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable {
                    first,
                    reserved,
                    name,
                } => {
                    rest = rest.strip_prefix(first)?;
                    let end = self.end_of(at, rest, *reserved);
                    let (value, behind) = rest.split_at(end);
                    if value.is_empty() {
                        return None;
                    }
                    found.push((name.clone(), decoded(value)?));
                    rest = behind;
                }
                Part::Query { first, names } => {
                    let end = rest.find('#').unwrap_or(rest.len());
                    let (query, behind) = rest.split_at(end);
                    found.extend(queried(query, *first, names)?);
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(found)
    }

    /// Where a variable ends: before what comes after it, or what may not be in it.
    fn end_of(&self, at: usize, rest: &str, reserved: bool) -> usize {
        let stops = |character: char| match reserved {
            true => false,
            false => matches!(character, '/' | '?' | '#' | '&' | ','),
        };
        let limit = rest.find(stops).unwrap_or(rest.len());
        let within = &rest[..limit];
        let next = match self.0.get(at + 1) {
            Some(Part::Literal(literal)) => within.find(literal.as_str()),
            Some(Part::Variable { first, .. }) => within.find(first),
            Some(Part::Query { first, .. }) => within.find(*first),
            None => None,
        };
        next.unwrap_or(limit)
    }
}

/// The parts of one expression, which is what stands between braces.
fn expressions(template: &str, inside: &str) -> Result<Vec<Part>, String> {
    let (operator, list) = match inside.chars().next() {
        Some(operator @ ('+' | '#' | '.' | '/' | ';' | '?' | '&')) => (operator, &inside[1..]),
        _ => (' ', inside),
    };
    let mut names = Vec::new();
    for name in list.split(',') {
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'));
        if !is_name {
            return Err(format!(
                "{template:?}: {{{inside}}} is not understood: a name has letters, digits, `_` and `-`"
            ));
        }
        names.push(name.to_owned());
    }
    let first = match operator {
        '?' | '&' => {
            return Ok(vec![Part::Query {
                first: operator,
                names,
            }]);
        }
        '#' => "#",
        '.' => ".",
        '/' => "/",
        ' ' | '+' => "",
        _ => return Err(format!("{template:?}: {{{inside}}} is not understood")),
    };
    if names.len() > 1 && first.is_empty() {
        return Err(format!("{template:?}: {{{inside}}} has several names"));
    }
    let reserved = matches!(operator, '+' | '#');
    let variables = names.into_iter().map(|name| Part::Variable {
        first,
        reserved,
        name,
    });
    Ok(variables.collect())
}

/// Refuses what could be read in two ways.
fn check(template: &str, parts: &[Part]) -> Result<(), String> {
    for pair in parts.windows(2) {
        if let [
            Part::Variable { .. },
            Part::Variable {
                first: "", name, ..
            },
        ] = pair
        {
            return Err(format!(
                "{template:?}: nothing tells where {{{name}}} begins"
            ));
        }
    }
    let mut names: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("{template:?}: {{{}}} comes twice", pair[0])),
        None => Ok(()),
    }
}

/// The wanted members of a query. What else is in it makes it another URI.
fn queried(query: &str, first: char, names: &[String]) -> Option<Vec<(String, String)>> {
    if query.is_empty() {
        return Some(Vec::new());
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for member in query.strip_prefix(first)?.split('&') {
        let (name, value) = member.split_once('=').unwrap_or((member, ""));
        let is_new = !found.iter().any(|(known, _)| known == name);
        if !(is_new && names.iter().any(|wanted| wanted == name)) {
            return None;
        }
        found.push((name.to_owned(), decoded(value)?));
    }
    Some(found)
}

/// A value without its percent signs. `None` when they encode no text.
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
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<String> {
        let found = UriTemplate::parse(template).expect(template).matches(uri)?;
        let words = found.iter().map(|(name, value)| format!("{name}={value}"));
        Some(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_uri_gives_its_variables() {
        for (template, uri, expected) in [
            ("note:///{id}", "note:///7", Some("id=7")),
            ("note:///{id}", "note:///a%20b", Some("id=a b")),
            ("note:///{id}", "note:///", None),
            ("note:///{id}", "note:///a/b", None),
            ("note:///{+path}", "note:///a/b", Some("path=a/b")),
            (
                "db://{table}/rows/{row}",
                "db://t/rows/3",
                Some("table=t row=3"),
            ),
            ("db://{table}/rows/{row}", "db://t/cells/3", None),
            ("a{/b,c}", "a/1/2", Some("b=1 c=2")),
            ("file{.kind}", "file.txt", Some("kind=txt")),
            ("x://{name}{#part}", "x://n#p/q", Some("name=n part=p/q")),
            (
                "s://find{?q,page}",
                "s://find?q=a%26b&page=2",
                Some("q=a&b page=2"),
            ),
            ("s://find{?q,page}", "s://find?page=2", Some("page=2")),
            ("s://find{?q,page}", "s://find", Some("")),
            ("s://find{?q}", "s://find?other=1", None),
            ("s://find{?q}", "s://find?q=1&q=2", None),
            ("s://find?x=1{&q}", "s://find?x=1&q=2", Some("q=2")),
            ("plain://it", "plain://it", Some("")),
            ("plain://it", "plain://its", None),
            ("note:///{id}", "note:///%ff", None),
            ("note:///{id}", "note:///%4", None),
        ] {
            assert_eq!(
                matched(template, uri).as_deref(),
                expected,
                "{template} {uri}"
            );
        }
        let names = UriTemplate::parse("a{/b,c}{?d}").expect("a template");
        assert_eq!(names.names().collect::<Vec<_>>(), ["b", "c", "d"]);
    }

    #[test]
    fn what_can_not_be_matched_is_refused_in_words() {
        for (template, words) in [
            ("a{b", "not closed"),
            ("a}b", "not opened"),
            ("{}", "not understood"),
            ("{a b}", "not understood"),
            ("{a:3}", "not understood"),
            ("{a*}", "not understood"),
            ("{;a}", "not understood"),
            ("{a,b}", "several names"),
            ("{a}{b}", "where {b} begins"),
            ("{a}/{a}", "twice"),
        ] {
            let error = UriTemplate::parse(template).expect_err(template);
            assert!(error.contains(words) && error.contains(template), "{error}");
        }
    }

    // proves: F-HD-13
    #[test]
    fn matching_is_linear() {
        let template = UriTemplate::parse("x://{+a}/b/{+c}/d/{+e}").expect("a template");
        let uri = format!("x://{}", "/b/".repeat(100_000));
        assert_eq!(template.matches(&uri), None);
    }
}
