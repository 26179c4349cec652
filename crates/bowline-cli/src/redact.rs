//! Redaction of secrets.
//!
//! Values of variables and headers are always redacted. In arguments and URLs, most of which are
//! not secret, what looks like a secret is redacted: by the name before it, or by its own pattern.
//! Output of a server is redacted of the secrets that it was given.
//!
//! - [`known_secrets`]: the secrets of the server of this process.
//! - [`secret_patterns`]: names and values that look secret.

mod known_secrets;
mod secret_patterns;

pub(crate) use known_secrets::{
    beginning_without_secrets, json_without_secrets, register_secrets, without_secrets,
};
pub(crate) use secret_patterns::{is_secret_name, is_secret_variable};

use crate::config::variables::{Dialect, hide_defaults, hide_plain};

/// The replacement for a secret.
pub(crate) const HIDDEN: &str = "[redacted]";

/// Redacts the value of a variable or a header. References such as `${TOKEN}` are shown.
pub(crate) fn value(text: &str, dialect: Dialect) -> String {
    hide_plain(text, dialect, HIDDEN)
}

/// Redacts a path of a configuration.
pub(crate) fn path(text: &str, dialect: Dialect) -> String {
    hide_defaults(text, dialect, HIDDEN)
}

/// Redacts the arguments of a command, or its program and its arguments.
pub(crate) fn arguments<'a>(
    args: impl IntoIterator<Item = &'a str>,
    dialect: Dialect,
) -> Vec<String> {
    let mut next = Next::Judged;
    let mut shown = Vec::new();
    for argument in args {
        let (text, after) = match following(next, argument, argument, dialect) {
            Some(text) => (text, Next::Judged),
            None => judged(argument, dialect),
        };
        shown.push(text);
        // A word of several words is judged by its own content.
        next = match after {
            Next::Named => Next::Judged,
            Next::Judged | Next::Hidden | Next::Pair | Next::User => after,
        };
    }
    shown
}

/// Redacts a URL: user info, query values, the fragment, and parts of the path that look like keys.
pub(crate) fn url(text: &str, dialect: Dialect) -> String {
    // A URL that begins with a variable may have its scheme in it.
    let (scheme, rest) = match text.find("://") {
        Some(colon) => text.split_at(colon + "://".len()),
        None => ("", text),
    };
    let (rest, fragment) = split_before(rest, '#');
    let (rest, query) = split_before(rest, '?');
    let (authority, path) = match scheme {
        "" => ("", rest),
        _ => split_before(rest, '/'),
    };
    let mut out = scheme.to_owned();
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            out.extend([&value(user, dialect), "@"]);
            host
        }
        None => authority,
    };
    // Database connection strings have the password among parameters: `//host;password=x`.
    let (host, parameters) = split_before(host, ';');
    out.extend([host, &piece(parameters, dialect).0]);
    let segments = path.split('/').map(|segment| piece(segment, dialect).0);
    out.push_str(&segments.collect::<Vec<_>>().join("/"));
    if let Some(query) = query.strip_prefix('?') {
        let values = query.split('&').map(|member| match member.split_once('=') {
            Some((name, text)) => format!("{name}={}", value(text, dialect)),
            None => value(member, dialect),
        });
        out.push('?');
        out.push_str(&values.collect::<Vec<_>>().join("&"));
    }
    if let Some(fragment) = fragment.strip_prefix('#') {
        out.extend(["#", &value(fragment, dialect)]);
    }
    out
}

/// How to treat the next word, by the one before it.
#[derive(Clone, Copy)]
enum Next {
    /// By its own content.
    Judged,
    /// As a secret, unless it is an option with two dashes.
    Hidden,
    /// As a variable or a header with its value.
    Pair,
    /// As a user and a password.
    User,
    /// As the `=` or `:` between the name of a secret and the secret.
    Named,
}

/// Redacts `text` by the word before it. `word` is the first word of it.
fn following(next: Next, text: &str, word: &str, dialect: Dialect) -> Option<String> {
    let is_option = word.starts_with('-');
    match next {
        Next::Hidden if !word.starts_with("--") => Some(value(text, dialect)),
        Next::Pair if !is_option && word.contains(['=', ':']) => Some(pair(text, dialect)),
        Next::User if !is_option && is_login(word) => Some(pair(text, dialect)),
        Next::Named if word.starts_with(['=', ':']) => Some(pair(text, dialect)),
        Next::Judged | Next::Hidden | Next::Pair | Next::User | Next::Named => None,
    }
}

/// Redacts an argument, and returns how to treat the next one.
fn judged(argument: &str, dialect: Dialect) -> (String, Next) {
    let name = argument.split(is_gap).next().unwrap_or_default();
    if name.starts_with('-') && name.contains(['=', ':']) {
        return option(argument, dialect, |given| words(given, dialect).0);
    }
    words(argument, dialect)
}

/// Redacts a text of several words: a script, the parameters of a connection, JSON. Where a secret
/// ends depends on the syntax, so everything after its name is redacted.
fn words(text: &str, dialect: Dialect) -> (String, Next) {
    if secret_patterns::is_private_key(text) {
        return (value(text, dialect), Next::Judged);
    }
    let mut out = String::new();
    let mut next = Next::Judged;
    let mut rest = text;
    while !rest.is_empty() {
        let (gap, from) = rest.split_at(rest.find(|c| !is_gap(c)).unwrap_or(rest.len()));
        let (word, after) = from.split_at(from.find(is_gap).unwrap_or(from.len()));
        out.push_str(gap);
        if word.is_empty() {
            break;
        }
        if let Some(text) = following(next, from, word, dialect) {
            return (out + &text, Next::Judged);
        }
        if let Some(at) = secret_after(word) {
            out.extend([&from[..at], &given(&from[at..], dialect)]);
            return (out, Next::Judged);
        }
        let judge = |word: &str| piece(word, dialect);
        let is_option = word.starts_with('-');
        if is_option && has_pair(word) {
            // The value may continue in quotes.
            out.push_str(&option(from, dialect, |given| judge(given).0).0);
            return (out, Next::Judged);
        }
        let (shown, then) = if is_option {
            option(word, dialect, |given| judge(given).0)
        } else {
            judge(word)
        };
        out.push_str(&shown);
        next = then;
        rest = after;
    }
    (out, next)
}

