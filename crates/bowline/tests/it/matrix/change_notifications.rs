//! Changes: of lists, of resources, asked for in either era's way.

use bowline::server::{Server, prompt, resource, tool};
use bowline::types::subscriptions::{ListenParams, SubscriptionFilter};
use serde_json::{Value, json};

use super::world::{Cell, Outcome, World};

type Result = std::result::Result<Outcome, Outcome>;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const UPDATED: &str = "notifications/resources/updated";
const README: &str = "file:///readme";

/// A list changes: clients are notified without a subscription.
async fn unasked(cell: Cell, method: &str, change: impl Fn(&World)) -> Result {
    let mut world = cell.world().await;
    change(&world);
    world.wait_until_idle().await;
    let count = world.count_notifications(method);
    if count > 0 {
        world.next_notification(method).await;
    }
    Ok(Outcome::present(count == 1))
}

fn new_tool(world: &World) {
    world
        .features
        .add_tool(tool("new", || async { "new" }))
        .expect("it is right");
}

fn new_prompt(world: &World) {
    world
        .features
        .add_prompt(prompt("new", || async { "new" }))
        .expect("it is right");
}

fn new_resource(world: &World) {
    let new = resource("file:///new", "new", || async { "new" });
    world.features.add_resource(new).expect("it is right");
}

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

pub(crate) async fn tools(cell: Cell) -> Result {
    unasked(cell, TOOLS, new_tool).await
}

pub(crate) async fn prompts(cell: Cell) -> Result {
    unasked(cell, PROMPTS, new_prompt).await
}

pub(crate) async fn resources(cell: Cell) -> Result {
    unasked(cell, RESOURCES, new_resource).await
}

