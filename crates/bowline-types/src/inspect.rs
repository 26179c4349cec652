//! Inspecting frames: what each is, and in which revisions it is valid.
//!
//! ```
//! use bowline_types::Revision;
//! use bowline_types::inspect::Inspector;
//!
//! let mut inspector = Inspector::new();
//! let ping = inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
//! assert_eq!(ping.summary(), "request ping, id 1");
//! assert!(ping.is_valid_in(Revision::V2025_11_25));
//! assert!(!ping.is_valid_in(Revision::V2026_07_28));
//! // An answer is checked as what its request asked for.
//! let pong = inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! assert_eq!(pong.summary(), "result of ping, id 1");
//! ```

use std::collections::VecDeque;
use std::fmt;

use crate::envelope::{Envelope, EnvelopeError, Failure, Success};
use crate::error::{ErrorKind, ErrorObject, may_send};
use crate::id::RequestId;
use crate::json::{JsonRef, shortened};
use crate::method::Method;
use crate::result::AnyResult;
use crate::revision::{Revision, Revisions};
use crate::wire::{Finding, Severity, Wire, check};

/// Requests that wait for their answers. Beyond it the oldest is forgotten, and its
/// answer is checked as one of an unknown request.
pub const MAX_PENDING: usize = 4096;

/// Looks at frames one after another, so that answers find their requests.
#[derive(Debug, Default)]
pub struct Inspector {
    pending: VecDeque<(RequestId, Option<Method>)>,
}

impl Inspector {
    /// An inspector that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what `frame` is and in which revisions it is valid.
    pub fn inspect(&mut self, frame: &[u8]) -> Inspection {
        match Envelope::parse(frame) {
            Ok(Envelope::Batch(batch)) => {
                let parts: Vec<_> = batch.parts().map(|part| self.part(part)).collect();
                Inspection::batch(parts)
            }
            envelope => self.part(envelope),
        }
    }

    fn part(&mut self, envelope: Result<Envelope<'_>, EnvelopeError>) -> Inspection {
        match envelope {
            Ok(Envelope::Request(request)) => {
                let method = request.method.parse().ok();
                self.remember(request.id.clone(), method);
                let what = What::Request {
                    method: shortened(&request.method),
                    id: request.id,
                };
                Inspection::message(what, |revision| {
                    method_findings(&request.method, true, request.params, revision)
                })
            }
            Ok(Envelope::Notification(notification)) => {
                let what = What::Notification {
                    method: shortened(&notification.method),
                };
                Inspection::message(what, |revision| {
                    method_findings(&notification.method, false, notification.params, revision)
                })
            }
            Ok(Envelope::Success(success)) => self.success(success),
            Ok(Envelope::Failure(failure)) => self.failure(failure),
            Ok(Envelope::Batch(_)) => Inspection::invalid("a batch inside a batch".into()),
            Err(error) => Inspection::invalid(error.to_string()),
        }
    }

    fn success(&mut self, success: Success<'_>) -> Inspection {
        let method = self.recall(&success.id);
        let what = What::Result {
            of: method,
            id: success.id,
        };
        Inspection::message(what, |revision| {
            let Some(method) = method else {
                let mut findings = check(success.result, AnyResult::SHAPE, revision);
                findings.insert(
                    0,
                    note("its request is not in the input: checked as any result"),
                );
                return under("result", findings);
            };
            let mut findings = match presence(method, revision) {
                Ok(notes) => notes,
                Err(absent) => return vec![absent],
            };
            if let Some(shape) = method.result() {
                findings.extend(under("result", check(success.result, shape, revision)));
            }
            findings
        })
    }

    fn failure(&mut self, failure: Failure<'_>) -> Inspection {
        let method = failure.id.as_ref().and_then(|id| self.recall(id));
        let error = ErrorObject::from_json(failure.error.as_str()).ok();
        let has_id = failure.id.is_some();
        let what = What::Error {
            of: method,
            id: failure.id,
            code: error.as_ref().map(|error| error.code),
        };
        Inspection::message(what, |revision| {
            let mut findings = under("error", check(failure.error, ErrorObject::SHAPE, revision));
            if let Some(error) = &error {
                findings.extend(code_notes(error.code, revision));
            }
            if !has_id && revision < Revision::V2025_11_25 {
                findings.push(note(
                    "its `id` is missing, which the schema demands before 2025-11-25",
                ));
            }
            findings
        })
    }

    fn remember(&mut self, id: RequestId, method: Option<Method>) {
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((id, method));
    }

    fn recall(&mut self, id: &RequestId) -> Option<Method> {
        let at = self
            .pending
            .iter()
            .rposition(|(pending, _)| pending == id)?;
        self.pending.remove(at)?.1
    }
}

