//! Worked examples of the specification are decoded and encoded unchanged, except for the order of
//! members.

#![expect(clippy::unwrap_used, reason = "test support may panic")]

use bowline_types::envelope::{self, Envelope};
use bowline_types::input::InputRequiredResult;
use bowline_types::method::{
    NotificationMethod, RequestMethod, notifications as note, requests as call,
};
use bowline_types::subscriptions::ListenResult;
use bowline_types::tasks::CreateTaskResult;
use bowline_types::tools::{CallToolParams, CallToolResponse};
use bowline_types::{RawJsonRef, Revision, Wire};
use serde_json::Value;

const R4: Revision = Revision::V2025_11_25;
const R5: Revision = Revision::V2026_07_28;

#[test]
fn a_stateless_call_and_its_result() {
    request::<call::CallTool>(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"0"}}}}"#,
    );
    result::<CallToolResponse>(
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"3"}],"structuredContent":3,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"0"}}}}"#,
    );
}

#[test]
fn an_input_round_and_its_retry() {
    let round = r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required","inputRequests":{"k1":{"method":"elicitation/create","params":{"message":"Proceed?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}}},"requestState":"b64.mac"}}"#;
    result::<CallToolResponse>(round);
    result::<InputRequiredResult>(round);
    // The members of the retry besides the name and `_meta` of the first call.
    let retry = r#"{"inputResponses":{"k1":{"action":"accept","content":{"ok":true}}},"requestState":"b64.mac"}"#;
    let mut expected: Value = serde_json::from_str(retry).unwrap();
    expected["name"] = "add".into();
    expected["_meta"] = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = CallToolParams::from_json(&expected.to_string()).unwrap();
    assert!(
        params
            .input_responses
            .as_ref()
            .unwrap()
            .get("k1")
            .unwrap()
            .elicitation()
            .unwrap()
            .is_accepted()
    );
    assert_eq!(params.to_json(R5).unwrap().to::<Value>().unwrap(), expected);
}

#[test]
fn a_subscription_from_its_acknowledgement_to_its_end() {
    notification::<note::Acknowledged>(
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"},"notifications":{"toolsListChanged":true}}}"#,
    );
    notification::<note::ToolListChanged>(
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}}"#,
    );
    result::<ListenResult>(
        r#"{"jsonrpc":"2.0","id":"L1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}}"#,
    );
}

#[test]
fn a_task_handle_of_either_generation() {
    let old = r#"{"task":{"taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":1000}}"#;
    let new = r#"{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1000}"#;
    let (from_old, from_new) = (
        CreateTaskResult::from_json(old).unwrap(),
        CreateTaskResult::from_json(new).unwrap(),
    );
    assert_eq!(from_old, from_new);
    assert_eq!(value(from_old.to_json(R4).unwrap().as_ref()), parsed(old));
    assert_eq!(value(from_old.to_json(R5).unwrap().as_ref()), parsed(new));
}

fn request<R: RequestMethod>(text: &str) {
    let Ok(Envelope::Request(request)) = Envelope::parse(text.as_bytes()) else {
        panic!("{text}");
    };
    assert_eq!(request.method, R::METHOD.as_str());
    let params = R::Params::from_json(request.params.unwrap().as_str()).unwrap();
    let mut out = Vec::new();
    envelope::write_request::<R>(&mut out, &request.id, &params, R5).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), parsed(text));
}

fn notification<N: NotificationMethod>(text: &str) {
    let Ok(Envelope::Notification(notification)) = Envelope::parse(text.as_bytes()) else {
        panic!("{text}");
    };
    assert_eq!(notification.method, N::METHOD.as_str());
    let params = N::Params::from_json(notification.params.unwrap().as_str()).unwrap();
    let mut out = Vec::new();
    envelope::write_notification::<N>(&mut out, &params, R5).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), parsed(text));
}

fn result<T: Wire>(text: &str) {
    let Ok(Envelope::Success(success)) = Envelope::parse(text.as_bytes()) else {
        panic!("{text}");
    };
    let result = T::from_json(success.result.as_str()).unwrap();
    let mut out = Vec::new();
    envelope::write_result(&mut out, &success.id, &result, R5).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), parsed(text));
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn value(json: RawJsonRef<'_>) -> Value {
    json.to().unwrap()
}
