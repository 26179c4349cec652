//! The report on a frame. Serialized it is the output of `--json`, which `bowline explain --help`
//! documents; [`text`](super::text) prints it for users.

use bowline_types::envelope::Fault;
use bowline_types::inspect::{FrameKind, Inspection};
use bowline_types::json::SyntaxErrorKind;
use bowline_types::wire::{Finding, Severity};
use bowline_types::{Method, RequestId, Revision, Revisions};
use serde::{Serialize, Serializer};

/// The report on a frame, or on a part of one.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FrameReport<'a> {
    /// The number of the line; absent for a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// The kind of the message.
    pub(super) kind: MessageKind,
    /// The method of the message, or of its request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<&'a str>,
    /// The id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a RequestId>,
    /// A short description.
    pub(super) summary: String,
    /// `true` if the frame is valid in one of the selected revisions.
    pub(super) valid: bool,
    /// The selected revisions in which the frame is valid.
    #[serde(serialize_with = "serialize_names")]
    pub(super) valid_in: Revisions,
    /// The verdict of each selected revision; empty for an invalid frame.
    #[serde(rename = "revisions", serialize_with = "serialize_by_revision")]
    pub(super) verdicts: Vec<Verdict<'a>>,
    /// The messages of a batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Self>,
    /// The number of parts of the batch that are not included.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) parts_left_out: usize,
    /// Why the frame is not a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// The offset of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'static str>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageKind {
    /// A request.
    Request,
    /// A notification.
    Notification,
    /// A response with a result.
    Result,
    /// A response with an error.
    Error,
    /// A batch of messages.
    Batch,
    /// Not a message.
    Invalid,
}

/// The verdict of a revision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict<'a> {
    /// The revision.
    pub(super) revision: Revision,
    /// The findings.
    pub(super) findings: &'a [Finding],
}

impl<'a> FrameReport<'a> {
    /// Creates the report of `frame` from its inspection, for the selected `revisions`.
    pub(super) fn of_frame(
        line: u64,
        frame: &[u8],
        inspection: &'a Inspection,
        revisions: Revisions,
    ) -> Self {
        let hint = match &inspection.kind {
            FrameKind::Invalid { error } => hint_for(frame, error.fault()),
            _ => None,
        };
        Self {
            line: Some(line),
            hint,
            ..Self::from_inspection(inspection, revisions)
        }
    }

    /// Creates the report of a frame that was not inspected.
    pub(super) fn of_too_large(line: u64, bytes: u64, limit: usize) -> Self {
        let reason = format!("{bytes} bytes, more than the limit of {limit}");
        Self {
            line: Some(line),
            reason: Some(reason.clone()),
            ..Self::new(MessageKind::Invalid, format!("too large: {reason}"))
        }
    }

    fn from_inspection(inspection: &'a Inspection, revisions: Revisions) -> Self {
        let valid_in = inspection.valid_in().intersection(revisions);
        let verdicts = inspection.verdicts.iter().map(|verdict| Verdict {
            revision: verdict.revision,
            findings: &verdict.findings,
        });
        let parts = inspection.parts.iter();
        let report = Self {
            valid: !valid_in.is_empty(),
            valid_in,
            verdicts: verdicts
                .filter(|verdict| revisions.contains(verdict.revision))
                .collect(),
            parts: parts
                .map(|part| Self::from_inspection(part, revisions))
                .collect(),
            ..Self::new(MessageKind::Invalid, inspection.summary())
        };
        report.with_kind(&inspection.kind)
    }

    /// Sets the fields that depend on the kind of the frame.
    fn with_kind(mut self, kind: &'a FrameKind) -> Self {
        let of = |method: &Option<Method>| method.map(Method::as_str);
        (self.kind, self.method, self.id) = match kind {
            FrameKind::Request { method, id } => (MessageKind::Request, Some(&**method), Some(id)),
            FrameKind::Notification { method } => {
                (MessageKind::Notification, Some(&**method), None)
            }
            FrameKind::Result { of: method, id } => (MessageKind::Result, of(method), Some(id)),
            FrameKind::Error { of: method, id, .. } => {
                (MessageKind::Error, of(method), id.as_ref())
            }
            FrameKind::Batch { len } => {
                self.parts_left_out = len.saturating_sub(self.parts.len());
                (MessageKind::Batch, None, None)
            }
            FrameKind::Invalid { error } => {
                self.reason = Some(error.fault().to_string());
                self.offset = Some(error.offset());
                (MessageKind::Invalid, None, error.id())
            }
            // The library may add kinds.
            _ => (MessageKind::Invalid, None, None),
        };
        self
    }

    fn new(kind: MessageKind, summary: String) -> Self {
        Self {
            line: None,
            kind,
            method: None,
            id: None,
            summary,
            valid: false,
            valid_in: Revisions::NONE,
            verdicts: Vec::new(),
            parts: Vec::new(),
            parts_left_out: 0,
            reason: None,
            offset: None,
            hint: None,
        }
    }
}

impl Serialize for Verdict<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            valid: bool,
            findings: Vec<WireFinding<'a>>,
        }
        #[derive(Serialize)]
        struct WireFinding<'a> {
            severity: &'static str,
            path: &'a str,
            message: &'a str,
        }
        let findings = self.findings.iter().map(|finding| WireFinding {
            severity: severity(finding),
            path: &finding.path,
            message: &finding.message,
        });
        let wire = Wire {
            valid: !self.findings.iter().any(is_error),
            findings: findings.collect(),
        };
        wire.serialize(serializer)
    }
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Ignored => "ignored",
        // The library may add severities.
        _ => "note",
    }
}

/// Returns `true` if the finding makes a frame invalid.
pub(super) fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// Returns a hint for a frame that is not a message.
fn hint_for(frame: &[u8], fault: &Fault) -> Option<&'static str> {
    let begins_with = |prefix: &str| {
        let beginning = frame.trim_ascii_start().get(..prefix.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    if begins_with("content-length:") {
        return Some("MCP has no Content-Length headers: write one message per line");
    }
    if begins_with("data:") || begins_with("event:") {
        return Some("this looks like an event stream: remove everything but the messages");
    }
    if *fault == Fault::Syntax(SyntaxErrorKind::UnexpectedEnd) {
        return Some("a message must be on one line; `jq -c .` joins lines");
    }
    None
}

fn serialize_names<S: Serializer>(revisions: &Revisions, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(revisions.iter().map(Revision::as_str))
}

fn serialize_by_revision<S: Serializer>(
    verdicts: &[Verdict<'_>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let entries = verdicts.iter();
    serializer.collect_map(entries.map(|verdict| (verdict.revision.as_str(), verdict)))
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
