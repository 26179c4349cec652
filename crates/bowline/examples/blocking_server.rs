//! A server with a tool that keeps its thread for as long as its argument demands.
//!
//! The process ends soon after its client has left, whatever the tool does: nothing waits for
//! such a thread.

use std::time::Duration;

use bowline::server::{Server, tool};
use bowline::transport::stdio;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Work {
    seconds: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), bowline::Error> {
    let work = tool("work", |Work { seconds }: Work| async move {
        std::thread::sleep(Duration::from_secs(seconds));
        "done"
    });
    Server::new("blocking", "1.0.0")
        .shutdown_deadline(Duration::from_millis(200))
        .add_tool(work.description("Works for long").blocking())
        .serve(stdio())
        .await
}
