//! What a handler asks the client: a person, a model, its roots; in both eras.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline::ClientConfig;
use bowline::types::capabilities::{ClientCapabilities, SamplingCapability};
use bowline::types::elicitation::ElicitResult;
use bowline::types::method::requests;
use serde_json::{Value, json};

use super::server::{Effects, server, server_with};
use super::world::{Cell, Outcome, World};

type Result = std::result::Result<Outcome, Outcome>;

/// Calls a tool that asks. One that may not ask returns that, and asks nothing.
async fn asks(world: &World, tool: &str, expected: &str) -> Result {
    let result = world.tool(tool, json!({})).await?;
    let words = result["content"][0]["text"].as_str().expect("text");
    if result["isError"] == true {
        assert!(
            words.contains("client") || words.contains("revision"),
            "{words}"
        );
        assert!(questions(world).is_empty());
        return Ok(Outcome::Unsupported);
    }
    assert_eq!(words, expected);
    Ok(Outcome::Works)
}

/// What the server has asked, in either era.
fn questions(world: &World) -> Vec<Value> {
    let is_question = |line: &Value| {
        let is_request = line.get("method").is_some() && line.get("id").is_some();
        is_request || line["result"]["resultType"] == "input_required"
    };
    world.tap.server_messages(is_question)
}

pub(crate) async fn form(cell: Cell) -> Result {
    asks(&cell.world().await, "form", "\"Ann\"").await
}

/// The same from a handler that runs on a thread of its own.
pub(crate) async fn form_blocking(cell: Cell) -> Result {
    asks(&cell.world().await, "form_blocking", "\"Ann\"").await
}

pub(crate) async fn declined(cell: Cell) -> Result {
    let world = cell.world_with(server(), |config| {
        config.on_request::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
    });
    asks(&world.await, "form", "").await
}

pub(crate) async fn url_elicitation(cell: Cell) -> Result {
    asks(&cell.world().await, "page", "true").await
}

pub(crate) async fn sampling(cell: Cell) -> Result {
    asks(&cell.world().await, "sample", "Paris").await
}

pub(crate) async fn sampling_tools(cell: Cell) -> Result {
    asks(&cell.world().await, "sample_tools", "asked").await
}

pub(crate) async fn roots(cell: Cell) -> Result {
    asks(&cell.world().await, "roots", "file:///work").await
}

pub(crate) async fn roots_changed(cell: Cell) -> Result {
    let (sender, mut notes) = tokio::sync::mpsc::unbounded_channel();
    let server = server().on_notification(move |method, _| {
        // The test may have ended.
        let _ = sender.send(method.to_string());
    });
    let world = cell.world_of(server).await;
    let notified = world.client.notify("notifications/roots/list_changed", ());
    notified.map_err(|error| Outcome::refused(&error))?;
    let heard = notes.recv().await;
    assert_eq!(heard.as_deref(), Some("notifications/roots/list_changed"));
    Ok(Outcome::Works)
}

/// A client that has declared nothing, or less.
async fn unable(cell: &Cell, capabilities: ClientCapabilities) -> World {
    let less = |config: &mut ClientConfig| {
        config.connection().capabilities(capabilities);
    };
    cell.world_with(server(), less).await
}

pub(crate) async fn form_undeclared(cell: Cell) -> Result {
    asks(&unable(&cell, ClientCapabilities::new()).await, "form", "").await
}

pub(crate) async fn url_elicitation_undeclared(cell: Cell) -> Result {
    let forms = bowline::types::capabilities::ElicitationCapability::new();
    let forms = ClientCapabilities::new().elicitation(forms);
    asks(&unable(&cell, forms).await, "page", "").await
}

pub(crate) async fn sampling_undeclared(cell: Cell) -> Result {
    asks(
        &unable(&cell, ClientCapabilities::new()).await,
        "sample",
        "",
    )
    .await
}

/// A client that asks its model, but lets it use no tools (SM-2).
pub(crate) async fn sampling_tools_undeclared(cell: Cell) -> Result {
    let models = ClientCapabilities::new().sampling(SamplingCapability::new());
    asks(&unable(&cell, models).await, "sample_tools", "").await
}

pub(crate) async fn roots_undeclared(cell: Cell) -> Result {
    asks(&unable(&cell, ClientCapabilities::new()).await, "roots", "").await
}

/// The capabilities that the error names can be declared in a repeated request (−32021).
pub(crate) async fn required_capabilities(cell: Cell) -> Result {
    let world = unable(&cell, ClientCapabilities::new()).await;
    let outcome = asks(&world, "form", "").await;
    if cell.is_stateless() {
        let refusal = world
            .tap
            .wait_for_message(|line| line.get("error").is_some())
            .await;
        let needed = &refusal["error"]["data"]["requiredCapabilities"];
        assert!(needed["elicitation"]["form"].is_object(), "{refusal}");
    }
    outcome
}

