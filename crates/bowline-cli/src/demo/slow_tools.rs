//! Tools that take long: asynchronous, hanging and blocking.

use std::future::pending;
use std::thread;
use std::time::{Duration, Instant};

use bowline::server::{Context, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("slow", slow)
                .title("Slow")
                .description("Returns after a while, without delaying other calls")
                .annotations(read_only()),
        )
        .add_tool(
            tool("hang", hang)
                .title("Hang")
                .description("Never returns; it can be cancelled")
                .annotations(read_only()),
        )
        .add_tool(
            tool("blocking", blocking)
                .title("Blocking")
                .description("Blocks a thread of its own for a while, without delaying other calls")
                .annotations(read_only())
                // Without this, all other calls would wait for this one.
                .blocking(),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// The time in milliseconds.
    #[serde(default = "second")]
    #[schemars(range(max = 600_000))]
    ms: u32,
}

fn second() -> u32 {
    1000
}

impl Wait {
    fn duration(&self) -> Duration {
        Duration::from_millis(self.ms.min(600_000).into())
    }
}

async fn slow(wait: Wait) -> String {
    tokio::time::sleep(wait.duration()).await;
    format!("waited for {:?}", wait.duration())
}

/// The handler is dropped when the call is cancelled, or when its client disconnects.
async fn hang() -> &'static str {
    pending().await
}

async fn blocking(wait: Wait, cx: Context) -> String {
    let end = Instant::now() + wait.duration();
    // A thread can't be stopped from outside, so the handler checks for cancellation.
    while Instant::now() < end && !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(5).min(end - Instant::now()));
    }
    format!("blocked for {:?}", wait.duration())
}
