//! `mcp-server-sqlite`: a database, a memo and a prompt. It is old, and has no types for what
//! it returns.

use bowline::ErrorKind;
use bowline::types::Revision;
use serde_json::{Value, json};

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Folder, Server, config, hear};

const MEMO: &str = "memo://insights";

async fn connect(folder: &Folder, config: bowline::ClientConfig) -> Connected {
    let server = Server::python_1("mcp-server-sqlite").args(["--db-path"]);
    server.args([folder.join("knots.db")]).connect(config).await
}

fn query(query: &str) -> Value {
    json!({"query": query})
}

async fn fill(server: &Connected) {
    let table = query("CREATE TABLE knots (name TEXT, strength INTEGER)");
    let output = server.text("create_table", table).await;
    assert_eq!(output, "Table created successfully");
    let rows = query("INSERT INTO knots VALUES ('bowline', 60), ('結び目', 45)");
    let output = server.text("write_query", rows).await;
    assert_eq!(output, "[{'affected_rows': 2}]");
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_answers_queries() {
    let folder = Folder::new();
    let server = connect(&folder, config()).await;
    assert_eq!(server.client.revision(), Some(Revision::V2025_11_25));
    let tools = server.tool_names().await;
    assert!(tools.contains(&"describe_table".to_owned()), "{tools:?}");
    fill(&server).await;
    let strong = query("SELECT name FROM knots WHERE strength < 50");
    let strong = server.text("read_query", strong).await;
    assert_eq!(strong, "[{'name': '結び目'}]");
    assert_eq!(server.text("list_tables", ()).await, "[{'name': 'knots'}]");
    let described = json!({"table_name": "knots"});
    let described = server.text("describe_table", described).await;
    assert!(described.contains("'name': 'strength'"), "{described}");
    // It says what went wrong as if nothing had.
    let wrong = server
        .text("read_query", query("SELECT * FROM ropes"))
        .await;
    assert_eq!(wrong, "Database error: no such table: ropes");
    let none = server.text("read_query", query("DROP TABLE knots")).await;
    assert!(none.starts_with("Error: Only SELECT"), "{none}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_has_a_memo_and_a_prompt() {
    let folder = Folder::new();
    let config = config();
    let mut updates = hear(&config, "notifications/resources/updated");
    let server = connect(&folder, config).await;
    let client = &server.client;
    let resources = client.resources().list_all().await.expect("resources");
    assert_eq!(resources[0].uri, MEMO);
    let empty = server.read(MEMO).await;
    assert_eq!(empty, "No business insights have been discovered yet.");
    let insight = json!({"insight": "knots hold"});
    server.text("append_insight", insight).await;
    // It notifies of changes though it has not declared that it does.
    assert_eq!(updates.next().await["uri"], MEMO);
    let memo = server.read(MEMO).await;
    assert!(memo.contains("- knots hold"), "{memo}");
    let refused = client.resources().subscribe(MEMO).await;
    let refused = refused.expect_err("it has not declared it");
    assert_eq!(refused.kind(), ErrorKind::CapabilityNotSupported);

    let prompts = client.prompts().list_all().await.expect("prompts");
    assert_eq!(prompts[0].name, "mcp-demo");
    let words = server.prompt("mcp-demo", &[("topic", "knots")]).await;
    assert!(words.contains("knots"), "{words}");
    let missing = client.prompts().get("mcp-demo", [("x", "y")]).await;
    let missing = missing.expect_err("the topic is missing");
    assert_eq!(missing.kind(), ErrorKind::JsonRpc, "{missing}");
    // It says that it has resources, and has no handler for templates.
    let templates = client.resources().templates_all().await;
    let error = templates.expect_err("there is no such method");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32601));
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_keeps_what_is_in_its_file() {
    let folder = Folder::new();
    let server = connect(&folder, config()).await;
    fill(&server).await;
    let insight = json!({"insight": "knots hold"});
    server.text("append_insight", insight).await;
    survives(&server.client, &server.mark, |client| {
        client
            .tools()
            .call("read_query", query("SELECT name FROM knots"))
    })
    .await;
    let rows = server
        .text("read_query", query("SELECT count(*) AS n FROM knots"))
        .await;
    assert_eq!(rows, "[{'n': 2}]");
    // The memo was in memory.
    let memo = server.read(MEMO).await;
    assert_eq!(memo, "No business insights have been discovered yet.");
    server.stop().await;
}
