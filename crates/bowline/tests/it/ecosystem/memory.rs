//! `@modelcontextprotocol/server-memory`: a graph in a file.

use bowline::client::SubscriptionEvent;
use bowline::types::Revision;
use bowline::{Client, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Folder, Server, config};

const GRAPH: &str = "memory://knowledge-graph";

async fn connect(folder: &Folder) -> Connected {
    let server = Server::official("memory").env("MEMORY_FILE_PATH", folder.join("memory.jsonl"));
    server.connect(config()).await
}

async fn called(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.tools().call(tool, arguments).await;
    result.expect("an answer").structured().expect("JSON")
}

async fn remember(client: &Client) {
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["knows engines"]});
    let engine = json!({"name": "Engine", "entityType": "machine", "observations": []});
    let created = called(
        client,
        "create_entities",
        json!({"entities": [ada, engine]}),
    )
    .await;
    assert_eq!(created["entities"], json!([ada, engine]));
    let relation = json!({"from": "Ada", "to": "Engine", "relationType": "programs"});
    let related = called(client, "create_relations", json!({"relations": [relation]})).await;
    assert_eq!(related["relations"], json!([relation]));
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_keeps_a_graph() {
    let folder = Folder::new();
    let server = connect(&folder).await;
    let client = &server.client;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let tools = server.tool_names().await;
    assert!(tools.contains(&"read_graph".to_owned()), "{tools:?}");
    remember(client).await;

    let graph = called(client, "read_graph", json!({})).await;
    assert_eq!(graph["entities"][0]["name"], "Ada");
    assert_eq!(graph["relations"][0]["relationType"], "programs");
    let found = called(client, "search_nodes", json!({"query": "engines"})).await;
    assert_eq!(found["entities"].as_array().map(Vec::len), Some(1));

    // The same graph as a resource, which notifies of changes.
    let resources = client.resources().list_all().await.expect("resources");
    assert_eq!(resources[0].uri, GRAPH);
    let read: Value = serde_json::from_str(&server.read(GRAPH).await).expect("JSON");
    assert_eq!(read["entities"][1]["entityType"], "machine");
    let mut changes = client.resources().subscribe(GRAPH).await.expect("watched");
    called(
        client,
        "delete_entities",
        json!({"entityNames": ["Engine"]}),
    )
    .await;
    assert_eq!(
        changes.next().await,
        Some(SubscriptionEvent::Resource(GRAPH.to_owned()))
    );
    let graph = called(client, "read_graph", json!({})).await;
    assert_eq!(graph["entities"].as_array().map(Vec::len), Some(1));
    assert_eq!(graph["relations"], json!([]));

    let unknown = client.resources().read("memory://nothing").await;
    let unknown = unknown.expect_err("there is no such resource");
    assert_eq!(unknown.kind(), ErrorKind::JsonRpc, "{unknown}");
    drop(changes);
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_keeps_its_graph() {
    let folder = Folder::new();
    let server = connect(&folder).await;
    let client = &server.client;
    remember(client).await;
    let mut changes = client.resources().subscribe(GRAPH).await.expect("watched");
    survives(client, &server.mark, |client| {
        client.tools().call("read_graph", json!({}))
    })
    .await;
    let graph = called(client, "read_graph", json!({})).await;
    assert_eq!(graph["entities"][0]["name"], "Ada");

    // The next servers were subscribed to as well, and a subscriber learns of the gap.
    assert_eq!(changes.next().await, Some(SubscriptionEvent::Unknown));
    let note = json!({"observations": [{"entityName": "Ada", "contents": ["is back"]}]});
    called(client, "add_observations", note).await;
    let changed = SubscriptionEvent::Resource(GRAPH.to_owned());
    while changes.next().await.expect("it goes on") != changed {}
    drop(changes);
    server.stop().await;
}
