//! The words of the command line, and the files that they name.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::path::Path;

use anyhow::anyhow;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::arguments::builder::Builder;
use crate::bounded_file::{read_file, read_text};
use crate::failure::usage;
use crate::suggestion::did_you_mean;

/// A parsed word.
pub(super) enum TypedArgument {
    /// All arguments, as a JSON object.
    Object(Members),
    /// One argument.
    Pair { key: String, value: TypedValue },
}

/// A value as it was given.
#[derive(Debug)]
pub(super) enum TypedValue {
    /// `key=value`
    Text(String),
    /// `key:=json`
    Json(Box<RawValue>),
}

/// The members of a JSON object, as they were written.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) all: Vec<(String, Box<RawValue>)>,
    /// A duplicate name: parsers disagree which of the values counts.
    twice: Option<String>,
}

/// Stdin, which can be read once.
pub(super) struct Stdin<'a>(Option<&'a mut dyn Read>);

impl<'a> Stdin<'a> {
    pub(super) fn new(stdin: &'a mut dyn Read) -> Self {
        Self(Some(stdin))
    }

    /// Reads the text of a file, or of stdin for `-`.
    fn text_of(&mut self, file: &str) -> Result<String, String> {
        if file != "-" {
            let text = read_file(Path::new(file));
            return text.map_err(|error| format!("{file}: {error}"));
        }
        match self.0.take() {
            Some(stdin) => read_text(stdin).map_err(|error| format!("stdin: {error}")),
            None => Err("stdin can be read only once".to_owned()),
        }
    }
}

/// Parses a word.
pub(super) fn read(
    word: &str,
    builder: &Builder<'_>,
    stdin: &mut Stdin<'_>,
) -> anyhow::Result<TypedArgument> {
    if word.starts_with('{') {
        return object(word, "the JSON object").map(TypedArgument::Object);
    }
    let file = if word == "-" {
        Some(word)
    } else {
        word.strip_prefix('@')
    };
    if let Some(file) = file {
        let text = stdin.text_of(file).map_err(|message| {
            usage(
                anyhow!(message),
                "name a file with a JSON object, or - for stdin",
            )
        })?;
        let what = if file == "-" { "stdin" } else { file };
        return object(&text, what).map(TypedArgument::Object);
    }
    let Some((key, value)) = word.split_once('=') else {
        return Err(no_argument(word, builder));
    };
    let (key, is_json) = match key.strip_suffix(':') {
        Some(key) => (key, true),
        None => (key, false),
    };
    if key.is_empty() {
        let error = anyhow!("`{word}` has no name before =");
        return Err(usage(error, "write key=value"));
    }
    let text = match value.strip_prefix('@') {
        None => value.to_owned(),
        Some(file) => stdin.text_of(file).map_err(|message| {
            let hint = format!("for a string that begins with @, write {key}:='\"@…\"'");
            usage(anyhow!("{key}: {message}"), hint)
        })?,
    };
    let value = if is_json {
        json(key, &text)?
    } else {
        TypedValue::Text(text)
    };
    let key = key.to_owned();
    Ok(TypedArgument::Pair { key, value })
}

/// Returns the error for a second JSON object.
pub(super) fn second_object(word: &str) -> anyhow::Error {
    let shown: String = word.chars().take(32).collect();
    let error = anyhow!("`{shown}` is a second JSON object");
    usage(error, "put all arguments into one, or write key=value")
}

fn json(key: &str, text: &str) -> anyhow::Result<TypedValue> {
    match serde_json::from_str(text) {
        Ok(raw) => Ok(TypedValue::Json(raw)),
        Err(error) => {
            let error = anyhow!("{key}: invalid JSON after :=: {error}");
            let hint = format!("write {key}=… for a string");
            Err(usage(error, hint))
        }
    }
}

fn object(text: &str, what: &str) -> anyhow::Result<Members> {
    let members: Members = serde_json::from_str(text).map_err(|error| {
        let error = anyhow!("{what} is not a JSON object: {error}");
        usage(error, "write '{\"key\": \"value\"}', or key=value")
    })?;
    match &members.twice {
        None => Ok(members),
        Some(name) => {
            let error = anyhow!("{what} has `{name}` twice");
            Err(usage(error, "give it once"))
        }
    }
}

fn no_argument(word: &str, builder: &Builder<'_>) -> anyhow::Error {
    let names = builder.names();
    let hint = if names.contains(&word) {
        format!("give it a value: {word}=…")
    } else if let Some(question) = did_you_mean(word, names) {
        format!("write key=value; {question}")
    } else {
        "write key=value, key:=json, key=@file, or one JSON object".to_owned()
    };
    usage(anyhow!("`{word}` is not an argument"), hint)
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllMembers;

        impl<'de> Visitor<'de> for AllMembers {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                let mut seen = BTreeSet::new();
                let mut names = members.iter().map(|(name, _)| name);
                let twice = names.find(|name| !seen.insert(*name)).cloned();
                Ok(Members {
                    all: members,
                    twice,
                })
            }
        }

        deserializer.deserialize_map(AllMembers)
    }
}
