//! The server of the README works as the README describes it.

use std::time::Duration;

use bowline::transport::ChildProcess;
use bowline::types::capabilities::{ClientCapabilities, ElicitationCapability};
use bowline::types::common::Implementation;
use bowline::types::elicitation::{ElicitAction, ElicitResult};
use bowline::types::method::requests;
use bowline::types::{Revision, Revisions};
use bowline::{Client, ClientConfig};
use serde_json::json;
use tokio::time::timeout;

use crate::programs::example;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_program_of_the_readme_is_the_example() {
    let readme = include_str!("../../../../../README.md");
    let example = include_str!("../../../examples/notes_server.rs");
    let (_, program) = example.split_once("\n\n").expect("a head and a program");
    assert!(program.starts_with("use std::"), "the head is one block");
    assert!(readme.contains(&format!("```rust,no_run\n{program}```\n")));
}

/// The text of a tool's result.
async fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> String {
    let called = client.tools().call(tool, arguments);
    let result = timeout(LONG, called).await.expect("in time");
    result.expect("an answer").text()
}

// proves: SV-4
#[tokio::test]
async fn the_server_of_the_readme_forgets_notes_only_after_a_yes() {
    let program = example("notes_server");
    let answers = [
        (ElicitResult::accept([("sure", false)]), false),
        (ElicitResult::decline(), false),
        (ElicitResult::decline().content([("sure", true)]), false),
        (ElicitResult::cancel(), false),
        (ElicitResult::accept([("sure", true)]), true),
    ];
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for (answer, is_yes) in &answers {
            let mut config = ClientConfig::new(Implementation::new("client", "1"));
            config.connection().revisions(Revisions::only(revision));
            let elicitation = ElicitationCapability::new();
            let declared = ClientCapabilities::new().elicitation(elicitation);
            config.connection().capabilities(declared);
            let reply = answer.clone();
            config.on_request::<requests::Elicit, _, _>(move |_| {
                let reply = reply.clone();
                async move { Ok(reply) }
            });
            let client = Client::connect(ChildProcess::new(&program), config).await;
            let client = client.expect("it starts");
            let note = json!({"name": "shopping", "text": "bread"});
            assert_eq!(call(&client, "write", note).await, "written");
            let words = if *is_yes {
                "all notes are gone"
            } else {
                "nothing was forgotten"
            };
            let action = ElicitAction::as_str(&answer.action);
            assert_eq!(call(&client, "clear", json!({})).await, words, "{action}");
            let size = call(&client, "size", json!({"name": "shopping"})).await;
            let expected = if *is_yes {
                "there is no note shopping"
            } else {
                r#"{"bytes":5}"#
            };
            assert_eq!(size, expected, "{revision}: {action}");
            client.stop().await;
        }
    }
}
