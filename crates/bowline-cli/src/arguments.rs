//! The arguments of a tool, as they are typed.
//!
//! | typed | meaning |
//! |---|---|
//! | `key=value` | a text, converted to the type in the schema of the tool |
//! | `key:=json` | a JSON value, sent unchanged |
//! | `key=@file`, `key:=@file` | the value from a file, or from stdin with `@-` |
//! | `a.b=value` | a member of the object `a`, unless the tool has an argument `a.b` |
//! | `key=1 key=2` | an array, where the schema has one |
//! | `{…}`, `@file`, `-` | all arguments as one JSON object, sent unchanged |
//!
//! Pairs are checked by name and value. Required arguments that are missing get their default, or
//! are an error. Of a JSON object only the names are checked, where the schema forbids others or a
//! name is a typing error: its author wants to see how the server responds to it. Pairs beside an
//! object add to it or replace its members.
//!
//! - [`typed_argument`]: parses the words of the command line, and reads files.
//! - [`builder`]: combines pairs to arguments by the schema.
//! - [`coercion`]: converts a text to a value of a schema.

mod builder;
mod coercion;
mod typed_argument;

use std::io::Read;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::builder::Builder;
use crate::arguments::typed_argument::{Members, TypedArgument};
use crate::schema::Schema;

/// The arguments of a call: a JSON object.
#[derive(Debug, Default)]
pub(crate) struct Arguments(Vec<(String, Item)>);

/// A value. JSON is kept as it was written, so numbers are exact.
#[derive(Debug)]
enum Item {
    Raw(Box<RawValue>),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Arguments {
    /// Parses the arguments of a tool with this input schema. `stdin` is read if a word refers to
    /// it.
    ///
    /// # Errors
    ///
    /// A word is not valid, a file can't be read, the tool has no such argument or expects another
    /// value, or an argument is missing. All are usage errors
    /// ([`ExitStatus::Usage`](crate::exit::ExitStatus)).
    pub(crate) fn read(
        words: &[String],
        schema: &Value,
        stdin: &mut dyn Read,
    ) -> anyhow::Result<Self> {
        let mut object: Option<Members> = None;
        let mut builder = Builder::new(Schema::of(schema));
        let mut has_pairs = false;
        let mut stdin = typed_argument::Stdin::new(stdin);
        for word in words {
            match typed_argument::read(word, &builder, &mut stdin)? {
                TypedArgument::Object(members) if object.is_none() => object = Some(members),
                TypedArgument::Object(_) => return Err(typed_argument::second_object(word)),
                TypedArgument::Pair { key, value } => {
                    has_pairs = true;
                    builder.add(key, value)?;
                }
            }
        }
        let is_checked = has_pairs || object.is_none();
        let members = object.unwrap_or_default().all;
        let mut items: Vec<_> = members
            .into_iter()
            .map(|(name, raw)| (name, Item::Raw(raw)))
            .collect();
        builder.check_names(&items)?;
        for (name, item) in builder.build(&items, is_checked)? {
            set(&mut items, name, item);
        }
        Ok(Self(items))
    }
}

/// Sets a member, or replaces it.
fn set(items: &mut Vec<(String, Item)>, name: String, item: Item) {
    match items.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = item,
        None => items.push((name, item)),
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, item)| (name, item)))
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, item)| (name, item)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
