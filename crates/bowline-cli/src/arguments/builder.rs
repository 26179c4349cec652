//! Combines `key=value` pairs to arguments, by the schema of the tool.

use std::collections::BTreeSet;

use anyhow::anyhow;
use serde_json::value::to_raw_value;

use crate::arguments::coercion::{Mismatch, coerce, coerce_item, list_of, object_of};
use crate::arguments::typed_argument::TypedValue;
use crate::arguments::{Item, set};
use crate::failure::usage;
use crate::schema::{Members, Schema};
use crate::signature::type_of;
use crate::suggestion::{did_you_mean, nearest};

/// The pairs that were given so far.
pub(super) struct Builder<'a> {
    members: Members<'a>,
    fields: Vec<Field<'a>>,
}

/// An argument that was given, once or several times.
struct Field<'a> {
    /// The path to it: a name, or names of nested members.
    path: Vec<String>,
    schema: Schema<'a>,
    values: Vec<TypedValue>,
}

impl<'a> Builder<'a> {
    /// Creates a builder for a tool with this input schema.
    pub(super) fn new(schema: Schema<'a>) -> Self {
        Self {
            members: schema.members(),
            fields: Vec::new(),
        }
    }

    /// Adds a value for `key`.
    pub(super) fn add(&mut self, key: String, value: TypedValue) -> anyhow::Result<()> {
        let mut path = Vec::new();
        let Some(schema) = locate(&key, &self.members, &mut path) else {
            return Err(self.unknown(&key));
        };
        match self.fields.iter_mut().find(|field| field.path == path) {
            None => self.fields.push(Field {
                path,
                schema,
                values: vec![value],
            }),
            Some(field) if list_of(schema).is_some() => field.values.push(value),
            Some(_) => {
                let error = anyhow!("{key} is given twice, and is not an array");
                return Err(usage(error, "give it once"));
            }
        }
        Ok(())
    }

    /// Refuses names in a JSON object: those that the schema forbids, and, where it allows others,
    /// those that look like a typing error of an argument that is missing.
    pub(super) fn check_names(&self, given: &[(String, Item)]) -> anyhow::Result<()> {
        if self.members.others.is_some() {
            return Ok(());
        }
        let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
        for (name, _) in given {
            if self.members.known(name).is_some() {
                continue;
            }
            let open = self.names().into_iter().filter(|name| !is_given(name));
            if self.members.is_closed || nearest(name, open).is_some() {
                return Err(self.unknown(name));
            }
        }
        Ok(())
    }

