//! Tasks, as users call them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bowline::client::features::{TaskHandle, TaskOrResult};
use bowline::server::{Context, Server, TaskConfig, ToolError, tool};
use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use bowline::types::tasks::TaskStatus;
use bowline::types::tools::TaskSupport;
use bowline::{Error, ErrorKind};
use serde_json::json;

use super::world::{Cell, Outcome, World};

type Result = std::result::Result<Outcome, Outcome>;

fn refused(error: Error) -> Outcome {
    Outcome::refused(&error)
}

fn server() -> Server {
    let asks = tool("asks", |cx: Context| async move {
        let form = FormSchema::new([("name", PrimitiveSchema::string())]);
        let answer = cx
            .elicit("who", ElicitFormParams::new("Who?", form))
            .await?;
        Ok::<_, ToolError>(if answer.is_accepted() { "Ann" } else { "" })
    });
    let tools = [
        tool("done", |cx: Context| async move {
            cx.progress(1, None, Some("working"));
            "done"
        }),
        tool("fails", || async { Err::<(), _>(ToolError::new("no")) }),
        tool("hangs", std::future::pending::<()>),
        asks,
    ];
    let mut config = TaskConfig::new();
    config
        .poll_interval(Duration::from_millis(50))
        .enable_list(true);
    let server = Server::new("tasks", "1").tasks(config);
    let tools = tools.map(|tool| tool.task_support(TaskSupport::Required));
    tools
        .into_iter()
        .fold(server, Server::add_tool)
        .tool("plain", "", || async { "plain" })
        .tool("echo", "", || async { "done" })
}

async fn world(cell: &Cell) -> World {
    let world = cell.world_of(server()).await;
    // A client of 2025-11-25 learns here what has to be a task.
    world.client.tools().list_all().await.expect("tools");
    world
}

/// A task, where the revision has them.
async fn begun(world: &World, tool: &'static str) -> std::result::Result<TaskHandle, Outcome> {
    if world.revision < bowline::types::Revision::V2025_11_25 {
        // One that hangs would hang.
        return Err(Outcome::Absent);
    }
    let started = world.client.tools().call(tool, ()).start_task().await;
    match started.map_err(refused)? {
        TaskOrResult::Task(handle) => Ok(handle),
        TaskOrResult::Result(_) => Err(Outcome::Absent),
    }
}

pub(crate) async fn declared(cell: Cell) -> Result {
    let capabilities = world(&cell).await.client.capabilities();
    let capabilities = capabilities.expect("they have agreed");
    let old = capabilities.tasks.is_some();
    let new = capabilities.has_extension(bowline::types::tasks::EXTENSION);
    assert!(!(old && new), "each generation where it is spoken");
    Ok(Outcome::present(old || new))
}

pub(crate) async fn support(cell: Cell) -> Result {
    let tool = world(&cell).await.listed("done").await?;
    Ok(Outcome::present(
        tool["execution"]["taskSupport"] == "required",
    ))
}

/// A call that may be a task is awaited as any other.
pub(crate) async fn awaited(cell: Cell) -> Result {
    let world = world(&cell).await;
    let result = world.client.tools().call("done", ()).await;
    assert_eq!(result.map_err(refused)?.text(), "done");
    Ok(Outcome::Works)
}

/// Progress of a task is sent to the client that asked for it with the call.
pub(crate) async fn progress(cell: Cell) -> Result {
    let world = world(&cell).await;
    let reports = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reports);
    let call = world.client.tools().call("done", ());
    let call = call.on_progress(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(call.await.map_err(refused)?.text(), "done");
    Ok(Outcome::present(reports.load(Ordering::Relaxed) > 0))
}

pub(crate) async fn handle(cell: Cell) -> Result {
    let world = world(&cell).await;
    let handle = begun(&world, "done").await?;
    let result = handle.wait().await.map_err(refused)?;
    assert_eq!(result.text(), "done");
    let resumed = world.client.tasks().resume(handle.task_ref().clone());
    assert_eq!(resumed.wait().await.map_err(refused)?.text(), "done");
    let task = handle.get().await.map_err(refused)?.task;
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(task.status_message, None);
    Ok(Outcome::Works)
}

