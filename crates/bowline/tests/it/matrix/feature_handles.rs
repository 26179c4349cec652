//! The client's handles for each feature, as users call them.

use bowline::Error;
use bowline::client::SubscriptionEvent;
use bowline::server::{Server, resource, tool};
use bowline::types::logging::LoggingLevel;
use bowline::types::roots::Root;
use bowline::types::subscriptions::SubscriptionFilter;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::server::server;
use super::world::{Cell, Outcome};

type Result = std::result::Result<Outcome, Outcome>;

const README: &str = "file:///readme";

#[derive(Serialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Sum {
    sum: i64,
}

fn refused(error: Error) -> Outcome {
    Outcome::refused(&error)
}

/// One page, the next one, all pages, and one item after the other: the same list.
pub(crate) async fn tools(cell: Cell) -> Result {
    let world = cell.world_of(server().page_size(3)).await;
    let tools = world.client.tools();
    let first = tools.list().await.map_err(refused)?;
    let cursor = first.next_cursor.expect("there is more");
    let second = tools.list_from(cursor).await.map_err(refused)?;
    let all = tools.list_all().await.map_err(refused)?;
    assert_eq!(first.tools, all[..3]);
    assert_eq!(second.tools, all[3..6]);
    let (mut pages, mut lazy) = (tools.pages(), Vec::new());
    while let Some(tool) = pages.next().await {
        lazy.push(tool.map_err(refused)?);
    }
    assert_eq!(lazy, all);
    Ok(Outcome::Works)
}

/// A typed result: older revisions have it as text.
pub(crate) async fn structured(cell: Cell) -> Result {
    let world = cell.world().await;
    let call = world.client.tools().call("sum", &Add { a: 2, b: 3 });
    let result = call.await.map_err(refused)?;
    let sum: Sum = result.structured().map_err(refused)?;
    assert_eq!(sum, Sum { sum: 5 });
    assert_eq!(result.text(), r#"{"sum":5}"#);
    Ok(match result.structured_content {
        Some(_) => Outcome::Works,
        None => Outcome::Words,
    })
}

/// A tool that fails is a result, and an error for those who want one.
pub(crate) async fn failing(cell: Cell) -> Result {
    let world = cell.world().await;
    let failed = world.client.tools().call("fails", ()).await;
    let failed = failed.map_err(refused)?;
    assert!(failed.is_failure());
    let words = failed.structured::<Sum>().expect_err("it failed");
    assert_eq!(
        words.to_string(),
        "tools/call: the tool failed: fails: it is broken"
    );
    let error = failed.into_result().expect_err("it failed");
    assert_eq!(error.kind(), bowline::ErrorKind::Tool);
    Ok(Outcome::Works)
}

pub(crate) async fn progress(cell: Cell) -> Result {
    let world = cell.world().await;
    let mut answer = world
        .client
        .tools()
        .call("steps", json!({}))
        .with_progress()
        .send();
    let mut steps = 0;
    while answer.progress().await.is_some() {
        steps += 1;
    }
    assert_eq!(steps, 3);
    assert_eq!(answer.await.map_err(refused)?.text(), "done");
    Ok(Outcome::Works)
}

pub(crate) async fn resources(cell: Cell) -> Result {
    let world = cell.world().await;
    let resources = world.client.resources();
    let all = resources.list_all().await.map_err(refused)?;
    assert!(all.iter().any(|resource| resource.uri == README));
    let templates = resources.templates_all().await.map_err(refused)?;
    assert_eq!(templates[0].uri_template, "note:///{name}");
    let note = resources.read("note:///one").await.map_err(refused)?;
    assert_eq!(note.contents[0].uri(), Some("note:///one"));
    Ok(Outcome::Works)
}

pub(crate) async fn not_found(cell: Cell) -> Result {
    let world = cell.world().await;
    world
        .client
        .resources()
        .read("file:///nowhere")
        .await
        .map_err(refused)?;
    Ok(Outcome::Works)
}

pub(crate) async fn prompts(cell: Cell) -> Result {
    let world = cell.world().await;
    let prompts = world.client.prompts();
    let all = prompts.list_all().await.map_err(refused)?;
    assert!(all.iter().any(|prompt| prompt.name == "greet"));
    let greeting = prompts
        .get("greet", [("name", "Ada")])
        .await
        .map_err(refused)?;
    assert_eq!(greeting.messages[0].content.as_text(), Some("Hello, Ada!"));
    Ok(Outcome::Works)
}

/// What is known already goes along where the revision has it.
pub(crate) async fn completion(cell: Cell) -> Result {
    let world = cell.world().await;
    let asked = world.client.prompts().complete("greet", "name", "al");
    let values = asked.clone().await.map_err(refused)?.completion.values;
    assert_eq!(values, ["alice", "albert"]);
    let values = asked
        .context_argument("kind", "cat")
        .await
        .map_err(refused)?;
    Ok(Outcome::present(values.completion.values == ["alba"]))
}

/// One level for all calls that follow, in both eras.
pub(crate) async fn logging(cell: Cell) -> Result {
    let mut world = cell.world().await;
    let logging = world.client.logging();
    logging
        .set_level(LoggingLevel::Info)
        .await
        .map_err(refused)?;
    assert_eq!(logging.level(), Some(LoggingLevel::Info));
    let count = world.text("logs", json!({})).await?;
    assert_eq!(count, "2");
    let message = world.next_notification("notifications/message").await;
    assert_eq!(message["level"], "info");
    Ok(Outcome::Works)
}

/// The roots that a server asks for are those of now.
pub(crate) async fn roots(cell: Cell) -> Result {
    let world = cell.world().await;
    let before = world.client.roots().get().expect("they are declared");
    assert_eq!(before[0].uri, "file:///work");
    assert_eq!(world.text("roots", json!({})).await?, "file:///work");
    let other = [Root::new("file:///other")];
    world.client.roots().set(other).map_err(refused)?;
    assert_eq!(world.text("roots", json!({})).await?, "file:///other");
    Ok(Outcome::Works)
}

pub(crate) async fn watching(cell: Cell) -> Result {
    let world = cell.world().await;
    let watched = world.client.resources().subscribe(README).await;
    let mut watched = watched.map_err(refused)?;
    world.features.notify_resource_updated(README);
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Resource(README.into()))
    );
    drop(watched);
    world.wait_until_idle().await;
    world.features.notify_resource_updated(README);
    world.wait_until_idle().await;
    assert_eq!(
        world.count_notifications("notifications/resources/updated"),
        1
    );
    Ok(Outcome::Works)
}

