//! Prints reports for users.
//!
//! ```text
//! line 2: request tools/call, id 7
//!   valid in 2025-11-25
//!   not valid in 2024-11-05, 2025-03-26: params.task …
//!   not valid in 2026-07-28:
//!     one reason
//!     another reason
//!   ignored: params.extra
//! ```

use bowline_types::Revisions;
use bowline_types::wire::{Finding, Severity};

use crate::commands::explain::report::{FrameReport, MessageKind, is_error};
use crate::excerpt::excerpt;
use crate::printer::{Printer, Tone};

/// Prints the report on `frame`.
pub(super) fn print(
    report: &FrameReport<'_>,
    frame: &[u8],
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let line = report.line.unwrap_or_default();
    print_head(report, 0, &format!("line {line}"), printer)?;
    if let Some(offset) = report.offset {
        for text in excerpt(frame, offset) {
            printer.line(1, Tone::Plain, &text)?;
        }
    }
    if let Some(hint) = report.hint {
        printer.line(1, Tone::Plain, &format!("hint: {hint}"))?;
    }
    print_body(report, 1, printer)
}

/// Prints the line with the summary.
fn print_head(
    report: &FrameReport<'_>,
    depth: usize,
    label: &str,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let tone = match report.kind {
        MessageKind::Invalid => Tone::Bad,
        MessageKind::Request
        | MessageKind::Notification
        | MessageKind::Result
        | MessageKind::Error
        | MessageKind::Batch => Tone::Plain,
    };
    printer.line(depth, tone, &format!("{label}: {}", report.summary))
}

/// Prints the findings of all revisions, and the parts.
fn print_body(report: &FrameReport<'_>, depth: usize, printer: &mut Printer) -> anyhow::Result<()> {
    let selected = report.verdicts.iter().map(|verdict| verdict.revision);
    let selected: Revisions = selected.collect();
    if report.valid {
        let text = format!("valid in {}", every_revision(report.valid_in));
        printer.line(depth, Tone::Good, &text)?;
    }
    print_errors(report, selected, depth, printer)?;
    print_notes(report, selected, depth, printer)?;
    for (part, number) in report.parts.iter().zip(1..) {
        print_head(part, depth, &format!("part {number}"), printer)?;
        print_body(part, depth + 1, printer)?;
    }
    if report.parts_left_out > 0 {
        let text = format!("and {} more parts", report.parts_left_out);
        printer.line(depth, Tone::Plain, &text)?;
    }
    Ok(())
}

/// Prints the errors, grouped by revisions.
fn print_errors(
    report: &FrameReport<'_>,
    selected: Revisions,
    depth: usize,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let groups = merge_by_revisions(group_findings(report, is_error));
    // Few messages are valid in every revision. Only one that is valid in none is an error.
    let tone = if report.valid { Tone::Plain } else { Tone::Bad };
    let is_one_common = groups.iter().any(|(revisions, _)| *revisions == selected);
    if !report.valid && !is_one_common && !selected.is_empty() {
        let text = format!("not valid in {}", any_revision(selected));
        printer.line(depth, tone, &text)?;
    }
    for (revisions, findings) in groups {
        let what = format!("not valid in {}:", any_revision(revisions));
        if let [finding] = findings[..] {
            printer.line(depth, tone, &format!("{what} {finding}"))?;
            continue;
        }
        printer.line(depth, tone, &what)?;
        for finding in findings {
            printer.line(depth + 1, tone, &finding.to_string())?;
        }
    }
    Ok(())
}

/// Prints the notes of the revisions in which the frame is valid. If it is valid in none, prints
/// those of all revisions, since a note may explain an error.
fn print_notes(
    report: &FrameReport<'_>,
    selected: Revisions,
    depth: usize,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let relevant = if report.valid {
        report.valid_in
    } else {
        selected
    };
    let groups = group_findings(report, |finding| !is_error(finding));
    let groups = groups.into_iter().filter_map(|group| {
        let revisions = group.revisions.intersection(relevant);
        (!revisions.is_empty()).then_some(Group { revisions, ..group })
    });
    let (ignored, others): (Vec<_>, Vec<_>) =
        groups.partition(|group| group.finding.severity == Severity::Ignored);
    let within = |revisions: Revisions| {
        if revisions == relevant {
            String::new()
        } else {
            format!(" in {revisions}")
        }
    };
    for Group { revisions, finding } in others {
        let text = format!("note{}: {finding}", within(revisions));
        printer.line(depth, Tone::Aside, &text)?;
    }
    for (revisions, findings) in merge_by_revisions(ignored) {
        let paths: Vec<_> = findings.iter().map(|finding| &*finding.path).collect();
        let text = format!("ignored{}: {}", within(revisions), paths.join(", "));
        printer.line(depth, Tone::Aside, &text)?;
    }
    Ok(())
}

/// Merges the findings of the same revisions.
fn merge_by_revisions(groups: Vec<Group<'_>>) -> Vec<(Revisions, Vec<&Finding>)> {
    let mut together: Vec<(Revisions, Vec<&Finding>)> = Vec::new();
    for Group { revisions, finding } in groups {
        match together.iter_mut().find(|(known, _)| *known == revisions) {
            Some((_, findings)) => findings.push(finding),
            None => together.push((revisions, vec![finding])),
        }
    }
    together
}

/// A finding with its revisions.
struct Group<'a> {
    finding: &'a Finding,
    revisions: Revisions,
}

/// Groups the findings that are `wanted`, in the order of their first occurrence.
fn group_findings<'a>(report: &FrameReport<'a>, wanted: fn(&Finding) -> bool) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for verdict in &report.verdicts {
        for finding in verdict.findings.iter().filter(|finding| wanted(finding)) {
            match groups.iter_mut().find(|group| group.finding == finding) {
                Some(group) => group.revisions = group.revisions.with(verdict.revision),
                None => groups.push(Group {
                    finding,
                    revisions: verdict.revision.into(),
                }),
            }
        }
    }
    groups
}

/// Formats `revisions` after "valid in".
fn every_revision(revisions: Revisions) -> String {
    list_or_all(revisions, "every revision")
}

/// Formats `revisions` after "not valid in".
fn any_revision(revisions: Revisions) -> String {
    list_or_all(revisions, "any revision")
}

fn list_or_all(revisions: Revisions, all: &str) -> String {
    if revisions == Revisions::ALL {
        all.into()
    } else {
        revisions.to_string()
    }
}
