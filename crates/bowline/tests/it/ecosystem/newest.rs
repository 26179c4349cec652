//! What is tried with the servers that are written with the newest official SDKs: they have
//! the same tools.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::client::{Retry, SubscriptionEvent};
use bowline::types::Revision;
use bowline::types::logging::LoggingLevel;
use bowline::{ClientConfig, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::processes::{freeze, kill, thaw};
use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Heard, LONG, config, uri};

const NOTES: &str = "note://all";

/// Who it is, and what its tools return.
pub(crate) async fn tools(server: &Connected, name: &str, revision: Revision) {
    let client = &server.client;
    assert_eq!(client.revision(), Some(revision));
    let info = client.server_info().expect("it says who it is");
    assert_eq!((info.name.as_str(), info.version.as_str()), (name, "1.0.0"));
    let agreement = client.agreement().expect("they agreed");
    assert_eq!(agreement.instructions.as_deref(), Some("Add numbers."));
    client.ping().await.expect("it is there");

    let add = server.tool("add").await;
    assert_eq!(add.display_name(), "Add");
    assert!(add.output_schema.is_some());
    let hints = add.annotations.expect("hints");
    assert_eq!(hints.idempotent_hint, Some(true));
    let sum = client.tools().call("add", json!({"a": 2, "b": 3.5}));
    let sum: Value = sum.await.expect("an answer").structured().expect("JSON");
    assert_eq!(sum, json!({"sum": 5.5}));

    let failed = client.tools().call("fail", ()).await.expect("an answer");
    let failed = failed.into_result().expect_err("it fails");
    assert_eq!(failed.kind(), ErrorKind::Tool);
    assert!(failed.to_string().contains("as requested"), "{failed}");
    let wrong = client.tools().call("add", json!({"a": "two"})).await;
    let wrong = wrong.expect("an answer").into_result();
    assert_eq!(wrong.expect_err("no number").kind(), ErrorKind::Tool);
}

/// Progress, and calls that are given up.
pub(crate) async fn patience(server: &Connected) {
    let tools = server.client.tools();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heard);
    let counted = tools.call("count", json!({"steps": 3}));
    let counted =
        counted.on_progress(move |report| seen.lock().expect("whole").push(report.progress));
    let counted = counted.await.expect("an answer");
    assert_eq!(counted.text(), "counted to 3");
    let heard: Vec<_> = heard
        .lock()
        .expect("whole")
        .iter()
        .map(|number| number.as_f64())
        .collect();
    assert_eq!(heard, [1.0, 2.0, 3.0]);

    let mut waiting = tools
        .call("wait", json!({"steps": 1}))
        .with_progress()
        .send();
    let progress = waiting.progress().await.expect("it runs");
    assert_eq!(progress.message.as_deref(), Some("step 1"));
    assert!(waiting.cancel_handle().cancel("enough"));
    let error = waiting.await.expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(
        server.text("count", json!({"steps": 0})).await,
        "counted to 0"
    );
}

/// What a tool asks our person, our model, and about our roots.
pub(crate) async fn questions(server: &Connected, folder: &Path) {
    assert_eq!(server.text("greet", ()).await, "hello Ann");
    assert_eq!(server.text("think", ()).await, "a-model says Paris");
    assert_eq!(server.text("where", ()).await, uri(folder));
}

/// Messages of the level that is asked for, and no others.
pub(crate) async fn log(server: &Connected, log: &mut Heard) {
    let logging = server.client.logging();
    logging
        .set_level(LoggingLevel::Warning)
        .await
        .expect("a log");
    assert_eq!(server.text("log", ()).await, "logged");
    let message = log.next().await;
    assert_eq!(message["level"], "warning");
    assert_eq!(message["data"], "look out");
    assert_eq!(message["logger"], "watch");
}

