//! The server answers our own client in every revision: what the scenarios ask for is there.

use bowline::types::common::{Implementation, Role};
use bowline::types::elicitation::{ElicitResult, ElicitValue};
use bowline::types::roots::Root;
use bowline::types::sampling::CreateMessageResult;
use bowline::types::wire::Map;
use bowline::types::{Revision, Revisions};
use bowline::{Client, ClientConfig};
use bowline_conformance::server;
use serde_json::{Value, json};

/// Connects a client that answers every question.
async fn connect(revision: Revision) -> Client {
    let mut config = ClientConfig::new(Implementation::new("test", "1"));
    config.connection().revisions(Revisions::only(revision));
    config.tasks();
    config.elicitation(|form| async move {
        // What is required; the server fills in defaults.
        let required = form.requested_schema.required.unwrap_or_default();
        let fields = required.into_iter().map(|name| {
            let value = match name.as_str() {
                "ok" | "confirm" => ElicitValue::Boolean(true),
                _ => ElicitValue::String("Ann".to_owned()),
            };
            (name, value)
        });
        Ok(ElicitResult::accept(fields.collect::<Map<_>>()))
    });
    config.sampling(|_| async {
        Ok(CreateMessageResult::new(
            Role::Assistant,
            "Paris",
            "test-model",
        ))
    });
    config.roots([Root::new("file:///a")]);
    let server = server().build().expect("it can be served");
    let client = Client::connect(server.in_memory(), config).await;
    client.expect("they agree")
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.tools().call(tool, arguments).await;
    result
        .unwrap_or_else(|error| panic!("{tool}: {error}"))
        .text()
}

