//! A timeline: the states of a connection and the calls meanwhile, as a chart. It is pure: data in,
//! text out, without a clock or a terminal.

use std::time::Duration;

use bowline::ConnectionState;

use crate::charset::Charset;
use crate::durations;
use crate::paragraph::{columns, padded};
use crate::printer::{Piece, Tone};

/// The data of a chart. Times are counted from the start of the client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// The states, one after the other and without gaps.
    pub(crate) states: Vec<StateSpan>,
    /// The calls, in the order of their start.
    pub(crate) calls: Vec<Call>,
    /// Events from outside.
    pub(crate) marks: Vec<Mark>,
}

/// A state that the connection was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateSpan {
    pub(crate) state: ConnectionState,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name of the tool or method.
    pub(crate) name: String,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// The outcome, in a word or two.
    pub(crate) outcome: String,
    /// `true` if the server responded.
    pub(crate) is_answered: bool,
}

/// An event at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) at: Duration,
    pub(crate) label: String,
}

impl Timeline {
    /// Returns the states of a client from its state changes, until `end`.
    pub(crate) fn spans(
        changes: impl IntoIterator<Item = (Duration, ConnectionState)>,
        end: Duration,
    ) -> Vec<StateSpan> {
        let mut spans = Vec::new();
        let (mut from, mut state) = (Duration::ZERO, ConnectionState::Starting);
        for (to, next) in changes {
            spans.push(StateSpan { state, from, to });
            (from, state) = (to, next);
        }
        if state != ConnectionState::Closed {
            let to = end.max(from);
            spans.push(StateSpan { state, from, to });
        }
        spans
    }

    /// Draws the chart, `width` columns wide if possible.
    pub(crate) fn draw(&self, width: usize, charset: Charset) -> Vec<Vec<Piece>> {
        let chart = Chart::fit(self, width, charset);
        let mut lines = vec![chart.axis(), chart.states(&self.states)];
        lines.extend(self.marks.iter().map(|mark| chart.mark(mark)));
        lines.extend(chart.legend(&self.states, width));
        lines.extend(self.calls.iter().map(|call| chart.call(call)));
        lines
    }

    /// Returns the end of the chart.
    fn end(&self) -> Duration {
        let states = self.states.iter().map(|span| span.to);
        let calls = self.calls.iter().map(|call| call.to);
        let marks = self.marks.iter().map(|mark| mark.at);
        states.chain(calls).chain(marks).max().unwrap_or_default()
    }
}

/// The columns of the chart: labels, then time, then notes.
struct Chart {
    charset: Charset,
    end: Duration,
    /// The width of the labels.
    labels: usize,
    /// The width of the time, at least 1.
    columns: usize,
    /// The width of the outcomes, if there is space for them.
    outcomes: usize,
    has_notes: bool,
}

impl Chart {
    /// Fits the chart into `width` columns.
    fn fit(timeline: &Timeline, width: usize, charset: Charset) -> Self {
        let calls = || timeline.calls.iter();
        let names = calls().map(|call| columns(&call.name));
        let labels = names.chain([CONNECTION.len()]).max().unwrap_or_default();
        let labels = labels.min(MAX_LABEL);
        let widest_outcome = calls().map(|call| columns(&call.outcome)).max();
        let outcomes = widest_outcome.unwrap_or_default();
        let room = width.saturating_sub(labels + GAP);
        let notes = GAP + outcomes + 1 + TIME;
        let has_notes = widest_outcome.is_some() && room >= notes + MIN_COLUMNS;
        let room = if has_notes { room - notes } else { room };
        Self {
            charset,
            end: timeline.end().max(Duration::from_millis(1)),
            labels,
            columns: room.max(MIN_COLUMNS),
            outcomes,
            has_notes,
        }
    }