/// Resources, prompts, and completion of both.
pub(crate) async fn resources_and_prompts(server: &Connected) {
    let client = &server.client;
    let resources = client.resources().list_all().await.expect("resources");
    assert_eq!(resources[0].uri, NOTES);
    assert_eq!(server.read(NOTES).await, "first");
    let templates = client.resources().templates_all().await.expect("templates");
    assert_eq!(templates[0].uri_template, "word://{word}");
    assert_eq!(server.read("word://knot").await, "the word knot");
    let words = client
        .resources()
        .complete("word://{word}", "word", "kn")
        .await;
    assert_eq!(words.expect("values").completion.values, ["knot", "knife"]);
    let missing = client.resources().read("none://x").await;
    let missing = missing.expect_err("there is no such resource");
    assert_eq!(missing.kind(), ErrorKind::JsonRpc);

    let prompts = client.prompts().list_all().await.expect("prompts");
    assert_eq!(prompts[0].name, "review");
    let words = server.prompt("review", &[("language", "Rust")]).await;
    assert_eq!(words, "Review this Rust.");
    let languages = client.prompts().complete("review", "language", "T").await;
    assert_eq!(languages.expect("values").completion.values, ["TypeScript"]);
}

/// Changes of a resource and of the list of tools, across a server that is killed.
pub(crate) async fn changes(server: &Connected) {
    let client = &server.client;
    let mut notes = client.resources().subscribe(NOTES).await.expect("watched");
    let mut tools = client.tools().live_list().await.expect("it follows");
    let names = |tools: &[bowline::types::tools::Tool]| -> BTreeSet<String> {
        tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert!(!names(tools.items()).contains("grown"));
    assert_eq!(
        server.text("write", json!({"note": "second"})).await,
        "2 notes"
    );
    assert_eq!(
        notes.next().await,
        Some(SubscriptionEvent::Resource(NOTES.to_owned()))
    );
    assert_eq!(server.read(NOTES).await, "first\nsecond");
    server.text("grow", ()).await;
    while !names(tools.items()).contains("grown") {
        tools.changed().await.expect("it follows");
    }

    kill(server.mark.server().await);
    assert_eq!(notes.next().await, Some(SubscriptionEvent::Unknown));
    assert_eq!(server.read(NOTES).await, "first");
    while names(tools.items()).contains("grown") {
        tools.changed().await.expect("it follows");
    }
    assert_eq!(
        server.text("write", json!({"note": "third"})).await,
        "2 notes"
    );
    assert_eq!(
        notes.next().await,
        Some(SubscriptionEvent::Resource(NOTES.to_owned()))
    );
}

/// A client for which every server is slow to start: it asks in the new way and then in the old
/// one before it is heard.
pub(crate) fn impatient() -> ClientConfig {
    let mut config = config();
    config.connection().probe_timeout(Duration::from_millis(1));
    config
}

/// A list that may be kept for a minute is there when the server is not.
pub(crate) async fn kept_lists(server: &Connected) {
    let client = &server.client;
    let prompts = client.prompts().list_all().await.expect("prompts");
    let process = server.mark.server().await;
    freeze(process).await;
    let kept = client.prompts().list_all().await.expect("it is kept");
    assert_eq!(kept, prompts);
    // This list may not be kept, and is asked for.
    let mut tools = client.tools().list_all().into_future();
    let asked = tokio::time::timeout(Duration::from_millis(100), &mut tools);
    assert!(asked.await.is_err(), "no response");
    thaw(process);
    assert!(!tools.await.expect("tools").is_empty());
}

/// It is killed before it has read a call, and while it works.
pub(crate) async fn kills(server: &Connected) {
    let client = &server.client;
    survives(client, &server.mark, |client| {
        client.tools().call("add", json!({"a": 1, "b": 2}))
    })
    .await;
    let waiting = client.tools().call("wait", json!({"steps": 1}));
    let mut waiting = waiting.with_progress().send();
    waiting.progress().await.expect("it runs");
    kill(server.mark.server().await);
    let error = waiting.await.expect_err("it was killed");
    assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    assert_eq!(error.may_have_run(), Some(true));

    // Made again, it runs again.
    let waiting = client.tools().call("wait", json!({"steps": 1}));
    let waiting = waiting.retry(Retry::Idempotent).timeout(LONG);
    let mut waiting = waiting.with_progress().send();
    waiting.progress().await.expect("it runs");
    let session = client.session();
    kill(server.mark.server().await);
    waiting.progress().await.expect("it runs again");
    assert_eq!(client.session(), session + 1);
    assert!(waiting.cancel_handle().cancel("enough"));
    waiting.await.expect_err("it was cancelled");
}
