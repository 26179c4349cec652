//! Reading a schema into what it is made of, with its references resolved.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::graph::{By, Here, Id, Node};
use super::pattern::Patterns;
use super::rewrite::Changes;
use super::{MAX_SUBSCHEMAS, MAX_UNEVALUATED, Refused};

/// The draft that a schema is written in. One that doesn't say is of 2020-12.
pub(super) fn dialect(schema: &Value) -> Result<Draft, Refused> {
    let Some(uri) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let uri = uri.as_str().unwrap_or("which is no text");
    let name = uri.strip_prefix("https://").or(uri.strip_prefix("http://"));
    match name.map(|name| name.trim_end_matches('#')) {
        Some("json-schema.org/draft/2020-12/schema" | "json-schema.org/schema") => {
            Ok(Draft::Draft202012)
        }
        Some("json-schema.org/draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("json-schema.org/draft-07/schema") => Ok(Draft::Draft7),
        Some("json-schema.org/draft-06/schema") => Ok(Draft::Draft6),
        Some("json-schema.org/draft-04/schema") => Ok(Draft::Draft4),
        _ => Err(Refused::Dialect(uri.to_owned())),
    }
}

/// Reads a schema, subschema by subschema.
pub(super) struct Reader<'s> {
    root: &'s Value,
    /// The keyword with which a schema gives itself a URI.
    id_keyword: &'static str,
    /// The URI that the schema has given itself.
    base: Option<&'s str>,
    /// `None` for a name that several have.
    anchors: HashMap<&'s str, Option<&'s Value>>,
    ids: HashMap<*const Value, Id>,
    found: Vec<&'s Value>,
    nodes: Vec<Node>,
    unevaluated: usize,
    patterns: Patterns<'s>,
    changes: Changes<'s>,
}

impl<'s> Reader<'s> {
    pub(super) fn new(root: &'s Value, draft: Draft, changes: Changes<'s>) -> Self {
        let id_keyword = match draft {
            Draft::Draft4 => "id",
            _ => "$id",
        };
        let base = root.get(id_keyword).and_then(Value::as_str);
        let mut anchors = HashMap::new();
        find_anchors(root, id_keyword, &mut anchors);
        Self {
            root,
            id_keyword,
            base: base.map(|base| base.trim_end_matches('#')),
            anchors,
            ids: HashMap::new(),
            found: Vec::new(),
            nodes: Vec::new(),
            unevaluated: 0,
            patterns: Patterns::default(),
            changes,
        }
    }

    /// All subschemas, the schema itself first.
    pub(super) fn all(mut self) -> Result<(Vec<Node>, Changes<'s>), Refused> {
        self.id(self.root)?;
        // Those that are found while others are read come last.
        while let Some(value) = self.found.get(self.nodes.len()).copied() {
            let node = self.node(value)?;
            self.nodes.push(node);
        }
        match self.unevaluated > MAX_UNEVALUATED {
            true => Err(Refused::Unevaluated),
            false => Ok((self.nodes, self.changes)),
        }
    }

    /// The number of a subschema, which is read later if it is new.
    fn id(&mut self, value: &'s Value) -> Result<Id, Refused> {
        let next = self.found.len();
        let id = *self.ids.entry(std::ptr::from_ref(value)).or_insert(next);
        if id == next {
            if next == MAX_SUBSCHEMAS {
                return Err(Refused::Subschemas);
            }
            self.found.push(value);
        }
        Ok(id)
    }

    fn node(&mut self, value: &'s Value) -> Result<Node, Refused> {
        let mut node = Node {
            weight: 1,
            ..Node::default()
        };
        let Some(members) = value.as_object() else {
            return Ok(node);
        };
        if !std::ptr::eq(value, self.root) {
            self.check_identity(members)?;
        }
        let mut listed = 0;
        for (key, value) in members {
            self.changes.meet(key);
            match (key.as_str(), value.as_str()) {
                ("pattern", Some(pattern)) => {
                    let measured = self.patterns.add(pattern);
                    node.pattern = self.changes.width(members, pattern, measured)?;
                }
                _ => self.keyword(&mut node, key, value)?,
            }
            listed += match key.as_str() {
                "enum" | "const" | "required" | "type" | "dependentRequired" | "dependencies" => {
                    count(value)
                }
                "properties" => value.as_object().map_or(0, Map::len),
                _ => 1,
            };
        }
        node.weight += u64::try_from(listed / 4).unwrap_or(u64::MAX);
        Ok(node)
    }

