//! `--verbose`: the log of the library on stderr.
//!
//! The events are those of docs/telemetry.md. They have no arguments, results or variables. The
//! exception is stderr of a server, which is logged escaped and with known secrets redacted. Each
//! line begins with the fields of its spans: the server, the session, and the request.

mod spans;

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};
use tracing_core::span::Current;

use crate::durations;
use crate::printer;
use crate::redact;
use crate::settings::Format;
use spans::Spans;

/// Installs the subscriber: for no events, debug events, or trace events as well.
///
/// # Errors
///
/// Another subscriber is installed already.
pub(crate) fn install(times_asked: u8, format: Format) -> anyhow::Result<()> {
    let level = match times_asked {
        0 => return Ok(()),
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let is_json = format == Format::Json;
    let line_subscriber = LineSubscriber::new(level, move |line: &str| {
        printer::note_to_stderr(is_json, line)
    });
    subscriber::set_global_default(line_subscriber).context("cannot install the log subscriber")
}

/// Writes each event as a line.
struct LineSubscriber<F> {
    level: Level,
    started_at: Instant,
    spans: Spans,
    write: F,
}

impl<F> LineSubscriber<F> {
    fn new(level: Level, write: F) -> Self {
        Self {
            level,
            started_at: Instant::now(),
            spans: Spans::default(),
            write,
        }
    }
}

impl<F: Fn(&str) + 'static> Subscriber for LineSubscriber<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_ours = target == "bowline" || target.starts_with("bowline::");
        is_ours && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.into())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.spans.create(span)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.spans.record(id, values);
    }

    fn event(&self, event: &Event<'_>) {
        let scope = self.spans.scope_of(event);
        (self.write)(&line(self.started_at.elapsed(), &scope, event));
    }

    fn enter(&self, id: &Id) {
        self.spans.enter(id);
    }

    fn exit(&self, id: &Id) {
        self.spans.exit(id);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.spans.hold(id);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.spans.release(&id)
    }

    fn current_span(&self) -> Current {
        self.spans.current()
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// Formats an event: time, level, spans, message, and fields.
fn line(at: Duration, scope: &str, event: &Event<'_>) -> String {
    let level = event.metadata().level().as_str().to_ascii_lowercase();
    let mut words = Words(format!("{:>7} {level:<5}", durations::shown(at)));
    if !scope.is_empty() {
        words.push(format_args!("[{scope}]"));
    }
    event.record(&mut words);
    words.0
}

/// Formats fields.
struct Words(String);

impl Words {
    fn push(&mut self, word: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, " {word}");
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = redact::without_secrets(value);
        let is_plain = |char: char| !char.is_whitespace() && !char.is_control();
        match field.name() {
            "message" => self.push(value),
            name if value.chars().all(is_plain) => self.push(format_args!("{name}={value}")),
            name => self.push(format_args!("{name}={value:?}")),
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

    use tracing::field::Empty;
    use tracing::{Span, debug, debug_span, error_span, event, info, trace};

    use super::*;

    /// Returns the lines of some events, without the times.
    fn logged(level: Level, events: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&lines);
        let subscriber = LineSubscriber::new(level, move |line: &str| {
            let (_, words) = line.split_once(" ms ").unwrap();
            collected.lock().unwrap().push(words.to_owned());
        });
        subscriber::with_default(subscriber, events);
        lines.lock().unwrap().clone()
    }

    #[test]
    fn events_are_lines_with_their_fields() {
        let lines = logged(Level::DEBUG, || {
            event!(
                name: "request.stop", target: "bowline::request", Level::DEBUG,
                request = 7, outcome = "result", reason = "two words", "request finished"
            );
            info!(target: "bowline::client", error = %"no", line = "a\nb", "it went wrong");
        });
        let expected = [
            "debug request finished request=7 outcome=result reason=\"two words\"",
            "info  it went wrong error=no line=\"a\\nb\"",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn each_line_names_its_server_and_request() {
        let lines = logged(Level::DEBUG, || {
            let spans = ["files", "mail"].map(|server| {
                error_span!(target: "bowline::client", "client", server, session = 1, late = Empty)
            });
            for span in &spans {
                let _entered = span.enter();
                info!(target: "bowline::client", "connected");
            }
            let request = debug_span!(
                target: "bowline::request", parent: &spans[1], "request", request = 3
            );
            spans[0].record("late", "more");
            spans[0].in_scope(|| {
                request.in_scope(|| info!(target: "bowline::a", "inner"));
                info!(target: "bowline::a", "outer");
                info!(target: "bowline::a", parent: None, "outside");
                let current = Span::current();
                let thread = std::thread::spawn(move || current.id().map(|id| id.into_u64()));
                assert_eq!(
                    thread.join().unwrap(),
                    spans[0].id().map(|id| id.into_u64())
                );
            });
        });
        let expected = [
            "info  [server=files session=1] connected",
            "info  [server=mail session=1] connected",
            "info  [server=mail session=1 request=3] inner",
            "info  [server=files session=1 late=more] outer",
            "info  outside",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn only_events_of_the_library_at_the_chosen_level_are_logged() {
        let events = || {
            debug!(target: "bowline::a", "one");
            trace!(target: "bowline::a", "two");
            debug!(target: "bowline_other", "three");
            debug!(target: "hyper", "four");
        };
        assert_eq!(logged(Level::DEBUG, events), ["debug one"]);
        assert_eq!(logged(Level::TRACE, events).len(), 2);
    }
}
