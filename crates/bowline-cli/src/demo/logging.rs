//! Log messages for the client.

use bowline::server::{Context, Server, tool};
use bowline::types::logging::LoggingLevel;
use schemars::JsonSchema;
use serde::Deserialize;

use super::basics::read_only;

pub(super) fn add_to(server: Server) -> Server {
    server.add_tool(
        tool("log", log)
            .title("Log")
            .description(
                "Sends a log message to the client, and returns whether its level was requested",
            )
            .annotations(read_only()),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Log {
    /// The severity.
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
    // Filtered by the level of the session; since 2026-07-28 by the level of the request.
    if cx.log(level.into(), text) {
        "sent"
    } else {
        "not sent: this level was not requested"
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
