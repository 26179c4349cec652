//! A progress bar on stderr while a call runs, if stderr is a terminal. It is removed when the call
//! has ended.
//!
//! Besides [`printer`](crate::printer) this is the only place that writes to the terminal. Messages
//! of the server are escaped here.

use std::time::Duration;

use bowline_types::progress::ProgressParams;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::charset::Charset;
use crate::escape;

/// How bars look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BarStyle {
    /// The characters to draw with.
    pub(crate) charset: Charset,
    /// `true` to use colours.
    pub(crate) has_colour: bool,
    /// `true` to draw nothing.
    pub(crate) is_hidden: bool,
}

/// The progress of one call. Clones draw the same bar, which is removed with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    style: BarStyle,
}

impl Progress {
    /// Starts the bar of a call, after `label`.
    pub(crate) fn begin(label: &str, style: BarStyle) -> Self {
        let target = if style.is_hidden {
            ProgressDrawTarget::hidden()
        } else {
            // Nothing is drawn if stderr is not a terminal.
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let bar = bar.with_finish(ProgressFinish::AndClear);
        let template = ProgressStyle::with_template("  {prefix}{spinner} {msg}");
        bar.set_style(ticking(template.unwrap_or_else(|_| plain()), style));
        bar.set_prefix(escape::for_terminal(label).into_owned());
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, style }
    }

    /// Shows a progress notification.
    pub(crate) fn report(&self, report: &ProgressParams) {
        let text = ReportText::of(report);
        if let Some(position) = text.position {
            if self.bar.length().is_none() {
                self.bar.set_length(WHOLE);
                self.bar.set_style(self.style());
            }
            self.bar.set_position(position);
        }
        self.bar.set_message(text.words);
    }

    /// Runs `write` with the bar hidden, so that its output appears above the bar.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Hides the bar while a prompt uses the terminal.
    pub(crate) fn pause(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows the bar again, from the next progress notification on.
    pub(crate) fn resume(&self) {
        self.bar.reset();
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Returns the style of a bar whose total is known.
    fn style(&self) -> ProgressStyle {
        let template = if self.style.has_colour {
            "  {prefix}{bar:30.green/dim} {msg}"
        } else {
            "  {prefix}{bar:30} {msg}"
        };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| plain());
        style.progress_chars(self.style.charset.pick("━━─", "=>-"))
    }
}

/// The parts of a progress notification that a bar shows.
#[derive(Debug, PartialEq, Eq)]
struct ReportText {
    /// The position out of [`WHOLE`], if the total is known.
    position: Option<u64>,
    words: String,
}

impl ReportText {
    fn of(report: &ProgressParams) -> Self {
        let progress = report.progress.as_f64();
        let total = report.total.as_ref().map(|total| total.as_f64());
        let total = total.filter(|total| *total > 0.0 && total.is_finite());
        let position = total.map(|total| {
            let part = (progress / total).clamp(0.0, 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "between nothing and the whole"
            )]
            let position = (part * WHOLE as f64).round() as u64;
            position
        });
        let mut words = match total {
            Some(total) => format!("{} of {}", short(progress), short(total)),
            None => short(progress),
        };
        if let Some(message) = &report.message {
            words.push_str(", ");
            words.extend(escape::for_terminal(message).chars().take(MAX_MESSAGE));
        }
        Self { position, words }
    }
}

/// Formats a number that a server chose, in a few characters.
fn short(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(SMALLEST..LARGEST).contains(&size) {
        return format!("{number:.2e}");
    }
    // As many digits as a reader can follow.
    let text = format!("{number:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Returns the style of a spinner, while the total is not known.
fn ticking(template: ProgressStyle, style: BarStyle) -> ProgressStyle {
    template.tick_chars(style.charset.pick("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ", "|/-\\ "))
}

/// Returns the default style.
fn plain() -> ProgressStyle {
    ProgressStyle::default_bar()
}

/// The length of a bar.
const WHOLE: u64 = 1000;

/// Numbers from here on are written with an exponent.
const LARGEST: f64 = 1e15;

/// Numbers below this are written with an exponent.
const SMALLEST: f64 = 1e-3;

/// The interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// The longest message that is shown, in characters.
const MAX_MESSAGE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(report: &ProgressParams, position: Option<u64>, words: &str) {
        let words = words.to_owned();
        assert_eq!(ReportText::of(report), ReportText { position, words });
    }

    #[test]
    fn a_report_becomes_a_part_of_the_whole() {
        let report = |progress: f64, total: f64| ProgressParams::new("t", progress).total(total);
        check(&report(1.0, 4.0), Some(250), "1 of 4");
        check(&report(0.5, 1.0), Some(500), "0.5 of 1");
        check(&report(9.0, 4.0), Some(1000), "9 of 4");
        check(&report(-1.0, 4.0), Some(0), "-1 of 4");
        check(&report(1.0, 0.0), None, "1");
        check(&ProgressParams::new("t", 3), None, "3");
        check(&report(1e308, 1e308), Some(1000), "1.00e308 of 1.00e308");
        check(&report(0.1 + 0.2, 1.0), Some(300), "0.3 of 1");
        let bytes = "123456789012 of 999999999999999";
        check(
            &report(123_456_789_012.0, 999_999_999_999_999.0),
            Some(0),
            bytes,
        );
        check(&report(1e-300, 1e15), Some(0), "1.00e-300 of 1.00e15");
        check(&report(0.0, 100.0), Some(0), "0 of 100");
    }

    // proves: F-CL-01
    #[test]
    fn text_of_a_server_is_escaped_and_cut() {
        let hostile = ProgressParams::new("t", 1).message("\u{1b}[2J\nx");
        check(&hostile, None, "1, \\u{1b}[2J\\nx");
        let long = ProgressParams::new("t", 1).message("y".repeat(100));
        check(&long, None, &format!("1, {}", "y".repeat(MAX_MESSAGE)));
    }
}
