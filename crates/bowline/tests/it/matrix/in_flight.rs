//! Messages while a request is served: progress, cancellation, log messages.

use std::sync::{Arc, Mutex};

use bowline::ErrorKind;
use bowline::types::logging::LoggingLevel;
use bowline::types::meta::{RequestMeta, keys};
use serde_json::json;

use super::server::{Effects, server_with};
use super::world::{Cell, Outcome};

type Result = std::result::Result<Outcome, Outcome>;

async fn reports(cell: &Cell) -> std::result::Result<Vec<Option<String>>, Outcome> {
    let world = cell.world().await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&reports);
    let call = world.client.call("tools/call", r#"{"name":"steps"}"#);
    let call = call.on_progress(move |report| {
        kept.lock().expect("no panic").push(report);
    });
    call.await.map_err(|error| Outcome::refused(&error))?;
    let reports = std::mem::take(&mut *reports.lock().expect("no panic"));
    assert!(reports.iter().all(|report| report.total == Some(3.into())));
    Ok(reports.into_iter().map(|report| report.message).collect())
}

pub(crate) async fn progress(cell: Cell) -> Result {
    assert_eq!(reports(&cell).await?.len(), 3);
    Ok(Outcome::Works)
}

pub(crate) async fn progress_message(cell: Cell) -> Result {
    let has_words = reports(&cell).await?.iter().all(Option::is_some);
    Ok(Outcome::present(has_words))
}

/// No progress is sent without a progress token.
pub(crate) async fn no_progress(cell: Cell) -> Result {
    let world = cell.world().await;
    world.tool("steps", json!({})).await?;
    Ok(Outcome::present(
        world.count_notifications("notifications/progress") > 0,
    ))
}

/// The handler learns of it, and nothing is answered.
pub(crate) async fn cancellation(cell: Cell) -> Result {
    let effects = Effects::default();
    let world = cell.world_of(server_with(effects.clone())).await;
    let hanging = world
        .client
        .call("tools/call", r#"{"name":"hangs"}"#)
        .send();
    world.wait_until_idle().await;
    assert!(hanging.cancel_handle().cancel("enough"));
    let error = hanging.await.expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    while effects.count() == 0 {
        world.wait_until_idle().await;
    }
    let cancelled = &world.tap.client_messages("notifications/cancelled")[0]["params"];
    assert_eq!(cancelled["reason"], "enough");
    let id = &cancelled["requestId"];
    let answered = world.tap.server_messages(|line| line["id"] == *id);
    assert!(answered.is_empty(), "{answered:?}");
    Ok(Outcome::Works)
}

/// The level of the session: `info`, so that two of three messages come.
pub(crate) async fn set_level(cell: Cell) -> Result {
    let mut world = cell.world().await;
    let level = json!({"level": "info"});
    if cell.is_stateless() {
        return Ok(world.raw("logging/setLevel", level).await);
    }
    world.call("logging/setLevel", level).await?;
    assert_eq!(world.text("logs", json!({})).await?, "2");
    for level in ["info", "error"] {
        let message = world.next_notification("notifications/message").await;
        assert_eq!(
            (&message["level"], &message["data"]),
            (&json!(level), &json!("logged"))
        );
    }
    Ok(Outcome::Works)
}

pub(crate) async fn unknown_level(cell: Cell) -> Result {
    let world = cell.world().await;
    Ok(world
        .raw("logging/setLevel", json!({"level": "loud"}))
        .await)
}

/// Without a level all messages come in the handshake era, and none in the stateless one.
pub(crate) async fn unset_level(cell: Cell) -> Result {
    let world = cell.world().await;
    let logged = world.text("logs", json!({})).await?;
    match (
        logged.as_str(),
        world.count_notifications("notifications/message"),
    ) {
        ("3", 3) => Ok(Outcome::Works),
        ("0", 0) => Ok(Outcome::Absent),
        (logged, count) => Ok(Outcome::Other(format!("{logged} logged, {count} received"))),
    }
}

/// The level of one request, which other requests don't have.
pub(crate) async fn level_of_request(cell: Cell) -> Result {
    let world = cell.world().await;
    let call = world.client.call("tools/call", r#"{"name":"logs"}"#);
    let call = call.meta(RequestMeta::new().with(keys::LOG_LEVEL, LoggingLevel::Info));
    let answer = call.await.map_err(|error| Outcome::refused(&error))?;
    let count = world.count_notifications("notifications/message");
    if count == 3 {
        // The session's level counts.
        return Ok(Outcome::Absent);
    }
    assert!(answer.as_str().contains("\"2\""), "{}", answer.as_str());
    assert_eq!(count, 2);
    assert_eq!(world.text("logs", json!({})).await?, "0");
    Ok(Outcome::Works)
}
