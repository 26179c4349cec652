//! Resources, prompts and the completion of their arguments.

use bowline::client::Params;
use bowline::types::completion::{
    CompleteParams, CompletionArgument, CompletionContext, PromptReference,
};
use serde_json::{Value, json};

use super::world::{Cell, Outcome};

type Result = std::result::Result<Outcome, Outcome>;

pub(crate) async fn list(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.call("resources/list", json!({})).await?;
    assert_eq!(listed["resources"][0]["uri"], "file:///readme");
    assert_eq!(listed["resources"][0]["mimeType"], "text/markdown");
    Ok(Outcome::Works)
}

async fn has(cell: Cell, method: &'static str, list: &str, member: &str) -> Result {
    let world = cell.world().await;
    let listed = world.call(method, json!({})).await?;
    let first = listed[list][0].as_object().expect("one at least");
    Ok(Outcome::present(first.contains_key(member)))
}

pub(crate) async fn title(cell: Cell) -> Result {
    has(cell, "resources/list", "resources", "title").await
}

pub(crate) async fn icons(cell: Cell) -> Result {
    has(cell, "resources/list", "resources", "icons").await
}

/// `lastModified` came with 2025-06-18, annotations were always there.
pub(crate) async fn last_modified(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.call("resources/list", json!({})).await?;
    let annotations = &listed["resources"][0]["annotations"];
    assert_eq!(annotations["audience"], json!(["user"]));
    Ok(Outcome::present(annotations.get("lastModified").is_some()))
}

pub(crate) async fn templates(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.call("resources/templates/list", json!({})).await?;
    assert_eq!(
        listed["resourceTemplates"][0]["uriTemplate"],
        "note:///{name}"
    );
    let read = world
        .call("resources/read", json!({"uri": "note:///one"}))
        .await?;
    assert_eq!(read["contents"][0]["text"], "note one");
    Ok(Outcome::Works)
}

pub(crate) async fn read(cell: Cell) -> Result {
    let world = cell.world().await;
    let read = world
        .call("resources/read", json!({"uri": "file:///readme"}))
        .await?;
    assert_eq!(read["contents"][0]["text"], "# Hello");
    let read = world
        .call("resources/read", json!({"uri": "file:///bytes"}))
        .await?;
    assert_eq!(read["contents"][0]["blob"], "AP8=");
    Ok(Outcome::Works)
}

pub(crate) async fn not_found(cell: Cell) -> Result {
    let world = cell.world().await;
    let missing = world
        .call("resources/read", json!({"uri": "note:///two"}))
        .await;
    let unknown = world
        .call("resources/read", json!({"uri": "file:///nothing"}))
        .await;
    assert_eq!(missing, unknown);
    unknown.map(|_| Outcome::Works)
}

pub(crate) async fn prompts(cell: Cell) -> Result {
    let world = cell.world().await;
    let listed = world.call("prompts/list", json!({})).await?;
    let greet = &listed["prompts"][0];
    assert_eq!(greet["name"], "greet");
    assert_eq!(greet["arguments"][0]["name"], "name");
    assert_eq!(greet["arguments"][0]["required"], true);
    Ok(Outcome::Works)
}

pub(crate) async fn prompt_title(cell: Cell) -> Result {
    has(cell, "prompts/list", "prompts", "title").await
}

async fn greeting(cell: Cell) -> std::result::Result<Value, Outcome> {
    let world = cell.world().await;
    let params = json!({"name": "greet", "arguments": {"name": "Ann"}});
    let got = world.call("prompts/get", params).await?;
    assert_eq!(got["messages"][0]["content"]["text"], "Hello, Ann!");
    assert_eq!(got["description"], "Greets a person");
    Ok(got)
}

pub(crate) async fn prompt(cell: Cell) -> Result {
    greeting(cell).await.map(|_| Outcome::Works)
}

fn kind(content: &Value, kind: &str) -> Outcome {
    match content["type"].as_str() {
        Some(is) if is == kind => Outcome::Works,
        Some("text") => Outcome::Words,
        other => Outcome::Other(format!("{other:?}")),
    }
}

pub(crate) async fn prompt_audio(cell: Cell) -> Result {
    let got = greeting(cell).await?;
    Ok(kind(&got["messages"][1]["content"], "audio"))
}

pub(crate) async fn prompt_link(cell: Cell) -> Result {
    let got = greeting(cell).await?;
    Ok(kind(&got["messages"][2]["content"], "resource_link"))
}

pub(crate) async fn wrong_prompt(cell: Cell) -> Result {
    let world = cell.world().await;
    let unknown = world.call("prompts/get", json!({"name": "unknown"})).await;
    let missing = world.call("prompts/get", json!({"name": "greet"})).await;
    assert_eq!(unknown, missing);
    unknown.map(|_| Outcome::Works)
}

/// The completed argument is sent as the revision has it: older ones have no context.
async fn completed(cell: Cell) -> std::result::Result<Value, Outcome> {
    let world = cell.world().await;
    let known = CompletionContext::new().arguments([("kind", "cat".to_owned())]);
    let typed = CompletionArgument::new("name", "al");
    let params = CompleteParams::new(PromptReference::new("greet"), typed).context(known);
    let params = Params::encode(&params, cell.revision);
    let answer = world.client.call("completion/complete", params).await;
    let answer = answer.map_err(|error| Outcome::refused(&error))?;
    let answer: Value = serde_json::from_str(answer.as_str()).expect("JSON");
    Ok(answer["completion"]["values"].clone())
}

pub(crate) async fn completion(cell: Cell) -> Result {
    let values = completed(cell).await?;
    assert!(!values.as_array().expect("values").is_empty());
    Ok(Outcome::Works)
}

pub(crate) async fn completion_context(cell: Cell) -> Result {
    let values = completed(cell).await?;
    if values == json!(["alba"]) {
        return Ok(Outcome::Works);
    }
    assert_eq!(values, json!(["alice", "albert"]));
    Ok(Outcome::Absent)
}

pub(crate) async fn wrong_completion(cell: Cell) -> Result {
    let world = cell.world().await;
    let of = json!({"type": "ref/prompt", "name": "unknown"});
    let params = json!({"ref": of, "argument": {"name": "name", "value": ""}});
    world
        .call("completion/complete", params)
        .await
        .map(|_| Outcome::Works)
}
