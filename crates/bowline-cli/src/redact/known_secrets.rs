//! The secrets of the server that this process connects to, which are redacted from its output.
//!
//! There is one server per process, and its output appears all over the process, including in the
//! events of the library, so the secrets are kept in one global place.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::config::variables::Dialect;
use crate::redact::{HIDDEN, arguments};

/// The secrets, the longest first.
static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Registers the secrets of a command: the values of its variables, and what is redacted in its
/// words.
pub(crate) fn register_secrets(values: &[&str], words: &[&str]) {
    let mut secrets = secrets(values, words);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.append(&mut secrets);
    known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    known.dedup();
}

/// Redacts the known secrets in `text`.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    without(text, &known)
}

/// Redacts the beginning of a text, which may end within a secret.
pub(crate) fn beginning_without_secrets(text: &str) -> String {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    without_cut(&without(text, &known), &known)
}

fn without_cut(text: &str, secrets: &[String]) -> String {
    // A character may have been cut as well.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let beginnings = |secret: &str| {
        let ends = secret.char_indices().map(|(end, _)| end).rev();
        let mut cut = ends.map(|end| text.strip_suffix(&secret[..end]).zip(Some(end)));
        cut.find_map(|cut| cut.filter(|(_, length)| *length >= SHORTEST))
    };
    let longest = secrets.iter().filter_map(|secret| beginnings(secret));
    match longest.max_by_key(|(_, length)| *length) {
        Some((before, _)) => format!("{before}{HIDDEN}"),
        None => text.to_owned(),
    }
}

/// Redacts the strings of `json`. Without a secret it is returned unchanged.
pub(crate) fn json_without_secrets(json: &str) -> Cow<'_, str> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    json_without(json, &known)
}

fn json_without<'a>(json: &'a str, secrets: &[String]) -> Cow<'a, str> {
    // Most commands have no secrets, and values may be large.
    if secrets.is_empty() {
        return json.into();
    }
    let Ok(value) = serde_json::from_str::<Value>(json) else {
        return without(json, secrets);
    };
    let mut taken = value.clone();
    take(&mut taken, secrets);
    if taken == value {
        json.into()
    } else {
        taken.to_string().into()
    }
}

fn without<'a>(text: &'a str, secrets: &[String]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN).into();
        }
    }
    text
}

fn take(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = without(text, secrets).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(|value| take(value, secrets)),
        Value::Object(members) => {
            let taken = std::mem::take(members).into_iter();
            members.extend(taken.map(|(name, mut value)| {
                take(&mut value, secrets);
                (without(&name, secrets).into_owned(), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns all secrets of a command.
fn secrets(values: &[&str], words: &[&str]) -> Vec<String> {
    let shown = arguments(words.iter().copied(), Dialect::Dollar);
    let hidden = words
        .iter()
        .zip(&shown)
        .flat_map(|(word, shown)| hidden_in(word, shown));
    // A variable may have a URL with a password.
    let hidden_of_values = values.iter().flat_map(|value| {
        let shown = arguments([*value], Dialect::Dollar);
        let shown = shown.into_iter().next().unwrap_or_default();
        hidden_in(value, &shown)
    });
    let hidden = hidden.chain(hidden_of_values);
    let all = values.iter().copied().chain(hidden.flat_map(forms));
    // Keys of several lines may be printed line by line.
    let lines = all.flat_map(|secret| secret.lines().chain([secret]));
    let mut secrets: Vec<_> = lines
        .map(str::trim)
        .filter(|secret| secret.chars().count() >= SHORTEST && *secret != HIDDEN)
        .map(str::to_owned)
        .collect();
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets
}

/// Returns the parts of `word` that are redacted in `shown`.
fn hidden_in<'a>(word: &'a str, shown: &str) -> Vec<&'a str> {
    let mut parts = shown.split(HIDDEN);
    let begin = parts.next().unwrap_or_default();
    let mut rest = word.strip_prefix(begin).unwrap_or(word);
    let mut hidden = Vec::new();
    for part in parts {
        let end = match part {
            "" => rest.len(),
            part => rest.find(part).unwrap_or(rest.len()),
        };
        let (secret, after) = rest.split_at(end);
        hidden.push(secret);
        rest = after.strip_prefix(part).unwrap_or_default();
    }
    hidden
}

/// Returns the parts of a redacted text that may appear alone: its first word, the word after the
/// name of a scheme, and the password after a user.
fn forms(hidden: &str) -> Vec<&str> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;,&".contains(c);
    let mut words = hidden.split(is_end).filter(|word| !word.is_empty());
    let first = words.next();
    let is_scheme = first.is_some_and(|word| ["Bearer", "Basic", "Token"].contains(&word));
    let second = words.next().filter(|_| is_scheme);
    let password = hidden.split_once(':').map(|(_, password)| password);
    let first = first.filter(|_| !is_scheme);
    let all = [Some(hidden), first, second, password];
    all.into_iter().flatten().collect()
}

/// The minimum length of a secret that is searched for. Shorter ones are parts of too many words.
const SHORTEST: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&str], words: &[&str]) -> Vec<String> {
        let mut secrets = secrets(values, words);
        secrets.sort();
        secrets
    }

    #[test]
    fn the_secrets_of_a_command_are_its_redacted_parts() {
        for (values, words, expected) in [
            (&["hunter3", "short", "1"][..], &["x"][..], &["hunter3"][..]),
            (&[], &["x", "--port", "300000", "https://x.y/z"], &[]),
            (&[], &["x", "--token", "hunter2"], &["hunter2"]),
            (&[], &["x --token hunter2"], &["hunter2"]),
            (
                &[],
                &["sh", "-c", "TOKEN=hunter2 exec server"],
                &["hunter2", "hunter2 exec server"],
            ),
            (
                &[],
                &["-H", "X: Bearer hunter2"],
                &["Bearer hunter2", "hunter2"],
            ),
            (
                &["postgres://me:hunter2@db/x"],
                &[],
                &["hunter2", "me:hunter2", "postgres://me:hunter2@db/x"],
            ),
            (
                &[],
                &["https://x.y?a=hunter2&b=hunter3#hunter4"],
                &["hunter2", "hunter3", "hunter4"],
            ),
            (
                &["line one\nline two\n"],
                &[],
                &["line one", "line one\nline two", "line two"],
            ),
        ] {
            assert_eq!(found(values, words), expected, "{values:?} {words:?}");
        }
    }

    #[test]
    fn texts_are_redacted() {
        let secrets = secrets(&["hunter2", "hunter2-long", "123456"], &[]);
        let text = "a hunter2-long b hunter2 hunter3";
        assert_eq!(without(text, &secrets), "a [redacted] b [redacted] hunter3");
        let json = r#"{"a":["hunter2",123456],"hunter2":{"b":"x123456"}}"#;
        let expected = r#"{"a":["[redacted]",123456],"[redacted]":{"b":"x[redacted]"}}"#;
        assert_eq!(json_without(json, &secrets), expected);
        let json = r#"{"a": 1.00}"#;
        assert_eq!(json_without(json, &secrets), json);
    }

    #[test]
    fn a_text_cut_within_a_secret_is_redacted() {
        let secrets = secrets(&["hunter2-lüng", "123456"], &[]);
        for (text, expected) in [
            ("a hunter2-l", "a [redacted]"),
            ("a hunter2-l\u{fffd}", "a [redacted]"),
            ("a hunter", "a [redacted]"),
            ("a hunte", "a hunte"),
            ("hunter2-lo", "hunter2-lo"),
            ("", ""),
        ] {
            assert_eq!(without_cut(text, &secrets), expected);
        }
    }
}
