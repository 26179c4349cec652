//! Reads a schema into a graph of subschemas, and resolves its references.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::graph::{InPlace, InPlaceKind, Node, NodeId};
use super::pattern::Patterns;
use super::rewrite::Rewrites;
use super::{MAX_SUBSCHEMAS, MAX_UNEVALUATED, SchemaError};

/// Returns the draft of a schema. 2020-12 if the schema has no `$schema`.
pub(super) fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(uri) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let uri = uri.as_str().unwrap_or("(not a string)");
    let name = uri.strip_prefix("https://").or(uri.strip_prefix("http://"));
    match name.map(|name| name.trim_end_matches('#')) {
        Some("json-schema.org/draft/2020-12/schema" | "json-schema.org/schema") => {
            Ok(Draft::Draft202012)
        }
        Some("json-schema.org/draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("json-schema.org/draft-07/schema") => Ok(Draft::Draft7),
        Some("json-schema.org/draft-06/schema") => Ok(Draft::Draft6),
        Some("json-schema.org/draft-04/schema") => Ok(Draft::Draft4),
        _ => Err(SchemaError::UnsupportedDialect(uri.to_owned())),
    }
}

/// Reads a schema, one subschema after the other.
pub(super) struct SchemaReader<'s> {
    root: &'s Value,
    /// The keyword with the URI of a schema.
    id_keyword: &'static str,
    /// The URI of the schema.
    base: Option<&'s str>,
    /// Anchors by name. `None` for a name that occurs twice.
    anchors: HashMap<&'s str, Option<&'s Value>>,
    node_ids: HashMap<*const Value, NodeId>,
    subschemas: Vec<&'s Value>,
    nodes: Vec<Node>,
    unevaluated: usize,
    patterns: Patterns<'s>,
    rewrites: Rewrites<'s>,
}

