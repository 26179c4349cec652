//! `@modelcontextprotocol/server-everything`: everything that 2025-11-25 has.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::client::features::{TaskOrResult, TaskRef};
use bowline::client::{Retry, SubscriptionEvent};
use bowline::types::Revision;
use bowline::types::content::ContentBlock;
use bowline::types::logging::LoggingLevel;
use bowline::types::resources::ResourceContents;
use bowline::types::tasks::TaskStatus;
use bowline::{ClientConfig, ErrorKind};
use serde::Deserialize;
use serde_json::json;

use crate::ecosystem::processes::kill;
use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{
    Connected, Folder, LONG, Server, able, config, hear, only, root, uri,
};

const TEXT_1: &str = "demo://resource/dynamic/text/1";

async fn connect(config: ClientConfig) -> Connected {
    Server::official("everything").connect(config).await
}

#[derive(Debug, Deserialize)]
struct Weather {
    temperature: f64,
    conditions: String,
    humidity: f64,
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn tools() {
    let server = connect(config()).await;
    let client = &server.client;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let info = client.server_info().expect("it says who it is");
    assert_eq!(info.name, "mcp-servers/everything");
    assert_eq!(info.title.as_deref(), Some("Everything Reference Server"));
    let agreement = client.agreement().expect("they agreed");
    let instructions = agreement.instructions.as_deref().unwrap_or_default();
    assert!(instructions.contains("get-roots-list"), "{instructions}");
    let tools = server.tool_names().await;
    assert!(tools.contains(&"get-sum".to_owned()), "{tools:?}");
    // It offers what a client can answer, and this one can't.
    assert!(!tools.contains(&"trigger-sampling-request".to_owned()));

    let message = "Knoten – 結び目 – 🪢\n\"quoted\" \u{2028} \u{0}";
    let output = server.text("echo", json!({"message": message})).await;
    assert_eq!(output, format!("Echo: {message}"));
    let sum = server.text("get-sum", json!({"a": 2, "b": 3.5})).await;
    assert_eq!(sum, "The sum of 2 and 3.5 is 5.5.");
    let weather = json!({"location": "New York"});
    let weather = client.tools().call("get-structured-content", weather);
    let weather: Weather = weather.await.expect("an answer").structured().expect("it");
    assert_eq!(weather.conditions, "Cloudy");
    assert!(weather.temperature > 0.0 && weather.humidity > 0.0);
    // What our process knows is none of its business.
    let variables = server.text("get-env", ()).await;
    assert!(!variables.contains("CARGO"), "{variables}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn content_of_each_kind() {
    let server = connect(config()).await;
    let tools = server.client.tools();
    let image = tools.call("get-tiny-image", ()).await.expect("an answer");
    let image = image.content.iter().find_map(|block| match block {
        ContentBlock::Image(image) => Some(image),
        _ => None,
    });
    assert_eq!(image.expect("an image").mime_type, "image/png");

    let annotated = json!({"messageType": "error"});
    let annotated = tools.call("get-annotated-message", annotated).await;
    let annotated = annotated.expect("an answer");
    let ContentBlock::Text(text) = only(&annotated.content) else {
        panic!("a text: {:?}", annotated.content);
    };
    let annotations = text.annotations.as_ref().expect("it has some");
    let priority = annotations
        .priority
        .as_ref()
        .map(|priority| priority.as_f64());
    assert_eq!(priority, Some(1.0));

    let links = tools.call("get-resource-links", json!({"count": 4})).await;
    let links = links.expect("an answer");
    let is_link = |block: &&ContentBlock| matches!(block, ContentBlock::ResourceLink(_));
    assert_eq!(links.content.iter().filter(is_link).count(), 4);

    let embedded = json!({"resourceType": "Blob", "resourceId": 2});
    let embedded = tools.call("get-resource-reference", embedded).await;
    let embedded = embedded.expect("an answer");
    let is_blob = |block: &ContentBlock| match block {
        ContentBlock::Resource(embedded) => matches!(embedded.resource, ResourceContents::Blob(_)),
        _ => false,
    };
    assert!(embedded.content.iter().any(is_blob), "{embedded:?}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn errors() {
    let server = connect(config()).await;
    let client = &server.client;
    for (tool, arguments, words) in [
        ("get-sum", json!({"a": "two", "b": 3}), "expected number"),
        ("no-such-tool", json!({}), "no-such-tool not found"),
    ] {
        let result = client.tools().call(tool, arguments).await;
        let error = result
            .expect("an answer")
            .into_result()
            .expect_err("it fails");
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains(words), "{error}");
    }
    let missing = client.resources().read("demo://nothing").await;
    let error = missing.expect_err("there is no such resource");
    assert_eq!(error.kind(), ErrorKind::JsonRpc);
    assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
    let missing = client.prompts().get("no-such-prompt", [("a", "b")]).await;
    let error = missing.expect_err("there is no such prompt");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
    let unknown = client.call("x/own", ()).await;
    let error = unknown.expect_err("there is no such method");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32601));
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn resources_and_prompts() {
    let server = connect(config()).await;
    let client = &server.client;
    let resources = client.resources().list_all().await.expect("resources");
    let document = resources
        .iter()
        .find(|resource| resource.name == "architecture.md");
    let document = document.expect("it is listed");
    assert_eq!(document.mime_type.as_deref(), Some("text/markdown"));
    let read = server.read(&document.uri).await;
    assert!(read.contains("Everything Server"), "{read}");
    let templates = client.resources().templates_all().await.expect("templates");
    assert_eq!(
        templates[0].uri_template,
        "demo://resource/dynamic/text/{resourceId}"
    );
    let read = server.read(TEXT_1).await;
    assert!(read.starts_with("Resource 1"), "{read}");
    let completed = client
        .resources()
        .complete(&*templates[0].uri_template, "resourceId", "7");
    assert_eq!(completed.await.expect("values").completion.values, ["7"]);

    let prompts = client.prompts().list_all().await.expect("prompts");
    assert_eq!(prompts.len(), 4);
    let words = server.prompt("simple-prompt", &[]).await;
    assert_eq!(words, "This is a simple prompt without arguments.");
    let words = server.prompt("args-prompt", &[("city", "Rome")]).await;
    assert_eq!(words, "What's weather in Rome?");
    let prompt = "completable-prompt";
    let department = client.prompts().complete(prompt, "department", "S").await;
    let department = department.expect("values").completion.values;
    assert_eq!(department, ["Sales", "Support"]);
    let name = client.prompts().complete(prompt, "name", "");
    let name = name.context_argument("department", "Sales").await;
    assert_eq!(
        name.expect("values").completion.values,
        ["David", "Eve", "Frank"]
    );
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn progress_and_cancellation() {
    let server = connect(config()).await;
    let tools = server.client.tools();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heard);
    let steps = json!({"duration": 0.2, "steps": 4});
    let done = tools.call("trigger-long-running-operation", steps);
    let done = done.on_progress(move |report| seen.lock().expect("whole").push(report.progress));
    let done = done.await.expect("an answer").text();
    assert!(done.contains("Steps: 4"), "{done}");
    let heard: Vec<_> = heard
        .lock()
        .expect("whole")
        .iter()
        .map(|number| number.as_f64())
        .collect();
    assert_eq!(heard, [1.0, 2.0, 3.0, 4.0]);

    let steps = json!({"duration": 600, "steps": 60_000});
    let mut endless = tools
        .call("trigger-long-running-operation", steps)
        .with_progress()
        .send();
    endless.progress().await.expect("it runs");
    assert!(endless.cancel_handle().cancel("enough"));
    let error = endless.await.expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // It goes on reporting, which does no harm.
    assert_eq!(
        server.text("echo", json!({"message": "x"})).await,
        "Echo: x"
    );
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_requests_elicitation_sampling_and_roots() {
    let folder = Folder::new();
    let server = connect(able(folder.path())).await;
    let client = &server.client;
    // It adds these tools when it knows the client.
    let filled = server.text("trigger-elicitation-request", ()).await;
    assert!(filled.contains("- Name: Ann"), "{filled}");
    // Fields that our person left alone have their defaults.
    assert!(filled.contains("- Favorite Integer: 42"), "{filled}");
    assert!(
        filled.contains(r#""titledSingleSelectEnum": "hero-1""#),
        "{filled}"
    );
    let page = json!({"url": "https://example.com/pay"});
    let page = server.text("trigger-url-elicitation", page).await;
    assert!(page.contains("accept"), "{page}");
    let thought = json!({"prompt": "The capital of France?"});
    let thought = server.text("trigger-sampling-request", thought).await;
    assert!(
        thought.contains("Paris") && thought.contains("a-model"),
        "{thought}"
    );

    let roots = server.text("get-roots-list", ()).await;
    assert!(roots.contains(&uri(folder.path())), "{roots}");
    let other = Folder::new();
    client.roots().set([root(other.path())]).expect("roots");
    let changed = async {
        while !server
            .text("get-roots-list", ())
            .await
            .contains(&uri(other.path()))
        {}
    };
    let in_time = tokio::time::timeout(LONG, changed).await;
    in_time.expect("it asks for the roots again");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_declined_form_is_declined() {
    let mut config = config();
    config.elicitation(|_| async { Ok(bowline::types::elicitation::ElicitResult::decline()) });
    let server = connect(config).await;
    let declined = server.text("trigger-elicitation-request", ()).await;
    assert!(declined.contains("declined"), "{declined}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_logs_and_notifies_of_changes() {
    let config = config();
    let mut log = hear(&config, "notifications/message");
    let server = connect(config).await;
    let client = &server.client;
    client
        .logging()
        .set_level(LoggingLevel::Debug)
        .await
        .expect("a log");
    let mut changes = client.resources().subscribe(TEXT_1).await.expect("watched");
    let words = loop {
        let message = log.next().await;
        let words = message["data"].as_str().unwrap_or_default().to_owned();
        if words.contains("Subscribe") {
            break words;
        }
    };
    assert!(words.contains(TEXT_1), "{words}");
    server.text("toggle-subscriber-updates", ()).await;
    let changed = SubscriptionEvent::Resource(TEXT_1.to_owned());
    assert_eq!(changes.next().await.as_ref(), Some(&changed));

    // Killed: it is subscribed to again, and notifies again.
    kill(server.mark.server().await);
    assert_eq!(changes.next().await, Some(SubscriptionEvent::Unknown));
    server.text("toggle-subscriber-updates", ()).await;
    assert_eq!(changes.next().await, Some(changed));
    drop(changes);
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_task_runs_beside_the_call_that_began_it() {
    let server = connect(config()).await;
    let client = &server.client;
    let tool = server.tool("simulate-research-query").await;
    assert!(tool.execution.is_some());
    let topic = json!({"topic": "knots"});
    let call = client.tools().call(&*tool.name, topic.clone());
    let started = call.as_task(Some(Duration::from_secs(60))).start_task();
    let TaskOrResult::Task(task) = started.await.expect("it is begun") else {
        panic!("it is no task");
    };
    let begun = task.initial_state().expect("it was begun here");
    assert_eq!(begun.status, TaskStatus::Working);
    let listed = client.tasks().list_all().await.expect("a list");
    assert!(listed.iter().any(|listed| listed.task_id == task.id()));
    // As another program would find it.
    let saved: TaskRef = task.task_ref().to_string().parse().expect("it was saved");
    let result = client.tasks().resume(saved).wait().await.expect("it ends");
    assert!(result.text().contains("knots"), "{}", result.text());
    let status = task.get().await.expect("it is known").task.status;
    assert_eq!(status, TaskStatus::Completed);

    let call = client.tools().call(&*tool.name, topic);
    let started = call.as_task(Some(Duration::from_secs(60))).start_task();
    let TaskOrResult::Task(task) = started.await.expect("it is begun") else {
        panic!("it is no task");
    };
    task.cancel().await.expect("it may be cancelled");
    let error = task.wait().await.expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let server = connect(config()).await;
    let client = &server.client;
    survives(client, &server.mark, |client| {
        client.tools().call("echo", json!({"message": "x"}))
    })
    .await;

    // While it works, as its progress shows.
    let steps = json!({"duration": 600, "steps": 60_000});
    let work = client.tools().call("trigger-long-running-operation", steps);
    let mut work = work.with_progress().send();
    work.progress().await.expect("it runs");
    kill(server.mark.server().await);
    let error = work.await.expect_err("it was killed");
    assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    assert_eq!(error.may_have_run(), Some(true));

    // Again from the beginning, for work that may be done twice.
    let steps = json!({"duration": 1, "steps": 10});
    let work = client.tools().call("trigger-long-running-operation", steps);
    let work = work
        .retry(Retry::Idempotent)
        .timeout(Duration::from_secs(30));
    let mut work = work.with_progress().send();
    work.progress().await.expect("it runs");
    kill(server.mark.server().await);
    let done = work.await.expect("it is made again").text();
    assert!(done.contains("Steps: 10"), "{done}");
    server.stop().await;
}