pub(crate) async fn failing(cell: Cell) -> Result {
    let world = world(&cell).await;
    let handle = begun(&world, "fails").await?;
    assert!(handle.wait().await.map_err(refused)?.is_failure());
    let status = handle.get().await.map_err(refused)?.task.status;
    let expected = if cell.is_stateless() {
        TaskStatus::Completed
    } else {
        TaskStatus::Failed
    };
    assert_eq!(status, expected);
    Ok(Outcome::Works)
}

pub(crate) async fn cancelled(cell: Cell) -> Result {
    let world = world(&cell).await;
    let handle = begun(&world, "hangs").await?;
    let task = handle.get().await.map_err(refused)?.task;
    assert_eq!(task.status, TaskStatus::Working);
    handle.cancel().await.map_err(refused)?;
    let error = handle.wait().await.expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    Ok(Outcome::Works)
}

pub(crate) async fn dropped(cell: Cell) -> Result {
    let world = world(&cell).await;
    let call = tokio::spawn(world.client.tools().call("hangs", ()).send());
    if cell.revision < bowline::types::Revision::V2025_11_25 {
        call.abort();
        return Ok(Outcome::Absent);
    }
    // It is looked at, so it is a task.
    while world.tap.client_messages("tasks/get").is_empty() {
        tokio::task::yield_now().await;
    }
    call.abort();
    while world.tap.client_messages("tasks/cancel").is_empty() {
        tokio::task::yield_now().await;
    }
    Ok(Outcome::Works)
}

pub(crate) async fn asking(cell: Cell) -> Result {
    let world = world(&cell).await;
    let result = world.client.tools().call("asks", ()).await;
    let result = result.map_err(refused)?;
    if result.is_failure() {
        return Ok(Outcome::Unsupported);
    }
    assert_eq!(result.text(), "Ann");
    Ok(Outcome::Works)
}

pub(crate) async fn list(cell: Cell) -> Result {
    let world = world(&cell).await;
    let listed = world.client.tasks().list_all().await.map_err(refused)?;
    assert_eq!(listed, []);
    let handle = begun(&world, "hangs").await?;
    let listed = world.client.tasks().list_all().await.map_err(refused)?;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].task_id, handle.id());
    Ok(Outcome::Works)
}

/// What the older generation fetches results with.
pub(crate) async fn result(cell: Cell) -> Result {
    let world = world(&cell).await;
    let id = match begun(&world, "done").await {
        Ok(handle) => handle.id().to_owned(),
        Err(_) => "none".to_owned(),
    };
    Ok(world.raw("tasks/result", json!({"taskId": id})).await)
}

pub(crate) async fn unknown(cell: Cell) -> Result {
    let world = world(&cell).await;
    let call = world.client.call("tasks/get", r#"{"taskId":"none"}"#);
    call.await.map_err(refused)?;
    Ok(Outcome::Works)
}

/// A client that has not declared the extension.
pub(crate) async fn undeclared(cell: Cell) -> Result {
    let world = world(&cell).await;
    Ok(world.raw("tasks/get", json!({"taskId": "none"})).await)
}

/// A plain call of a tool that is always a task.
pub(crate) async fn plain_call(cell: Cell) -> Result {
    let world = world(&cell).await;
    let params = json!({"name": "done", "arguments": {}});
    Ok(world.raw("tools/call", params).await)
}

/// A call that asks for a task of a tool that is none.
pub(crate) async fn unwanted(cell: Cell) -> Result {
    let world = world(&cell).await;
    let params = json!({"name": "plain", "arguments": {}, "task": {}});
    Ok(world.raw("tools/call", params).await)
}

/// The client's own refusal, before anything is sent.
pub(crate) async fn forbidden(cell: Cell) -> Result {
    let world = world(&cell).await;
    let call = world.client.tools().call("plain", ()).as_task(None);
    assert_eq!(call.await.map_err(refused)?.text(), "plain");
    Ok(Outcome::Works)
}
