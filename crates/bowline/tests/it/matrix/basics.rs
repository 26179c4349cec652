//! Version negotiation, pings, `_meta`, batches, limits, the end.

use std::sync::Arc;

use bowline::server::{Server, tool};
use bowline::types::Revision;
use bowline::types::meta::RequestMeta;
use bowline::{Limits, Recovery};
use serde_json::json;
use tokio::sync::Notify;

use super::server::{NOTE, server};
use super::world::{Cell, Outcome};

type Result = std::result::Result<Outcome, Outcome>;

/// They agree on the revision that is pinned, and know of each other.
pub(crate) async fn agreement(cell: Cell) -> Result {
    let world = cell.world().await;
    let agreed = world.client.agreement().expect("they agreed");
    assert_eq!(agreed.revision, cell.revision);
    let info = agreed.server_info.as_ref().expect("it has a name");
    assert_eq!(info.name, "everything");
    assert!(agreed.capabilities.tools.is_some());
    assert_eq!(world.text("client", json!({})).await?, "client");
    Ok(Outcome::Works)
}

pub(crate) async fn initialize(cell: Cell) -> Result {
    let world = cell.world().await;
    world.wait_until_idle().await;
    let count = world.tap.client_messages("initialize").len();
    assert_eq!(
        count,
        world.tap.client_messages("notifications/initialized").len()
    );
    Ok(Outcome::present(count == 1))
}

pub(crate) async fn discover(cell: Cell) -> Result {
    let world = cell.world().await;
    Ok(Outcome::present(
        !world.tap.client_messages("server/discover").is_empty(),
    ))
}

pub(crate) async fn instructions(cell: Cell) -> Result {
    let world = cell.world().await;
    let agreed = world.client.agreement().expect("they agreed");
    assert_eq!(agreed.instructions.as_deref(), Some("Use it well."));
    Ok(Outcome::Works)
}

pub(crate) async fn server_title(cell: Cell) -> Result {
    let info = cell.world().await.client.server_info().expect("a name");
    Ok(Outcome::present(info.title.is_some()))
}

pub(crate) async fn server_icons(cell: Cell) -> Result {
    let info = cell.world().await.client.server_info().expect("a name");
    assert_eq!(info.icons.is_some(), info.website_url.is_some());
    Ok(Outcome::present(info.icons.is_some()))
}

pub(crate) async fn completions_declared(cell: Cell) -> Result {
    let capabilities = cell.world().await.client.capabilities();
    let capabilities = capabilities.expect("they agreed");
    Ok(Outcome::present(capabilities.completions.is_some()))
}

/// A ping, or `server/discover` where there is no ping.
pub(crate) async fn alive(cell: Cell) -> Result {
    let world = cell.world().await;
    let answer = world.client.ping().await;
    answer.map_err(|error| Outcome::refused(&error))?;
    Ok(Outcome::Works)
}

pub(crate) async fn ping(cell: Cell) -> Result {
    Ok(cell.world().await.raw("ping", json!({})).await)
}

/// What the revision lacks is refused before it is sent (PV-5).
pub(crate) async fn ping_of_client(cell: Cell) -> Result {
    let world = cell.world().await;
    world.call("ping", json!({})).await?;
    Ok(Outcome::Works)
}

pub(crate) async fn unknown_method(cell: Cell) -> Result {
    let world = cell.world().await;
    Ok(world.raw("tools/nothing", json!({})).await)
}

