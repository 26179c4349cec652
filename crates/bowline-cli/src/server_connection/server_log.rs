//! The log messages of a server.

use std::sync::Arc;

use bowline::ClientConfig;
use bowline::client::ServerNotification;
use bowline_types::logging::{LoggingLevel, LoggingMessageParams};
use bowline_types::{Method, RawJson};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver};

use crate::server_connection::stderr_messages::StderrMessages;
use crate::settings::Format;

/// Writes log messages from a level on to stderr as they arrive.
pub(super) fn show(config: &ClientConfig, level: LoggingLevel, messages: StderrMessages) {
    let method = Method::LoggingMessage.as_str();
    // Inline, so that a message is shown before the response that follows it.
    config.router().on_inline(Some(method), move |note| {
        let Ok(message) = note.decode::<LoggingMessageParams>() else {
            return;
        };
        if !message.level.is_at_least(&level) {
            return;
        }
        match messages.format() {
            Format::Text => messages.write_text(&line(&message)),
            Format::Json => messages.write_json(&LogEntry::of(&message)),
        }
    });
}

/// Collects all log messages. Those that arrive faster than they are read wait in the library,
/// which drops the oldest and counts them.
pub(super) fn collect(config: &ClientConfig) -> Receiver<Arc<ServerNotification>> {
    let (sender, receiver) = mpsc::channel(1);
    let method = Method::LoggingMessage.as_str();
    config.router().on(method, move |note| {
        let sender = sender.clone();
        async move {
            // The receiver may be gone.
            let _ = sender.send(note).await;
        }
    });
    receiver
}

/// Formats a message as text.
fn line(message: &LoggingMessageParams) -> String {
    let level = message.level.as_str();
    let text = match serde_json::from_str(message.data.as_str()) {
        Ok(Value::String(text)) => text,
        _ => message.data.as_str().to_owned(),
    };
    match &message.logger {
        Some(logger) => format!("server: {level}: {logger}: {text}"),
        None => format!("server: {level}: {text}"),
    }
}

/// A message as JSON.
#[derive(Serialize)]
struct LogEntry<'a> {
    log: &'a RawJson,
    level: &'a LoggingLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    logger: Option<&'a str>,
}

impl<'a> LogEntry<'a> {
    fn of(message: &'a LoggingMessageParams) -> Self {
        Self {
            log: &message.data,
            level: &message.level,
            logger: message.logger.as_deref(),
        }
    }
}

/// The level from which messages are shown by default.
pub(super) const DEFAULT_LEVEL: LoggingLevel = LoggingLevel::Warning;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_have_their_level_and_logger() {
        let data = |text: &str| RawJson::parse(text).unwrap();
        let text = LoggingMessageParams::new(LoggingLevel::Error, data("\"no\\nluck\""));
        assert_eq!(line(&text), "server: error: no\nluck");
        let value = LoggingMessageParams::new(LoggingLevel::Info, data("{\"a\":1}"));
        let value = value.logger("disk");
        assert_eq!(line(&value), "server: info: disk: {\"a\":1}");
        assert_eq!(
            serde_json::to_string(&LogEntry::of(&value)).unwrap(),
            r#"{"log":{"a":1},"level":"info","logger":"disk"}"#
        );
    }
}
