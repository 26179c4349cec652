//! Tasks of both generations, with scripted servers.

#[path = "tasks/extension.rs"]
mod extension;
#[path = "tasks/handles.rs"]
mod handles;
#[path = "tasks/handshake_era.rs"]
mod handshake_era;
#[path = "tasks/misbehavior.rs"]
mod misbehavior;

use std::time::Duration;

use bowline::testing::{self, Conversation, Handshake, Peer, ReceivedRequest, Unexpected};
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::tasks::EXTENSION;
use bowline::types::{Revision, Wire as _};
use bowline::{Client, ClientConfig};
use tokio::time::Instant;

use crate::client::support::{NEW, config};

/// When it was created and changed: no test depends on it.
const TIMES: &str = r#""createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z""#;

const DONE: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"done"}]}"#;

/// A client that takes tasks, with the server of a generation.
async fn connected(revision: Revision) -> Result<(Client, Conversation, Peer), Unexpected> {
    connected_with(able(), revision).await
}

fn able() -> ClientConfig {
    let mut config = config();
    config.tasks();
    config
}

async fn connected_with(
    config: ClientConfig,
    revision: Revision,
) -> Result<(Client, Conversation, Peer), Unexpected> {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config);
    let server = shaken(&client, &mut peer, revision).await?;
    Ok((client, server, peer))
}

/// The next connection, with its handshake done.
async fn shaken(
    client: &Client,
    peer: &mut Peer,
    revision: Revision,
) -> Result<Conversation, Unexpected> {
    let mut server = peer.accept().await?;
    server.handshake(hello(revision)).await?;
    client.ready().await.expect("the handshake is done");
    Ok(server)
}

/// A server with tools, resources and tasks.
fn hello(revision: Revision) -> Handshake {
    let tasks = r#"{"tools":{},"resources":{},
        "tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#;
    let mut capabilities = ServerCapabilities::from_json(tasks).expect("capabilities");
    if revision == NEW {
        capabilities.tasks = None;
        capabilities.add_extension(EXTENSION);
    }
    let mut hello = Handshake::new(revision);
    hello.capabilities(capabilities);
    hello
}

/// A task of the extension: how it stands, and more members.
fn task(kind: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"{kind}","taskId":"t1","status":"{status}",{TIMES},"ttlMs":60000{more}}}"#
    )
}

/// A task of 2025-11-25.
fn old_task(status: &str, more: &str) -> String {
    format!(r#"{{"taskId":"t1","status":"{status}",{TIMES},"ttl":60000{more}}}"#)
}

/// Answers the next call of a tool with a task that works.
async fn begin(server: &mut Conversation, more: &str) -> Result<ReceivedRequest, Unexpected> {
    let request = server.expect("tools/call").await?;
    server
        .reply(&request, task("task", "working", more))
        .await?;
    Ok(request)
}

/// Answers the next look at the task. How long it came after the one before.
async fn look(server: &mut Conversation, status: &str, more: &str) -> Result<Duration, Unexpected> {
    let since = Instant::now();
    let request = server.expect("tasks/get").await?;
    assert!(
        request.params().as_str().contains(r#""taskId":"t1""#),
        "{}",
        request.params().as_str()
    );
    let waited = since.elapsed();
    server
        .reply(&request, task("complete", status, more))
        .await?;
    Ok(waited)
}

/// The same in 2025-11-25.
async fn old_look(
    server: &mut Conversation,
    status: &str,
    more: &str,
) -> Result<Duration, Unexpected> {
    let since = Instant::now();
    let request = server.expect("tasks/get").await?;
    let waited = since.elapsed();
    server.reply(&request, old_task(status, more)).await?;
    Ok(waited)
}

/// The next message cancels the task, with the request that tasks have for it (LC-102).
async fn expect_cancel(server: &mut Conversation) -> Result<(), Unexpected> {
    let request = server.expect("tasks/cancel").await?;
    assert!(request.params().as_str().contains(r#""taskId":"t1""#));
    server.reply(&request, r#"{"resultType":"complete"}"#).await
}

/// A moment is as long as it was to be; the clock of a runtime counts milliseconds.
fn about(waited: Duration, millis: u64) {
    let wanted = Duration::from_millis(millis);
    assert!(
        waited >= wanted && waited < wanted + Duration::from_millis(10),
        "{waited:?}, not {wanted:?}"
    );
}
