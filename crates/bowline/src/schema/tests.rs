//! Every limit, at the limit and one past it, and hostile schemas.

mod cost_bound;
mod lookaround;
mod validation;

use serde_json::{Value, json};

use super::graph::SchemaGraph;
use super::*;

pub(super) fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(&schema.to_string())
}

fn schema_error(schema: &Value) -> SchemaError {
    match compile(schema) {
        Ok(_) => panic!("{schema} is not rejected"),
        Err(error) => error,
    }
}

/// Returns the maximum cost of a check.
fn cost(schema: &Value, value: &Value) -> Result<u64, CheckError> {
    let changes = Rewrites::new(UnsupportedPatterns::Reject);
    SchemaGraph::build(schema, changes)
        .expect("a graph")
        .0
        .check_cost(value)
}

/// Checks that the schema of size `limit` compiles, and that one more fails.
fn edge(limit: usize, of: impl Fn(usize) -> Value, expected: &SchemaError) {
    assert!(compile(&of(limit)).is_ok(), "at the limit");
    assert_eq!(schema_error(&of(limit + 1)), *expected, "one past it");
}

// proves: F-HD-14
#[test]
fn external_references_are_not_fetched() {
    for uri in [
        "https://example.com/schema.json",
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "other.json#/a",
        "urn:example:x",
        "https://json-schema.org/draft/2020-12/schema",
        "//example.com/x",
    ] {
        for schema in [
            json!({"$ref": uri}),
            json!({"$dynamicRef": uri}),
            json!({"properties": {"a": {"items": {"$ref": uri}}}}),
            // No other subschema refers to it.
            json!({"$defs": {"a": {"anyOf": [{"$ref": uri}]}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": uri}}}),
        ] {
            assert_eq!(
                schema_error(&schema),
                SchemaError::ExternalReference(uri.to_owned()),
                "{schema}"
            );
        }
        let message = schema_error(&json!({"$ref": uri})).to_string();
        let expected =
            format!("external reference {uri} (only references inside the schema are supported)");
        assert_eq!(message, expected);
    }
    for dialect in ["https://example.com/dialect", "file:///etc/passwd", ""] {
        let schema = json!({"$schema": dialect});
        assert_eq!(
            schema_error(&schema),
            SchemaError::UnsupportedDialect(dialect.to_owned())
        );
    }
    // Only places for subschemas are read.
    let hidden = json!({"$ref": "#/x/y", "x": {"y": {"z": {"$ref": "http://127.0.0.1:1/x"}}}});
    assert!(compile(&hidden).is_ok());
}

// proves: F-HD-14
#[test]
fn endless_recursion_is_rejected() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$dynamicAnchor": "x", "oneOf": [{"$dynamicRef": "#x"}, {}]}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "if": {"$recursiveRef": "#"}}),
        json!({"properties": {"a": {"dependentSchemas": {"b": {"$ref": "#/properties/a"}}}}}),
    ] {
        assert_eq!(
            schema_error(&schema),
            SchemaError::EndlessRecursion,
            "{schema}"
        );
    }
    // A recursion into the value ends with the value.
    let tree = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]});
    let tree = compile(&tree).expect("a tree");
    assert_eq!(tree.check(r#"{"name":1,"children":[{"name":2}]}"#), Ok(()));
    let wrong = tree.check(r#"{"name":1,"children":[{"name":2},{}]}"#);
    let message = "children[1].name: is missing".to_owned();
    assert_eq!(wrong, Err(CheckError::Invalid(message)));
}

/// Returns a schema in which each level refers to the next one twice.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        defs.insert(level.to_string(), json!({keyword: [next, next]}));
    }
    defs.insert(levels.to_string(), json!({"type": "object"}));
    json!({"$ref": "#/$defs/0", "$defs": defs})
}

// proves: F-HD-14
#[test]
fn a_schema_that_unfolds_too_far_is_rejected() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert!(compile(&doubling(10, keyword)).is_ok(), "{keyword}");
        for levels in [14, 30] {
            let schema = doubling(levels, keyword);
            assert_eq!(
                schema_error(&schema),
                SchemaError::TooComplex,
                "{keyword} {levels}"
            );
        }
    }
    // 1 for the schema itself, and 1 for each alternative.
    let wide = |count: usize| {
        let many = vec![json!({"$ref": "#/$defs/a"}); 99];
        let mut ten = vec![json!({"$ref": "#/$defs/b"}); 49];
        ten.resize(ten.len() + count, json!(true));
        json!({"allOf": ten, "$defs": {"a": true, "b": {"allOf": many}}})
    };
    // b is 1 + 99 * 2, and with the reference to it 200.
    edge(10_000 - 1 - 49 * 200, wide, &SchemaError::TooComplex);
}