/// What a frame is, and in which revisions it is valid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// What it is.
    pub what: What,
    /// What each revision thinks of it, oldest first.
    pub verdicts: Vec<Verdict>,
    /// The messages of a batch.
    pub parts: Vec<Self>,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// A request.
    Request {
        /// Its method, shortened.
        method: Box<str>,
        /// Its id.
        id: RequestId,
    },
    /// A notification.
    Notification {
        /// Its method, shortened.
        method: Box<str>,
    },
    /// An answer with a result.
    Result {
        /// The method of its request, when that was seen and known.
        of: Option<Method>,
        /// Its id.
        id: RequestId,
    },
    /// An answer with an error.
    Error {
        /// The method of its request, when that was seen and known.
        of: Option<Method>,
        /// Its id.
        id: Option<RequestId>,
        /// Its code, when it could be read.
        code: Option<i64>,
    },
    /// Several messages.
    Batch,
    /// No message at all.
    Invalid {
        /// Why.
        reason: String,
    },
}

/// What one revision thinks of a frame.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The revision.
    pub revision: Revision,
    /// What it finds.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether the frame is valid.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Why the frame is not valid.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

impl Inspection {
    /// The frame in a few words. Names that a peer chose are shortened, not escaped.
    pub fn summary(&self) -> String {
        self.what.to_string()
    }

    /// Whether `revision` thinks that it is valid.
    pub fn is_valid_in(&self, revision: Revision) -> bool {
        self.valid_in().contains(revision)
    }

    /// The revisions in which it is valid.
    pub fn valid_in(&self) -> Revisions {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.is_valid())
            .map(|verdict| verdict.revision)
            .collect()
    }

    fn message(what: What, findings: impl Fn(Revision) -> Vec<Finding>) -> Self {
        let verdicts = Revision::ALL.into_iter().map(|revision| Verdict {
            revision,
            findings: findings(revision),
        });
        Self {
            what,
            verdicts: verdicts.collect(),
            parts: Vec::new(),
        }
    }

    fn batch(parts: Vec<Self>) -> Self {
        let inspection = Self::message(What::Batch, |revision| {
            if !revision.has_batches() {
                return vec![error("batches exist in 2025-03-26 only")];
            }
            let mut findings = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                if let What::Invalid { reason } = &part.what {
                    findings.push(error(&format!("part {}: {reason}", index + 1)));
                } else if !part.is_valid_in(revision) {
                    findings.push(error(&format!("part {} is not valid", index + 1)));
                }
                // Spec, basic/lifecycle, 2025-03-26: initialize is never in a batch.
                if matches!(&part.what, What::Request { method, .. } if &**method == "initialize") {
                    findings.push(error("`initialize` must not be in a batch"));
                }
            }
            findings
        });
        Self {
            parts,
            ..inspection
        }
    }

    fn invalid(reason: String) -> Self {
        Self {
            what: What::Invalid { reason },
            verdicts: Vec::new(),
            parts: Vec::new(),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |method: &Option<Method>| match method {
            Some(method) => method.as_str(),
            None => "a request that was not seen",
        };
        match self {
            Self::Request { method, id } => write!(f, "request {method}, id {id}"),
            Self::Notification { method } => write!(f, "notification {method}"),
            Self::Result { of: method, id } => write!(f, "result of {}, id {id}", of(method)),
            Self::Error {
                of: method,
                id,
                code,
            } => {
                f.write_str("error")?;
                if let Some(code) = code {
                    write!(f, " {code}")?;
                }
                match id {
                    Some(id) => write!(f, " of {}, id {id}", of(method)),
                    None => f.write_str(" without an id"),
                }
            }
            Self::Batch => f.write_str("batch"),
            Self::Invalid { reason } => write!(f, "not a message: {reason}"),
        }
    }
}

fn method_findings(
    name: &str,
    is_request: bool,
    params: Option<JsonRef<'_>>,
    revision: Revision,
) -> Vec<Finding> {
    let method: Method = match name.parse() {
        Ok(method) => method,
        Err(unknown) => return vec![error(&format!("{unknown}"))],
    };
    let mut findings = match presence(method, revision) {
        Ok(notes) => notes,
        Err(absent) => return vec![absent],
    };
    match (method.is_request(), is_request) {
        (true, false) => findings.push(error("a request without an `id`")),
        (false, true) => findings.push(error("a notification with an `id`")),
        (true, true) | (false, false) => {}
    }
    match params {
        Some(params) => findings.extend(under("params", check(params, method.params(), revision))),
        None if method.params_required().contains(revision) => {
            findings.push(error("required member `params` is missing"));
        }
        None => {}
    }
    findings
}

