//! The members of the shapes equal those of the schemas: names, kinds, and which are required, in
//! every revision.

use std::collections::BTreeSet;

use bowline_types::wire::{Shape, Struct};
use serde_json::Value;

use super::catalog::{Coverage, coverage_of};
use super::coverage::{names, parts};
use super::files::{FILES, File};

/// Members of shapes that the definitions don't list, with the reason.
const BEYOND_THE_SCHEMA: &[(&str, &str, &str)] = &[
    (
        "ClientCapabilities",
        "extensions",
        "SEP-2133: used in handshakes, too; the set is open",
    ),
    (
        "ServerCapabilities",
        "extensions",
        "SEP-2133: used in handshakes, too; the set is open",
    ),
    (
        "*",
        "io.modelcontextprotocol/related-task",
        "prose of 2025-11-25, basic/utilities/tasks",
    ),
    (
        "*",
        "traceparent",
        "prose of 2026-07-28, basic; harmless before",
    ),
    (
        "*",
        "tracestate",
        "prose of 2026-07-28, basic; harmless before",
    ),
    (
        "*",
        "baggage",
        "prose of 2026-07-28, basic; harmless before",
    ),
    ("SubscriptionFilter", "taskIds", "the tasks extension"),
    (
        "SubscriptionFilter",
        "toolsListChanged",
        "the tasks extension adds `taskIds` to the rest",
    ),
    (
        "SubscriptionFilter",
        "promptsListChanged",
        "the tasks extension adds `taskIds` to the rest",
    ),
    (
        "SubscriptionFilter",
        "resourcesListChanged",
        "the tasks extension adds `taskIds` to the rest",
    ),
    (
        "SubscriptionFilter",
        "resourceSubscriptions",
        "the tasks extension adds `taskIds` to the rest",
    ),
    (
        "InputSchema",
        "$schema",
        "JSON Schema; the definitions list it since 2025-11-25",
    ),
    (
        "OutputSchema",
        "$schema",
        "JSON Schema; the definitions list it since 2025-11-25",
    ),
    (
        "TaskParams",
        "_meta",
        "the definitions of 2025-11-25 and the extension list no base members",
    ),
    (
        "UpdateTaskParams",
        "_meta",
        "the definition of the extension lists no base members",
    ),
    (
        "ElicitationCompleteParams",
        "_meta",
        "the definition lists no base members",
    ),
    (
        "DetailedTask",
        "inputRequests",
        "each status has a definition of its own",
    ),
    (
        "DetailedTask",
        "result",
        "each status has a definition of its own",
    ),
    (
        "DetailedTask",
        "error",
        "each status has a definition of its own",
    ),
];

/// Types that are narrower than the type in the schema, with the reason.
const NARROWER: &[(&str, &str, &str)] = &[
    (
        "ServerRequestMeta",
        "Meta",
        "has a progress token before 2026-07-28, and no members since",
    ),
    (
        "EmptyResult",
        "AnyResult",
        "an empty result is a result that is complete",
    ),
    (
        "ListRootsParams",
        "RequestParams",
        "embedded in results since 2026-07-28, hence a type of its own",
    ),
];

/// Members that the schema requires for some values of the type only.
const REQUIRED_BY_STATUS: &[&str] = &["inputRequests", "result", "error"];

#[test]
fn members_are_those_of_the_schema() {
    let mut faults = Vec::new();
    let mut compared = 0;
    for file in FILES.iter() {
        for (definition, schema) in &file.definitions {
            let (shape, schema) = match coverage_of(file, definition) {
                Some(Coverage::Type(of)) => (of.shape, schema),
                Some(Coverage::Message(_, of)) => match property(file, schema, "params") {
                    Some(params) => (of.shape, params),
                    None => continue,
                },
                _ => continue,
            };
            let mut comparison = Comparison {
                file,
                faults: Vec::new(),
            };
            comparison.value(definition, shape, schema);
            compared += 1;
            faults.extend(comparison.faults);
        }
    }
    assert!(
        faults.is_empty(),
        "{} differences: {faults:#?}",
        faults.len()
    );
    assert!(compared > 450, "only {compared} definitions were compared");
}

struct Comparison<'f> {
    file: &'f File,
    faults: Vec<String>,
}

