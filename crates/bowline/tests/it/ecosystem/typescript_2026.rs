//! A server written with the newest official TypeScript SDK, in both eras.

use bowline::ClientConfig;
use bowline::types::{Revision, Revisions};

use crate::ecosystem::newest;
use crate::ecosystem::support::{Connected, Folder, Server, able, config, hear};

const STATELESS: Revision = Revision::V2026_07_28;
const HANDSHAKE: Revision = Revision::V2025_11_25;

async fn connect(config: ClientConfig) -> Connected {
    Server::node("typescript-2026.mjs").connect(config).await
}

/// Everything that there is in a revision.
async fn everything(mut config: ClientConfig, revision: Revision) {
    config.connection().revisions(Revisions::only(revision));
    let server = connect(config).await;
    newest::tools(&server, "typescript-2026", revision).await;
    newest::patience(&server).await;
    newest::resources_and_prompts(&server).await;
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn everything_without_a_handshake() {
    everything(config(), STATELESS).await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn everything_with_a_handshake() {
    everything(config(), HANDSHAKE).await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_newest_revision_is_agreed_on() {
    let server = connect(config()).await;
    assert_eq!(server.client.revision(), Some(STATELESS));
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_server_that_was_asked_in_both_ways_changes_to_the_old_one() {
    let server = connect(newest::impatient()).await;
    newest::tools(&server, "typescript-2026", HANDSHAKE).await;
    newest::patience(&server).await;
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn questions_in_both_eras() {
    let folder = Folder::new();
    for revision in [STATELESS, HANDSHAKE] {
        let mut config = able(folder.path());
        config.connection().revisions(Revisions::only(revision));
        let server = connect(config).await;
        newest::questions(&server, folder.path()).await;
        server.stop().await;
    }
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_log_of_the_level_that_is_wanted() {
    let config = config();
    let mut log = hear(&config, "notifications/message");
    let server = connect(config).await;
    newest::log(&server, &mut log).await;
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn changes_across_kills() {
    let server = connect(config()).await;
    newest::changes(&server).await;
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn lists_are_cached_for_the_time_of_the_server() {
    let server = connect(config()).await;
    newest::kept_lists(&server).await;
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let server = connect(config()).await;
    newest::kills(&server).await;
    server.stop().await;
}
