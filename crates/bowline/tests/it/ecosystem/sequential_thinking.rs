//! `@modelcontextprotocol/server-sequential-thinking`: one tool, which remembers.

use bowline::types::Revision;
use bowline::{Client, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Server, config};

async fn connect() -> Connected {
    let server = Server::official("sequential-thinking");
    server.connect(config()).await
}

/// A thought, and how many there have been.
async fn think(client: &Client, number: u32) -> u64 {
    let result = client.tools().call("sequentialthinking", thought(number));
    let result: Value = result.await.expect("an answer").structured().expect("JSON");
    assert_eq!(result["thoughtNumber"], number);
    assert_eq!(result["nextThoughtNeeded"], true);
    result["thoughtHistoryLength"].as_u64().expect("a number")
}

fn thought(number: u32) -> Value {
    json!({
        "thought": "A bowline holds under any load.",
        "nextThoughtNeeded": true,
        "thoughtNumber": number,
        "totalThoughts": 9,
    })
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_thinks_in_steps() {
    let server = connect().await;
    let client = &server.client;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let info = client.server_info().expect("it says who it is");
    assert_eq!(info.name, "sequential-thinking-server");
    assert_eq!(server.tool_names().await, ["sequentialthinking"]);
    let tool = server.tool("sequentialthinking").await;
    assert!(tool.output_schema.is_some());
    assert_eq!(think(client, 1).await, 1);
    assert_eq!(think(client, 2).await, 2);

    // It has neither, and is not asked.
    let refused = client.prompts().list_all().await.expect_err("no prompts");
    assert_eq!(refused.kind(), ErrorKind::CapabilityNotSupported);
    let refused = client.resources().list_all().await;
    let refused = refused.expect_err("no resources");
    assert_eq!(refused.kind(), ErrorKind::CapabilityNotSupported);

    let wrong = client.tools().call("sequentialthinking", json!({}));
    let wrong = wrong.await.expect("an answer").into_result();
    let wrong = wrong.expect_err("the arguments are missing");
    assert_eq!(wrong.kind(), ErrorKind::Tool);
    assert!(wrong.to_string().contains("thoughtNumber"), "{wrong}");
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let server = connect().await;
    let client = &server.client;
    assert_eq!(think(client, 1).await, 1);
    survives(client, &server.mark, |client| {
        client.tools().call("sequentialthinking", thought(3))
    })
    .await;
    // Another process, which remembers only the call that outlived the one before.
    assert_eq!(think(client, 2).await, 2);
    server.stop().await;
}
