//! Members that a revision lacks are omitted, or an error where the list says so.

use bowline_types::wire::{Member, Shape, Struct};
use bowline_types::{RawJson, Revision};
use serde_json::Value;

use super::catalog::{Coverage, Recoded, Type, coverage_of};
use super::choices::Choices;
use super::files::FILES;
use super::shape_values::FromShape;

/// Members whose omission would change the meaning of the rest. All others are omitted.
const REFUSED: &[(&str, &str)] = &[
    ("CallToolParams", "task"),
    ("CallToolParams", "inputResponses"),
    ("CallToolParams", "requestState"),
    ("GetPromptParams", "inputResponses"),
    ("GetPromptParams", "requestState"),
    ("ReadResourceParams", "inputResponses"),
    ("ReadResourceParams", "requestState"),
    ("CreateMessageParams", "tools"),
    ("CreateMessageParams", "toolChoice"),
    ("CreateMessageParams", "task"),
    ("ElicitFormParams", "task"),
    ("ElicitUrlParams", "task"),
];

#[test]
fn members_are_left_out_or_refused_as_listed() {
    let mut tried = std::collections::BTreeSet::new();
    for file in FILES.iter() {
        for definition in file.definitions.keys() {
            let (Some(Coverage::Type(of)) | Some(Coverage::Message(_, of))) =
                coverage_of(file, definition)
            else {
                continue;
            };
            let Shape::Struct(shape) = of.shape else {
                continue;
            };
            for revision in shape.revisions.iter() {
                for member in members_missing_in(shape, revision) {
                    check(of, shape, member, revision);
                    tried.insert((shape.name, member.name));
                }
            }
        }
    }
    assert!(tried.len() > 80, "only {} members were tried", tried.len());
    for refused in REFUSED {
        assert!(tried.contains(refused), "{refused:?} was never tried");
    }
}

/// Returns the members that only other revisions have, unless this one has another spelling of
/// them.
fn members_missing_in(shape: &Struct, revision: Revision) -> impl Iterator<Item = &'static Member> {
    let renamed = ["ttl", "ttlMs", "pollInterval", "pollIntervalMs"];
    shape
        .members
        .iter()
        .filter(move |member| !member.revisions.is_empty() && !member.revisions.contains(revision))
        .filter(move |member| !renamed.contains(&member.name))
        .filter(|member| {
            !matches!(member.shape, Shape::Literal(_)) && member.name != "task"
                || is_refused_task(member)
        })
}

/// Returns `true` for the `task` of parameters, which requests a task. In a result it is the task.
fn is_refused_task(member: &Member) -> bool {
    matches!(member.shape, Shape::Struct(shape) if shape.name == "TaskMetadata")
}

fn check(of: Type, shape: &Struct, member: &Member, revision: Revision) {
    let place = format!("{}.{} in {revision}", shape.name, member.name);
    let without = minimal(of.shape, revision);
    let home = member.revisions.newest().unwrap();
    let mut with = without.clone();
    with[member.name] = minimal(member.shape, home);
    let expected = written(of, &without, revision)
        .unwrap_or_else(|error| panic!("{place}: {error} without the member: {without}"));
    let is_refused = REFUSED.contains(&(shape.name, member.name));
    match written(of, &with, revision) {
        Ok(json) => {
            assert!(!is_refused, "{place} is left out");
            assert_eq!(json, expected, "{place}");
        }
        Err(error) => {
            assert!(is_refused, "{place} is refused: {error}");
            assert!(error.contains(member.name), "{place}: {error}");
        }
    }
}

fn minimal(shape: &Shape, revision: Revision) -> Value {
    let value = FromShape {
        choices: &mut Choices::new(&[]),
        revision,
        mixed: false,
    };
    let mut value = value;
    value.value(shape)
}

fn written(of: Type, value: &Value, revision: Revision) -> Result<Value, String> {
    match (of.recode)(&value.to_string(), revision) {
        Recoded::Written(json) => Ok(RawJson::to(&json).unwrap()),
        Recoded::NotInRevision(error) => Err(error),
        Recoded::Unreadable(error) => panic!("{error}: {value}"),
    }
}
