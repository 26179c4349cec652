//! Tools that send notifications: progress, log messages and changed lists.

use std::time::Duration;

use bowline::server::{Context, Server};
use bowline::types::logging::LoggingLevel;
use tokio::time::sleep;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(
            "test_tool_with_logging",
            "Sends three log messages",
            log_messages,
        )
        .tool(
            "test_logging_tool",
            "Sends a log message, if the request asks for it",
            log_message,
        )
        .tool("test_tool_with_progress", "Reports progress", progress)
        .tool(
            "test_trigger_tool_change",
            "Announces that the list of tools has changed",
            tools_changed,
        )
        .tool(
            "test_trigger_prompt_change",
            "Announces that the list of prompts has changed",
            prompts_changed,
        )
        .tool(
            "test_reconnection",
            "Takes longer than its stream of events lasts",
            reconnect,
        )
}

/// The time between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

async fn log_messages(cx: Context) -> &'static str {
    cx.log(LoggingLevel::Info, "Tool execution started");
    sleep(PAUSE).await;
    cx.log(LoggingLevel::Info, "Tool processing data");
    sleep(PAUSE).await;
    cx.log(LoggingLevel::Info, "Tool execution completed");
    "Logged three messages."
}

async fn log_message(cx: Context) -> &'static str {
    cx.log(LoggingLevel::Info, "This message is optional");
    "Logged a message, if it was wanted."
}

async fn progress(cx: Context) -> &'static str {
    for percent in [0, 50, 100] {
        cx.progress(percent, Some(100.into()), None);
        sleep(PAUSE).await;
    }
    "Reported progress."
}

async fn tools_changed(cx: Context) -> &'static str {
    cx.features().notify_tools_changed();
    "Announced."
}

async fn prompts_changed(cx: Context) -> &'static str {
    cx.features().notify_prompts_changed();
    "Announced."
}

async fn reconnect(cx: Context) -> &'static str {
    cx.close_stream(PAUSE);
    sleep(2 * PAUSE).await;
    "Reconnected."
}