/// Notes on a method that `revision` has; why it can't be checked where it hasn't.
fn presence(method: Method, revision: Revision) -> Result<Vec<Finding>, Finding> {
    let known_in = method.revisions();
    if !known_in.contains(revision) {
        return Err(error(&format!("{method} exists in {known_in} only")));
    }
    let extension = method.extension(revision);
    let note = extension.map(|id| note(&format!("belongs to the extension {id}")));
    Ok(note.into_iter().collect())
}

fn code_notes(code: i64, revision: Revision) -> Vec<Finding> {
    let mut notes = Vec::new();
    if let Some(kind) = ErrorKind::from_code(code, revision) {
        notes.push(note(&format!("code {code} means {kind}")));
    }
    if !may_send(code, revision) {
        notes.push(note(&format!("code {code} must not be sent in {revision}")));
    }
    notes
}

fn under(key: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let prefix = |finding: Finding| Finding {
        path: crate::json::key_path(key, &finding.path),
        ..finding
    };
    findings.into_iter().map(prefix).collect()
}

fn error(message: &str) -> Finding {
    finding(Severity::Error, message)
}

fn note(message: &str) -> Finding {
    finding(Severity::Note, message)
}

fn finding(severity: Severity, message: &str) -> Finding {
    Finding {
        severity,
        path: String::new(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspect(frame: &str) -> Inspection {
        Inspector::new().inspect(frame.as_bytes())
    }

    fn errors(inspection: &Inspection, revision: Revision) -> Vec<String> {
        let verdict = inspection
            .verdicts
            .iter()
            .find(|verdict| verdict.revision == revision);
        verdict.unwrap().errors().map(Finding::to_string).collect()
    }

    #[test]
    fn reasons_come_with_each_revision() {
        let call =
            inspect(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":[]}}"#);
        assert_eq!(call.valid_in(), Revisions::NONE);
        assert_eq!(
            errors(&call, Revision::V2025_11_25),
            [
                "params.arguments: expected an object, found an array",
                "params: required member `name` is missing",
            ]
        );
        assert_eq!(errors(&call, Revision::V2026_07_28).len(), 3);
        let discover = inspect(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        assert_eq!(
            errors(&discover, Revision::V2025_11_25),
            ["server/discover exists in 2026-07-28 only"]
        );
        assert_eq!(
            errors(&discover, Revision::V2026_07_28),
            ["required member `params` is missing"]
        );
    }

    #[test]
    fn answers_find_their_requests_once() {
        let mut inspector = Inspector::new();
        inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let wrong = br#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}"#;
        let first = inspector.inspect(wrong);
        assert_eq!(first.summary(), "result of tools/list, id 1");
        assert_eq!(
            errors(&first, Revision::V2024_11_05),
            ["result: required member `tools` is missing"]
        );
        let second = inspector.inspect(wrong);
        assert_eq!(
            second.summary(),
            "result of a request that was not seen, id 1"
        );
        assert!(second.is_valid_in(Revision::V2024_11_05));
    }

    #[test]
    fn the_table_of_requests_is_bounded() {
        let mut inspector = Inspector::new();
        for id in 0..=MAX_PENDING {
            inspector
                .inspect(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        }
        let mut answer = |id: usize| {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            inspector.inspect(frame.as_bytes()).summary()
        };
        assert_eq!(answer(0), "result of a request that was not seen, id 0");
        assert_eq!(answer(1), "result of ping, id 1");
    }

    // proves: F-JR-12
    #[test]
    fn batches_are_for_2025_03_26() {
        let batch = inspect(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        );
        assert_eq!(batch.valid_in().to_string(), "2025-03-26");
        assert_eq!(batch.parts.len(), 2);
        for bad in [
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},[]]"#,
            r#"[1]"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}]"#,
        ] {
            assert_eq!(inspect(bad).valid_in(), Revisions::NONE, "{bad}");
        }
        assert_eq!(
            inspect("[]").summary(),
            "not a message: a batch without messages (byte 0)"
        );
    }

    #[test]
    fn errors_tell_what_their_codes_mean() {
        let failure = inspect(r#"{"jsonrpc":"2.0","error":{"code":-32002,"message":"gone"}}"#);
        assert_eq!(failure.summary(), "error -32002 without an id");
        assert_eq!(failure.valid_in(), Revisions::ALL);
        let notes: Vec<_> = failure.verdicts[4]
            .findings
            .iter()
            .map(Finding::to_string)
            .collect();
        assert_eq!(
            notes,
            [
                "code -32002 means resource not found",
                "code -32002 must not be sent in 2026-07-28"
            ]
        );
    }
}
