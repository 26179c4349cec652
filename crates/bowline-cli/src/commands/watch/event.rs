//! Events of a server, as JSON and as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline::Transition;
use bowline::client::SubscriptionEvent;
use bowline_types::RawJson;
use bowline_types::logging::LoggingMessageParams;
use serde::Serialize;

use crate::durations;
use crate::printer::{Piece, Tone};

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    /// The time, in UTC (RFC 3339).
    time: String,
    /// Milliseconds since the command was started.
    at_ms: f64,
    #[serde(flatten)]
    kind: EventKind,
}

/// The kind of an event, with its data.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum EventKind {
    /// The connection state changed.
    State {
        /// The time since the client was started.
        #[serde(skip)]
        at: Duration,
        from: &'static str,
        to: &'static str,
        cause: String,
        session: u64,
    },
    /// A list has changed.
    Changed { list: &'static str },
    /// A resource has changed.
    Updated { uri: String },
    /// The connection was lost: anything may have changed.
    Unknown,
    /// A log message of the server.
    Log {
        level: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        data: RawJson,
    },
    /// Events were dropped, since they arrived too fast.
    Missed { count: u64 },
    /// The subscription ended.
    Unsubscribed { reason: String },
}

impl Event {
    /// Creates an event that happens at `now`, counted from the start of the command. State changes
    /// have a time of their own.
    pub(super) fn now(now: Duration, kind: EventKind) -> Self {
        let at = match &kind {
            EventKind::State { at, .. } => *at,
            _ => now,
        };
        Self {
            time: utc(SystemTime::now() - now.saturating_sub(at)),
            at_ms: durations::millis(at),
            kind,
        }
    }

    /// Formats the event as a line.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let at = durations::shown(Duration::from_secs_f64(self.at_ms / 1000.0));
        let (word, tone, text) = self.kind.words();
        vec![
            Piece::new(Tone::Aside, format!("{at:<9} ")),
            Piece::new(tone, format!("{word:<8} ")),
            Piece::plain(text),
        ]
    }
}

impl EventKind {
    /// Returns the event for a state change.
    pub(super) fn state(transition: &Transition) -> Self {
        Self::State {
            at: Duration::from_nanos(transition.at.as_nanos()),
            from: transition.from.as_str(),
            to: transition.to.as_str(),
            cause: transition.cause.to_string(),
            session: transition.session,
        }
    }

    /// Returns the event for a change that was subscribed to, if it is a known one.
    pub(super) fn change(change: SubscriptionEvent) -> Option<Self> {
        Some(match change {
            SubscriptionEvent::Unknown => Self::Unknown,
            SubscriptionEvent::Tools => Self::Changed { list: "tools" },
            SubscriptionEvent::Prompts => Self::Changed { list: "prompts" },
            SubscriptionEvent::Resources => Self::Changed { list: "resources" },
            SubscriptionEvent::Resource(uri) => Self::Updated { uri },
            _ => return None,
        })
    }

    /// Returns the event for a log message.
    pub(super) fn log(message: LoggingMessageParams) -> Self {
        Self::Log {
            level: message.level.as_str().to_owned(),
            logger: message.logger,
            data: message.data,
        }
    }

    /// Returns the word for the kind, its tone, and the rest of the line.
    fn words(&self) -> (&'static str, Tone, String) {
        match self {
            Self::State {
                from, to, cause, ..
            } => {
                let tone = match *to {
                    "ready" => Tone::Good,
                    "backoff" | "closed" => Tone::Bad,
                    _ => Tone::Plain,
                };
                ("state", tone, format!("{from} → {to}: {cause}"))
            }
            Self::Changed { list } => ("changed", Tone::Plain, format!("the list of {list}")),
            Self::Updated { uri } => ("updated", Tone::Plain, uri.clone()),
            Self::Unknown => {
                let text = "anything may have changed meanwhile".to_owned();
                ("unknown", Tone::Plain, text)
            }
            Self::Log {
                level,
                logger,
                data,
            } => {
                let text = serde_json::from_str(data.as_str());
                let text: String = text.unwrap_or_else(|_| data.as_str().to_owned());
                let text = match logger {
                    Some(logger) => format!("{level}: {logger}: {text}"),
                    None => format!("{level}: {text}"),
                };
                ("log", Tone::Plain, text)
            }
            Self::Missed { count } => (
                "missed",
                Tone::Bad,
                format!("{count} events dropped: queue full"),
            ),
            Self::Unsubscribed { reason } => ("ended", Tone::Bad, reason.clone()),
        }
    }
}

/// Formats a time in UTC, to the millisecond: `2026-07-28T12:00:00.000Z`.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the date of a day since 1970-01-01. Years begin in March here, so that the leap day is
/// the last day of a year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, is_next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year_of_era + is_next, month, day)
}

#[cfg(test)]
mod tests {
    use bowline_types::logging::LoggingLevel;

    use super::*;

    #[test]
    fn times_are_formatted_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_785_240_000, "2026-07-28T12:00:00.007Z"),
            (4_107_542_399, "2100-02-28T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            let since = Duration::from_millis(seconds * 1000 + 7);
            assert_eq!(utc(UNIX_EPOCH + since), expected);
        }
    }

    #[test]
    fn events_are_formatted_as_text_and_as_json() {
        let data = |text: &str| RawJson::parse(text).unwrap();
        let message = LoggingMessageParams::new(LoggingLevel::Error, data("\"no luck\""));
        let value = LoggingMessageParams::new(LoggingLevel::Info, data("{\"a\":1.0}"));
        for (kind, words, json) in [
            (
                EventKind::change(SubscriptionEvent::Tools).unwrap(),
                "changed  the list of tools",
                r#""event":"changed","list":"tools""#,
            ),
            (
                EventKind::change(SubscriptionEvent::Prompts).unwrap(),
                "changed  the list of prompts",
                r#""event":"changed","list":"prompts""#,
            ),
            (
                EventKind::change(SubscriptionEvent::Resource("x:a".into())).unwrap(),
                "updated  x:a",
                r#""event":"updated","uri":"x:a""#,
            ),
            (
                EventKind::change(SubscriptionEvent::Unknown).unwrap(),
                "unknown  anything may have changed meanwhile",
                r#""event":"unknown""#,
            ),
            (
                EventKind::log(message),
                "log      error: no luck",
                r#""event":"log","level":"error","data":"no luck""#,
            ),
            (
                EventKind::log(value.logger("disk")),
                "log      info: disk: {\"a\":1.0}",
                r#""event":"log","level":"info","logger":"disk","data":{"a":1.0}"#,
            ),
            (
                EventKind::Missed { count: 3 },
                "missed   3 events dropped: queue full",
                r#""event":"missed","count":3"#,
            ),
            (
                EventKind::Unsubscribed { reason: "x".into() },
                "ended    x",
                r#""event":"unsubscribed","reason":"x""#,
            ),
        ] {
            let event = Event::now(Duration::from_millis(1250), kind);
            let line: String = event.pieces().into_iter().map(|piece| piece.text).collect();
            assert_eq!(line, format!("1.25 s    {words}"));
            let object = serde_json::to_string(&event).unwrap();
            assert!(
                object.ends_with(&format!(r#""at_ms":1250.0,{json}}}"#)),
                "{object}"
            );
        }
    }
}
