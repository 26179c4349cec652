//! The JSON Schemas of servers, as far as arguments and signatures need them: the members that an
//! object may have, and the types that are allowed.
//!
//! A server chose the schema: references may form cycles and alternatives multiply, so every walk
//! is bounded. Neither the schema nor a value is validated here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A schema within the document that its references point into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'a> {
    root: &'a Value,
    node: &'a Value,
}

/// A type that a schema allows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    /// One of these values.
    OneOf(&'a [Value]),
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    /// An array; [`Schema::items`] is the schema of its items.
    List(Schema<'a>),
    /// An object; [`Schema::members`] are its members.
    Object(Schema<'a>),
    /// Any value.
    Any,
}

/// The known members of an object.
#[derive(Debug, Default)]
pub(crate) struct Members<'a> {
    /// The members that have a schema, in its order.
    pub(crate) known: Vec<(&'a str, Schema<'a>)>,
    /// The required members.
    pub(crate) required: Vec<&'a str>,
    /// The schema of all other members, if they are allowed. Empty if the schema doesn't describe
    /// them.
    pub(crate) others: Option<Schema<'a>>,
    /// `true` if the schema forbids other members.
    pub(crate) is_closed: bool,
    /// The positions of names in `known`. A server may have any number of them.
    index: BTreeMap<&'a str, usize>,
}

impl<'a> Schema<'a> {
    /// Returns the schema of a whole document.
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root, node: root }
    }

    /// Returns the types that are allowed, or nothing if the schema allows none.
    pub(crate) fn kinds(self) -> Vec<Kind<'a>> {
        let mut kinds = Vec::new();
        let mut budget = MAX_STEPS;
        self.collect_kinds(&mut kinds, &mut budget);
        kinds
    }

    /// Returns the members of an object, from all parts of the schema.
    pub(crate) fn members(self) -> Members<'a> {
        let mut members = Members::default();
        let mut walk = Walk {
            budget: MAX_STEPS,
            ..Walk::default()
        };
        self.collect_members(&mut members, &mut walk, true);
        members.is_closed = walk.is_closed;
        // Most authors who list properties mean that there are no others.
        let is_open = !walk.has_properties && !walk.is_closed;
        if is_open && members.others.is_none() {
            members.others = Some(self.with(&Value::Bool(true)));
        }
        members
    }

    /// Returns the schema of the items of an array. Empty if the schema doesn't describe them.
    pub(crate) fn items(self) -> Self {
        match self.node.get("items") {
            Some(items @ (Value::Object(_) | Value::Bool(_))) => self.with(items),
            _ => self.with(&Value::Bool(true)),
        }
    }

    /// Returns the value of a keyword, following references.
    pub(crate) fn keyword(self, name: &str) -> Option<&'a Value> {
        let own = self.node.get(name);
        own.or_else(|| self.referred()?.node.get(name))
    }

    fn with(self, node: &'a Value) -> Self {
        Self { node, ..self }
    }

    fn list(self, keyword: &str) -> &'a [Value] {
        let list = self.node.get(keyword).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// Returns the target of `$ref`, if it is in this document. Nothing is fetched.
    fn referred(self) -> Option<Self> {
        let reference = self.node.get("$ref")?.as_str()?;
        let pointer = reference.strip_prefix('#')?;
        Some(self.with(self.root.pointer(pointer)?))
    }

    /// Returns `true` if the schema itself restricts the value. If not, its parts may.
    fn says_something(self) -> bool {
        let keywords = [
            "type",
            "enum",
            "const",
            "properties",
            "items",
            "prefixItems",
        ];
        keywords
            .iter()
            .any(|keyword| self.node.get(keyword).is_some())
    }

    fn collect_kinds(self, kinds: &mut Vec<Kind<'a>>, budget: &mut usize) {
        let Some(left) = budget.checked_sub(1) else {
            kinds.push(Kind::Any);
            return;
        };
        *budget = left;
        if self.node == &Value::Bool(false) {
            return;
        }
        if self.says_something() {
            self.collect_own_kinds(kinds);
            return;
        }
        if let Some(schema) = self.referred() {
            return schema.collect_kinds(kinds, budget);
        }
        let alternatives = self.list("anyOf").iter().chain(self.list("oneOf"));
        let before = kinds.len();
        for node in alternatives {
            self.with(node).collect_kinds(kinds, budget);
        }
        if kinds.len() > before {
            return;
        }
        // All parts of `allOf` hold; the first one that restricts the value is enough.
        let parts = self.list("allOf").iter().map(|node| self.with(node));
        let mut parts = parts.filter(|part| {
            let keywords = ["$ref", "anyOf", "oneOf", "allOf"];
            part.says_something() || keywords.iter().any(|word| part.node.get(word).is_some())
        });
        match parts.next() {
            Some(part) => part.collect_kinds(kinds, budget),
            None => kinds.push(Kind::Any),
        }
    }

    fn collect_own_kinds(self, kinds: &mut Vec<Kind<'a>>) {
        if let Some(value) = self.node.get("const") {
            kinds.push(Kind::OneOf(std::slice::from_ref(value)));
            return;
        }
        if let Some(Value::Array(values)) = self.node.get("enum") {
            kinds.push(Kind::OneOf(values));
            return;
        }
        match self.node.get("type") {
            Some(Value::String(name)) => kinds.push(self.kind(name)),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str).take(MAX_TYPES);
                kinds.extend(names.map(|name| self.kind(name)));
            }
            _ if self.node.get("properties").is_some() => kinds.push(Kind::Object(self)),
            _ if self.node.get("items").is_some() || self.node.get("prefixItems").is_some() => {
                kinds.push(Kind::List(self));
            }
            _ => kinds.push(Kind::Any),
        }
    }

    fn kind(self, name: &str) -> Kind<'a> {
        match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::Text,
            "array" => Kind::List(self),
            "object" => Kind::Object(self),
            _ => Kind::Any,
        }
    }

    fn collect_members(self, members: &mut Members<'a>, walk: &mut Walk<'a>, all_hold: bool) {
        let Some(left) = walk.budget.checked_sub(1) else {
            return;
        };
        walk.budget = left;
        if let Some(Value::Object(properties)) = self.node.get("properties") {
            walk.has_properties = true;
            for (name, node) in properties {
                let next = members.known.len();
                if *members.index.entry(name).or_insert(next) == next {
                    members.known.push((name, self.with(node)));
                }
            }
        }
        if all_hold {
            let names = self.list("required").iter().filter_map(Value::as_str);
            for name in names {
                if walk.required.insert(name) {
                    members.required.push(name);
                }
            }
        }
        match self.node.get("additionalProperties") {
            Some(Value::Bool(false)) => walk.is_closed = true,
            Some(node) => members.others = Some(self.with(node)),
            None => {}
        }
        if let Some(Value::Object(patterns)) = self.node.get("patternProperties")
            && !patterns.is_empty()
        {
            // The server decides which pattern a name matches.
            members.others = Some(self.with(&Value::Bool(true)));
        }
        if let Some(schema) = self.referred() {
            schema.collect_members(members, walk, all_hold);
        }
        for node in self.list("allOf") {
            self.with(node).collect_members(members, walk, all_hold);
        }
        for node in self.list("anyOf").iter().chain(self.list("oneOf")) {
            self.with(node).collect_members(members, walk, false);
        }
    }
}

impl<'a> Members<'a> {
    /// Returns the schema of a known member.
    pub(crate) fn known(&self, name: &str) -> Option<Schema<'a>> {
        let index = *self.index.get(name)?;
        self.known.get(index).map(|(_, schema)| *schema)
    }
}

/// The state of the walk through the parts of the schema of an object.
#[derive(Default)]
struct Walk<'a> {
    budget: usize,
    /// The names that were seen.
    required: BTreeSet<&'a str>,
    has_properties: bool,
    is_closed: bool,
}

/// The number of schemas that are visited for one result. No real schema has as many parts.
const MAX_STEPS: usize = 256;

/// There are seven types; a longer list repeats some.
const MAX_TYPES: usize = 8;

#[cfg(test)]
pub(crate) mod tests;