    /// Returns the names of the arguments of the tool.
    pub(super) fn names(&self) -> Vec<&'a str> {
        self.members.known.iter().map(|(name, _)| *name).collect()
    }

    /// Builds the members of an object. Required members may be in `others`, which were given as
    /// JSON.
    pub(super) fn build(
        self,
        others: &[(String, Item)],
        is_checked: bool,
    ) -> anyhow::Result<Vec<(String, Item)>> {
        let mut items = Vec::new();
        for field in self.fields {
            let key = field.path.join(".");
            let item = value(&key, field.schema, field.values)?;
            insert(&mut items, &field.path, item, &key)?;
        }
        if is_checked {
            add_defaults(&self.members, &mut items, others);
            let mut missing = Vec::new();
            let given = items.iter().chain(others);
            let given: Vec<_> = given.map(|(name, item)| (name.as_str(), item)).collect();
            collect_missing(&self.members, &given, "", &mut missing);
            refuse_missing(&missing)?;
        }
        Ok(items)
    }

    fn unknown(&self, key: &str) -> anyhow::Error {
        let names = self.names_near(key);
        let hint = match did_you_mean(key, names.iter().map(String::as_str)) {
            Some(question) => question,
            None if names.is_empty() => "there are no arguments".to_owned(),
            None => format!("the arguments are {}", some_of(&names, ", ")),
        };
        usage(anyhow!("no argument named `{key}`"), hint)
    }

    /// Returns the names that `key` may have been meant as: members of the object that it begins
    /// with, or all arguments.
    fn names_near(&self, key: &str) -> Vec<String> {
        let head = key.split_once('.').map(|(head, _)| head);
        let object = head.and_then(|head| Some((head, object_of(self.members.known(head)?)?)));
        match object {
            Some((head, object)) => {
                let members = object.members().known;
                members
                    .iter()
                    .map(|(name, _)| format!("{head}.{name}"))
                    .collect()
            }
            None => self.names().into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Joins the first names, with a sign if there are more.
fn some_of(names: &[String], separator: &str) -> String {
    let mut text = names[..names.len().min(MAX_NAMES)].join(separator);
    if names.len() > MAX_NAMES {
        text.extend([separator, "…"]);
    }
    text
}

/// Returns the schema of `key`, and adds the path to it. An argument with that name has precedence
/// over a nested member.
fn locate<'a>(key: &str, members: &Members<'a>, path: &mut Vec<String>) -> Option<Schema<'a>> {
    if let Some(schema) = members.known(key) {
        path.push(key.to_owned());
        return Some(schema);
    }
    let dots = key.match_indices('.').filter(|_| path.len() < MAX_DEPTH);
    for (dot, _) in dots.collect::<Vec<_>>() {
        let (name, rest) = (&key[..dot], &key[dot + 1..]);
        let object = members.known(name).and_then(object_of);
        let Some(object) = object.filter(|_| !rest.is_empty()) else {
            continue;
        };
        let length = path.len();
        path.push(name.to_owned());
        if let Some(schema) = locate(rest, &object.members(), path) {
            return Some(schema);
        }
        path.truncate(length);
    }
    let others = members.others?;
    path.push(key.to_owned());
    Some(others)
}

/// Returns the value of a field.
fn value(key: &str, schema: Schema<'_>, values: Vec<TypedValue>) -> anyhow::Result<Item> {
    let list = list_of(schema).filter(|_| values.len() > 1);
    let mut items = Vec::new();
    for value in values {
        items.push(match (value, list) {
            (TypedValue::Json(raw), _) => Item::Raw(raw),
            (TypedValue::Text(text), Some(list)) => {
                coerce_item(&text, list.items()).map_err(|mismatch| wrong(key, &text, mismatch))?
            }
            (TypedValue::Text(text), None) => coerce(&text, schema).map_err(|mut mismatch| {
                mismatch.question = if mismatch.is_unquoted {
                    Some(quoted(key))
                } else {
                    mismatch.question.or_else(|| repeated(key, &text, schema))
                };
                wrong(key, &text, mismatch)
            })?,
        });
    }
    match (list, items.pop()) {
        (None, Some(item)) => Ok(item),
        (_, last) => {
            items.extend(last);
            Ok(Item::List(items))
        }
    }
}

/// Returns the hint how to quote an array of texts.
fn quoted(key: &str) -> String {
    format!(
        r#"quote the value for the shell: '{key}=["a","b"]'; {key}:='["[x"]' sends a string that begins with ["#
    )
}

/// Returns the hint how to write `1,2` where an array is expected: commas may be parts of texts.
fn repeated(key: &str, text: &str, schema: Schema<'_>) -> Option<String> {
    let list = list_of(schema)?;
    let mut elements = text.split(',').map(str::trim);
    let (first, second) = (elements.next()?, elements.next()?);
    let fits = |text| coerce_item(text, list.items()).is_ok();
    if !fits(first) || !fits(second) {
        return None;
    }
    let dots = if elements.next().is_some() {
        " …"
    } else {
        ""
    };
    Some(format!(
        "repeat the name for each element: {key}={first} {key}={second}{dots}"
    ))
}

