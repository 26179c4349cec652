//! Each definition of each schema file is covered.

use std::collections::BTreeSet;

use bowline_types::{Method, Revision};
use serde_json::Value;

use super::catalog::{Coverage, Side, coverage_of};
use super::files::{FILES, File};

#[test]
fn every_definition_is_a_type_or_has_a_reason() {
    let mut uncovered = Vec::new();
    let mut counted = 0;
    for file in FILES.iter() {
        for definition in file.definitions.keys() {
            counted += 1;
            match coverage_of(file, definition) {
                Some(Coverage::Exempt(reason)) => assert!(!reason.is_empty()),
                Some(_) => {}
                None => uncovered.push(format!("{}: {definition}", file.name)),
            }
        }
    }
    assert!(
        uncovered.is_empty(),
        "definitions without coverage: {uncovered:#?}"
    );
    assert_eq!(
        counted,
        79 + 83 + 91 + 145 + 155 + 76,
        "a schema file has changed: update the catalog"
    );
}

#[test]
fn a_new_definition_would_be_noticed() {
    for file in FILES.iter() {
        assert!(coverage_of(file, "SomethingNew").is_none());
    }
}

/// Compares the method table with the lists of messages of both sides.
#[test]
fn each_side_has_the_messages_that_the_schema_lists() {
    let mut compared = 0;
    for file in FILES.iter() {
        for (definition, schema) in &file.definitions {
            let Some(Coverage::MessageList(side)) = coverage_of(file, definition) else {
                continue;
            };
            if side == Side::Results {
                continue;
            }
            let listed = listed_methods(file, schema);
            assert_eq!(
                listed,
                known_methods(side, file.revision),
                "{}: {definition}",
                file.name
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 4 * 4 + 3);
}

/// Compares the method and the required parameters of each message.
#[test]
fn messages_have_their_method_and_parameters() {
    for file in FILES.iter() {
        for (definition, schema) in &file.definitions {
            let Some(Coverage::Message(method, _)) = coverage_of(file, definition) else {
                continue;
            };
            let place = format!("{}: {definition}", file.name);
            assert_eq!(
                method_of(file, schema).as_deref(),
                Some(method.as_str()),
                "{place}"
            );
            assert!(method.revisions().contains(file.revision), "{place}");
            let required = parts(file, schema)
                .iter()
                .any(|part| names(&part["required"]).contains("params"));
            assert_eq!(
                method.params_required().contains(file.revision),
                required,
                "{place}"
            );
        }
    }
}

fn listed_methods(file: &File, schema: &Value) -> BTreeSet<String> {
    let alternatives = match schema.get("anyOf") {
        Some(Value::Array(alternatives)) => alternatives.as_slice(),
        _ => std::slice::from_ref(schema),
    };
    let methods = alternatives
        .iter()
        .map(|alternative| method_of(file, alternative).unwrap());
    methods.collect()
}

/// Methods of extensions are listed in their own schema files.
fn known_methods(side: Side, revision: Revision) -> BTreeSet<String> {
    let (from_client, is_request) = match side {
        Side::ClientRequests => (true, true),
        Side::ClientNotifications => (true, false),
        Side::ServerRequests => (false, true),
        Side::ServerNotifications => (false, false),
        Side::Results => unreachable!("no list of methods"),
    };
    let known = Method::ALL.iter().filter(|method| {
        let revisions = if from_client {
            method.from_client()
        } else {
            method.from_server()
        };
        method.is_request() == is_request
            && revisions.contains(revision)
            && method.extension(revision).is_none()
    });
    known.map(|method| method.as_str().to_owned()).collect()
}

fn method_of(file: &File, schema: &Value) -> Option<String> {
    let parts = parts(file, schema);
    let constant = parts
        .iter()
        .find_map(|part| part["properties"]["method"]["const"].as_str());
    constant.map(str::to_owned)
}

/// Returns the schema and the parts of its `allOf`.
pub(crate) fn parts<'v>(file: &'v File, schema: &'v Value) -> Vec<&'v Value> {
    let schema = file.resolve(schema);
    let mut all = vec![schema];
    if let Some(Value::Array(parts_of)) = schema.get("allOf") {
        all.extend(parts_of.iter().flat_map(|part| parts(file, part)));
    }
    all
}

pub(crate) fn names(list: &Value) -> BTreeSet<&str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}
