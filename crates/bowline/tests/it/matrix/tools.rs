//! Tools: listed, described, called, and everything that they return.

use serde_json::{Value, json};

use super::server::{NOTE, server};
use super::world::{Cell, Outcome, World};

type Result = std::result::Result<Outcome, Outcome>;

/// Several pages, with every tool once and in order.
pub(crate) async fn pages(cell: Cell) -> Result {
    let world = cell.world_of(server().page_size(3)).await;
    let (mut names, mut pages, mut cursor) = (Vec::new(), 0, json!({}));
    loop {
        let page = world.call("tools/list", cursor).await?;
        let tools = page["tools"].as_array().expect("tools").iter();
        names.extend(tools.map(|tool| tool["name"].to_string()));
        pages += 1;
        let Some(next) = page.get("nextCursor") else {
            break;
        };
        cursor = json!({"cursor": next});
    }
    let all = cell.world().await.call("tools/list", json!({})).await?;
    let all = all["tools"].as_array().expect("tools").iter();
    let all: Vec<_> = all.map(|tool| tool["name"].to_string()).collect();
    assert!(pages > 2 && names == all, "{pages} pages: {names:?}");
    Ok(Outcome::Works)
}

pub(crate) async fn bad_cursor(cell: Cell) -> Result {
    let world = cell.world().await;
    world
        .call("tools/list", json!({"cursor": "made up"}))
        .await?;
    Ok(Outcome::Works)
}

/// Caching hints (CH-1).
pub(crate) async fn hints(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.call("tools/list", json!({})).await?;
    let has = |member: &str| listed.get(member).is_some();
    assert_eq!(has("ttlMs"), has("cacheScope"));
    Ok(Outcome::present(has("ttlMs")))
}

async fn has(cell: Cell, tool: &str, member: &str) -> Result {
    let world = cell.world().await;
    let listed = world.listed(tool).await?;
    Ok(Outcome::present(listed.get(member).is_some()))
}

pub(crate) async fn title(cell: Cell) -> Result {
    has(cell, "described", "title").await
}

pub(crate) async fn annotations(cell: Cell) -> Result {
    has(cell, "described", "annotations").await
}

pub(crate) async fn icons(cell: Cell) -> Result {
    has(cell, "described", "icons").await
}

pub(crate) async fn meta(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.listed("described").await?;
    let note = &listed["_meta"][NOTE.name()];
    Ok(Outcome::present(note == "of a tool"))
}

pub(crate) async fn output_schema(cell: Cell) -> Result {
    has(cell, "sum", "outputSchema").await
}

/// A schema of something else than an object.
pub(crate) async fn array_schema(cell: Cell) -> Result {
    has(cell, "both", "outputSchema").await
}

pub(crate) async fn text(cell: Cell) -> Result {
    let world = cell.world().await;
    let echoed = world
        .text("echo", json!({"text": "zwölf ✓ \n\u{2028}"}))
        .await?;
    assert_eq!(echoed, "zwölf ✓ \n\u{2028}");
    Ok(Outcome::Works)
}

/// Structured content, and the same as text for those that read text only (TL-10).
async fn structure(cell: Cell, tool: &str, expected: Value) -> Result {
    let world = cell.world().await;
    let result = world.tool(tool, json!({"a": 2, "b": 3})).await?;
    assert_eq!(result["content"][0]["text"], expected.to_string());
    match result.get("structuredContent") {
        Some(structure) => {
            assert_eq!(*structure, expected);
            Ok(Outcome::Works)
        }
        None => Ok(Outcome::Words),
    }
}

pub(crate) async fn structured(cell: Cell) -> Result {
    structure(cell, "sum", json!({"sum": 5})).await
}

pub(crate) async fn structured_array(cell: Cell) -> Result {
    structure(cell, "both", json!([2, 3])).await
}

/// The kind of what a tool returns.
async fn kind(world: &World, tool: &str, kind: &str) -> Result {
    let result = world.tool(tool, json!({})).await?;
    let block = &result["content"][0];
    match block["type"].as_str() {
        Some(is) if is == kind => Ok(Outcome::Works),
        Some("text") => Ok(Outcome::Words),
        other => Ok(Outcome::Other(format!("{other:?}"))),
    }
}

pub(crate) async fn image(cell: Cell) -> Result {
    kind(&cell.world().await, "picture", "image").await
}

pub(crate) async fn audio(cell: Cell) -> Result {
    kind(&cell.world().await, "sound", "audio").await
}

pub(crate) async fn embedded(cell: Cell) -> Result {
    kind(&cell.world().await, "embedded", "resource").await
}

pub(crate) async fn link(cell: Cell) -> Result {
    kind(&cell.world().await, "link", "resource_link").await
}

pub(crate) async fn failure(cell: Cell) -> Result {
    let world = cell.world().await;
    let result = world.tool("fails", json!({})).await?;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "it is broken");
    Ok(Outcome::Works)
}

/// Invalid arguments are a tool error since 2025-11-25 (TL-12), and a protocol error before.
pub(crate) async fn wrong_arguments(cell: Cell) -> Result {
    let world = cell.world().await;
    let result = world.tool("sum", json!({"a": 1, "b": "two"})).await?;
    assert_eq!(result["isError"], true);
    let words = result["content"][0]["text"].as_str().expect("text");
    assert!(words.contains("b: invalid type"), "{words}");
    Ok(Outcome::Works)
}

pub(crate) async fn unknown(cell: Cell) -> Result {
    let world = cell.world().await;
    world.tool("unknown", json!({})).await?;
    Ok(Outcome::Works)
}
