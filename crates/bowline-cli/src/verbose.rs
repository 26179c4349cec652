//! `--verbose`: what the library tells of itself, on stderr.
//!
//! The events are those of docs/telemetry.md: numbers and words of Bowline's own, no arguments,
//! no results, no variables. The one exception is what a server says on its stderr, which
//! comes as it is, escaped, but for the secrets that it was given.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

use crate::printer;
use crate::redact;
use crate::settings::Format;
use crate::times;

/// Tells from now on what happens: nothing, what matters, or every read and write as well.
///
/// # Errors
///
/// Somebody else was told to.
pub(crate) fn begin(times_asked: u8, format: Format) -> anyhow::Result<()> {
    let level = match times_asked {
        0 => return Ok(()),
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let talks_json = format == Format::Json;
    let teller = Teller::new(level, move |line: &str| printer::note(talks_json, line));
    subscriber::set_global_default(teller).context("cannot be verbose")
}

/// Says each event as a line.
struct Teller<F> {
    level: Level,
    begun: Instant,
    spans: AtomicU64,
    say: F,
}

impl<F> Teller<F> {
    fn new(level: Level, say: F) -> Self {
        Self {
            level,
            begun: Instant::now(),
            spans: AtomicU64::new(1),
            say,
        }
    }
}

impl<F: Fn(&str) + 'static> Subscriber for Teller<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_ours = target == "bowline" || target.starts_with("bowline::");
        is_ours && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.into())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // Numbers from 1, and no process makes so many that they begin again.
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn event(&self, event: &Event<'_>) {
        (self.say)(&line(self.begun.elapsed(), event));
    }

    // A command has one connection as a rule, so that events need no span to be told apart.
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event in words: when, how grave, what, and its fields.
fn line(at: Duration, event: &Event<'_>) -> String {
    let metadata = event.metadata();
    let level = metadata.level().as_str().to_ascii_lowercase();
    let mut words = Words(format!("{:>7} {level:<5}", times::shown(at)));
    // Those without a name of their own are named after their place in the source.
    match metadata.name().starts_with("event ") {
        true => words.push(metadata.target()),
        false => words.push(metadata.name()),
    }
    event.record(&mut words);
    words.0
}

/// Fields as words.
struct Words(String);

impl Words {
    fn push(&mut self, word: impl fmt::Display) {
        // Writing to a string can't fail.
        let _ = write!(self.0, " {word}");
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = redact::without_secrets(value);
        match field.name() {
            "message" => self.push(value),
            name if value.contains(' ') => self.push(format_args!("{name}={value:?}")),
            name => self.push(format_args!("{name}={value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = format!("{value:?}");
        let value = redact::without_secrets(&value);
        match field.name() {
            "message" => self.push(value),
            name => self.push(format_args!("{name}={value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{debug, event, info, trace};

    use super::*;

    /// What is told of some events, without the times.
    fn told(level: Level, events: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&lines);
        let teller = Teller::new(level, move |line: &str| {
            let (_, words) = line.split_once(" ms ").unwrap();
            said.lock().unwrap().push(words.to_owned());
        });
        subscriber::with_default(teller, events);
        lines.lock().unwrap().clone()
    }

    #[test]
    fn events_are_lines_with_their_fields() {
        let lines = told(Level::DEBUG, || {
            event!(
                name: "request.stop", target: "bowline::request", Level::DEBUG,
                request = 7, outcome = "result", reason = "two words"
            );
            info!(target: "bowline::client", error = %"no", "it went wrong");
        });
        let expected = [
            "debug request.stop request=7 outcome=result reason=\"two words\"",
            "info  bowline::client it went wrong error=no",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn only_what_is_ours_and_was_asked_for_is_told() {
        let events = || {
            debug!(target: "bowline::a", "one");
            trace!(target: "bowline::a", "two");
            debug!(target: "bowline_other", "three");
            debug!(target: "hyper", "four");
        };
        assert_eq!(told(Level::DEBUG, events), ["debug bowline::a one"]);
        assert_eq!(told(Level::TRACE, events).len(), 2);
    }
}