/// Changes of undeclared capabilities are not announced.
pub(crate) async fn undeclared(cell: Cell) -> Result {
    let server = Server::new("few", "1").tool("echo", "", |text: Text| async { text.text });
    let world = cell.world_of(server).await;
    new_prompt(&world);
    new_resource(&world);
    world.wait_until_idle().await;
    let count = world.count_notifications(PROMPTS) + world.count_notifications(RESOURCES);
    Ok(Outcome::present(count > 0))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

/// Many changes at once are one notification, or two where one came before the others.
pub(crate) async fn coalesced(cell: Cell) -> Result {
    let world = cell.world().await;
    let listening = if cell.is_stateless() {
        Some(send_listen(&world, json!({"toolsListChanged": true})).await)
    } else {
        None
    };
    for _ in 0..1000 {
        new_tool(&world);
    }
    world.tap.notification(TOOLS).await;
    world.wait_until_idle().await;
    let count = world.count_notifications(TOOLS);
    assert!(count <= 2, "{count}");
    drop(listening);
    Ok(Outcome::Works)
}

/// Watching a resource until it is no longer watched.
pub(crate) async fn subscribe(cell: Cell) -> Result {
    let mut world = cell.world().await;
    if cell.is_stateless() {
        return Ok(world
            .raw("resources/subscribe", json!({"uri": README}))
            .await);
    }
    world.features.notify_resource_updated(README);
    world.wait_until_idle().await;
    assert_eq!(world.count_notifications(UPDATED), 0);
    world
        .call("resources/subscribe", json!({"uri": README}))
        .await?;
    world.features.notify_resource_updated("file:///bytes");
    world.features.notify_resource_updated(README);
    assert_eq!(world.next_notification(UPDATED).await["uri"], README);
    Ok(Outcome::Works)
}

pub(crate) async fn unsubscribe(cell: Cell) -> Result {
    let mut world = cell.world().await;
    if cell.is_stateless() {
        return Ok(world
            .raw("resources/unsubscribe", json!({"uri": README}))
            .await);
    }
    for uri in [README, "file:///bytes"] {
        world
            .call("resources/subscribe", json!({"uri": uri}))
            .await?;
    }
    world
        .call("resources/unsubscribe", json!({"uri": README}))
        .await?;
    world.features.notify_resource_updated(README);
    // The other one shows that this one is not to come.
    world.features.notify_resource_updated("file:///bytes");
    assert_eq!(
        world.next_notification(UPDATED).await["uri"],
        "file:///bytes"
    );
    assert_eq!(world.count_notifications(UPDATED), 1);
    Ok(Outcome::Works)
}

async fn send_listen(world: &World, filter: Value) -> bowline::client::PendingCall {
    let params = json!({"notifications": filter}).to_string();
    let before = world.count_notifications(ACKNOWLEDGED);
    let answer = world.client.call("subscriptions/listen", params).send();
    while world.count_notifications(ACKNOWLEDGED) == before {
        world.wait_until_idle().await;
    }
    answer
}

/// What an older revision answers to a subscription.
async fn no_listen(world: &World) -> Result {
    let params = json!({"notifications": {"toolsListChanged": true}});
    Ok(world.raw("subscriptions/listen", params).await)
}

/// Supported parts of a subscription are acknowledged and notified, and nothing else.
pub(crate) async fn listen(cell: Cell) -> Result {
    let mut world = cell.world().await;
    if !cell.is_stateless() {
        return no_listen(&world).await;
    }
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": [README]});
    let answer = send_listen(&world, filter.clone()).await;
    let acknowledged = world.next_notification(ACKNOWLEDGED).await;
    assert_eq!(acknowledged["notifications"], filter);
    new_prompt(&world);
    new_resource(&world);
    new_tool(&world);
    world.next_notification(TOOLS).await;
    world.features.notify_resource_updated(README);
    assert_eq!(world.next_notification(UPDATED).await["uri"], README);
    assert_eq!(
        (
            world.count_notifications(PROMPTS),
            world.count_notifications(RESOURCES)
        ),
        (0, 0)
    );
    drop(answer);
    Ok(Outcome::Works)
}

/// Each of two subscriptions is notified under its own id.
pub(crate) async fn listen_twice(cell: Cell) -> Result {
    let world = cell.world().await;
    if !cell.is_stateless() {
        return no_listen(&world).await;
    }
    let tools = send_listen(&world, json!({"toolsListChanged": true})).await;
    let both = json!({"toolsListChanged": true, "promptsListChanged": true});
    let both = send_listen(&world, both).await;
    new_tool(&world);
    new_prompt(&world);
    while world.count_notifications(TOOLS) + world.count_notifications(PROMPTS) < 3 {
        world.wait_until_idle().await;
    }
    assert_eq!(
        (
            world.count_notifications(TOOLS),
            world.count_notifications(PROMPTS)
        ),
        (2, 1)
    );
    drop((tools, both));
    Ok(Outcome::Works)
}

/// The client ends it: no answer, and no change any more.
pub(crate) async fn listen_ends(cell: Cell) -> Result {
    let world = cell.world().await;
    if !cell.is_stateless() {
        return no_listen(&world).await;
    }
    let answer = send_listen(&world, json!({"toolsListChanged": true})).await;
    drop(answer);
    world.wait_until_idle().await;
    assert_eq!(
        world.tap.client_messages("notifications/cancelled").len(),
        1
    );
    new_tool(&world);
    world.wait_until_idle().await;
    assert_eq!(world.count_notifications(TOOLS), 0);
    let id = world.tap.client_messages("subscriptions/listen")[0]["id"].clone();
    let answers = world.tap.server_messages(|line| line["id"] == id);
    assert!(answers.is_empty(), "{answers:?}");
    Ok(Outcome::Works)
}

/// What the server has none of is not acknowledged (SB-2).
pub(crate) async fn listen_to_less(cell: Cell) -> Result {
    let server = Server::new("few", "1").tool("echo", "", |text: Text| async { text.text });
    let mut world = cell.world_of(server).await;
    if !cell.is_stateless() {
        return no_listen(&world).await;
    }
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": [README]
    });
    let answer = send_listen(&world, filter).await;
    let acknowledged = world.next_notification(ACKNOWLEDGED).await;
    assert_eq!(
        acknowledged["notifications"],
        json!({"toolsListChanged": true})
    );
    drop(answer);
    Ok(Outcome::Works)
}

/// Parameters that a revision can't say are refused before anything is sent (PV-5).
pub(crate) async fn not_in_revision(cell: Cell) -> Result {
    let world = cell.world().await;
    let params = ListenParams::new(SubscriptionFilter::new());
    let params = bowline::client::Params::encode(&params, cell.revision);
    let answer = world.client.call("subscriptions/listen", params).send();
    if cell.is_stateless() {
        world.tap.notification(ACKNOWLEDGED).await;
        return Ok(Outcome::Works);
    }
    let error = answer.await.expect_err("not in this revision");
    assert!(world.tap.client_messages("subscriptions/listen").is_empty());
    Ok(Outcome::refused(&error))
}
