//! Tools that misbehave, and what a client sees of it.

use bowline_types::Revision;
use serde_json::json;

use crate::support::{ERAS, connected, error, params, result, text};

// proves: ER-4, F-HD-01, F-HD-04
#[tokio::test]
async fn each_kind_of_failure_is_distinct_and_the_next_call_works() {
    for revision in ERAS {
        let client = connected(revision).await;
        let failed = result(&client, "fail", r#"{"message":"out of rope"}"#).await;
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["content"][0]["text"], "out of rope");
        let hidden = result(&client, "fail_inside", "{}").await;
        assert_eq!(hidden["isError"], true);
        assert!(!hidden.to_string().contains("secret"), "{hidden}");
        let bytes = 20 * 1024 * 1024;
        for (name, arguments, code) in [
            ("protocol_error", "{}".to_owned(), -31000),
            ("panic", "{}".to_owned(), -32603),
            ("large", format!(r#"{{"bytes":{bytes}}}"#), -32603),
            ("nothing", "{}".to_owned(), -32602),
        ] {
            let error = error(&client, "tools/call", &params(name, &arguments)).await;
            let refusal = error.server_error().expect(name);
            assert_eq!(refusal.code, code, "{revision} {name}: {error}");
            assert!(!refusal.message.contains("bug"), "{error}");
            assert_eq!(text(&client, "add", r#"{"a":1,"b":1}"#).await, "2");
        }
        let error = error(&client, "tools/call", &params("protocol_error", "{}")).await;
        let data = error
            .server_error()
            .and_then(|error| error.data.clone())
            .unwrap();
        let data: serde_json::Value = serde_json::from_str(data.as_str()).unwrap();
        assert_eq!(data, json!({"reason": "demonstration"}));
        client.stop().await;
    }
}

// proves: SV-5
#[tokio::test]
async fn errors_name_the_arguments_that_are_wrong() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connected(revision).await;
        for (name, arguments, words) in [
            ("add", r#"{"a":1,"b":"two"}"#, "b: invalid type"),
            ("add", r#"{"a":1}"#, "missing field `b`"),
            (
                "log",
                r#"{"level":"loud","text":""}"#,
                "level: unknown variant",
            ),
            ("note_add", r#"{"name":"a/b","text":""}"#, "letters"),
            ("large", r#"{"bytes":100000000}"#, "at most"),
        ] {
            let wrong = result(&client, name, arguments).await;
            assert_eq!(wrong["isError"], true, "{name}");
            let text = wrong["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(words), "{name}: {text}");
        }
        client.stop().await;
    }
}

#[tokio::test]
async fn resources_and_prompts_fail_with_errors_of_the_protocol() {
    for (revision, missing) in ERAS.into_iter().zip([-32002, -32602]) {
        let client = connected(revision).await;
        for (method, params, code, words) in [
            (
                "resources/read",
                r#"{"uri":"demo://broken"}"#,
                -32603,
                "database connection lost",
            ),
            (
                "resources/read",
                r#"{"uri":"note:///none"}"#,
                missing,
                "no such",
            ),
            (
                "resources/read",
                r#"{"uri":"other://x"}"#,
                missing,
                "no such",
            ),
            ("prompts/get", r#"{"name":"none"}"#, -32602, "no prompt"),
            ("prompts/get", r#"{"name":"greet"}"#, -32602, "`name`"),
            (
                "prompts/get",
                r#"{"name":"summarize","arguments":{"name":"none"}}"#,
                -32603,
                "no such note",
            ),
        ] {
            let error = error(&client, method, params).await;
            let refusal = error.server_error().expect(params);
            assert_eq!(refusal.code, code, "{revision} {params}: {error}");
            assert!(refusal.message.contains(words), "{error}");
        }
        client.stop().await;
    }
}
