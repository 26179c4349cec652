use bowline_types::{ErrorObject, Revisions};

use super::*;
use crate::server::{Routed, RouterConfig, route};

/// Returns what a request with these capabilities lacks, as the data of its refusal.
fn lacking(declared: &str, required: &str) -> Option<String> {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{declared}}}}}}}"#
    );
    let config = RouterConfig::new(Revisions::ALL);
    let Routed::Stateless(request) = route(&config, frame.as_bytes(), None) else {
        panic!("{declared}");
    };
    let required = ClientCapabilities::from_json(required).unwrap();
    let refusal = request.require(&required).err()?;
    assert_eq!((refusal.status, refusal.error.code), (400, -32021));
    assert_eq!(refusal.id, Some(7.into()));
    Some(refusal.error.data.unwrap().to_string())
}

#[test]
fn capabilities_that_are_declared_suffice() {
    for (declared, required) in [
        ("{}", "{}"),
        (r#"{"sampling":{}}"#, "{}"),
        (r#"{"sampling":{"tools":{}}}"#, r#"{"sampling":{}}"#),
        (
            r#"{"sampling":{"tools":{},"context":{}}}"#,
            r#"{"sampling":{"tools":{}}}"#,
        ),
        (r#"{"roots":{}}"#, r#"{"roots":{"listChanged":true}}"#),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{}}"#),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
        (r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{}}"#),
        (
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            r#"{"elicitation":{"url":{}}}"#,
        ),
        (
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"b/c":{}}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        ),
        (
            r#"{"experimental":{"x":{}}}"#,
            r#"{"experimental":{"x":{}}}"#,
        ),
        (r#"{"com.example/x":{}}"#, r#"{"com.example/x":{}}"#),
    ] {
        assert_eq!(lacking(declared, required), None, "{declared} {required}");
    }
}

#[test]
fn capabilities_that_are_not_declared_are_named() {
    for (declared, required) in [
        ("{}", r#"{"sampling":{}}"#),
        (r#"{"elicitation":{},"roots":{}}"#, r#"{"sampling":{}}"#),
        (r#"{"sampling":{}}"#, r#"{"sampling":{"tools":{}}}"#),
        (
            r#"{"sampling":{"tools":{}}}"#,
            r#"{"sampling":{"context":{}}}"#,
        ),
        ("{}", r#"{"roots":{}}"#),
        ("{}", r#"{"elicitation":{}}"#),
        (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{}}"#),
        (
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":{"form":{}}}"#,
        ),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#),
        (
            "{}",
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        ),
        (
            r#"{"extensions":{"b/c":{}}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        ),
        ("{}", r#"{"experimental":{"x":{}}}"#),
        ("{}", r#"{"com.example/x":{}}"#),
        // The error lists all that is needed, not only what is missing.
        (r#"{"roots":{}}"#, r#"{"roots":{},"sampling":{}}"#),
    ] {
        assert_eq!(
            lacking(declared, required),
            Some(format!(r#"{{"requiredCapabilities":{required}}}"#)),
            "{declared}"
        );
    }
}

#[test]
fn the_status_of_an_error() {
    for (code, status) in [
        (-32021, 400),
        (-32601, 404),
        (-32602, 200),
        (-32603, 200),
        (-32600, 200),
        (-32002, 200),
        (0, 200),
        (7, 200),
    ] {
        assert_eq!(
            error_status(&ErrorObject::new(code, "m"), true),
            status,
            "{code}"
        );
    }
}

#[test]
fn an_unknown_session_is_not_found() {
    for id in [None, Some(7.into())] {
        let refusal = Refusal::unknown_session(id.clone());
        assert_eq!((refusal.status, refusal.error.code), (404, -32600));
        assert_eq!(refusal.id, id);
    }
}