    /// Returns the column of a moment.
    fn column(&self, at: Duration) -> usize {
        let part = at.as_secs_f64() / self.end.as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a column of a terminal"
        )]
        let column = (part * self.columns as f64) as usize;
        column.min(self.columns - 1)
    }

    /// Draws the axis, with as many labels as fit.
    fn axis(&self) -> Vec<Piece> {
        let mut text = String::new();
        let step = self.step();
        let moments = (0..).map(|number| step.saturating_mul(number));
        for at in moments.take_while(|at| *at <= self.end).take(self.columns) {
            let label = axis_label(at);
            let (column, used) = (self.column(at), columns(&text));
            let is_apart = used == 0 || column > used;
            if is_apart && column + label.len() <= self.columns {
                text.push_str(&" ".repeat(column - used));
                text.push_str(&label);
            }
        }
        vec![Piece::plain(self.label("")), Piece::new(Tone::Aside, text)]
    }

    /// Returns the time between two labels of the axis: 1, 2 or 5 units.
    fn step(&self) -> Duration {
        let labels = u32::try_from(self.columns / AXIS_LABEL).unwrap_or(u32::MAX);
        let least = self.end / labels.max(1);
        let mut unit = Duration::from_millis(1);
        loop {
            let steps = [1, 2, 5].map(|factor| unit.saturating_mul(factor));
            if let Some(step) = steps.into_iter().find(|step| *step >= least) {
                return step;
            }
            unit = unit.saturating_mul(10);
        }
    }

    /// Draws the states. However short a state was, it gets a column.
    fn states(&self, spans: &[StateSpan]) -> Vec<Piece> {
        let mut pieces = vec![Piece::plain(self.label(CONNECTION))];
        let mut starts = Vec::with_capacity(spans.len());
        let mut next = 0;
        for (index, stretch) in spans.iter().enumerate() {
            // The states after it need a column each.
            let last = self.columns.saturating_sub(spans.len() - index);
            let start = self.column(stretch.from).max(next).min(last.max(next));
            starts.push(start);
            next = start + 1;
        }
        let ends = starts.iter().skip(1).copied().chain([self.columns]);
        for ((stretch, start), end) in spans.iter().zip(&starts).zip(ends) {
            let (glyph, tone) = self.glyph(stretch.state);
            let length = end.min(self.columns).saturating_sub(*start);
            pieces.push(Piece::new(tone, glyph.repeat(length)));
        }
        pieces
    }

    /// Draws an event below its moment.
    fn mark(&self, mark: &Mark) -> Vec<Piece> {
        let column = self.column(mark.at);
        let arrow = self.charset.pick("▲", "^");
        let text = if column + columns(&mark.label) + 2 <= self.columns {
            format!("{}{arrow} {}", " ".repeat(column), mark.label)
        } else {
            let before = column.saturating_sub(columns(&mark.label) + 1);
            format!("{}{} {arrow}", " ".repeat(before), mark.label)
        };
        vec![Piece::plain(self.label("")), Piece::new(Tone::Bad, text)]
    }

    /// Draws the legend: how each state is drawn, and how long it lasted.
    fn legend(&self, spans: &[StateSpan], width: usize) -> Vec<Vec<Piece>> {
        let mut lines = Vec::new();
        let mut line = vec![Piece::plain(self.label(""))];
        let mut used = self.labels + GAP;
        for state in ConnectionState::ALL {
            let of_state = spans.iter().filter(|span| span.state == state);
            let times = of_state.map(|span| span.to.saturating_sub(span.from));
            let Some(time) = times.reduce(|sum, time| sum + time) else {
                continue;
            };
            let (glyph, tone) = self.glyph(state);
            let words = format!(" {state} {}", durations::shown(time));
            let length = 1 + columns(&words);
            if line.len() > 1 && used + GAP + length > width {
                lines.push(std::mem::take(&mut line));
                line.push(Piece::plain(self.label("")));
                used = self.labels + GAP;
            } else if line.len() > 1 {
                line.push(Piece::plain(" ".repeat(GAP)));
                used += GAP;
            }
            line.push(Piece::new(tone, glyph));
            line.push(Piece::new(Tone::Aside, words));
            used += length;
        }
        if line.len() > 1 {
            lines.push(line);
        }
        lines
    }

    /// Draws the row of a call.
    fn call(&self, call: &Call) -> Vec<Piece> {
        let tone = if call.is_answered {
            Tone::Good
        } else {
            Tone::Bad
        };
        let (from, to) = (self.column(call.from), self.column(call.to.max(call.from)));
        let [begin, line, answered, failed, short] = self
            .charset
            .pick(["├", "─", "┤", "╳", "│"], ["[", "-", "]", "x", "|"]);
        let end = if call.is_answered { answered } else { failed };
        let bar = match to - from {
            0 if call.is_answered => short.to_owned(),
            0 => failed.to_owned(),
            length => format!("{begin}{}{end}", line.repeat(length - 1)),
        };
        let mut pieces = vec![
            Piece::plain(self.label(&call.name)),
            Piece::new(tone, format!("{}{bar}", " ".repeat(from))),
        ];
        if self.has_notes {
            let rest = self.columns - 1 - to + GAP;
            let outcome = format!(
                "{}{}",
                " ".repeat(rest),
                padded(&call.outcome, self.outcomes)
            );
            let time = durations::shown(call.to.saturating_sub(call.from));
            pieces.push(Piece::new(tone, outcome));
            pieces.push(Piece::new(Tone::Aside, format!(" {time:>TIME$}")));
        }
        pieces
    }

    /// Returns a label with the gap after it. A longer one is cut.
    fn label(&self, text: &str) -> String {
        let text = if columns(text) > self.labels {
            let dots = self.charset.pick("…", "~");
            let kept: String = text.chars().take(self.labels - 1).collect();
            format!("{kept}{dots}")
        } else {
            text.to_owned()
        };
        padded(&text, self.labels + GAP)
    }

    /// Returns how a state is drawn.
    fn glyph(&self, state: ConnectionState) -> (&'static str, Tone) {
        let pick = |unicode, ascii| self.charset.pick(unicode, ascii);
        match state {
            ConnectionState::Starting => (pick("░", "s"), Tone::Aside),
            ConnectionState::Initializing => (pick("▒", "i"), Tone::Aside),
            ConnectionState::Ready => (pick("█", "="), Tone::Good),
            ConnectionState::Backoff => (pick("·", "."), Tone::Bad),
            ConnectionState::Closing => (pick("▁", "c"), Tone::Aside),
            ConnectionState::Closed => (" ", Tone::Aside),
        }
    }
}

/// Returns the label of a moment of the axis, which is a round number.
fn axis_label(at: Duration) -> String {
    match at.as_millis() {
        0 => "0 s".to_owned(),
        millis if millis < 100 => format!("{millis} ms"),
        _ => format!("{} s", at.as_secs_f64()),
    }
}

/// The label of the row of states.
const CONNECTION: &str = "connection";

/// The maximum width of a label.
const MAX_LABEL: usize = 20;

/// The gap between labels, chart and notes.
const GAP: usize = 2;

/// The width of the duration of a call.
const TIME: usize = 6;

/// The minimum width of a useful chart.
const MIN_COLUMNS: usize = 20;

/// The width of the axis per label.
const AXIS_LABEL: usize = 9;

#[cfg(test)]
mod tests;
