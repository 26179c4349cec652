//! Generates JSON values from the shape of a type.
//!
//! Members of all revisions may be mixed, as in the values of a program that supports several
//! revisions.

use bowline_types::Revision;
use bowline_types::wire::{Shape, Struct, Union};
use serde_json::{Map, Value, json};

use super::choices::Choices;

pub(crate) struct FromShape<'c, 'b> {
    pub(crate) choices: &'c mut Choices<'b>,
    /// The revision whose required members are always present.
    pub(crate) revision: Revision,
    /// `true` if members and variants of other revisions are generated too.
    pub(crate) mixed: bool,
}

impl FromShape<'_, '_> {
    pub(crate) fn value(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::String => json!(self.choices.text()),
            Shape::Integer => json!(self.choices.integer()),
            Shape::Natural => json!(self.choices.integer().saturating_abs()),
            Shape::Fraction => self.number(),
            Shape::Number => {
                let numbers = [json!(0), json!(2.5), json!(-3), json!(1e300), json!(4.0)];
                self.choices.pick(&numbers).clone()
            }
            Shape::Boolean => json!(self.choices.one_in(2)),
            Shape::Id if self.choices.one_in(2) => json!(self.choices.text()),
            Shape::Id => json!(self.choices.integer()),
            Shape::Any => self.any(2),
            Shape::Object => self.free_object(2),
            Shape::Literal(literal) => json!(literal),
            Shape::Choice(choice) => json!(self.choices.pick(choice.known)),
            Shape::Nullable(_) if self.choices.one_in(2) => Value::Null,
            Shape::Nullable(inner) => self.value(inner),
            Shape::Array(element) | Shape::UpTo(_, element) => self.array(element),
            Shape::OneOrMany(element, many) => {
                let may_be_many = self.mixed || many.contains(self.revision);
                if may_be_many && self.choices.one_in(3) {
                    self.array(element)
                } else {
                    self.value(element)
                }
            }
            Shape::Map(value) => {
                let keys = ["", "k", "io.x/y"];
                let count = self.choices.below(keys.len());
                let entries = keys[..count].iter();
                let entries = entries.map(|key| ((*key).to_owned(), self.value(value)));
                Value::Object(entries.collect())
            }
            Shape::In(revisions, shape, otherwise) => {
                let applies = self.mixed || revisions.contains(self.revision);
                self.value(if applies { shape } else { otherwise })
            }
            Shape::Struct(shape) => self.members(shape),
            Shape::Union(shape) => self.variant(shape),
            other => panic!("no generator for {other:?}"),
        }
    }

    fn members(&mut self, shape: &Struct) -> Value {
        let mut object = Map::new();
        let mixed = self.mixed;
        // A type that the revision lacks is generated for its newest revision.
        let revision = if shape.revisions.contains(self.revision) {
            self.revision
        } else {
            let newest = shape.revisions.newest();
            newest.expect("a type is in some revision")
        };
        let own = shape.members_in(revision);
        // The members of other revisions, without a second spelling of the same member.
        let others = Revision::ALL
            .into_iter()
            .filter(|_| mixed)
            .flat_map(|revision| shape.members_in(revision))
            .filter(|member| {
                !["ttl", "ttlMs", "pollInterval", "pollIntervalMs"].contains(&member.name)
            })
            .filter(|member| member.name != "task" && !matches!(member.shape, Shape::Literal(_)));
        for member in own.chain(others) {
            if object.contains_key(member.name) {
                continue;
            }
            // Optional members are present in half of the cases.
            if member.required.contains(revision) || self.choices.one_in(2) {
                let value = self.value(member.shape);
                object.insert(member.name.into(), bounded(member.name, value));
            }
        }
        if shape.is_open && self.choices.one_in(4) {
            object.insert("x-unknown".into(), self.any(1));
        }
        self.add_member_of_status(&mut object);
        // An input round has input requests, a request state, or both.
        if shape.name == "InputRequiredResult" && !object.contains_key("inputRequests") {
            object.entry("requestState").or_insert(json!(""));
        }
        Value::Object(object)
    }

    /// Adds the member that the status of a task requires, without which encoding fails.
    fn add_member_of_status(&mut self, object: &mut Map<String, Value>) {
        let required = match object.get("status").and_then(Value::as_str) {
            Some("input_required") => ("inputRequests", json!({})),
            Some("completed") => ("result", self.free_object(1)),
            Some("failed") => ("error", json!({"code": 1, "message": self.choices.text()})),
            _ => return,
        };
        object.entry(required.0).or_insert(required.1);
    }

    fn variant(&mut self, shape: &Union) -> Value {
        let known: Vec<_> = shape
            .variants
            .iter()
            .filter(|variant| self.mixed || variant.revisions.contains(self.revision))
            .collect();
        let variant = self.choices.pick(&known);
        self.value(variant.shape)
    }

    fn array(&mut self, element: &Shape) -> Value {
        (0..self.choices.below(3))
            .map(|_| self.value(element))
            .collect()
    }

    fn number(&mut self) -> Value {
        self.choices
            .pick(&[json!(0), json!(0.5), json!(1), json!(1.0), json!(0.25)])
            .clone()
    }

    fn any(&mut self, depth: usize) -> Value {
        match self.choices.below(7) {
            0 => json!(self.choices.text()),
            1 => json!(self.choices.integer()),
            2 => json!(true),
            3 => Value::Null,
            4 => json!(1.5e-7),
            5 if depth > 0 => json!([self.any(depth - 1), self.any(depth - 1)]),
            _ if depth > 0 => self.free_object(depth - 1),
            _ => json!({}),
        }
    }

    fn free_object(&mut self, depth: usize) -> Value {
        match self.choices.below(3) {
            0 => json!({}),
            1 => json!({"a": self.any(depth)}),
            _ => json!({"b c": self.any(depth), "\u{e9}\"": self.any(depth)}),
        }
    }
}

/// Replaces values that the schemas restrict further than the types.
fn bounded(member: &str, value: Value) -> Value {
    match (member, &value) {
        ("uri" | "url" | "src" | "websiteUrl", Value::String(_)) => json!("file:///a"),
        ("uriTemplate", Value::String(_)) => json!("file:///{a}"),
        _ => value,
    }
}
