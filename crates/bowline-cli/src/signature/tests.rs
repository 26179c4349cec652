use bowline::transport::{Stream, memory};
use bowline::types::common::Implementation;
use bowline::{Client, ClientConfig};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::tests::any_schema;

fn check(input: &Value, expected: &str) {
    assert_eq!(signature("f", input, None), expected, "{input}");
}

#[test]
fn arguments_and_answer() {
    let input = json!({"type": "object", "properties": {"a": {"type": "integer"},
        "b": {"type": "integer"}}, "required": ["a", "b"]});
    let output = json!({"type": "object", "properties": {"sum": {"type": "integer"}},
        "required": ["sum"]});
    assert_eq!(
        signature("add", &input, Some(&output)),
        "add(a: integer, b: integer) -> {sum: integer}"
    );
    check(&json!({"type": "object"}), "f()");
    assert_eq!(signature("f", &json!({}), Some(&json!(true))), "f() -> any");
}

#[test]
fn types_are_readable() {
    for (schema, expected) in [
        (json!({"type": "string"}), "string"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "string[]",
        ),
        (json!({"type": "array"}), "any[]"),
        (json!({"type": ["integer", "null"]}), "integer | null"),
        (
            json!({"type": "array", "items": {"type": ["integer", "null"]}}),
            "(integer | null)[]",
        ),
        (
            json!({"enum": ["a", "b", 3, null]}),
            "\"a\" | \"b\" | 3 | null",
        ),
        (json!({"const": "x"}), "\"x\""),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]}),
            "string | null",
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "number"}}}),
            "{x?: number}",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            "{[key]: number}",
        ),
        (json!({"type": "object"}), "object"),
        (json!({}), "any"),
        (json!(false), "never"),
    ] {
        assert_eq!(type_of(Schema::of(&schema)), expected, "{schema}");
    }
}

#[test]
fn optional_arguments_are_marked_and_defaults_are_shown() {
    check(
        &json!({"properties": {
            "n": {"type": "integer", "default": 10},
            "s": {"type": "string", "default": "a"},
            "l": {"type": "array", "items": {"type": "string"}, "default": []},
            "o": {"type": "object", "default": {"a": 1}},
            "r": {"$ref": "#/$defs/r"}
        }, "$defs": {"r": {"enum": ["x"], "default": "x"}}}),
        "f(n?: integer = 10, s?: string = \"a\", l?: string[] = [], o?: object = {…}, r?: \"x\" = \"x\")",
    );
}

#[test]
fn deep_types_are_shortened() {
    check(
        &json!({"properties": {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {}}}}}}}}}),
        "f(a?: {b?: {c?: {…}}})",
    );
    check(
        &json!({"properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}),
        "f(tree?: {children?: {…}[]})",
    );
    let nested = json!({"items": {"items": {"items": {"items": {}}}}});
    assert_eq!(type_of(Schema::of(&nested)), "…[][][]");
}

#[test]
fn long_signatures_are_cut_at_the_limit() {
    let numbers = |count: usize| json!({"enum": (0..count).collect::<Vec<_>>()});
    let kind = |count| type_of(Schema::of(&numbers(count)));
    assert!(kind(MAX_VALUES).ends_with("7"));
    assert!(kind(MAX_VALUES + 1).ends_with("7 | …"));
    let names = |count: usize| {
        let members = (0..count).map(|i| (format!("a{i}"), json!({"type": "null"})));
        json!({"properties": members.collect::<serde_json::Map<_, _>>()})
    };
    assert!(signature("f", &names(MAX_ARGUMENTS), None).ends_with(": null)"));
    assert!(signature("f", &names(MAX_ARGUMENTS + 1), None).ends_with(": null, …)"));
    let long = "x".repeat(LONGEST_NAME);
    assert_eq!(signature(&long, &json!({}), None), format!("{long}()"));
    assert_eq!(
        signature(&format!("{long}x"), &json!({}), None),
        format!("{long}…()")
    );
}

// proves: F-CL-01
#[test]
fn nothing_of_a_server_reaches_the_terminal_unseen() {
    let hostile = "\u{1b}[2J\u{202e}\n";
    let input = json!({"properties": {hostile: {"enum": [hostile], "default": hostile}}});
    assert_eq!(
        signature(hostile, &input, None),
        "\\u{1b}[2J\\u{202e}\\n(\"\\u001b[2J\\u{202e}\\n\"?: \"\\u001b[2J\\u{202e}\\n\" = \"\\u001b[2J\\u{202e}\\n\")"
    );
    check(
        &json!({"properties": {"a b": {}, "": {}, "c-d": {}}}),
        "f(\"a b\"?: any, \"\"?: any, c-d?: any)",
    );
}

proptest! {
    #[test]
    fn every_schema_has_a_signature_of_bearable_length(input in any_schema(), output in any_schema()) {
        let text = signature("f", &input, Some(&output));
        prop_assert!(text.starts_with("f("));
        prop_assert!(text.len() < 20_000);
    }
}

#[test]
fn a_wide_and_deep_schema_is_no_bomb() {
    // Each level has as many members as are shown, and each of them is the whole again.
    let members = (0..100).map(|i| (format!("m{i}"), json!({"$ref": "#"})));
    let bomb = json!({"type": "object", "properties": members.collect::<serde_json::Map<_, _>>()});
    let text = signature("f", &bomb, Some(&bomb));
    assert!(text.len() < 8_000, "{}", text.len());
}

/// The tools of the demo, as a client sees them.
async fn tools_of_the_demo() -> Vec<Value> {
    let (transport, mut acceptor) = memory::pair();
    let server = crate::demo::server().build().unwrap();
    tokio::spawn(async move {
        while let Some(stream) = acceptor.accept().await {
            let (reader, writer) = tokio::io::split(stream);
            tokio::spawn(server.serve_stream(Stream::new(reader, writer)));
        }
    });
    let config = ClientConfig::new(Implementation::new("test", "1"));
    let client = Client::connect(transport, config).await.unwrap();
    let answer = client.call("tools/list", "{}").await.unwrap();
    let mut answer: Value = serde_json::from_str(answer.as_str()).unwrap();
    serde_json::from_value(answer["tools"].take()).unwrap()
}

#[tokio::test]
async fn the_tools_of_the_demo_are_readable() {
    let tools = tools_of_the_demo().await;
    let signatures = tools.iter().map(|tool| {
        let name = tool["name"].as_str().unwrap();
        signature(name, &tool["inputSchema"], tool.get("outputSchema"))
    });
    let signatures: Vec<_> = signatures.collect();
    for expected in [
        "image()",
        "countdown(from?: integer = 5, pause_ms?: integer = 100)",
        "log(level: \"debug\" | \"info\" | \"notice\" | \"warning\" | \"error\" | \"critical\" | \"alert\" | \"emergency\", text: string)",
        "counter() -> {counter: integer, cancelled: integer, surveys: integer, notes: integer}",
        "note_add(name: string, text: string)",
    ] {
        assert!(
            signatures.iter().any(|line| line == expected),
            "{signatures:#?}"
        );
    }
}