// proves: F-HD-14
#[test]
fn recursion_that_multiplies_with_the_value_stops_at_the_limit() {
    let branch = json!({"properties": {"a": {"$ref": "#"}}});
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({keyword: [branch, branch]});
        let nested = |levels| (0..levels).fold(json!({}), |value, _| json!({"a": value}));
        let (five, ten) = (cost(&schema, &nested(5)), cost(&schema, &nested(10)));
        let (five, ten) = (five.expect("little"), ten.expect("not much"));
        assert!(ten > five * 32, "{keyword} doubles: {five}, {ten}");
        let compiled = compile(&schema).expect("the schema alone is within the limits");
        for levels in [30, 60, 120] {
            let error = compiled.check(&nested(levels).to_string());
            assert!(matches!(error, Err(CheckError::Unchecked(_))), "{error:?}");
        }
    }
    // References to the same place don't multiply if each value takes one path.
    let mut defs = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        defs.insert(
            level.to_string(),
            json!({"properties": {"a": next, "b": next}}),
        );
    }
    defs.insert("40".to_owned(), json!({"type": "object"}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": defs});
    let value = (0..40).fold(json!(1), |value, _| json!({"b": value}));
    let wrong = compile(&schema)
        .expect("a small schema")
        .check(&value.to_string());
    let place = vec!["b"; 40].join(".");
    assert_eq!(
        wrong,
        Err(CheckError::Invalid(format!("{place}: must be an object")))
    );
    assert!(cost(&schema, &value).expect("little") < 300);
}

// proves: F-HD-14
#[test]
fn the_size_of_a_schema_is_limited() {
    let filled = |bytes: usize| {
        let frame = r#"{"description":""}"#.len();
        format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes - frame))
    };
    assert!(Schema::compile(&filled(MAX_BYTES)).is_ok());
    for bytes in [MAX_BYTES + 1, 1 << 20] {
        let error = Schema::compile(&filled(bytes)).expect_err("too large");
        assert_eq!(error, SchemaError::TooLarge { bytes });
    }
    let nested = |levels| (1..levels).fold(json!({}), |schema, _| json!({"not": schema}));
    // In a place where no other limit applies.
    let beside = |levels| json!({"default": nested(levels - 1)});
    edge(MAX_DEPTH, beside, &SchemaError::TooDeep);
    assert!(matches!(
        Schema::compile(&"[".repeat(10_000)),
        Err(SchemaError::TooDeep)
    ));
    let many = |count| {
        let items = vec![json!(true); count - 1];
        json!({"$defs": {}, "prefixItems": items})
    };
    edge(MAX_SUBSCHEMAS, many, &SchemaError::TooManySubschemas);
}

#[test]
fn subschemas_in_place_are_limited() {
    let chain = |length: usize| {
        let mut defs = serde_json::Map::new();
        for at in 1..length {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            defs.insert(at.to_string(), next);
        }
        defs.insert(length.to_string(), json!({}));
        json!({"$defs": defs})
    };
    edge(
        usize::try_from(MAX_CHAIN).expect("small"),
        chain,
        &SchemaError::TooComplex,
    );
    let unevaluated = |count: usize| {
        let items = vec![json!({"unevaluatedProperties": false}); count];
        json!({"prefixItems": items})
    };
    edge(
        MAX_UNEVALUATED,
        unevaluated,
        &SchemaError::TooManyUnevaluated,
    );
    // Each is compiled twice for the one around it.
    let within = |levels| {
        let leaf = vec![json!({}); 100];
        (0..levels).fold(json!({"allOf": leaf}), |schema, _| {
            json!({"allOf": [schema], "unevaluatedProperties": false, "unevaluatedItems": false})
        })
    };
    assert!(compile(&within(4)).is_ok());
    assert_eq!(schema_error(&within(8)), SchemaError::TooComplex);
}