fn wrong(key: &str, text: &str, mismatch: Mismatch) -> anyhow::Error {
    let shown: String = text.chars().take(SHOWN).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    let error = anyhow!(
        "{key}: expected {}, found `{shown}{dots}`",
        mismatch.expected
    );
    let hint = format!("{key}:=… sends any JSON value unchanged");
    usage(error, mismatch.question.unwrap_or(hint))
}

fn insert(
    items: &mut Vec<(String, Item)>,
    path: &[String],
    item: Item,
    key: &str,
) -> anyhow::Result<()> {
    let conflict = |name: &str| {
        let error = anyhow!("{name} is given both as a whole and by its members ({key})");
        usage(error, "give it in one of the two ways")
    };
    let Some((name, rest)) = path.split_first() else {
        return Ok(());
    };
    let known = items.iter_mut().find(|(known, _)| known == name);
    match (known, rest.is_empty()) {
        (None, true) => set(items, name.clone(), item),
        (None, false) => {
            let mut members = Vec::new();
            insert(&mut members, rest, item, key)?;
            set(items, name.clone(), Item::Object(members));
        }
        (Some((_, Item::Object(members))), false) => insert(members, rest, item, key)?,
        (Some(_), _) => return Err(conflict(name)),
    }
    Ok(())
}

/// Adds defaults of required members that are missing, here and in nested objects. A server may
/// refuse arguments without them.
fn add_defaults(members: &Members<'_>, items: &mut Vec<(String, Item)>, others: &[(String, Item)]) {
    for (name, item) in items.iter_mut() {
        if let Item::Object(inner) = item
            && let Some(object) = members.known(name).and_then(object_of)
        {
            add_defaults(&object.members(), inner, &[]);
        }
    }
    let given = items.iter().chain(others).map(|(name, _)| name.as_str());
    let given: BTreeSet<_> = given.map(str::to_owned).collect();
    for name in members
        .required
        .iter()
        .filter(|name| !given.contains(**name))
    {
        let default = members
            .known(name)
            .and_then(|schema| schema.keyword("default"));
        // A parsed JSON value can always be serialized.
        if let Some(raw) = default.and_then(|default| to_raw_value(default).ok()) {
            items.push(((*name).to_owned(), Item::Raw(raw)));
        }
    }
}

/// Collects the required members that are missing, here and in nested objects.
fn collect_missing(
    members: &Members<'_>,
    given: &[(&str, &Item)],
    prefix: &str,
    missing: &mut Vec<(String, String)>,
) {
    for name in &members.required {
        // One more than is listed, to show that there are more; a server may require any number.
        if missing.len() > MAX_NAMES {
            return;
        }
        if !given.iter().any(|(known, _)| known == name) {
            let kind = members
                .known(name)
                .map_or_else(|| "any".to_owned(), type_of);
            missing.push((format!("{prefix}{name}"), kind));
        }
    }
    for (name, item) in given {
        let Item::Object(inner) = item else { continue };
        if let Some(object) = members.known(name).and_then(object_of) {
            let inner: Vec<_> = inner
                .iter()
                .map(|(name, item)| (name.as_str(), item))
                .collect();
            let prefix = format!("{prefix}{name}.");
            collect_missing(&object.members(), &inner, &prefix, missing);
        }
    }
}

fn refuse_missing(missing: &[(String, String)]) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let shown = missing.iter();
    let described: Vec<_> = shown
        .clone()
        .map(|(name, kind)| format!("{name} ({kind})"))
        .collect();
    let example: Vec<_> = shown.map(|(name, _)| format!("{name}=…")).collect();
    let plural = if missing.len() == 1 { "" } else { "s" };
    let error = anyhow!("missing argument{plural}: {}", some_of(&described, ", "));
    Err(usage(error, format!("add {}", some_of(&example, " "))))
}

/// The maximum depth of nested names.
pub(super) const MAX_DEPTH: usize = 16;

/// The number of names in an error.
const MAX_NAMES: usize = 12;

/// The number of characters shown of a wrong value.
const SHOWN: usize = 40;