pub(crate) async fn watching_lists(cell: Cell) -> Result {
    let world = cell.world().await;
    let filter = SubscriptionFilter::new()
        .tools_list_changed(true)
        .resources_list_changed(true);
    let watched = world.client.subscribe(filter).await;
    let mut watched = watched.map_err(refused)?;
    world
        .features
        .add_tool(tool("new", || async { "new" }))
        .expect("it is right");
    assert_eq!(watched.next().await, Some(SubscriptionEvent::Tools));
    let new = resource("file:///new", "new", || async { "new" });
    world.features.add_resource(new).expect("it is right");
    assert_eq!(watched.next().await, Some(SubscriptionEvent::Resources));
    Ok(Outcome::Works)
}

/// What the server has not declared is not asked for.
pub(crate) async fn undeclared(cell: Cell) -> Result {
    let few = Server::new("few", "1").tool("echo", "", || async { "" });
    let world = cell.world_of(few).await;
    let client = &world.client;
    let read = client.resources().read(README).await;
    let outcome = refused(read.expect_err("there are none"));
    let others = [
        client.prompts().list_all().await.map(drop),
        client.prompts().get("a", [("b", "c")]).await.map(drop),
        client.resources().templates_all().await.map(drop),
        client.resources().subscribe(README).await.map(drop),
        client
            .subscribe(SubscriptionFilter::new().prompts_list_changed(true))
            .await
            .map(drop),
    ];
    for other in others {
        assert_eq!(refused(other.expect_err("there are none")), outcome);
    }
    assert_eq!(world.tap.client_messages("resources/read").len(), 0);
    Err(outcome)
}

/// The revision that has completion without a capability is asked.
pub(crate) async fn undeclared_completion(cell: Cell) -> Result {
    let few = Server::new("few", "1").tool("echo", "", || async { "" });
    let world = cell.world_of(few).await;
    let asked = world.client.prompts().complete("a", "b", "c").await;
    Err(refused(asked.expect_err("there is none")))
}
