//! Valid values, and the messages for invalid ones.

use serde_json::{Value, json};

use super::super::*;
use super::compile;

#[test]
fn messages_have_the_path_and_not_the_value() {
    let secret = "hunter2-hunter2";
    for (schema, value, message) in [
        (json!({"type": "string"}), json!(1), "must be a string"),
        (
            json!({"type": ["integer", "null"]}),
            json!(secret),
            "must be null or an integer",
        ),
        (
            json!({"properties": {"a": {"properties": {"b": {"type": "array"}}}}}),
            json!({"a": {"b": secret}}),
            "a.b: must be an array",
        ),
        (
            json!({"items": {"required": ["b"]}}),
            json!([{"b": 1}, {"a": 1}]),
            "[1].b: is missing",
        ),
        (json!({"minimum": 3}), json!(2), "must be at least 3"),
        (json!({"maximum": 3}), json!(4), "must be at most 3"),
        (
            json!({"exclusiveMinimum": 3}),
            json!(3),
            "must be more than 3",
        ),
        (
            json!({"exclusiveMaximum": 3}),
            json!(3),
            "must be less than 3",
        ),
        (
            json!({"multipleOf": 3}),
            json!(4),
            "must be a multiple of 3",
        ),
        (
            json!({"minLength": 3}),
            json!("ab"),
            "must have at least 3 characters",
        ),
        (
            json!({"maxLength": 3}),
            json!(secret),
            "must have at most 3 characters",
        ),
        (
            json!({"minItems": 1}),
            json!([]),
            "must have at least 1 items",
        ),
        (
            json!({"maxItems": 1}),
            json!([1, 2]),
            "must have at most 1 items",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "must have at least 1 members",
        ),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1, "b": 1}),
            "must have at most 1 members",
        ),
        (
            json!({"uniqueItems": true}),
            json!([secret, secret]),
            "must not have duplicate items",
        ),
        (
            json!({"contains": {"type": "null"}}),
            json!([secret]),
            "has no item that matches `contains`",
        ),
        (
            json!({"pattern": "^a"}),
            json!(secret),
            "must match the pattern ^a",
        ),
        (json!({"const": 3}), json!(secret), "must be 3"),
        (
            json!({"enum": ["a", 2]}),
            json!(secret),
            r#"must be one of "a", 2"#,
        ),
        (
            json!({"additionalProperties": false}),
            json!({"x": secret}),
            r#"unknown member "x""#,
        ),
        (
            json!({"unevaluatedProperties": false}),
            json!({"x": secret}),
            r#"unknown member "x""#,
        ),
        (
            json!({"unevaluatedItems": false}),
            json!([secret]),
            "must not have unevaluated items",
        ),
        (
            json!({"prefixItems": [{}], "items": false}),
            json!([1, secret]),
            "[1]: is not allowed",
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
            json!(secret),
            "matches none of 2 alternatives",
        ),
        (
            json!({"oneOf": [{"type": "null"}, {"type": "array"}]}),
            json!(secret),
            "matches none of 2 alternatives",
        ),
        (
            json!({"oneOf": [{}, {}, false]}),
            json!(secret),
            "matches more than one of 3 alternatives",
        ),
        (
            json!({"not": {}}),
            json!(secret),
            "must not match the `not` schema",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": secret}),
            "member name must have at most 1 characters",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": secret}),
            "b: is missing",
        ),
    ] {
        let compiled = compile(&schema).expect("a schema");
        let failure = compiled
            .check(&value.to_string())
            .expect_err("an invalid value");
        assert_eq!(failure, CheckError::Invalid(message.to_owned()), "{schema}");
    }
}

#[test]
fn messages_have_a_bounded_length() {
    let name = "n".repeat(10_000);
    for (schema, value) in [
        (json!({"required": [name]}), json!({})),
        (json!({"enum": [name]}), json!(1)),
        (json!({"pattern": name}), json!("x")),
        (
            json!({"additionalProperties": false}),
            json!({name.clone(): 1}),
        ),
        (
            json!({"additionalProperties": {"type": "null"}}),
            json!({name: 1}),
        ),
    ] {
        let compiled = compile(&schema).expect("a schema");
        let failure = compiled
            .check(&value.to_string())
            .expect_err("an invalid value");
        assert!(failure.to_string().len() < 1_000, "{failure}");
    }
}

