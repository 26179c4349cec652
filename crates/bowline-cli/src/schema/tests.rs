use proptest::prelude::*;
use serde_json::json;

use super::*;

fn kinds(schema: &Value) -> String {
    let kinds = Schema::of(schema).kinds().into_iter();
    let names = kinds.map(|kind| match kind {
        Kind::OneOf(values) => json!(values).to_string(),
        Kind::Null => "null".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer => "integer".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::List(_) => "array".to_owned(),
        Kind::Object(_) => "object".to_owned(),
        Kind::Any => "any".to_owned(),
    });
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn types_are_found_in_every_part_of_a_schema() {
    for (schema, expected) in [
        (json!({"type": "integer"}), "integer"),
        (json!({"type": ["string", "null"]}), "string null"),
        (json!({"enum": ["a", 1]}), "[\"a\",1]"),
        (json!({"const": true, "type": "boolean"}), "[true]"),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            "integer null",
        ),
        (
            json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
            "[\"a\"] [\"b\"]",
        ),
        (
            json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "number"}}}),
            "number",
        ),
        (
            json!({"$ref": "#/definitions/x", "definitions": {"x": {"enum": [1]}}}),
            "[1]",
        ),
        (
            json!({"allOf": [{"description": "x"}, {"type": "boolean"}]}),
            "boolean",
        ),
        (json!({"properties": {}}), "object"),
        (json!({"items": {}}), "array"),
        // The alternatives only say what must be there.
        (
            json!({"type": "object", "anyOf": [{"required": ["a"]}]}),
            "object",
        ),
        (json!({}), "any"),
        (json!(true), "any"),
        (json!(false), ""),
        (json!({"type": "strange"}), "any"),
        (json!({"type": 5}), "any"),
        (json!(5), "any"),
        (json!({"$ref": "https://example.com/x"}), "any"),
        (json!({"$ref": "#/nowhere"}), "any"),
        (json!({"anyOf": []}), "any"),
    ] {
        assert_eq!(kinds(&schema), expected, "{schema}");
    }
}

#[test]
fn members_are_collected_from_all_parts() {
    let schema = json!({
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "allOf": [{"$ref": "#/$defs/more"}],
        "oneOf": [{"properties": {"c": {}}, "required": ["c"]}],
        "$defs": {"more": {"properties": {"b": {}, "a": {"type": "string"}}, "required": ["b", "a"]}}
    });
    let members = Schema::of(&schema).members();
    let names: Vec<_> = members.known.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(members.required, ["a", "b"]);
    assert!(matches!(
        members.known("a").unwrap().kinds()[..],
        [Kind::Integer]
    ));
    assert!(members.known("d").is_none() && members.others.is_none());
}

#[test]
fn an_object_is_open_unless_the_schema_forbids_other_members() {
    for (schema, expected) in [
        (json!({}), Some("any")),
        (json!({"type": "object"}), Some("any")),
        (json!({"properties": {}}), None),
        (json!({"additionalProperties": false}), None),
        (
            json!({"properties": {}, "additionalProperties": true}),
            Some("any"),
        ),
        (
            json!({"properties": {}, "additionalProperties": {"type": "integer"}}),
            Some("integer"),
        ),
        (
            json!({"properties": {}, "patternProperties": {"^x": {}}}),
            Some("any"),
        ),
    ] {
        let others = Schema::of(&schema).members().others;
        let found = others.map(|others| kinds(others.node));
        assert_eq!(found.as_deref(), expected, "{schema}");
    }
}

#[test]
fn circles_and_bombs_end() {
    let circle = json!({"$ref": "#"});
    assert_eq!(kinds(&circle), "any");
    assert!(Schema::of(&circle).members().known.is_empty());
    // Each alternative has two more: 2^n of them without an end.
    let bomb = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert!(Schema::of(&bomb).kinds().len() <= 2 * MAX_STEPS);
    let _ = Schema::of(&bomb).members();
}

/// Schemas of any kind, sensible and not.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object", "odd",
    ]);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!({"enum": ["x", 1, null, [2]]})),
        types.prop_map(|name| json!({"type": name, "default": "d"})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|list| json!({"anyOf": list})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|list| json!({"allOf": list})),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| {
                json!({"type": "object", "properties": {"a": a, "b.c": b},
                       "required": ["a"], "additionalProperties": c})
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_makes_it_panic(schema in any_schema()) {
        let _ = Schema::of(&schema).kinds();
        let _ = Schema::of(&schema).members();
    }
}