impl Comparison<'_> {
    fn value(&mut self, place: &str, shape: &Shape, schema: &Value) {
        // A referenced definition is compared under its own name. Here only the type matters.
        if let Some(referred) = self.file.referred(schema) {
            let expected = match coverage_of(self.file, referred) {
                Some(Coverage::Type(of)) => name(of.shape),
                _ => return,
            };
            // Any object is an object: 2025-11-25 has references where other revisions have `{}`.
            let found = name(shape);
            let is_narrower = NARROWER
                .iter()
                .any(|(narrow, general, _)| *narrow == found && *general == expected);
            let is_same = found == expected || is_narrower;
            if !is_same && !matches!(shape, Shape::Any | Shape::Object) {
                self.fault(place, format!("{found}, but {referred} is {expected}"));
            }
            return;
        }
        match shape {
            Shape::In(revisions, inside, outside) => {
                let applies = revisions.contains(self.file.revision);
                self.value(place, if applies { inside } else { outside }, schema);
            }
            Shape::Struct(shape) => self.members(place, shape, schema),
            Shape::Array(element) | Shape::UpTo(_, element) | Shape::Map(element) => {
                self.check_type(place, shape, schema);
                let key = if matches!(shape, Shape::Array(_) | Shape::UpTo(..)) {
                    "items"
                } else {
                    "additionalProperties"
                };
                match schema.get(key) {
                    Some(inner) if inner.is_object() => {
                        self.value(&format!("{place}[]"), element, inner)
                    }
                    _ => self.fault(place, format!("the schema has no `{key}`")),
                }
            }
            Shape::Choice(choice) => {
                let known: BTreeSet<_> = choice.known.iter().copied().collect();
                let allowed = match schema.get("const").and_then(Value::as_str) {
                    Some(constant) => BTreeSet::from([constant]),
                    None => names(&schema["enum"]),
                };
                let is_narrower = schema.get("const").is_some() && allowed.is_subset(&known);
                if allowed != known && !is_narrower && schema.get("anyOf").is_none() {
                    self.fault(place, format!("{known:?}, but the schema has {allowed:?}"));
                }
            }
            Shape::Literal(literal) => {
                // `resultType` is any string in the schemas; the prose defines the values.
                let constant = schema.get("const").and_then(Value::as_str);
                if constant != Some(literal) && !(constant.is_none() && schema["type"] == "string")
                {
                    self.fault(
                        place,
                        format!("{literal:?}, but the schema has {constant:?}"),
                    );
                }
            }
            Shape::Any | Shape::Union(_) | Shape::OneOrMany(..) | Shape::Nullable(_) => {}
            Shape::Object if schema.get("anyOf").is_some() => {}
            _ => self.check_type(place, shape, schema),
        }
    }

    fn members(&mut self, place: &str, shape: &Struct, schema: &Value) {
        let revision = self.file.revision;
        let parts = parts(self.file, schema);
        // Alternatives with different members are covered by the instances instead.
        if parts.iter().any(|part| part.get("anyOf").is_some()) {
            return;
        }
        let is_free = parts.iter().all(|part| part.get("properties").is_none());
        for member in shape.members_in(revision) {
            let listed = property(self.file, schema, member.name);
            let place = format!("{place}.{}", member.name);
            match listed {
                Some(listed) => self.value(&place, member.shape, listed),
                None if is_free || self.may_be_missing(shape, member.name) => {}
                None => self.fault(&place, "the schema has no such member".into()),
            }
            let required = parts
                .iter()
                .any(|part| names(&part["required"]).contains(member.name));
            let by_status = REQUIRED_BY_STATUS.contains(&member.name);
            let is_base = listed.is_none();
            if member.required.contains(revision) != required && !by_status && !is_base {
                self.fault(&place, format!("the schema has it required: {required}"));
            }
        }
        for part in parts {
            for name in part["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name)
            {
                if !shape.members_in(revision).any(|member| member.name == name) {
                    self.fault(place, format!("the schema has a member {name:?}"));
                }
            }
        }
    }

    fn may_be_missing(&self, shape: &Struct, member: &str) -> bool {
        // Up to 2025-06-18 the definitions of requests and notifications don't repeat the `_meta`
        // of their base.
        let is_base_meta = member == "_meta"
            && self.file.revision < bowline_types::Revision::V2025_11_25
            && shape.name.ends_with("Params");
        is_base_meta
            || BEYOND_THE_SCHEMA
                .iter()
                .any(|(of, name, _)| (*of == "*" || *of == shape.name) && *name == member)
    }

    fn check_type(&mut self, place: &str, shape: &Shape, schema: &Value) {
        let expected = match shape {
            Shape::String => "string",
            Shape::Integer | Shape::Natural => "integer",
            Shape::Number | Shape::Fraction => "number",
            Shape::Boolean => "boolean",
            Shape::Id => "[\"string\",\"integer\"]",
            Shape::Array(_) | Shape::UpTo(..) => "array",
            _ => "object",
        };
        let found = match &schema["type"] {
            Value::String(name) => name.clone(),
            list => list.to_string(),
        };
        if found != expected {
            self.fault(place, format!("{expected}, but the schema has {found}"));
        }
    }

    fn fault(&mut self, place: &str, fault: String) {
        self.faults
            .push(format!("{}: {place}: {fault}", self.file.name));
    }
}

fn property<'v>(file: &'v File, schema: &'v Value, name: &str) -> Option<&'v Value> {
    parts(file, schema)
        .into_iter()
        .find_map(|part| part.get("properties")?.get(name))
}

fn name(shape: &Shape) -> String {
    match shape {
        Shape::Struct(shape) => shape.name.into(),
        Shape::Choice(shape) => shape.name.into(),
        Shape::Union(shape) => shape.name.into(),
        Shape::Map(inner) => format!("Map<{}>", name(inner)),
        Shape::Array(inner) => format!("Vec<{}>", name(inner)),
        other => format!("{other:?}"),
    }
}
