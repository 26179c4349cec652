//! An invalid value doesn't make the rest of a message invalid.

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::elicitation::{
    ElicitParams, ElicitResult, ElicitValue, FormSchema, PrimitiveSchema,
};
use bowline_types::lifecycle::InitializeResult;
use bowline_types::resources::{ReadResourceResult, ResourceContents};
use bowline_types::tools::{CallToolResponse, CallToolResult, ListToolsResult};
use bowline_types::{Revision, Wire};

#[test]
fn a_tool_with_an_invalid_member_does_not_hide_the_others() {
    for invalid in [
        r#""annotations":{"readOnlyHint":"true"}"#,
        r#""annotations":7"#,
        r#""inputSchema":null"#,
        r#""icons":[{"src":"data:,","sizes":"48x48"}]"#,
        r#""title":null"#,
        r#""title":["a"]"#,
        r#""description":7"#,
        r#""x\ud800":1"#,
    ] {
        let schema = if invalid.contains("inputSchema") {
            ""
        } else {
            r#","inputSchema":{"type":"object"}"#
        };
        let text = format!(
            r#"{{"tools":[{{"name":"invalid",{invalid}{schema}}},{{"name":"good","inputSchema":{{"type":"object"}}}}]}}"#
        );
        let list = ListToolsResult::from_json(&text).unwrap();
        let names: Vec<_> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["invalid", "good"], "{invalid}");
    }
}

#[test]
fn an_invalid_tool_is_skipped_and_reported() {
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    for (invalid, name, path) in [
        (r#"{"name":"invalid"}"#, Some("invalid"), "tools[0]"),
        (r#"{"inputSchema":{}}"#, None, "tools[0]"),
        (r#"{"name":7,"inputSchema":{}}"#, None, "tools[0].name"),
        ("7", None, "tools[0]"),
        ("null", None, "tools[0]"),
        (r#"[{"name":"invalid"}]"#, None, "tools[0]"),
    ] {
        let text = format!(r#"{{"tools":[{invalid},{good}],"nextCursor":"x"}}"#);
        let list = ListToolsResult::from_json(&text).unwrap();
        assert_eq!(list.tools.len(), 1, "{invalid}");
        assert_eq!(list.next_cursor.as_deref(), Some("x"));
        assert_eq!(list.skipped_items.count, 1);
        let first = &list.skipped_items.first[0];
        assert_eq!(first.name.as_deref(), name);
        assert_eq!(first.error.path(), path);
        // The skipped item isn't written.
        let json = list.to_json(Revision::V2025_11_25).unwrap().to_string();
        assert_eq!(json, format!(r#"{{"tools":[{good}],"nextCursor":"x"}}"#));
    }
    for whole in [r#"{"tools":7}"#, r#"{}"#, r#"{"tools":[],"tools":[]}"#] {
        assert!(ListToolsResult::from_json(whole).is_err(), "{whole}");
    }
}

#[test]
fn only_the_first_skipped_items_are_kept() {
    for (count, kept) in [(10, 10), (11, 10)] {
        let text = format!(r#"{{"tools":[{}]}}"#, vec!["0"; count].join(","));
        let mut skipped_items = ListToolsResult::from_json(&text).unwrap().skipped_items;
        assert_eq!(
            (skipped_items.count, skipped_items.first.len()),
            (count, kept)
        );
        skipped_items.append(skipped_items.clone());
        assert_eq!(
            (skipped_items.count, skipped_items.first.len()),
            (2 * count, kept)
        );
    }
}

#[test]
fn invalid_hints_are_absent() {
    for ttl in ["1500.5", "18446744073709551615", "\"1\"", "null", "-5"] {
        let text = format!(r#"{{"tools":[],"ttlMs":{ttl},"cacheScope":"public"}}"#);
        let list = ListToolsResult::from_json(&text).unwrap();
        let json = list.to_json(Revision::V2026_07_28).unwrap().to_string();
        assert!(
            json.contains(r#""ttlMs":0,"cacheScope":"public""#),
            "{ttl}: {json}"
        );
    }
    let handshake = r#"{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":true}},"serverInfo":{"name":"s","version":"1","icons":[{"src":"a","sizes":"any"}]}}"#;
    let result = InitializeResult::from_json(handshake).unwrap();
    assert_eq!(result.server_info.icons, None);
    let kept = result.capabilities.to_json(Revision::LATEST).unwrap();
    assert_eq!(
        kept,
        ServerCapabilities::from_json(r#"{"experimental":{"x":true}}"#)
            .unwrap()
            .to_json(Revision::LATEST)
            .unwrap()
    );
}

#[test]
fn invalid_content_is_kept_unchanged() {
    for invalid in [
        r#"{"type":5}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":"cut \ud83d"}"#,
        r#"{"type":"image","data":7,"mimeType":"image/png"}"#,
    ] {
        let text = format!(r#"{{"content":[{invalid},{{"type":"text","text":"good"}}]}}"#);
        let result = CallToolResult::from_json(&text).unwrap();
        assert_eq!(result.content[1].as_text(), Some("good"));
        assert_eq!(
            result.to_json(Revision::V2025_11_25).unwrap().as_str(),
            text
        );
    }
}

#[test]
fn invalid_form_fields_and_values_are_kept() {
    for invalid in [
        r#"{"type":["string","null"]}"#,
        r#"{"type":"array","items":true}"#,
        r#"{"type":"string","oneOf":[{"const":"a"}]}"#,
        r#"{"type":"string","minLength":"1"}"#,
    ] {
        let form = format!(
            r#"{{"type":"object","properties":{{"invalid":{invalid},"good":{{"type":"boolean"}}}}}}"#
        );
        let form = FormSchema::from_json(&form).unwrap();
        assert!(
            matches!(form.properties.get("invalid"), Some(PrimitiveSchema::Other(json)) if json.as_str() == invalid)
        );
        assert!(matches!(
            form.properties.get("good"),
            Some(PrimitiveSchema::Boolean(_))
        ));
    }
    let result = ElicitResult::from_json(r#"{"action":"accept","content":{"a":[1,2]}}"#).unwrap();
    assert!(matches!(
        result.content.unwrap().get("a"),
        Some(ElicitValue::Other(_))
    ));
}

#[test]
fn null_counts_as_absent() {
    let form = r#"{"mode":null,"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    assert!(matches!(
        ElicitParams::from_json(form),
        Ok(ElicitParams::Form(_))
    ));
    assert!(CallToolResult::from_json(r#"{"resultType":null,"content":[]}"#).is_ok());
    let blob =
        ReadResourceResult::from_json(r#"{"contents":[{"uri":"u","text":null,"blob":"AAAA"}]}"#)
            .unwrap();
    assert!(matches!(blob.contents[0], ResourceContents::Blob(_)));
    let task = r#"{"content":null,"task":{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":null}}"#;
    assert!(matches!(
        CallToolResponse::from_json(task),
        Ok(CallToolResponse::Task(_))
    ));
}
