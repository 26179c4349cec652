//! A tool whose long calls become tasks, whose result is fetched later.

use std::time::Duration;

use bowline::server::{Context, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server.add_tool(
        tool("brew", brew)
            .title("Brew")
            .description("Brews coffee in three steps; a call of more than a second becomes a task")
            .annotations(read_only())
            // In the extension of 2026-07-28. In 2025-11-25 the client may request a task.
            .as_task_after(Duration::from_secs(1)),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Brew {
    /// The time of each step in milliseconds.
    #[serde(default = "second")]
    #[schemars(range(max = 600_000))]
    step_ms: u32,
}

fn second() -> u32 {
    1000
}

/// The handler doesn't know about tasks. It is dropped at an `await` if the task is cancelled.
async fn brew(Brew { step_ms }: Brew, cx: Context) -> &'static str {
    let step = Duration::from_millis(step_ms.min(600_000).into());
    for (number, done) in [(1, "grinding"), (2, "heating water"), (3, "pouring")] {
        // The message becomes the status of the task.
        cx.progress(number, Some(3.into()), Some(done));
        tokio::time::sleep(step).await;
    }
    "a cup of coffee"
}