/// A resource and a prompt may ask, too.
async fn asks_elsewhere(cell: Cell, method: &'static str, params: Value, at: &str) -> Result {
    let world = cell.world().await;
    let got = world.call(method, params).await?;
    assert_eq!(got.pointer(at), Some(&json!("\"Ann\"")), "{got}");
    Ok(Outcome::Works)
}

pub(crate) async fn of_resource(cell: Cell) -> Result {
    let params = json!({"uri": "ask:///name"});
    asks_elsewhere(cell, "resources/read", params, "/contents/0/text").await
}

pub(crate) async fn of_prompt(cell: Cell) -> Result {
    let params = json!({"name": "ask"});
    asks_elsewhere(cell, "prompts/get", params, "/messages/0/content/text").await
}

/// Three questions at once are one round.
pub(crate) async fn several(cell: Cell) -> Result {
    let world = cell.world().await;
    let asked = asks(&world, "several", "\"Ann\" Some(\"Paris\") file:///work").await?;
    if asked == Outcome::Works {
        let rounds = if cell.is_stateless() { 1 } else { 3 };
        assert_eq!(questions(&world).len(), rounds);
    }
    Ok(asked)
}

/// Two rounds, and what has an effect in between happens once.
pub(crate) async fn once(cell: Cell) -> Result {
    let effects = Effects::default();
    let world = cell.world_of(server_with(effects.clone())).await;
    let asked = asks(&world, "twice", "\"Ann\" \"Ann\"").await?;
    if asked == Outcome::Works {
        assert_eq!((effects.count(), questions(&world).len()), (1, 2));
    }
    Ok(asked)
}

/// The state of a round that was asked for properly.
async fn state(world: &World) -> Option<Value> {
    world.tool("form", json!({})).await.ok()?;
    let asked = questions(world).pop()?;
    asked["result"].get("requestState").cloned()
}

/// The second round of a call, with a state and with arguments.
async fn second(world: &World, state: &Value, arguments: Value) -> Outcome {
    let answer = json!({"action": "accept", "content": {"name": "Eve"}});
    let params = json!({
        "name": "form", "arguments": arguments,
        "inputResponses": {"who": answer}, "requestState": state,
    });
    world.raw("tools/call", params).await
}

/// A state is good for its own request, as it was given.
pub(crate) async fn state_kept(cell: Cell) -> Result {
    let world = cell.world().await;
    let Some(state) = state(&world).await else {
        return Ok(Outcome::Absent);
    };
    Ok(second(&world, &state, json!({})).await)
}

pub(crate) async fn state_tampered(cell: Cell) -> Result {
    let world = cell.world().await;
    let Some(state) = state(&world).await else {
        return Ok(Outcome::Absent);
    };
    let mut text = state.as_str().expect("a text").to_owned();
    let last = text.pop().expect("it is not empty");
    text.push(if last == '0' { '1' } else { '0' });
    Ok(second(&world, &json!(text), json!({})).await)
}

pub(crate) async fn state_of_another(cell: Cell) -> Result {
    let world = cell.world().await;
    let Some(state) = state(&world).await else {
        return Ok(Outcome::Absent);
    };
    Ok(second(&world, &state, json!({"other": true})).await)
}

/// A user who takes longer than the state is valid. It expires by the wall clock, in whole seconds,
/// which gives no event: the handler looks at it until the next second has begun.
pub(crate) async fn state_expired(cell: Cell) -> Result {
    let server = server().request_state_key([7; 32], Duration::from_secs(1));
    let world = cell.world_with(server, |config| {
        config.on_request::<requests::Elicit, _, _>(|_| async {
            let asked = wall_clock_seconds();
            while wall_clock_seconds() <= asked {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(ElicitResult::accept([("name", "Ann")]))
        });
    });
    asks(&world.await, "form", "\"Ann\"").await
}

fn wall_clock_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs()
}

/// An answer that comes before its question is taken (MR-14).
pub(crate) async fn early_answer_taken(cell: Cell) -> Result {
    let world = cell.world().await;
    if !cell.is_stateless() {
        return Ok(Outcome::Absent);
    }
    let answer = json!({"action": "accept", "content": {"name": "Eve"}});
    let params = json!({"name": "form", "arguments": {}, "inputResponses": {"who": answer}});
    assert_eq!(world.raw("tools/call", params).await, Outcome::Works);
    assert_eq!(questions(&world).len(), 0, "it need not ask");
    Ok(Outcome::Works)
}
