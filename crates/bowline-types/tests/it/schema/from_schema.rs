//! Instances of each definition are decoded, and encoded unchanged.

use bowline_types::envelope::Envelope;
use bowline_types::wire::Shape;
use bowline_types::{ErrorObject, Wire};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::catalog::{Coverage, Recoded, Type, coverage_of};
use super::choices::{Choices, bytes};
use super::files::{FILES, File, first_error};
use super::schema_instances::FromSchema;

/// The number of cases per definition. The smallest file has 79 definitions.
const CASES: u32 = 40;

// proves: PV-5
#[test]
fn instances_are_read_and_written_unchanged() {
    for file in FILES.iter() {
        let mut tried = 0;
        for definition in file.definitions.keys() {
            let Some(coverage) = coverage_of(file, definition) else {
                continue;
            };
            if !matches!(coverage, Coverage::MessageList(_) | Coverage::Exempt(_)) {
                tried += round_trips(file, definition, coverage);
            }
        }
        assert!(tried >= 1000, "{}: only {tried} cases", file.name);
    }
}

fn round_trips(file: &File, definition: &str, coverage: Coverage) -> u32 {
    let validator = file.validator(definition);
    let open = |name: &str| is_open(file, name);
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 10_000,
        ..Config::default()
    });
    let outcome = runner.run(&bytes(), |bytes| {
        let mut from_schema = FromSchema {
            file,
            choices: &mut Choices::new(&bytes),
            is_open: &open,
            is_part: false,
        };
        let instance = from_schema.definition(definition);
        // The generator itself must be correct.
        if let Some(error) = first_error(&validator, &instance) {
            return Err(TestCaseError::fail(format!(
                "the instance is wrong: {error}: {instance}"
            )));
        }
        check(file, coverage, &instance)
            .map_err(|fault| TestCaseError::fail(format!("{fault}: {instance}")))
    });
    if let Err(error) = outcome {
        panic!("{}: {definition}: {error}", file.name);
    }
    CASES
}

fn check(file: &File, coverage: Coverage, instance: &Value) -> Result<(), String> {
    match coverage {
        Coverage::Type(of) => check_unchanged(file, of, instance),
        Coverage::Message(method, params) => {
            if instance["method"] != method.as_str() {
                return Err(format!("its method is not {method}"));
            }
            match instance.get("params") {
                Some(instance) if file.name == "ext-tasks" && method.is_request() => {
                    check_unchanged(file, params, &with_meta(instance))
                }
                Some(instance) => check_unchanged(file, params, instance),
                None => Ok(()),
            }
        }
        Coverage::Response(of) => {
            let text = instance.to_string();
            let envelope = Envelope::parse(text.as_bytes()).map_err(|error| error.to_string())?;
            let Envelope::Success(success) = envelope else {
                return Err("not a result".into());
            };
            check_unchanged(file, of, &success.result.to().unwrap())
        }
        Coverage::ErrorResponse(kind, data) => {
            check_error_response(file, kind.code(file.revision), data, instance)
        }
        Coverage::ErrorObject(kind) => {
            let error =
                ErrorObject::from_json(&instance.to_string()).map_err(|error| error.to_string())?;
            if error.error_code(file.revision) == Some(kind) {
                Ok(())
            } else {
                Err(format!("its code doesn't mean {kind}"))
            }
        }
        Coverage::Envelope => check_envelope(instance),
        Coverage::MessageList(_) | Coverage::Exempt(_) => Ok(()),
    }
}

/// Adds the metadata that 2026-07-28 requires of each request. The schema of the extension doesn't
/// repeat it.
fn with_meta(params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

fn check_unchanged(file: &File, of: Type, instance: &Value) -> Result<(), String> {
    match (of.recode)(&instance.to_string(), file.revision) {
        Recoded::Unreadable(error) => Err(format!("unreadable: {error}")),
        Recoded::NotInRevision(error) => Err(format!("not in the revision: {error}")),
        Recoded::Written(json) => match json.to::<Value>() {
            Ok(value) if value == *instance => Ok(()),
            _ => Err(format!("changed to {json}")),
        },
    }
}

fn check_error_response(
    file: &File,
    code: Option<i64>,
    data: Option<Type>,
    instance: &Value,
) -> Result<(), String> {
    let text = instance.to_string();
    let Ok(Envelope::Failure(failure)) = Envelope::parse(text.as_bytes()) else {
        return Err("not an error".into());
    };
    let error =
        ErrorObject::from_json(failure.error.as_str()).map_err(|error| error.to_string())?;
    if Some(error.code) != code {
        return Err(format!("its code is not {code:?}"));
    }
    match (data, error.data) {
        (Some(of), Some(data)) => check_unchanged(file, of, &data.to().unwrap()),
        _ => Ok(()),
    }
}

/// Checks that the envelope pass agrees with the instance.
fn check_envelope(instance: &Value) -> Result<(), String> {
    let text = instance.to_string();
    let parsed = Envelope::parse(text.as_bytes());
    let agrees = match (instance, parsed) {
        (Value::Array(parts), Ok(Envelope::Batch(batch))) => {
            batch.len() == parts.len() && batch.messages().all(|part| part.is_ok())
        }
        (Value::Array(parts), Err(_)) => parts.is_empty(),
        (_, Ok(Envelope::Request(request))) => {
            instance["method"] == *request.method && instance["id"] == to_value(&request.id)
        }
        (_, Ok(Envelope::Notification(notification))) => {
            instance["method"] == *notification.method && instance.get("id").is_none()
        }
        (_, Ok(Envelope::Success(success))) => {
            instance["result"] == success.result.to::<Value>().unwrap()
        }
        (_, Ok(Envelope::Failure(failure))) => {
            instance["error"] == failure.error.to::<Value>().unwrap()
        }
        (_, Ok(Envelope::Batch(_)) | Err(_)) => false,
    };
    if agrees {
        Ok(())
    } else {
        Err("the envelope pass finds something else".into())
    }
}

fn to_value(id: &impl Wire) -> Value {
    id.to_lossless_json().unwrap().to().unwrap()
}

/// Returns `true` if the type of a definition keeps unknown members.
fn is_open(file: &File, definition: &str) -> bool {
    match coverage_of(file, definition) {
        Some(Coverage::Type(of)) => matches!(of.shape, Shape::Struct(shape) if shape.is_open),
        _ => false,
    }
}
