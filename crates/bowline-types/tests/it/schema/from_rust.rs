//! Values that are generated from shapes and encoded by the types are valid.

use bowline_types::envelope::Envelope;
use bowline_types::{Method, RawJsonRef, RequestId, envelope};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::catalog::{Coverage, Recoded, Type, coverage_of};
use super::choices::{Choices, bytes};
use super::files::{FILES, File, first_error};
use super::shape_values::FromShape;

/// The number of cases per definition. The smallest file has 79 definitions.
const CASES: u32 = 60;

/// Definitions that generated values don't satisfy, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    // One Rust type for several definitions: a value satisfies the one of its status or kind.
    ("CancelledTask", "a DetailedTask of another status"),
    ("CompletedTask", "a DetailedTask of another status"),
    ("FailedTask", "a DetailedTask of another status"),
    ("InputRequiredTask", "a DetailedTask of another status"),
    ("WorkingTask", "a DetailedTask of another status"),
    ("EnumSchema", "a PrimitiveSchema that is not a choice"),
    ("MultiSelectEnumSchema", "a PrimitiveSchema of another kind"),
    (
        "SingleSelectEnumSchema",
        "a PrimitiveSchema of another kind",
    ),
];

// proves: PV-6
#[test]
fn written_values_validate_in_every_revision() {
    for file in FILES.iter() {
        let (mut written, mut tried) = (0, 0);
        for definition in file.definitions.keys() {
            let is_exempt = EXEMPT.iter().any(|(name, _)| name == definition);
            let Some(coverage) = coverage_of(file, definition).filter(|_| !is_exempt) else {
                continue;
            };
            let counts = match coverage {
                Coverage::Type(of) => count_valid(file, definition, of, &|_, json| json),
                Coverage::Response(of) => count_valid(file, definition, of, &response),
                Coverage::Message(method, of) => {
                    count_valid(file, definition, of, &|id, json| message(method, id, json))
                }
                _ => continue,
            };
            written += counts.written;
            tried += counts.tried;
            assert!(
                counts.written > CASES / 4,
                "{}: {definition} is hardly ever written",
                file.name
            );
        }
        assert!(
            written >= 1000,
            "{}: only {written} of {tried} cases were written",
            file.name
        );
    }
}

#[derive(Default)]
struct Counts {
    written: u32,
    tried: u32,
}

fn count_valid(
    file: &File,
    definition: &str,
    of: Type,
    wrap: &dyn Fn(i64, Value) -> Value,
) -> Counts {
    let validator = file.validator(definition);
    let counts = std::cell::RefCell::new(Counts::default());
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 10_000,
        ..Config::default()
    });
    let outcome = runner.run(&bytes(), |bytes| {
        let mut choices = Choices::new(&bytes);
        let mixed = choices.one_in(3);
        let id = choices.integer();
        let value = FromShape {
            choices: &mut choices,
            revision: file.revision,
            mixed,
        }
        .value(of.shape);
        counts.borrow_mut().tried += 1;
        let written = match (of.recode)(&value.to_string(), file.revision) {
            Recoded::Unreadable(error) => {
                return Err(TestCaseError::fail(format!("{error}: {value}")));
            }
            // A value with members of other revisions may fail to encode.
            Recoded::NotInRevision(_) if mixed => return Ok(()),
            Recoded::NotInRevision(error) => {
                return Err(TestCaseError::fail(format!("{error}: {value}")));
            }
            Recoded::Written(json) => json.to::<Value>().unwrap(),
        };
        counts.borrow_mut().written += 1;
        let message = wrap(id, written);
        match first_error(&validator, &message) {
            None => Ok(()),
            Some(error) => Err(TestCaseError::fail(format!(
                "{error}: {message} from {value}"
            ))),
        }
    });
    if let Err(error) = outcome {
        panic!("{}: {definition}: {error}", file.name);
    }
    counts.into_inner()
}

/// Returns the request or notification with `params`, as the envelope writes it.
fn message(method: Method, id: i64, params: Value) -> Value {
    let params = params.to_string();
    let params = Some(RawJsonRef::parse(&params).unwrap());
    let mut frame = Vec::new();
    if method.is_request() {
        envelope::write_raw_request(&mut frame, &RequestId::from(id), method.as_str(), params);
    } else {
        envelope::write_raw_notification(&mut frame, method.as_str(), params);
    }
    let read = Envelope::parse(&frame).unwrap();
    match read {
        Envelope::Request(request) => assert_eq!(request.method, method.as_str()),
        Envelope::Notification(notification) => assert_eq!(notification.method, method.as_str()),
        other => panic!("{other:?}"),
    }
    serde_json::from_slice(&frame).unwrap()
}

fn response(id: i64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}
