//! Calls that wait, or are made again: what they say, and whether, depends on who answers.

use std::time::Duration;

use bowline::client::Retry;
use bowline::testing::{self, Conversation, Handshake, Unexpected};
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::logging::LoggingLevel;
use bowline::types::{Revision, Wire as _};
use bowline::{Client, Error, ErrorKind};

use crate::client::support::{NEW, OLD, Test, able, all_is_read, config};

const BEFORE: Revision = Revision::V2025_06_18;
const TASKS: &str = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#;

fn hello(revision: Revision, capabilities: &str) -> Handshake {
    let mut hello = Handshake::new(revision);
    hello.capabilities(ServerCapabilities::from_json(capabilities).expect("capabilities"));
    hello
}

/// Nothing but what is looked for came before, and the call has ended so.
async fn refused(
    client: &Client,
    server: &mut Conversation,
    error: Error,
    words: &str,
) -> Result<(), Unexpected> {
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported, "{error}");
    assert!(error.operation().is_some(), "{error}");
    assert!(error.to_string().contains(words), "{error}");
    all_is_read(client, server).await?;
    assert_eq!(client.pending(), 0);
    Ok(())
}

// proves: PV-5
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_refused_where_the_server_lacks_it() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let list = client.resources().list().wait_for_ready().send();
    let raw = client.call("tasks/list", ()).wait_for_ready().send();
    // It is the first one that waits, and those after it go on.
    let tools = client.tools().list().wait_for_ready().send();
    let mut server = peer.accept().await?;
    server.handshake(hello(BEFORE, r#"{"tools":{}}"#)).await?;
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    tools.await?;
    let error = list.await.expect_err("there are no resources");
    refused(&client, &mut server, error, "`resources`").await?;
    let error = raw.await.expect_err("there are no tasks");
    refused(&client, &mut server, error, "2025-11-25").await?;
    Ok(())
}

// proves: PV-5
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_encoded_for_the_revision_of_its_session() -> Test {
    for (revision, knows) in [(Revision::V2024_11_05, false), (BEFORE, true)] {
        let (transport, mut peer) = testing::peer();
        let client = Client::start(transport, config());
        let prompts = client.prompts();
        let completing = prompts
            .complete("p", "city", "R")
            .context_argument("country", "NL");
        let completing = completing.into_call().wait_for_ready().send();
        let mut server = peer.accept().await?;
        server
            .handshake(hello(revision, r#"{"completions":{}}"#))
            .await?;
        let request = server.expect("completion/complete").await?;
        let params = request.params().as_str();
        assert_eq!(params.contains("context"), knows, "{revision}: {params}");
        assert!(params.contains(r#""value":"R""#), "{params}");
        server
            .reply(&request, r#"{"completion":{"values":[]}}"#)
            .await?;
        completing.await?;
    }
    Ok(())
}

// proves: PV-5, FT-12
#[tokio::test(start_paused = true)]
async fn a_task_is_asked_for_when_it_is_known_who_answers() -> Test {
    for (revision, capabilities) in [(OLD, TASKS), (BEFORE, r#"{"tools":{}}"#)] {
        let (transport, mut peer) = testing::peer();
        let client = Client::start(transport, config());
        let call = client
            .tools()
            .call("x", ())
            .as_task(Some(Duration::from_secs(9)));
        let call = call.wait_for_ready().send();
        let mut server = peer.accept().await?;
        server.handshake(hello(revision, capabilities)).await?;
        if revision == BEFORE {
            let error = call.await.expect_err("it has no tasks");
            refused(&client, &mut server, error, "2025-11-25").await?;
            continue;
        }
        let request = server.expect("tools/call").await?;
        let params = request.params().as_str();
        assert!(params.contains(r#""task":{"ttl":9000}"#), "{params}");
        let task = r#"{"task":{"taskId":"t","status":"working","ttl":9000,
            "createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}"#;
        server.reply(&request, task.replace('\n', "")).await?;
        let call = tokio::spawn(call);
        server.expect("tasks/get").await?;
        call.abort();
    }
    Ok(())
}

// proves: PV-5, F-LC-16
#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_again_is_fitted_to_who_is_there_now() -> Test {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config());
    let mut server = peer.accept().await?;
    server.handshake(hello(OLD, TASKS)).await?;
    client.ready().await?;
    let tools = client.tools();
    let task = tools.call("x", ()).as_task(None);
    let task = task.retry(Retry::Idempotent).send();
    let list = tools.list().retry(Retry::Idempotent).send();
    let request = server.expect("tools/call").await?;
    assert!(request.params().as_str().contains(r#""task":{}"#));
    server.expect("tools/list").await?;
    server.hang_up();

    let mut server = peer.accept().await?;
    server.handshake(hello(BEFORE, r#"{"tools":{}}"#)).await?;
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    list.await?;
    let error = task.await.expect_err("it has no tasks any more");
    refused(&client, &mut server, error, "2025-11-25").await?;
    Ok(())
}

// proves: FT-6, PV-5
#[tokio::test(start_paused = true)]
async fn the_log_level_is_sent_only_in_calls_of_the_stateless_era() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    client.logging().set_level(LoggingLevel::Error).await?;
    let call = client.tools().call("a", ()).retry(Retry::Idempotent).send();
    let request = server.expect("tools/call").await?;
    assert!(request.params().as_str().contains("logLevel"));
    server.hang_up();

    let mut server = peer.accept().await?;
    server.handshake(hello(OLD, r#"{"tools":{}}"#)).await?;
    let request = server.expect("tools/call").await?;
    let params = request.params().as_str();
    assert!(!params.contains("logLevel"), "{params}");
    server.reply(&request, r#"{"content":[]}"#).await?;
    call.await?;
    Ok(())
}