/// Tools, their arguments, and what their text contains.
const TOOLS: [(&str, &str, &str); 22] = [
    ("test_simple_text", "{}", "simple text response"),
    ("test_multiple_content_types", "{}", "Multiple content"),
    ("test_tool_with_logging", "{}", "Logged"),
    ("test_logging_tool", "{}", "Logged"),
    ("test_tool_with_progress", "{}", "progress"),
    ("test_trigger_tool_change", "{}", "Announced"),
    ("test_trigger_prompt_change", "{}", "Announced"),
    ("test_reconnection", "{}", "Reconnected"),
    ("test_sampling", r#"{"prompt":"Hi"}"#, "LLM response: Paris"),
    ("test_missing_capability", "{}", "Paris"),
    ("test_x_mcp_header", r#"{"region":"north"}"#, "north"),
    ("greet", r#"{"name":"Ann"}"#, "Hello, Ann!"),
    ("slow_compute", r#"{"seconds":0,"label":"a"}"#, "Computed a"),
    ("test_input_required_result_sampling", "{}", "Paris"),
    ("test_input_required_result_list_roots", "{}", "file:///a"),
    (
        "test_elicitation",
        r#"{"message":"Who?"}"#,
        "User response: accept",
    ),
    ("test_streaming_elicitation", "{}", "User response: accept"),
    (
        "test_input_required_result_elicitation",
        "{}",
        "Hello, Ann!",
    ),
    ("test_input_required_result_request_state", "{}", "state-ok"),
    (
        "test_input_required_result_multiple_inputs",
        "{}",
        "1 roots",
    ),
    (
        "test_input_required_result_multi_round",
        "{}",
        "Ann likes Ann.",
    ),
    (
        "test_input_required_result_capabilities",
        "{}",
        "Hello, Ann!",
    ),
];

#[tokio::test(start_paused = true)]
async fn every_tool_does_what_its_scenario_expects() {
    for revision in Revisions::ALL.iter() {
        let client = connect(revision).await;
        for (tool, arguments, expected) in TOOLS {
            // Elicitation began with 2025-06-18.
            let asks = tool.contains("elicitation") || expected.contains("Ann") && tool != "greet";
            let asks = asks || tool.contains("_state") || tool.contains("_multiple_inputs");
            if asks && revision < Revision::V2025_06_18 {
                continue;
            }
            let arguments = serde_json::from_str(arguments).expect("JSON");
            let text = text(&client, tool, arguments).await;
            assert!(text.contains(expected), "{revision} {tool}: {text}");
        }
        let failed = client.tools().call("test_error_handling", ()).await;
        let failed = failed.expect("a result");
        assert!(failed.text().contains("intentionally"));
        client.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn forms_have_their_defaults_and_choices() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(revision).await;
        let text = text(&client, "test_elicitation_sep1034_defaults", json!({})).await;
        for value in ["John Doe", "30", "95.5", "active", "true"] {
            assert!(text.contains(value), "{value}: {text}");
        }
        let choices = client.tools().call("test_elicitation_sep1330_enums", ());
        choices.await.expect("all choices are optional");
        client.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_end_as_their_scenarios_expect() {
    let client = connect(Revision::V2026_07_28).await;
    let arguments = json!({"filename": "a.txt"});
    assert!(
        text(&client, "confirm_delete", arguments)
            .await
            .contains("true")
    );
    assert!(
        text(&client, "multi_input", json!({}))
            .await
            .contains("Ann")
    );
    assert_eq!(
        text(&client, "test_tool_with_task", json!({})).await,
        "Hello, Ann!"
    );
    let slow = json!({"seconds": 2, "label": "a"});
    assert!(text(&client, "slow_compute", slow).await.contains("2 s"));
    assert_eq!(
        text(&client, "failing_job", json!({})).await,
        "the job failed"
    );
    let failed = client.tools().call("protocol_error_job", ()).await;
    failed.expect_err("it fails");
    client.stop().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_are_there() {
    for revision in Revisions::ALL.iter() {
        let client = connect(revision).await;
        let first = client.tools().list_all().await.expect("tools");
        assert_eq!(first[0].name, "test_simple_text");
        assert!(first.iter().all(|tool| tool.description.is_some()));
        for uri in [
            "test://static-text",
            "test://static-binary",
            "test://watched-resource",
            "test://template/123/data",
        ] {
            client.resources().read(uri).await.expect(uri);
        }
        for (prompt, arguments) in [
            ("test_simple_prompt", vec![]),
            (
                "test_prompt_with_arguments",
                vec![("arg1", "a"), ("arg2", "b")],
            ),
            (
                "test_prompt_with_embedded_resource",
                vec![("resourceUri", "test://a")],
            ),
            ("test_prompt_with_image", vec![]),
        ] {
            client.prompts().get(prompt, arguments).await.expect(prompt);
        }
        client.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn skills_are_listed_and_read() {
    let client = connect(Revision::V2026_07_28).await;
    let list = client.call("skills/list", json!({})).raw().await;
    let list: Value = serde_json::from_str(list.expect("a list").as_str()).expect("JSON");
    let skill = &list["skills"][0];
    assert_eq!(skill["frontmatter"]["name"], "count-words", "{list}");
    assert_eq!(skill["resources"].as_array().expect("files").len(), 2);
    let uri = &skill["uri"];
    let one = client.call("skills/get", json!({ "uri": uri })).raw().await;
    let one: Value = serde_json::from_str(one.expect("a skill").as_str()).expect("JSON");
    assert_eq!(&one["skill"], skill);
    for directory in ["skill://count-words", "skill://count-words/scripts/"] {
        let read = client.call("resources/directory/read", json!({ "uri": directory }));
        read.raw().await.expect(directory);
    }
    for (method, uri) in [
        ("skills/get", "skill://other/SKILL.md"),
        ("resources/directory/read", "skill://count-words/SKILL.md"),
        ("resources/directory/read", "skill://count-words/.."),
        (
            "resources/read",
            "skill://count-words/../count-words/SKILL.md",
        ),
    ] {
        let refused = client.call(method, json!({ "uri": uri })).raw().await;
        let refused = refused.expect_err(uri);
        assert_eq!(refused.server_error().expect(uri).code, -32602, "{uri}");
    }
    client.stop().await;
    // The files are resources in every revision.
    for revision in Revisions::ALL.iter() {
        let client = connect(revision).await;
        for uri in [
            "skill://count-words/SKILL.md",
            "skill://count-words/scripts/count.sh",
        ] {
            client.resources().read(uri).await.expect(uri);
        }
        client.stop().await;
    }
}