#[test]
fn patterns_are_limited_and_never_backtrack() {
    let pattern = |count| json!({"pattern": "a".repeat(count)});
    let limit = usize::try_from(MAX_PATTERN).expect("small");
    edge(
        limit,
        pattern,
        &SchemaError::PatternTooLarge("a".repeat(limit + 1)),
    );
    let names = json!({"patternProperties": {"((x{99}){99}){99}": true}});
    assert!(matches!(
        schema_error(&names),
        SchemaError::PatternTooLarge(_)
    ));
    for only_by_backtracking in [r"(a)\1", r"(?<n>a)\k<n>", r"(?=(a))\1"] {
        let error = schema_error(&json!({"pattern": only_by_backtracking}));
        let expected = SchemaError::UnsupportedPattern(only_by_backtracking.to_owned());
        assert_eq!(error, expected);
    }
    let schema = compile(&json!({"pattern": "^(a+)+$"})).expect("a pattern");
    let evil = format!("\"{}!\"", "a".repeat(50_000));
    let wrong = CheckError::Invalid("must match the pattern ^(a+)+$".to_owned());
    assert_eq!(schema.check(&evil), Err(wrong));
}

// proves: F-HD-14
#[test]
fn all_patterns_of_a_schema_are_limited_together() {
    let many = |of: &dyn Fn(usize) -> String, count| {
        let items: Vec<_> = (0..count).map(|at| json!({"pattern": of(at)})).collect();
        json!({"prefixItems": items})
    };
    let small = |at: usize| char::from_u32(0x100 + u32::try_from(at).expect("small"));
    let small = |at: usize| small(at).expect("a letter").to_string();
    // Two bytes each, and the overhead of each.
    let limit = MAX_PATTERNS / (pattern::PER_PATTERN + 2);
    let limit = usize::try_from(limit).expect("small");
    edge(
        limit,
        |count| many(&small, count),
        &SchemaError::PatternsTooLarge,
    );
    // A pattern that occurs many times is compiled once.
    assert!(compile(&many(&|_| "^[a-z]{400}$".to_owned(), 1_000)).is_ok());
    let names: serde_json::Map<_, _> = (0..=limit).map(|at| (small(at), json!(true))).collect();
    let names = json!({"patternProperties": names});
    assert_eq!(schema_error(&names), SchemaError::PatternsTooLarge);
    let message = schema_error(&names).to_string();
    assert_eq!(message, "patterns too large in total");
    for hostile in [
        many(&|at| format!("[a-z]{{400}}{at}"), 1_000),
        many(&|at| format!(r"\p{{L}}{{31}}{at}"), 20),
        many(&|at| format!(r"\p{{L}}{at}"), 100),
        many(&|at| format!(r"{}{at}", r"\d".repeat(40)), 100),
        json!({"pattern": r"\d".repeat(1_000)}),
        json!({"pattern": r"\cA".repeat(1_000)}),
        json!({"pattern": r"\s".repeat(100)}),
        json!({"pattern": format!("(?i){}", r"\p{L}".repeat(100))}),
        json!({"pattern": "(?x)[ab]*a[ab]{ 20000 }c"}),
        json!({"pattern": r"[\p{L}&&a]{20}"}),
    ] {
        let error = schema_error(&hostile);
        let is_size = matches!(
            error,
            SchemaError::PatternsTooLarge | SchemaError::PatternTooLarge(_)
        );
        assert!(is_size, "{error}");
    }
}

