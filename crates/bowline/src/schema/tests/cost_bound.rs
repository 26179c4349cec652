//! The estimated cost is an upper bound: `jsonschema` never visits more than the walk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value, json};

use super::super::graph::SchemaGraph;
use super::super::{Rewrites, UnsupportedPatterns};

/// A keyword that counts its visits.
struct Counting(Arc<AtomicU64>);

impl<'i> Keyword<'i> for Counting {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Returns how many subschemas are visited when a value is checked as by [`super::Schema::check`].
fn visit_count(schema: &Value, value: &Value) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&count);
    let validator = jsonschema::options()
        .offline()
        .with_keyword("x-count", move |_, _, _| {
            Ok(Box::new(Counting(Arc::clone(&counting))))
        })
        .build(schema)
        .expect("a schema");
    if !validator.is_valid(value) {
        assert!(validator.validate(value).is_err());
    }
    count.load(Ordering::Relaxed)
}

/// A random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn schema(&mut self, depth: u64, level: u64) -> Value {
        let mut members = Map::new();
        members.insert("x-count".to_owned(), json!(true));
        for _ in 0..=self.below(3) {
            let (key, value) = self.keyword(depth, level);
            members.insert(key.to_owned(), value);
        }
        members.into()
    }

    fn keyword(&mut self, depth: u64, level: u64) -> (&'static str, Value) {
        if depth == 0 {
            return match self.below(4) {
                0 => ("type", json!("object")),
                1 => ("minProperties", json!(1)),
                // A reference in place goes to a later definition only, so that there is no cycle.
                _ if level < 4 => ("$ref", json!(format!("#/$defs/{}", level + 1))),
                _ => ("type", json!(["object", "integer"])),
            };
        }
        let one = self.schema(depth - 1, level);
        let two = self.schema(depth - 1, level);
        let any = json!({"x-count": true, "$ref": format!("#/$defs/{}", self.below(5))});
        match self.below(11) {
            0 => ("allOf", json!([one, two])),
            1 => ("anyOf", json!([one, two])),
            2 => ("oneOf", json!([one, two])),
            3 => ("not", one),
            4 => ("if", one),
            5 => ("then", one),
            6 => ("properties", json!({"a": any, "b": two})),
            7 => ("additionalProperties", any),
            8 => ("items", any),
            9 => ("unevaluatedProperties", two),
            _ => ("patternProperties", json!({"^[ab]": any})),
        }
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 => json!(1),
            1 => json!([self.value(depth - 1), self.value(depth - 1)]),
            _ => {
                json!({"a": self.value(depth - 1), "b": self.value(depth - 1), "c": self.value(depth - 1)})
            }
        }
    }
}

// proves: F-HD-14
#[test]
fn no_check_visits_more_than_the_estimate() {
    let (mut compared, mut most) = (0, 0);
    for seed in 0..250 {
        let mut random = Random(seed);
        let defs: Map<_, _> = (0..5)
            .map(|level| (level.to_string(), random.schema(2, level)))
            .collect();
        let schema = json!({"x-count": true, "$ref": "#/$defs/0", "$defs": defs});
        let changes = Rewrites::new(UnsupportedPatterns::Reject);
        let Ok((graph, _)) = SchemaGraph::build(&schema, changes) else {
            continue;
        };
        let value = random.value(4);
        let Ok(cost) = graph.check_cost(&value) else {
            continue;
        };
        let visits = visit_count(&schema, &value);
        // The value is validated once, and once more to describe the failure.
        assert!(
            visits <= 2 * cost,
            "seed {seed}: {visits} visits, {cost} estimated"
        );
        compared += 1;
        most = most.max(visits);
    }
    assert!(compared > 100, "{compared} compared");
    assert!(most > 1_000, "at most {most} visits");
}
