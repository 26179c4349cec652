//! `wire::check` and a JSON Schema validator agree on instances that have been damaged.

use bowline_types::RawJsonRef;
use bowline_types::wire::{Severity, check};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::catalog::{Coverage, Type, coverage_of};
use super::choices::{Choices, bytes};
use super::files::{FILES, File};
use super::schema_instances::FromSchema;

const CASES: u32 = 60;

/// Definitions for which `check` may accept what the schema rejects, with the reason.
const MAY_ACCEPT_MORE: &[(&str, &str)] = &[
    ("MultiSelectEnumSchema", ANY_FIELD),
    ("SingleSelectEnumSchema", ANY_FIELD),
    ("EnumSchema", ANY_FIELD),
];

/// Definitions for which `check` may reject what the schema accepts, with the reason.
const MAY_REFUSE_MORE: &[(&str, &str)] = &[
    ("EnumSchema", INVALID_CHOICE),
    ("PrimitiveSchemaDefinition", INVALID_CHOICE),
    ("MultiSelectEnumSchema", INVALID_CHOICE),
    ("SingleSelectEnumSchema", INVALID_CHOICE),
    ("ElicitRequest", INVALID_CHOICE),
    ("ElicitRequestFormParams", INVALID_CHOICE),
    ("ElicitRequestParams", INVALID_CHOICE),
    ("InputRequest", INVALID_CHOICE),
    ("InputRequests", INVALID_CHOICE),
    ("InputRequiredResult", INVALID_CHOICE),
    ("InputRequiredTask", INVALID_CHOICE),
    ("DetailedTask", INVALID_CHOICE),
    ("GetTaskResult", INVALID_CHOICE),
    ("TaskStatusNotificationParams", INVALID_CHOICE),
];

const ANY_FIELD: &str = "the Rust type includes the other kinds of form fields";
const INVALID_CHOICE: &str =
    "the schema accepts a choice with invalid values as a string with unknown members";

#[test]
fn checking_agrees_with_the_schemas_on_damaged_instances() {
    let (mut valid, mut invalid) = (0, 0);
    let mut faults = Vec::new();
    for file in FILES.iter() {
        for definition in file.definitions.keys() {
            if let Some(Coverage::Type(of)) = coverage_of(file, definition) {
                match agrees(file, definition, of) {
                    Ok(counts) => {
                        valid += counts.0;
                        invalid += counts.1;
                    }
                    Err(fault) => faults.push(fault),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        valid > 1000 && invalid > 1000,
        "{valid} valid, {invalid} invalid"
    );
}

fn agrees(file: &File, definition: &str, of: Type) -> Result<(u32, u32), String> {
    let validator = file.validator(definition);
    let counts = std::cell::Cell::new((0, 0));
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 10_000,
        ..Config::default()
    });
    let outcome = runner.run(&bytes(), |bytes| {
        let mut choices = Choices::new(&bytes);
        let mut from_schema = FromSchema {
            file,
            choices: &mut choices,
            is_open: &|_| false,
            is_part: false,
        };
        let mut instance = from_schema.definition(definition);
        damage(&mut choices, &mut instance);
        let is_valid = validator.is_valid(&instance);
        let text = instance.to_string();
        let findings = check(RawJsonRef::parse(&text).unwrap(), of.shape, file.revision);
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .collect();
        let (valid, invalid) = counts.get();
        counts.set(if is_valid {
            (valid + 1, invalid)
        } else {
            (valid, invalid + 1)
        });
        let exempt = if is_valid {
            MAY_REFUSE_MORE
        } else {
            MAY_ACCEPT_MORE
        };
        let is_exempt = exempt.iter().any(|(name, _)| *name == definition);
        if errors.is_empty() == is_valid || is_exempt {
            return Ok(());
        }
        let fault = format!("valid for the schema: {is_valid}, findings: {errors:?}: {instance}");
        Err(TestCaseError::fail(fault))
    });
    match outcome {
        Ok(()) => Ok(counts.get()),
        Err(error) => Err(format!("{}: {definition}: {error}", file.name)),
    }
}

/// Takes a member out or puts another value in, somewhere.
fn damage(choices: &mut Choices<'_>, value: &mut Value) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let keys: Vec<_> = members.keys().cloned().collect();
            let key = choices.pick(&keys);
            match choices.below(4) {
                0 => damage(choices, &mut members[key]),
                1 => drop(members.remove(key)),
                2 => members[key] = replacement(choices),
                _ => {}
            }
        }
        Value::Array(elements) if !elements.is_empty() => {
            let at = choices.below(elements.len());
            damage(choices, &mut elements[at]);
        }
        other if choices.one_in(2) => *other = replacement(choices),
        _ => {}
    }
}

/// Of another kind mostly, and within every bound where it is of the same.
fn replacement(choices: &mut Choices<'_>) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(0.5),
        json!([]),
        json!({}),
        json!([{}]),
    ];
    choices.pick(&values).clone()
}
