//! State that changes, with a resource whose subscribers are notified.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bowline::server::{Json, Server, State, resource, tool};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::basics::read_only;

const COUNTER: &str = "demo://counter";

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("increment", increment)
                .title("Increment")
                .description("Increments the counter, whose resource is demo://counter")
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(false)
                        .open_world_hint(false),
                ),
        )
        .add_tool(
            tool("counter", counter)
                .title("Counter")
                .description("Returns the counter, and other counts of the server")
                .annotations(read_only()),
        )
        .add_resource(
            resource(COUNTER, "counter", read_counter)
                .title("Counter")
                .description("The value of the counter; supports subscriptions")
                .mime_type("text/plain"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Increment {
    /// The amount to add.
    #[serde(default = "one")]
    by: u32,
}

fn one() -> u32 {
    1
}

async fn increment(Increment { by }: Increment, State(app): State<Arc<App>>) -> u64 {
    let before = app.counter.fetch_add(by.into(), Ordering::Relaxed);
    app.features.notify_resource_updated(COUNTER);
    before.wrapping_add(by.into())
}

#[derive(Serialize, JsonSchema)]
struct Counters {
    /// The counter of `increment`.
    counter: u64,
    /// The number of cancelled calls of `countdown`.
    cancelled: u64,
    /// The number of surveys of `ask_survey`.
    surveys: u64,
    /// The number of notes.
    notes: usize,
}

async fn counter(State(app): State<Arc<App>>) -> Json<Counters> {
    Json(Counters {
        counter: app.counter.load(Ordering::Relaxed),
        cancelled: app.cancelled.load(Ordering::Relaxed),
        surveys: app.surveys.load(Ordering::Relaxed),
        notes: app.notes().len(),
    })
}

async fn read_counter(State(app): State<Arc<App>>) -> String {
    app.counter.load(Ordering::Relaxed).to_string()
}
