//! The walk against the real thing: `jsonschema` never meets more than the walk says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value, json};

use super::super::graph::Plan;
use super::super::{Changes, Unrunnable};

/// A keyword that counts how often it is met.
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

/// How often subschemas are met when a value is checked as [`super::Schema::check`] does.
fn met(schema: &Value, value: &Value) -> u64 {
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

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn schema(&mut self, depth: u64, level: u64) -> Value {
        let mut members = Map::new();
        members.insert("x-count".to_owned(), json!(true));
        for _ in 0..=self.roll(3) {
            let (key, value) = self.keyword(depth, level);
            members.insert(key.to_owned(), value);
        }
        members.into()
    }

    fn keyword(&mut self, depth: u64, level: u64) -> (&'static str, Value) {
        if depth == 0 {
            return match self.roll(4) {
                0 => ("type", json!("object")),
                1 => ("minProperties", json!(1)),
                // In place only to later ones, so that it ends.
                _ if level < 4 => ("$ref", json!(format!("#/$defs/{}", level + 1))),
                _ => ("type", json!(["object", "integer"])),
            };
        }
        let one = self.schema(depth - 1, level);
        let two = self.schema(depth - 1, level);
        let any = json!({"x-count": true, "$ref": format!("#/$defs/{}", self.roll(5))});
        match self.roll(11) {
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
        match self.roll(if depth == 0 { 1 } else { 4 }) {
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
fn no_check_meets_more_than_the_walk_says() {
    let (mut compared, mut most) = (0, 0);
    for seed in 0..250 {
        let mut dice = Dice(seed);
        let defs: Map<_, _> = (0..5)
            .map(|level| (level.to_string(), dice.schema(2, level)))
            .collect();
        let schema = json!({"x-count": true, "$ref": "#/$defs/0", "$defs": defs});
        let changes = Changes::new(Unrunnable::Refused);
        let Ok((plan, _)) = Plan::of(&schema, changes) else {
            continue;
        };
        let value = dice.value(4);
        let Ok(work) = plan.work(&value) else {
            continue;
        };
        let met = met(&schema, &value);
        // It is judged once, and once more to tell why not.
        assert!(met <= 2 * work, "seed {seed}: {met} met, {work} told");
        compared += 1;
        most = most.max(met);
    }
    assert!(compared > 100, "{compared} compared");
    assert!(most > 1_000, "{most} met at most");
}