    fn keyword(&mut self, node: &mut Node, key: &str, value: &'s Value) -> Result<(), Refused> {
        match key {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                let target = self.resolve(value.as_str().unwrap_or_default())?;
                self.here(node, By::Reference, [target])?;
            }
            "allOf" => self.here(node, By::Need, listed(value))?,
            "anyOf" | "oneOf" => self.here(node, By::Choice, listed(value))?,
            "not" | "if" | "then" | "else" => self.here(node, By::Choice, [value])?,
            "dependentSchemas" | "dependencies" => {
                let schemas = named(value).filter(|(_, it)| is_schema(it));
                self.here(node, By::Need, schemas.map(|(_, it)| it))?;
            }
            "properties" => {
                for (name, schema) in named(value) {
                    let id = self.id(schema)?;
                    node.properties.insert(name.as_str().into(), id);
                }
            }
            "patternProperties" => {
                for (name, schema) in named(value) {
                    let id = self.id(schema)?;
                    let measured = self.patterns.add(name)?;
                    // Which names are left for other keywords depends on it.
                    if measured.looking.is_some() {
                        return Err(Refused::Unrunnable(name.clone()));
                    }
                    node.patterns.push((measured.width, id));
                }
            }
            "additionalProperties" => node.additional = self.schema(value)?,
            "propertyNames" => node.names = self.schema(value)?,
            "unevaluatedProperties" => {
                self.unevaluated += 1;
                node.unevaluated_properties = self.schema(value)?;
            }
            "unevaluatedItems" => {
                self.unevaluated += 1;
                node.unevaluated_items = self.schema(value)?;
            }
            "prefixItems" => self.prefix(node, value)?,
            // A list in old drafts, with what follows it in `additionalItems`.
            "items" if value.is_array() => self.prefix(node, value)?,
            "items" => node.items = self.schema(value)?,
            "additionalItems" if node.items.is_none() => node.items = self.schema(value)?,
            "contains" => node.contains = self.schema(value)?,
            "uniqueItems" => node.is_unique = value == &Value::Bool(true),
            // Not used until something refers to them, but what they refer to counts.
            "$defs" | "definitions" => {
                for (_, schema) in named(value) {
                    self.id(schema)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn here(
        &mut self,
        node: &mut Node,
        by: By,
        values: impl IntoIterator<Item = &'s Value>,
    ) -> Result<(), Refused> {
        for value in values {
            let id = self.id(value)?;
            node.here.push(Here { id, by });
        }
        Ok(())
    }

    fn schema(&mut self, value: &'s Value) -> Result<Option<Id>, Refused> {
        match is_schema(value) {
            true => self.id(value).map(Some),
            false => Ok(None),
        }
    }

    fn prefix(&mut self, node: &mut Node, value: &'s Value) -> Result<(), Refused> {
        for schema in listed(value) {
            let id = self.id(schema)?;
            node.prefix.push(id);
        }
        Ok(())
    }

    /// A subschema with a name or a language of its own is another document.
    fn check_identity(&self, members: &Map<String, Value>) -> Result<(), Refused> {
        let text = |key| members.get(key).and_then(Value::as_str);
        if let Some(id) = text(self.id_keyword).filter(|id| !id.starts_with('#')) {
            return Err(Refused::Embedded(id.to_owned()));
        }
        match text("$schema") {
            Some(other) if self.root.get("$schema").and_then(Value::as_str) != Some(other) => {
                Err(Refused::Dialect(other.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// What a reference refers to. Only this document has an answer.
    fn resolve(&self, reference: &str) -> Result<&'s Value, Refused> {
        let inside = self.base.and_then(|base| {
            let whole = reference.strip_prefix(base);
            whole.or_else(|| reference.strip_prefix(last_segment(base)?))
        });
        let fragment = reference.strip_prefix('#').or(match inside {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('#'),
            None => None,
        });
        let remote = || Refused::Remote(reference.to_owned());
        let fragment = fragment.ok_or_else(remote)?;
        let missing = || Refused::Missing(reference.to_owned());
        let fragment = unescaped(fragment).ok_or_else(missing)?;
        let target = match fragment.as_str() {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor).copied().flatten(),
        };
        target.ok_or_else(missing)
    }
}

/// What a document may call itself in its own references: what its URI has after the last `/`.
fn last_segment(base: &str) -> Option<&str> {
    let (_, path) = base.split_once("://")?;
    let (_, last) = path.rsplit_once('/')?;
    (!last.is_empty() && !path.contains('?')).then_some(last)
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn listed(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn named(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// All values in a value.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Names that subschemas have given themselves. Two of one name are nobody's: a reference to it
/// is refused.
fn find_anchors<'s>(
    value: &'s Value,
    id_keyword: &str,
    anchors: &mut HashMap<&'s str, Option<&'s Value>>,
) {
    match value {
        Value::Array(items) => {
            for item in items {
                find_anchors(item, id_keyword, anchors);
            }
        }
        Value::Object(members) => {
            let text = |key| members.get(key).and_then(Value::as_str);
            let id = text(id_keyword).and_then(|id| id.strip_prefix('#'));
            let names = [text("$anchor"), text("$dynamicAnchor"), id];
            for name in names.into_iter().flatten() {
                let anchor = anchors.entry(name).or_insert(Some(value));
                *anchor = anchor.filter(|known| std::ptr::eq(*known, value));
            }
            for member in members.values() {
                find_anchors(member, id_keyword, anchors);
            }
        }
        _ => {}
    }
}

/// The text of a fragment, which may have `%20` in it.
fn unescaped(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
