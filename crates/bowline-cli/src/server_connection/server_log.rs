//! What a server logs, on stderr.

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

/// Shows what the server logs from a level on, as it comes.
pub(super) fn show(config: &ClientConfig, level: LoggingLevel, messages: StderrMessages) {
    let method = Method::LoggingMessage.as_str();
    // By the connection itself, so that it is shown before the answer that comes after it.
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

/// Keeps what the server logs for whoever wants it all. What comes faster than it is taken waits
/// in the library, which drops the oldest and tells how many.
pub(super) fn collect(config: &ClientConfig) -> Receiver<Arc<ServerNotification>> {
    let (sender, receiver) = mpsc::channel(1);
    let method = Method::LoggingMessage.as_str();
    config.router().on(method, move |note| {
        let sender = sender.clone();
        async move {
            // Nobody may want it any more.
            let _ = sender.send(note).await;
        }
    });
    receiver
}

/// A message for a person.
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

/// A message for a program.
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

/// What is shown unless somebody wishes for something else.
pub(super) const DEFAULT_LEVEL: LoggingLevel = LoggingLevel::Warning;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_with_their_level_and_logger() {
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
