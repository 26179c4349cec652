//! A tool that reports progress, and stops when it is cancelled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bowline::server::{Context, Server, State, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::app::App;
use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server.add_tool(
        tool("countdown", countdown)
            .title("Countdown")
            .description("Counts down to zero, with progress at each step; it can be cancelled")
            .annotations(read_only()),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Countdown {
    /// The number to start at.
    #[serde(default = "five")]
    #[schemars(range(max = 1000))]
    from: u32,
    /// The pause between steps in milliseconds.
    #[serde(default = "hundred")]
    #[schemars(range(max = 60_000))]
    pause_ms: u32,
}

fn five() -> u32 {
    5
}

fn hundred() -> u32 {
    100
}

async fn countdown(
    Countdown { from, pause_ms }: Countdown,
    State(app): State<Arc<App>>,
    cx: Context,
) -> String {
    let from = from.min(1000);
    let pause = Duration::from_millis(pause_ms.min(60_000).into());
    for step in 1..=from {
        // Waits until the pause is over or the call is cancelled. The result of a cancelled call
        // is discarded. A handler that doesn't check is dropped at its next `await`.
        if timeout(pause, cx.cancelled()).await.is_ok() {
            app.cancelled.fetch_add(1, Ordering::Relaxed);
            return "cancelled".to_owned();
        }
        let left = from - step;
        // Nothing is sent unless the client requested progress.
        cx.progress(step, Some(from.into()), Some(&format!("{left} to go")));
    }
    format!("counted down from {from}")
}
