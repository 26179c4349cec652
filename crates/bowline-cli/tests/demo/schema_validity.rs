//! Everything that the demo sends is valid in the revision in which it sends it.

use bowline_types::Revision;
use bowline_types::inspect::Inspector;
use serde_json::{Value, json};

use crate::raw_client::RawClient;

/// Requests, each of which is answered, whatever the answer.
fn requests() -> Vec<(&'static str, Value)> {
    let mut requests = vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", json!({"uri": "demo://readme"})),
        ("resources/read", json!({"uri": "demo://knot.png"})),
        ("resources/read", json!({"uri": "demo://broken"})),
        ("resources/read", json!({"uri": "demo://nothing"})),
        ("prompts/get", json!({"name": "look"})),
        ("prompts/get", json!({"name": "none"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "style", "value": ""}}),
        ),
    ];
    let calls = [
        ("echo", json!({"text": "x"})),
        ("count_words", json!({"text": "x"})),
        ("mixed", json!({})),
        ("fail", json!({})),
        ("protocol_error", json!({})),
        ("panic", json!({})),
        ("ask_name", json!({})),
        ("add", json!({"a": "x"})),
        ("log", json!({"level": "info", "text": "x"})),
        ("plugin_add", json!({})),
        ("note_add", json!({"name": "a", "text": "x"})),
    ];
    let calls = calls
        .into_iter()
        .map(|(name, arguments)| ("tools/call", json!({"name": name, "arguments": arguments})));
    requests.extend(calls);
    requests
}

fn check(inspector: &mut Inspector, line: &str, revision: Revision) {
    let inspection = inspector.inspect(line.as_bytes());
    let is_valid = inspection.is_valid_in(revision);
    assert!(is_valid, "{revision}: {}: {line}", inspection.summary());
}

#[test]
fn in_the_handshake_era() {
    for revision in [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ] {
        let (mut raw, mut inspector) = (RawClient::start(), Inspector::new());
        let client = json!({"name": "raw", "version": "1"});
        let params =
            json!({"protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client});
        let mut send = |raw: &mut RawClient, message: Value| {
            inspector.inspect(message.to_string().as_bytes());
            raw.send(&message);
            while message.get("id").is_some() {
                let line = raw.hear_line();
                check(&mut inspector, &line, revision);
                let heard: Value = serde_json::from_str(&line).unwrap();
                if heard["id"] == message["id"] {
                    break;
                }
            }
        };
        send(
            &mut raw,
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        );
        send(
            &mut raw,
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        for (id, (method, params)) in (1..).zip(requests()) {
            send(
                &mut raw,
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
            );
        }
        raw.hang_up();
        for line in raw.end().0 {
            check(&mut inspector, &line, revision);
        }
    }
}

#[test]
fn in_the_stateless_era() {
    let (mut raw, mut inspector) = (RawClient::start(), Inspector::new());
    let mut requests = requests();
    requests.insert(0, ("server/discover", json!({})));
    for (id, (method, params)) in (1..).zip(requests) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        inspector.inspect(request.to_string().as_bytes());
        raw.ask(id, method, params);
        // No notification was asked for.
        let line = raw.hear_line();
        check(&mut inspector, &line, Revision::V2026_07_28);
    }
    raw.hang_up();
    let (rest, status) = raw.end();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
}
