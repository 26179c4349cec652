//! The steps of `bowline demo` as text.

use bowline_types::Era;
use serde_json::Value;

use super::step::{Call, Change, Outcome, Step};
use crate::charset::Charset;
use crate::durations;
use crate::paragraph::{padded, wrapped};
use crate::printer::{self, Piece, Printer, Tone};

/// Prints a step.
pub(super) fn print(step: &Step, charset: Charset, printer: &mut Printer) -> anyhow::Result<()> {
    let mut writer = StepWriter { charset, printer };
    match step {
        Step::Connect {
            process,
            server,
            revision,
            capabilities,
            took,
        } => {
            let (name, version) = (&server.name, &server.version);
            writer.row("server", &format!("{name} {version}, process {process}"))?;
            let era = match revision.era() {
                Era::Stateless => "stateless",
                Era::Handshake => "handshake",
            };
            let took = durations::shown(*took);
            writer.row("revision", &format!("{revision} ({era}) after {took}"))?;
            writer.row("offers", &capabilities_text(capabilities))
        }
        Step::Tools { names, .. } => {
            writer.row(&format!("{} tools", names.len()), &names.join(", "))
        }
        Step::Call(call) => writer.call(call),
        Step::Read { uri, text, took } => {
            let answer = Piece::new(Tone::Good, text);
            writer.answer(uri, "", answer, durations::shown(*took))
        }
        Step::Kill {
            process,
            signal,
            tool,
            progress,
            at,
        } => {
            writer.row(tool, &format!("is at {progress}"))?;
            let at = durations::shown(*at);
            writer.row(signal, &format!("to process {process} after {at}"))
        }
        Step::Recover { process, changes } => {
            for change in changes {
                writer.change(change)?;
            }
            writer.row("server", &format!("process {process}"))
        }
        Step::Timeline(timeline) => {
            for line in timeline.draw(printer::width() - INDENT, charset) {
                writer.printer.pieces(1, &line)?;
            }
            Ok(())
        }
    }
}

/// Writes rows of a label and a text.
struct StepWriter<'a> {
    charset: Charset,
    printer: &'a mut Printer,
}

impl StepWriter<'_> {
    /// Writes a label and a text, which is wrapped below itself.
    fn row(&mut self, label: &str, text: &str) -> anyhow::Result<()> {
        self.toned_row(label, Tone::Plain, text)
    }

    fn toned_row(&mut self, label: &str, tone: Tone, text: &str) -> anyhow::Result<()> {
        let mut label = label;
        for line in wrapped(text, printer::width() - INDENT - LABEL) {
            let pieces = [Piece::plain(column(label)), Piece::new(tone, line)];
            self.printer.pieces(1, &pieces)?;
            label = "";
        }
        Ok(())
    }

    /// Writes a request, its result, and how long it took.
    fn answer(
        &mut self,
        label: &str,
        asked: &str,
        answer: Piece,
        took: String,
    ) -> anyhow::Result<()> {
        let arrow = self.charset.pick("→", "->");
        let asked = match asked {
            "" => String::new(),
            asked => format!("{asked} "),
        };
        let pieces = [
            Piece::plain(column(label)),
            Piece::plain(asked),
            Piece::new(Tone::Aside, format!("{arrow} ")),
            answer,
            Piece::new(Tone::Aside, format!(" ({took})")),
        ];
        self.printer.pieces(1, &pieces)
    }

    fn call(&mut self, call: &Call) -> anyhow::Result<()> {
        let asked = arguments_text(&call.arguments);
        let mut took = durations::shown(call.to.saturating_sub(call.from));
        if let Some(reports) = call.reports {
            took = format!("{reports} reports in {took}");
        }
        match &call.outcome {
            Outcome::Answered { text } => {
                self.answer(call.tool, &asked, Piece::new(Tone::Good, text), took)
            }
            Outcome::ToolError { text } => {
                let answer = Piece::new(Tone::Bad, format!("tool error: {text}"));
                self.answer(call.tool, &asked, answer, took)
            }
            Outcome::Lost(failure) | Outcome::Failed(failure) => {
                self.toned_row(call.tool, Tone::Bad, &failure.error)?;
                match failure.executed {
                    Some(executed) => self.row("executed?", executed),
                    None => Ok(()),
                }
            }
        }
    }

    fn change(&mut self, change: &Change) -> anyhow::Result<()> {
        let arrow = self.charset.pick("→", "->");
        let Change {
            at,
            from,
            to,
            cause,
        } = change;
        let text = format!("{from} {arrow} {to}: {cause}");
        self.row(&durations::shown(*at), &text)
    }
}

/// Returns a label padded to the width of the column.
pub(super) fn column(label: &str) -> String {
    format!("{} ", padded(label, LABEL - 1))
}

/// Formats arguments as they are typed.
fn arguments_text(arguments: &Value) -> String {
    let members = arguments.as_object().into_iter().flatten();
    let members = members.map(|(name, value)| format!("{name}={value}"));
    members.collect::<Vec<_>>().join(" ")
}

/// Formats the capabilities with their options.
fn capabilities_text(capabilities: &Value) -> String {
    let members = capabilities.as_object().into_iter().flatten();
    let offers = members.map(|(name, details)| {
        let details = details.as_object().into_iter().flatten();
        let more = details.filter(|(_, value)| value.as_bool() == Some(true));
        let more: Vec<_> = more.map(|(name, _)| name.as_str()).collect();
        match more.as_slice() {
            [] => name.clone(),
            more => format!("{name} ({})", more.join(", ")),
        }
    });
    offers.collect::<Vec<_>>().join(", ")
}

/// The width of the column of labels.
const LABEL: usize = 13;

/// The indentation of rows.
const INDENT: usize = 2;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn capabilities_are_named_with_what_they_have() {
        let capabilities = json!({
            "logging": {},
            "resources": {"listChanged": true, "subscribe": false},
            "tools": {"listChanged": true},
        });
        let words = "logging, resources (listChanged), tools (listChanged)";
        assert_eq!(capabilities_text(&capabilities), words);
    }
}