impl<'s> SchemaReader<'s> {
    pub(super) fn new(root: &'s Value, draft: Draft, rewrites: Rewrites<'s>) -> Self {
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
            node_ids: HashMap::new(),
            subschemas: Vec::new(),
            nodes: Vec::new(),
            unevaluated: 0,
            patterns: Patterns::default(),
            rewrites,
        }
    }

    /// Reads all subschemas. The first is the schema itself.
    pub(super) fn read(mut self) -> Result<(Vec<Node>, Rewrites<'s>), SchemaError> {
        self.node_id(self.root)?;
        // Subschemas that are found meanwhile are appended.
        while let Some(value) = self.subschemas.get(self.nodes.len()).copied() {
            let node = self.read_node(value)?;
            self.nodes.push(node);
        }
        if self.unevaluated > MAX_UNEVALUATED {
            Err(SchemaError::TooManyUnevaluated)
        } else {
            Ok((self.nodes, self.rewrites))
        }
    }

    /// Returns the index of a subschema. A new one is appended, and read later.
    fn node_id(&mut self, value: &'s Value) -> Result<NodeId, SchemaError> {
        let next = self.subschemas.len();
        let id = *self
            .node_ids
            .entry(std::ptr::from_ref(value))
            .or_insert(next);
        if id == next {
            if next == MAX_SUBSCHEMAS {
                return Err(SchemaError::TooManySubschemas);
            }
            self.subschemas.push(value);
        }
        Ok(id)
    }

    fn read_node(&mut self, value: &'s Value) -> Result<Node, SchemaError> {
        let mut node = Node {
            cost: 1,
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
            self.rewrites.observe_keyword(key);
            match (key.as_str(), value.as_str()) {
                ("pattern", Some(pattern)) => {
                    let cost_of_pattern = self.patterns.add(pattern);
                    node.pattern =
                        self.rewrites
                            .record_pattern(members, pattern, cost_of_pattern)?;
                }
                _ => self.read_keyword(&mut node, key, value)?,
            }
            listed += match key.as_str() {
                "enum" | "const" | "required" | "type" | "dependentRequired" | "dependencies" => {
                    count_values(value)
                }
                "properties" => value.as_object().map_or(0, Map::len),
                _ => 1,
            };
        }
        node.cost += u64::try_from(listed / 4).unwrap_or(u64::MAX);
        Ok(node)
    }

    fn read_keyword(
        &mut self,
        node: &mut Node,
        key: &str,
        value: &'s Value,
    ) -> Result<(), SchemaError> {
        match key {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                let target = self.resolve(value.as_str().unwrap_or_default())?;
                self.push_in_place(node, InPlaceKind::Reference, [target])?;
            }
            "allOf" => self.push_in_place(node, InPlaceKind::Required, array_items(value))?,
            "anyOf" | "oneOf" => {
                self.push_in_place(node, InPlaceKind::Choice, array_items(value))?
            }
            "not" | "if" | "then" | "else" => {
                self.push_in_place(node, InPlaceKind::Choice, [value])?
            }
            "dependentSchemas" | "dependencies" => {
                let schemas = object_members(value).filter(|(_, schema)| is_schema(schema));
                self.push_in_place(
                    node,
                    InPlaceKind::Required,
                    schemas.map(|(_, schema)| schema),
                )?;
            }
            "properties" => {
                for (name, schema) in object_members(value) {
                    let id = self.node_id(schema)?;
                    node.properties.insert(name.as_str().into(), id);
                }
            }
            "patternProperties" => {
                for (name, schema) in object_members(value) {
                    let id = self.node_id(schema)?;
                    let cost_of_pattern = self.patterns.add(name)?;
                    // Other keywords depend on which names match, so it can't be replaced.
                    if cost_of_pattern.lookaround.is_some() {
                        return Err(SchemaError::UnsupportedPattern(name.clone()));
                    }
                    node.patterns.push((cost_of_pattern.active_states, id));
                }
            }
            "additionalProperties" => node.additional = self.subschema_id(value)?,
            "propertyNames" => node.property_names = self.subschema_id(value)?,
            "unevaluatedProperties" => {
                self.unevaluated += 1;
                node.unevaluated_properties = self.subschema_id(value)?;
            }
            "unevaluatedItems" => {
                self.unevaluated += 1;
                node.unevaluated_items = self.subschema_id(value)?;
            }
            "prefixItems" => self.push_prefix_items(node, value)?,
            // An array in old drafts, with `additionalItems` for the items after it.
            "items" if value.is_array() => self.push_prefix_items(node, value)?,
            "items" => node.items = self.subschema_id(value)?,
            "additionalItems" if node.items.is_none() => node.items = self.subschema_id(value)?,
            "contains" => node.contains = self.subschema_id(value)?,
            "uniqueItems" => node.is_unique = value == &Value::Bool(true),
            // Not applied without a reference, but their own references count.
            "$defs" | "definitions" => {
                for (_, schema) in object_members(value) {
                    self.node_id(schema)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn push_in_place(
        &mut self,
        node: &mut Node,
        kind: InPlaceKind,
        values: impl IntoIterator<Item = &'s Value>,
    ) -> Result<(), SchemaError> {
        for value in values {
            let id = self.node_id(value)?;
            node.in_place.push(InPlace { id, kind });
        }
        Ok(())
    }

    fn subschema_id(&mut self, value: &'s Value) -> Result<Option<NodeId>, SchemaError> {
        if is_schema(value) {
            self.node_id(value).map(Some)
        } else {
            Ok(None)
        }
    }

    fn push_prefix_items(&mut self, node: &mut Node, value: &'s Value) -> Result<(), SchemaError> {
        for schema in array_items(value) {
            let id = self.node_id(schema)?;
            node.prefix_items.push(id);
        }
        Ok(())
    }

    /// Checks that a subschema has no URI or dialect of its own.
    fn check_identity(&self, members: &Map<String, Value>) -> Result<(), SchemaError> {
        let text = |key| members.get(key).and_then(Value::as_str);
        if let Some(id) = text(self.id_keyword).filter(|id| !id.starts_with('#')) {
            return Err(SchemaError::EmbeddedSchema(id.to_owned()));
        }
        match text("$schema") {
            Some(other) if self.root.get("$schema").and_then(Value::as_str) != Some(other) => {
                Err(SchemaError::UnsupportedDialect(other.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Resolves a reference inside the schema.
    fn resolve(&self, reference: &str) -> Result<&'s Value, SchemaError> {
        let inside = self.base.and_then(|base| {
            let whole = reference.strip_prefix(base);
            whole.or_else(|| reference.strip_prefix(last_segment(base)?))
        });
        let fragment = reference.strip_prefix('#').or(match inside {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('#'),
            None => None,
        });
        let remote = || SchemaError::ExternalReference(reference.to_owned());
        let fragment = fragment.ok_or_else(remote)?;
        let missing = || SchemaError::UnresolvedReference(reference.to_owned());
        let fragment = percent_decoded(fragment).ok_or_else(missing)?;
        let target = match fragment.as_str() {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor).copied().flatten(),
        };
        target.ok_or_else(missing)
    }
}

/// Returns the part of the URI after the last `/`, with which a schema may refer to itself.
fn last_segment(base: &str) -> Option<&str> {
    let (_, path) = base.split_once("://")?;
    let (_, last) = path.rsplit_once('/')?;
    (!last.is_empty() && !path.contains('?')).then_some(last)
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn array_items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn object_members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the number of values in a value.
fn count_values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count_values).sum::<usize>(),
        _ => 1,
    }
}

/// Collects the anchors of all subschemas. A name that occurs twice is ambiguous: a reference to
/// it is rejected.
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

/// Decodes percent-encoding in a fragment.
fn percent_decoded(fragment: &str) -> Option<String> {
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