#[test]
fn references_are_followed_within_the_schema() {
    let draft7 = "http://json-schema.org/draft-07/schema#";
    for schema in [
        json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}}),
        json!({"items": {"$ref": "#/$defs/a%20b~1c"}, "$defs": {"a b/c": {"type": "null"}}}),
        json!({"items": {"$ref": "#name"}, "$defs": {"a": {"$anchor": "name", "type": "null"}}}),
        json!({"items": {"$dynamicRef": "#name"}, "$defs": {"a": {"$dynamicAnchor": "name", "type": "null"}}}),
        json!({"$id": "https://example.com/s", "items": {"$ref": "https://example.com/s#/$defs/a"}, "$defs": {"a": {"type": "null"}}}),
        json!({"$id": "https://example.com/a/b", "items": {"$ref": "b#/$defs/q"}, "$defs": {"q": {"type": "null"}}}),
        json!({"$id": "b", "items": {"$ref": "b#/$defs/q"}, "$defs": {"q": {"type": "null"}}}),
        json!({"$schema": draft7, "items": {"$ref": "#/definitions/a"}, "definitions": {"a": {"type": "null"}}}),
        json!({"$schema": draft7, "items": [{"type": "null"}], "additionalItems": {"type": "null"}}),
        json!({"items": {"$ref": "#/x-own/a"}, "x-own": {"a": {"type": "null"}}}),
    ] {
        let compiled = compile(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert_eq!(compiled.check("[null,null]"), Ok(()), "{schema}");
        let wrong = CheckError::Invalid("[1]: must be null".to_owned());
        assert_eq!(compiled.check("[null,1]"), Err(wrong), "{schema}");
    }
    for reference in ["#/$defs/b", "#missing", "#/%zz", "#/$defs/a/x"] {
        let schema = json!({"$ref": reference, "$defs": {"a": true}});
        let error = compile(&schema).expect_err("an unresolved reference");
        assert_eq!(
            error,
            SchemaError::UnresolvedReference(reference.to_owned())
        );
    }
}

#[test]
fn similar_uris_are_external_references() {
    for (id, reference) in [
        ("https://example.com/a/b", "c#/$defs/q"),
        ("https://example.com/a/b", "bb#/$defs/q"),
        ("https://example.com/a/b?x=/c", "c#/$defs/q"),
        ("https://example.com/a/", "#x/../#/$defs/q"),
        ("https://example.com", "example.com#/$defs/q"),
        ("urn:x:b", "b#/$defs/q"),
    ] {
        let schema = json!({"$id": id, "$ref": reference, "$defs": {"q": {}}});
        let error = compile(&schema).expect_err(reference);
        let is_rejected = matches!(
            error,
            SchemaError::ExternalReference(_) | SchemaError::UnresolvedReference(_)
        );
        assert!(is_rejected, "{id} {reference}: {error}");
    }
}

#[test]
fn invalid_schemas_are_rejected() {
    for schema in [
        json!({"type": "text"}),
        json!({"properties": 1}),
        json!({"items": {"minimum": "3"}}),
        json!({"pattern": "("}),
        json!({"$ref": "#/const", "const": 3}),
    ] {
        let error = compile(&schema);
        assert!(
            matches!(error, Err(SchemaError::Invalid(_))),
            "{schema}: {error:?}"
        );
    }
}

#[test]
fn each_draft_has_its_own_rules() {
    let of = |draft: &str, schema: Value| {
        let mut schema = schema;
        schema["$schema"] = json!(draft);
        compile(&schema).expect("a schema")
    };
    // Before 2019-09, keywords beside a reference were ignored.
    let beside = json!({"$ref": "#/definitions/a", "maximum": 3, "definitions": {"a": true}});
    let old = of("http://json-schema.org/draft-07/schema#", beside.clone());
    assert_eq!(old.check("4"), Ok(()));
    let new = of("https://json-schema.org/draft/2020-12/schema", beside);
    assert!(new.check("4").is_err());
    // A format is never asserted.
    for draft in [
        "draft-04/schema#",
        "draft-06/schema",
        "draft-07/schema",
        "draft/2019-09/schema",
    ] {
        let schema = of(
            &format!("http://json-schema.org/{draft}"),
            json!({"format": "date"}),
        );
        assert_eq!(schema.check("\"never\""), Ok(()), "{draft}");
    }
}
