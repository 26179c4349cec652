//! Arguments and results against schemas: feature `validate`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline::server::{Json, Server, ToolDef, tool};
use bowline::types::tools::CallToolResult;
use bowline::types::{InputSchema, JsonObject, OutputSchema, Revision, Revisions};
use bowline::{Client, ErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::support::{call, connected, tool as called};

fn input(schema: Value) -> InputSchema {
    InputSchema::try_from(schema).expect("a schema of an object")
}

fn output(schema: &Value) -> OutputSchema {
    let schema = JsonObject::parse(&schema.to_string()).expect("an object");
    OutputSchema::from(schema)
}

/// A tool that counts how often it runs.
fn counting(name: &str, runs: &Arc<AtomicUsize>) -> ToolDef {
    let runs = Arc::clone(runs);
    tool(name, move |_: Value| {
        // In the function itself, not in its future.
        runs.fetch_add(1, Ordering::Relaxed);
        async { "ran" }
    })
}

// proves: SV-5, SE-104
#[tokio::test]
async fn untyped_arguments_are_checked_before_the_handler_runs() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": true},
        },
        "required": ["count"],
        "additionalProperties": false,
    });
    for revision in Revisions::ALL.iter() {
        for is_blocking in [false, true] {
            let runs = Arc::new(AtomicUsize::new(0));
            let tool = counting("it", &runs).input_schema(input(schema.clone()));
            let tool = if is_blocking { tool.blocking() } else { tool };
            let client = connected(Server::new("untyped", "1").add_tool(tool), revision).await;
            for (arguments, words) in [
                (r#"{}"#, "count: is missing"),
                (r#"{"count":0}"#, "count: must be at least 1"),
                (r#"{"count":1.5}"#, "count: must be an integer"),
                (
                    r#"{"count":1,"tags":["a","c"]}"#,
                    r#"tags[1]: must be one of "a", "b""#,
                ),
                (
                    r#"{"count":1,"tags":["a","a"]}"#,
                    "tags: must not have duplicate items",
                ),
                (
                    r#"{"count":1,"secret":"hunter2"}"#,
                    r#"unknown member "secret""#,
                ),
            ] {
                let received = refusal(&client, "it", arguments, revision).await;
                assert_eq!(received, format!("invalid arguments: {words}"));
            }
            assert_eq!(runs.load(Ordering::Relaxed), 0);
            assert_eq!(called(&client, "it", r#"{"count":1}"#).await, "ran");
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        }
    }
}

/// The words with which arguments are refused, as the revision has it.
async fn refusal(client: &Client, name: &str, arguments: &str, revision: Revision) -> String {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    if revision >= Revision::V2025_11_25 {
        let result = call(client, "tools/call", &params).await;
        assert_eq!(result["isError"], true, "{result}");
        let words = result["content"][0]["text"].as_str();
        return words.expect("words").to_owned();
    }
    let error = client.call("tools/call", params).await;
    let error = error.expect_err("an error of the protocol");
    let refusal = error.server_error().expect("of the server");
    assert_eq!(refusal.code, -32602);
    refusal.message.clone()
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is only decoded")]
struct Limited {
    #[schemars(range(min = 1, max = 10))]
    count: u8,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    name: Option<String>,
    kind: Option<Kind>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Small,
    Large,
}

// proves: SV-5
#[tokio::test]
async fn constraints_beyond_decoding_are_checked_after_it() {
    let server = Server::new("typed", "1").tool("it", "", |limited: Limited| async move {
        matches!(limited.kind, Some(Kind::Small | Kind::Large))
    });
    let revision = Revision::LATEST;
    let client = connected(server, revision).await;
    assert_eq!(called(&client, "it", r#"{"count":10}"#).await, "false");
    for (arguments, words) in [
        (r#"{"count":11}"#, "count: must be at most 10"),
        (r#"{"count":0}"#, "count: must be at least 1"),
        (
            r#"{"count":1,"name":"A"}"#,
            "name: must match the pattern ^[a-z]+$",
        ),
        // The words of decoding.
        (
            r#"{"count":256}"#,
            "count: invalid value: integer `256`, expected u8",
        ),
        (r#"{}"#, "missing field `count`"),
        (
            r#"{"count":0,"kind":"huge"}"#,
            "kind: unknown variant `huge`, expected `small` or `large`",
        ),
    ] {
        let received = refusal(&client, "it", arguments, revision).await;
        assert_eq!(received, format!("invalid arguments: {words}"));
    }
}

#[derive(Deserialize, JsonSchema)]
struct Line {
    from: Point,
    to: Option<Point>,
}

#[derive(Deserialize, JsonSchema)]
struct Point {
    x: i64,
    y: i64,
}

// proves: SV-5
#[tokio::test]
async fn a_struct_within_arguments_is_not_an_array() {
    let server = Server::new("nested", "1").tool("it", "", |line: Line| async move {
        line.from.x + line.from.y + line.to.map_or(0, |end| end.x + end.y)
    });
    let revision = Revision::LATEST;
    let client = connected(server, revision).await;
    let fits = r#"{"from":{"x":1,"y":2},"to":{"x":3,"y":4}}"#;
    assert_eq!(called(&client, "it", fits).await, "10");
    for (arguments, words) in [
        (r#"{"from":[1,2]}"#, "from: must be an object"),
        (
            r#"{"from":{"x":1,"y":2},"to":[3,4]}"#,
            "to: matches none of 2 alternatives",
        ),
    ] {
        let received = refusal(&client, "it", arguments, revision).await;
        assert_eq!(received, format!("invalid arguments: {words}"));
    }
}

// proves: SV-5
#[tokio::test]
async fn a_tool_without_arguments_refuses_arguments() {
    let server = Server::new("none", "1").tool("it", "", || async { "ran" });
    let client = connected(server, Revision::LATEST).await;
    assert_eq!(called(&client, "it", "{ }").await, "ran");
    let received = refusal(&client, "it", r#"{"x":{"y":1}}"#, Revision::LATEST).await;
    assert_eq!(received, r#"invalid arguments: unknown member "x""#);
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

fn returning(name: &str, result: CallToolResult) -> ToolDef {
    let schema =
        json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    tool(name, move || {
        let result = result.clone();
        async move { result }
    })
    .output_schema(output(&schema))
}

#[tokio::test]
async fn a_result_that_does_not_match_its_schema_is_not_sent() {
    let structured = |json: Value| {
        let json = bowline::types::RawJson::parse(&json.to_string()).expect("JSON");
        CallToolResult::structured(json)
    };
    let stricter = json!({"type": "object", "properties": {"sum": {"maximum": 3}}});
    let server = || {
        Server::new("results", "1")
            .add_tool(returning("fits", structured(json!({"sum": 1}))))
            .add_tool(returning("wrong", structured(json!({"sum": "secret"}))).blocking())
            .add_tool(returning("missing", CallToolResult::text("secret")))
            .add_tool(returning("failed", CallToolResult::error("it failed")))
            .add_tool(tool("derived", || async { Json(Sum { sum: 4 }) }))
            .add_tool(
                tool("stricter", || async { Json(Sum { sum: 4 }) })
                    .output_schema(output(&stricter)),
            )
    };
    for revision in Revisions::ALL.iter() {
        let client = connected(server(), revision).await;
        assert_eq!(called(&client, "fits", "{}").await, r#"{"sum":1}"#);
        assert_eq!(called(&client, "failed", "{}").await, "it failed");
        assert_eq!(called(&client, "derived", "{}").await, r#"{"sum":4}"#);
        for name in ["wrong", "missing", "stricter"] {
            let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
            let result = client.call("tools/call", params).await;
            if revision < Revision::V2025_06_18 {
                // It has no structured content.
                result.expect(name);
                continue;
            }
            let error = result.expect_err(name);
            let refusal = error.server_error().expect("of the server");
            assert_eq!(refusal.code, -32603);
            assert_eq!(
                refusal.message,
                "the result doesn't match the tool's outputSchema"
            );
        }
    }
}

// proves: F-HD-14, SE-100
#[tokio::test]
async fn a_schema_that_cannot_be_checked_is_refused_with_its_tool() {
    let remote = json!({"type": "object", "$ref": "https://example.com/s"});
    let refused = "external reference https://example.com/s (only references inside the schema are supported)";
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = || {
        [
            counting("in", &runs).input_schema(input(remote.clone())),
            counting("out", &runs).output_schema(output(&remote)),
        ]
    };
    for (tool, kind) in tools().into_iter().zip(["inputSchema", "outputSchema"]) {
        let error = Server::new("wrong", "1").add_tool(tool).build();
        let error = error.expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        let words = format!("its {kind} can't be used: {refused}");
        assert!(error.to_string().ends_with(&words), "{error}");
    }
    // What is added later is refused as well, and what was there stays.
    let features = Server::new("later", "1").declare_tools().features();
    for (tool, kind) in tools().into_iter().zip(["inputSchema", "outputSchema"]) {
        let error = features.add_tool(tool).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        let words = format!("its {kind} can't be used: {refused}");
        assert!(error.to_string().ends_with(&words), "{error}");
    }
    assert!(!features.remove_tool("in") && !features.remove_tool("out"));
}

// proves: F-HD-14, SE-101
#[tokio::test]
async fn arguments_that_are_too_expensive_to_check_are_refused() {
    let branch = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = json!({"type": "object", "anyOf": [branch, branch]});
    let runs = Arc::new(AtomicUsize::new(0));
    let tool = counting("it", &runs).input_schema(input(schema));
    let client = connected(Server::new("hostile", "1").add_tool(tool), Revision::LATEST).await;
    let nested = (0..40).fold(json!({}), |value, _| json!({"a": value}));
    let received = refusal(&client, "it", &nested.to_string(), Revision::LATEST).await;
    let words = "not checked against the schema: too expensive to check against its schema";
    assert_eq!(received, format!("invalid arguments: {words}"));
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

/// A layer that does nothing.
struct Through;

impl<S> tower_layer::Layer<S> for Through {
    type Service = S;

    fn layer(&self, inner: S) -> S {
        inner
    }
}

// proves: SV-5
#[tokio::test]
async fn layers_run_before_validation() {
    let schema = json!({"type": "object", "required": ["count"]});
    let runs = Arc::new(AtomicUsize::new(0));
    let before = counting("before", &runs).layer(Through);
    let after = counting("after", &runs).input_schema(input(schema.clone()));
    let server = Server::new("layered", "1")
        .add_tool(before.input_schema(input(schema)))
        .add_tool(after.layer(Through));
    let client = connected(server, Revision::LATEST).await;
    for name in ["before", "after"] {
        let received = refusal(&client, name, "{}", Revision::LATEST).await;
        assert_eq!(received, "invalid arguments: count: is missing");
        assert_eq!(called(&client, name, r#"{"count":1}"#).await, "ran");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