pub(crate) async fn request_meta(cell: Cell) -> Result {
    let world = cell.world().await;
    let call = world.client.call("tools/call", r#"{"name":"meta"}"#);
    let answer = call.meta(RequestMeta::new().with(NOTE, "of a request"));
    let answer = answer.await.map_err(|error| Outcome::refused(&error))?;
    let result: serde_json::Value = serde_json::from_str(answer.as_str()).expect("JSON");
    assert_eq!(result["content"][0]["text"], "of a request");
    assert_eq!(result["_meta"][NOTE.name()], "of a result");
    Ok(Outcome::Works)
}

/// Every result has the server information, those with a `_meta` of their own too.
pub(crate) async fn server_in_results(cell: Cell) -> Result {
    let world = cell.world().await;
    let mut has = Vec::new();
    world.call("tools/list", json!({})).await?;
    world.tool("meta", json!({})).await?;
    if cell.is_stateless() {
        world.tool("form", json!({})).await?;
    }
    for line in world
        .tap
        .server_messages(|line| line.get("result").is_some())
    {
        let info = &line["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        has.push(info["name"] == "everything");
    }
    assert!(has.iter().all(|value| *value == has[0]), "{has:?}");
    Ok(Outcome::present(has[0]))
}

/// Two requests and a notification in one line.
pub(crate) async fn batch(cell: Cell) -> Result {
    let world = cell.world().await;
    let request = |id: &str, text: &str| {
        let params = world.params(json!({"name": "echo", "arguments": {"text": text}}));
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    world.tap.inject(&json!([
        request("tap-a", "one"),
        note,
        request("tap-b", "two")
    ]));
    let is_about = |line: &serde_json::Value| {
        let is_refused = line.get("error").is_some() && line["id"].is_null();
        is_refused || line.is_array() || line["id"] == "tap-a"
    };
    let line = world.tap.wait_for_message(is_about).await;
    if let Some(code) = line["error"]["code"].as_i64() {
        return Ok(Outcome::Refused(code));
    }
    // One array, in any order.
    let answers = line.as_array().expect("an array");
    let text = |id: &str| {
        let answer = answers.iter().find(|answer| answer["id"] == id);
        answer.map(|answer| answer["result"]["content"][0]["text"].clone())
    };
    assert_eq!(answers.len(), 2);
    assert_eq!(text("tap-a"), Some(json!("one")));
    assert_eq!(text("tap-b"), Some(json!("two")));
    Ok(Outcome::Works)
}

/// One request is served at a time; the next gets "busy", and the session goes on.
pub(crate) async fn busy(cell: Cell) -> Result {
    let mut limits = Limits::server();
    limits.max_peer_requests(1);
    let world = cell.world_of(server().limits(limits)).await;
    let hanging = world
        .client
        .call("tools/call", r#"{"name":"hangs"}"#)
        .send();
    let refused = world.client.call("tools/call", r#"{"name":"fails"}"#).await;
    let error = refused.expect_err("it is busy");
    assert_eq!(error.recovery(), Recovery::Retry, "{error}");
    drop(hanging);
    // The place is free when the handler has really ended.
    while world.text("echo", json!({"text": "free"})).await.is_err() {
        tokio::task::yield_now().await;
    }
    Ok(Outcome::refused(&error))
}

/// A server with a tool that waits to be released.
pub(crate) fn waiting(release: &Arc<Notify>) -> Server {
    let release = Arc::clone(release);
    server().add_tool(tool("waits", move || {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            "released"
        }
    }))
}

/// What is being served is finished, and nothing new begins.
pub(crate) async fn shutdown(cell: Cell) -> Result {
    let release = Arc::new(Notify::new());
    let world = cell.world_of(waiting(&release)).await;
    let waiting = world
        .client
        .call("tools/call", r#"{"name":"waits"}"#)
        .send();
    world.wait_until_idle().await;
    world.running.shut_down();
    let late = world.raw("tools/list", json!({})).await;
    assert_eq!(late, Outcome::Refused(-32600));
    release.notify_one();
    let answer = waiting.await.map_err(|error| Outcome::refused(&error))?;
    assert!(answer.as_str().contains("released"));
    world.tap.ended().await;
    Ok(Outcome::Works)
}

/// Listens get their result when the server ends.
pub(crate) async fn shutdown_of_listen(cell: Cell) -> Result {
    let world = cell.world().await;
    if cell.revision < Revision::V2026_07_28 {
        return Ok(world
            .raw("subscriptions/listen", json!({"notifications": {}}))
            .await);
    }
    let params = r#"{"notifications":{"toolsListChanged":true}}"#;
    let listening = world.client.call("subscriptions/listen", params).send();
    world
        .tap
        .notification("notifications/subscriptions/acknowledged")
        .await;
    world.running.shut_down();
    let ended = listening.await.map_err(|error| Outcome::refused(&error))?;
    let ended: serde_json::Value = serde_json::from_str(ended.as_str()).expect("JSON");
    let id = &world.tap.client_messages("subscriptions/listen")[0]["id"];
    assert_eq!(
        ended["_meta"]["io.modelcontextprotocol/subscriptionId"],
        *id
    );
    Ok(Outcome::Works)
}
