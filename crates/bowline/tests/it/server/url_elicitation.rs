//! URL elicitations and their completion, and questions that are never answered.

use std::time::Duration;

use bowline::server::{Context, Server, ToolError};
use bowline::types::elicitation::ElicitUrlParams;
use bowline::types::logging::LoggingLevel;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::raw_client::RawClient;

/// Sends a URL elicitation, and returns its id.
async fn asks(cx: Context) -> Result<String, ToolError> {
    let id = cx.unique_id()?;
    let page = ElicitUrlParams::new("Look", format!("https://example.com/{id}"));
    cx.elicit("page", page.elicitation_id(id.clone())).await?;
    Ok(id)
}

/// Sends a URL elicitation without an id of its own.
async fn asks_any(cx: Context) -> Result<&'static str, ToolError> {
    let page = ElicitUrlParams::new("Look", "https://example.com/");
    cx.elicit("page", page).await?;
    Ok("asked")
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Done {
    page: String,
}

/// Fills the send queue, and then completes a URL elicitation.
async fn finishes(done: Done, cx: Context) -> String {
    while cx.log(LoggingLevel::Info, "a line") {}
    let is_told = cx.features().complete_url_elicitation(&done.page);
    let again = cx.features().complete_url_elicitation(&done.page);
    format!("{is_told} {again}")
}

fn server() -> Server {
    let server = Server::new("pages", "1");
    let server = server.tool("finishes", "Is done with a page", finishes);
    let server = server.tool("asks", "Asks to open a page", asks);
    server.tool("asks_any", "Asks to open any page", asks_any)
}

/// Says hello, as a client that can show pages.
async fn begin(client: &mut RawClient) {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"url": {}}},
        "clientInfo": {"name": "raw", "version": "1"},
    });
    client.ask(0, "initialize", params).await;
    client
        .write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
}

/// Calls a tool that asks, and accepts. Returns the elicitation id.
async fn opened(client: &mut RawClient, id: u64, tool: &str, action: &str) -> String {
    client.call(id, tool).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}});
    client.write_line(&answer.to_string()).await;
    client.answer(id).await;
    let page = question["params"]["elicitationId"].as_str();
    page.expect("it has an id").to_owned()
}

// EL-17: the client that was asked, and no other.
#[tokio::test]
async fn the_completion_of_a_url_elicitation_is_sent_once() {
    let server = server();
    let features = server.features();
    let server = server.build().expect("it can be served");
    let (mut other, mut client) = (RawClient::connect(&server), RawClient::connect(&server));
    begin(&mut other).await;
    begin(&mut client).await;
    let others = opened(&mut other, 1, "asks", "accept").await;
    let page = opened(&mut client, 1, "asks", "accept").await;
    let declined = opened(&mut client, 2, "asks", "decline").await;
    assert!(
        !features.complete_url_elicitation(&declined),
        "it was declined"
    );
    assert!(!features.complete_url_elicitation("unknown"));
    assert!(
        features.complete_url_elicitation(&page),
        "its handler has returned"
    );
    assert!(!features.complete_url_elicitation(&page), "once");
    let notification = client.receive().await;
    assert_eq!(notification["method"], "notifications/elicitation/complete");
    assert_eq!(
        notification["params"]["elicitationId"],
        page.as_str(),
        "{notification}"
    );
    // The other client gets its own completion only.
    assert!(features.complete_url_elicitation(&others));
    let notification = other.receive().await;
    assert_eq!(
        notification["params"]["elicitationId"],
        others.as_str(),
        "{notification}"
    );
}

// EL-17: also when much waits to be read.
#[tokio::test]
async fn the_completion_of_a_url_elicitation_is_sent_when_there_is_room() {
    let mut client = RawClient::new(server());
    begin(&mut client).await;
    let first = opened(&mut client, 1, "asks", "accept").await;
    let second = opened(&mut client, 2, "asks", "accept").await;
    let mut notification = Vec::new();
    for (id, page) in [(3, &first), (4, &second)] {
        let params = json!({"name": "finishes", "arguments": {"page": page}});
        client.send(id, "tools/call", params).await;
    }
    let mut answers = 0;
    while notification.len() < 2 || answers < 2 {
        let received = client.receive().await;
        if received["method"] == "notifications/elicitation/complete" {
            notification.push(received["params"]["elicitationId"].clone());
        } else if received.get("method").is_none() {
            answers += 1;
            let words = &received["result"]["content"][0]["text"];
            assert_eq!(words, "true false", "once: {received}");
        }
    }
    assert_eq!(notification, [first, second]);
}

// EL-14: ids are unique.
#[tokio::test]
async fn a_page_without_an_id_gets_one_of_its_own() {
    let mut client = RawClient::new(server());
    begin(&mut client).await;
    let first = opened(&mut client, 1, "asks_any", "accept").await;
    let second = opened(&mut client, 2, "asks_any", "accept").await;
    assert!(!first.is_empty() && first != second, "{first} {second}");
}

#[tokio::test]
async fn of_many_pages_the_oldest_are_forgotten() {
    let server = server();
    let features = server.features();
    let mut client = RawClient::new(server);
    begin(&mut client).await;
    let mut pages = Vec::new();
    for id in 1..=257 {
        pages.push(opened(&mut client, id, "asks", "accept").await);
    }
    assert!(
        !features.complete_url_elicitation(&pages[0]),
        "one too many"
    );
    assert!(features.complete_url_elicitation(&pages[1]));
}

// proves: SV-4
#[tokio::test(start_paused = true)]
async fn a_client_may_take_as_long_as_was_set() {
    let server = server().input_request_timeout(Duration::from_secs(7));
    let mut client = RawClient::new(server);
    begin(&mut client).await;
    let started = Instant::now();
    client.call(1, "asks").await;
    let question = client.receive().await;
    let mut received = client.receive().await;
    if received["method"] == "notifications/cancelled" {
        assert_eq!(
            received["params"]["requestId"], question["id"],
            "{received}"
        );
        received = client.receive().await;
    }
    let elapsed = started.elapsed();
    assert_eq!(received["id"], 1, "{received}");
    assert_eq!(
        received["result"]["isError"],
        Value::Bool(true),
        "{received}"
    );
    let expected = Duration::from_secs(7)..Duration::from_secs(8);
    assert!(expected.contains(&elapsed), "{elapsed:?}");
}
