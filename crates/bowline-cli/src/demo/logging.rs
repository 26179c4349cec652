//! Messages for the people who run the client.

use bowline::server::{Context, Server, tool};
use bowline::types::logging::LoggingLevel;
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server.add_tool(
        tool("log", log)
            .title("Log")
            .description("Logs a message to the client, and says whether the client wanted it")
            .annotations(read_only()),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Log {
    /// How serious it is.
    level: Level,
    /// The message.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

async fn log(Log { level, text }: Log, cx: Context) -> &'static str {
    // It is filtered by the level of the session, and since 2026-07-28 by the one that the
    // request asks for.
    match cx.log(level.into(), text) {
        true => "sent",
        false => "not wanted",
    }
}

impl From<Level> for LoggingLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Notice => Self::Notice,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
            Level::Critical => Self::Critical,
            Level::Alert => Self::Alert,
            Level::Emergency => Self::Emergency,
        }
    }
}