// proves: F-HD-14
#[test]
fn a_pattern_costs_its_states_for_each_byte_of_a_text() {
    for (pattern, bytes) in [
        ("^(.*[a-z]){700}$", 2_000),
        ("(a|b)*a[a-z]{1333}c", 3_600),
        ("[ab]*a[ab]{300}c", 20_000),
    ] {
        let compiled = compile(&json!({"pattern": pattern}));
        let is_rejected = match compiled {
            // Too large by itself.
            Err(error) => matches!(error, SchemaError::PatternTooLarge(_)),
            Ok(schema) => {
                let text = format!("\"{}\"", "ab".repeat(bytes / 2));
                matches!(schema.check(&text), Err(CheckError::Unchecked(_)))
            }
        };
        assert!(is_rejected, "{pattern}");
    }
    let date = json!({"items": {"pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}});
    let dates = vec!["2025-11-25T12:00:00Z"; 2_000];
    let date = compile(&date).expect("a schema");
    assert_eq!(date.check(&json!(dates).to_string()), Ok(()));
}

#[test]
fn the_size_of_a_value_is_limited() {
    let schema = compile(&json!({"type": "string"})).expect("a schema");
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert_eq!(schema.check(&text(MAX_INSTANCE)), Ok(()));
    let error = schema.check(&text(MAX_INSTANCE + 1));
    assert!(matches!(error, Err(CheckError::Unchecked(_))));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(matches!(schema.check(&deep), Err(CheckError::Unchecked(_))));

    let any = compile(&json!({})).expect("a schema");
    let list = |count| format!("[{}]", vec![r#"",[{\\\",""#; count].join(","));
    assert_eq!(any.check(&list(MAX_VALUES - 1)), Ok(()));
    let error = any.check(&list(MAX_VALUES));
    assert!(matches!(error, Err(CheckError::Unchecked(_))));

    // 1 for the array and 100 for each item.
    let items = json!({"items": {"allOf": vec![true; 99]}});
    let list = |count| Value::Array(vec![json!(1); count]);
    let most = usize::try_from(MAX_COST / 100).expect("small") - 1;
    assert_eq!(cost(&items, &list(most)), Ok(MAX_COST - 99));
    assert!(cost(&items, &list(most + 1)).is_err());
    let compiled = compile(&items).expect("a schema");
    assert_eq!(compiled.check(&list(most).to_string()), Ok(()));
    let error = compiled.check(&list(most + 1).to_string());
    assert!(matches!(error, Err(CheckError::Unchecked(_))));
}

#[test]
fn the_depth_of_a_walk_is_limited() {
    // Two for each level, and one at the end.
    let schema = json!({"items": {"allOf": [{"$ref": "#"}]}});
    let nested = |levels: u32| (0..levels).fold(json!(1), |value, _| json!([value]));
    let deepest = (MAX_WALK_DEPTH - 1) / 3;
    let compiled = compile(&schema).expect("a schema");
    assert_eq!(compiled.check(&nested(deepest).to_string()), Ok(()));
    let error = compiled.check(&nested(deepest + 1).to_string());
    assert!(matches!(error, Err(CheckError::Unchecked(_))));
}

#[test]
fn long_texts_and_long_lists_of_choices_cost_more() {
    let text = |bytes| json!("x".repeat(bytes));
    let cost = |schema: Value, value: Value| cost(&schema, &value).expect("within the limit");
    assert_eq!(cost(json!({}), text(3200)), 101);
    assert!(cost(json!({"pattern": "x"}), text(3200)) > 3200);
    assert!(cost(json!({"pattern": "x{999}"}), text(1000)) > 200_000);
    let choices: Vec<_> = (0..4_000).collect();
    assert!(cost(json!({"enum": choices}), json!(1)) > 1_000);
    let list = json!([[1, 2], [3, 4], [5, 6]]);
    assert!(cost(json!({"uniqueItems": true}), list) >= 80);
    let name = json!({"x".repeat(3200): 1});
    assert!(cost(json!({"propertyNames": {"pattern": "y"}}), name.clone()) > 3200);
    assert!(cost(json!({"patternProperties": {"y": true}}), name) > 3200);
}

#[test]
fn an_embedded_schema_is_rejected() {
    let inner = json!({"properties": {"a": {"$id": "https://example.com/a", "$ref": "#/b"}}});
    assert_eq!(
        schema_error(&inner),
        SchemaError::EmbeddedSchema("https://example.com/a".to_owned())
    );
    let other = json!({"items": {"$schema": "http://json-schema.org/draft-04/schema#"}});
    assert!(matches!(
        schema_error(&other),
        SchemaError::UnsupportedDialect(_)
    ));
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "not": {"id": "x:y"}});
    assert_eq!(
        schema_error(&old),
        SchemaError::EmbeddedSchema("x:y".to_owned())
    );
    assert!(compile(&json!({"not": {"id": "x:y"}})).is_ok());
    // A name that occurs twice is ambiguous.
    let twice = json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}, "y": {"$anchor": "a"}}});
    assert_eq!(
        schema_error(&twice),
        SchemaError::UnresolvedReference("#a".to_owned())
    );
    // Also if one of the two is no subschema but looks like one with an endless recursion.
    for nowhere in ["examples", "const", "enum", "default", "x-own"] {
        let hidden = json!([{"$anchor": "a", "anyOf": [{"$ref": "#a"}, {"$ref": "#a"}]}]);
        let twice = json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}}, nowhere: hidden});
        assert_eq!(
            schema_error(&twice),
            SchemaError::UnresolvedReference("#a".to_owned()),
            "{nowhere}"
        );
        let once = json!({"$ref": "#a", nowhere: hidden});
        assert_eq!(
            schema_error(&once),
            SchemaError::EndlessRecursion,
            "{nowhere}"
        );
    }
    // A member of that name is not an identifier.
    let member = json!({"properties": {"$id": {"type": "string"}, "$schema": {"type": "string"}}});
    assert!(compile(&member).is_ok());
}