/// Redacts an option, perhaps with its value, to which `judge` is applied.
fn option(argument: &str, dialect: Dialect, judge: impl Fn(&str) -> String) -> (String, Next) {
    let (name, given, next) = parts(argument);
    if given.is_empty() {
        // A name is shown, unless the secret follows the letter of the option directly.
        return match next {
            Next::Judged => (judge(name), next),
            _ if secret_patterns::is_secret(name) => (judge(name), next),
            _ => (name.to_owned(), next),
        };
    }
    let given = match next {
        Next::Pair => pair(given, dialect),
        Next::User if is_login(given) => pair(given, dialect),
        Next::Hidden => value(given, dialect),
        Next::Judged | Next::User | Next::Named => judge(given),
    };
    (format!("{name}{given}"), Next::Judged)
}

/// Returns `true` if the word of an option also has a name and a value.
fn has_pair(argument: &str) -> bool {
    match parts(argument) {
        (_, given, Next::Pair) => given.contains(['=', ':']),
        (_, given, Next::User) => is_login(given),
        _ => false,
    }
}

/// Splits an option: its name with `=`, the value in the same word, and how to treat the value.
fn parts(argument: &str) -> (&str, &str, Next) {
    // The value may follow the letter directly.
    if argument.starts_with("-H") && argument.contains(':') {
        let (letter, given) = argument.split_at(2);
        return (letter, given, Next::Pair);
    }
    if argument.starts_with("-u") && is_login(&argument[2..]) {
        let (letter, given) = argument.split_at(2);
        return (letter, given, Next::User);
    }
    let mark = argument.find(['=', ':']);
    let next = match &argument[..mark.unwrap_or(argument.len())] {
        // As docker has it for variables, and curl and mcp-remote for headers.
        "-e" | "--env" | "-H" | "--header" => Next::Pair,
        "-u" | "--user" | "--proxy-user" => Next::User,
        name if secret_patterns::is_secret_name(name) => Next::Hidden,
        _ => Next::Judged,
    };
    let (name, given) = argument.split_at(mark.map_or(argument.len(), |at| at + 1));
    (name, given, next)
}

/// Redacts a variable or header with its value, whatever its name.
fn pair(text: &str, dialect: Dialect) -> String {
    match text.find(['=', ':']) {
        Some(at) => {
            let (name, text) = text.split_at(at + 1);
            format!("{name}{}", given(text, dialect))
        }
        // The name alone: the value is taken from the environment.
        None => piece(text, dialect).0,
    }
}

/// Redacts what follows the name of a secret.
fn given(text: &str, dialect: Dialect) -> String {
    let space = if text.starts_with(' ') { " " } else { "" };
    format!("{space}{}", value(text.trim_start(), dialect))
}

/// Redacts a word if it looks secret, and returns how to treat the next one.
fn piece(text: &str, dialect: Dialect) -> (String, Next) {
    if let Some(colon) = text.find("://") {
        // A `NAME=` before it is kept.
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let start = text[..colon].trim_end_matches(is_part).len();
        let (before, address) = text.split_at(start);
        return (format!("{before}{}", url(address, dialect)), Next::Judged);
    }
    if let Some(query) = text.find('?')
        && text[query..].contains('=')
    {
        return (url(text, dialect), Next::Judged);
    }
    if let Some(at) = secret_after(text) {
        let (name, given) = text.split_at(at);
        return (format!("{name}{}", value(given, dialect)), Next::Judged);
    }
    if let Some(at) = text.find(['=', ':']) {
        let (name, given) = text.split_at(at + 1);
        if secret_patterns::is_secret(given) {
            return (format!("{name}{}", value(given, dialect)), Next::Judged);
        }
    }
    if secret_patterns::is_secret(text) {
        return (value(text, dialect), Next::Judged);
    }
    let next = if secret_patterns::is_secret_name(last_name(text)) {
        Next::Named
    } else {
        Next::Judged
    };
    (text.to_owned(), next)
}

/// Returns where the secret begins in `a=1;password=x`, if a name announces one. URLs have rules of
/// their own.
fn secret_after(text: &str) -> Option<usize> {
    let (text, _) = text.split_once("://").unwrap_or((text, ""));
    let mut start = 0;
    text.match_indices(['=', ':']).find_map(|(at, _)| {
        let name = last_name(&text[start..at]);
        start = at + 1;
        secret_patterns::is_secret_name(name).then_some(start)
    })
}

/// Returns the part at the end of `text` that may be a name.
fn last_name(text: &str) -> &str {
    let start = text.rfind(|c| ";,&?|{}()[]".contains(c));
    start.map_or(text, |at| &text[at + 1..])
}

/// Returns `true` for a user with a password. Two numbers are a user and a group, as docker has
/// them.
fn is_login(text: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':')
        .is_some_and(|(user, password)| !(is_number(user) && is_number(password)))
}

/// Returns `true` for characters between words.
fn is_gap(character: char) -> bool {
    character.is_whitespace() || "\"'`".contains(character)
}

/// Splits before the first `mark`.
fn split_before(text: &str, mark: char) -> (&str, &str) {
    text.split_at(text.find(mark).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
