//! Inspection of frames: the kind of each message, and the revisions in which it is valid.
//!
//! `inspection` is the result.
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
//! // A response is checked as a response to its request.
//! let pong = inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! assert_eq!(pong.summary(), "result of ping, id 1");
//! ```

mod inspection;

use std::collections::VecDeque;

use crate::envelope::{
    Batch, Envelope, EnvelopeError, JsonRpcErrorResponse, JsonRpcResultResponse,
};
use crate::error::{ErrorCode, ErrorObject, can_send};
use crate::id::RequestId;
use crate::json::{RawJsonRef, shortened};
use crate::method::Method;
use crate::result::AnyResult;
use crate::revision::Revision;
use crate::wire::{Finding, MAX_FINDINGS, Severity, Wire, check};

pub use inspection::{FrameKind, Inspection, Verdict};

/// The maximum number of requests that wait for their response. Beyond it the oldest is dropped,
/// and its response is checked as one to an unknown request.
pub const MAX_PENDING: usize = 4096;

/// The maximum length of a tracked id, in bytes. The response to a request with a longer id is
/// checked as one to an unknown request, so that ids can't exhaust the memory.
pub const MAX_PENDING_ID: usize = 1024;

/// The maximum number of parts of a batch that are kept. All of them are checked.
pub const MAX_PARTS: usize = 1024;

/// Inspects the frames of a stream in order, and matches responses to their requests.
#[derive(Debug, Default)]
pub struct Inspector {
    pending: VecDeque<(RequestId, Option<Method>)>,
}

impl Inspector {
    /// Creates an inspector without pending requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what kind of message `frame` is, and in which revisions it is valid.
    pub fn inspect(&mut self, frame: &[u8]) -> Inspection {
        self.inspect_envelope(Envelope::parse(frame))
    }

    fn inspect_envelope(&mut self, envelope: Result<Envelope<'_>, EnvelopeError>) -> Inspection {
        match envelope {
            Ok(Envelope::Request(request)) => {
                let method = request.method.parse().ok();
                self.track_request(request.id.clone(), method);
                let kind = FrameKind::Request {
                    method: shortened(&request.method),
                    id: request.id,
                };
                Inspection::of_message(kind, |revision| {
                    method_findings(&request.method, true, request.params, revision)
                })
            }
            Ok(Envelope::Notification(notification)) => {
                let kind = FrameKind::Notification {
                    method: shortened(&notification.method),
                };
                Inspection::of_message(kind, |revision| {
                    method_findings(&notification.method, false, notification.params, revision)
                })
            }
            Ok(Envelope::Success(success)) => self.inspect_result(success),
            Ok(Envelope::Failure(failure)) => self.inspect_error(failure),
            // A batch inside a batch is invalid, so the recursion is one level deep.
            Ok(Envelope::Batch(batch)) => self.inspect_batch(&batch),
            Err(error) => Inspection::of_invalid_frame(error),
        }
    }

    fn inspect_batch(&mut self, batch: &Batch<'_>) -> Inspection {
        let kind = FrameKind::Batch { len: batch.len() };
        let mut inspection = Inspection::of_message(kind, |revision| {
            if revision.has_batches() {
                Vec::new()
            } else {
                vec![error_finding("batches exist in 2025-03-26 only")]
            }
        });
        for (part, number) in batch.messages().zip(1..) {
            let part = self.inspect_envelope(part);
            for verdict in &mut inspection.verdicts {
                if verdict.revision.has_batches() && verdict.findings.len() < MAX_FINDINGS {
                    verdict
                        .findings
                        .extend(part_finding(&part, number, verdict.revision));
                }
            }
            if inspection.parts.len() < MAX_PARTS {
                inspection.parts.push(part);
            }
        }
        inspection
    }

    fn inspect_result(&mut self, success: JsonRpcResultResponse<'_>) -> Inspection {
        let result = success.result;
        let method = self.match_request(&success.id, |method| {
            let mut verdicts = Revision::ALL.into_iter();
            verdicts.any(|revision| is_valid(&result_findings(method, result, revision)))
        });
        let kind = FrameKind::Result {
            of: method,
            id: success.id,
        };
        Inspection::of_message(kind, |revision| match method {
            Some(method) => result_findings(method, result, revision),
            None => {
                let mut findings = check(result, AnyResult::SHAPE, revision);
                findings.insert(
                    0,
                    note_finding("request not seen: checked as the result of any method"),
                );
                prefix_paths("result", findings)
            }
        })
    }

    fn inspect_error(&mut self, failure: JsonRpcErrorResponse<'_>) -> Inspection {
        let method = failure
            .id
            .as_ref()
            .and_then(|id| self.match_request(id, |_| true));
        let error = ErrorObject::from_json(failure.error.as_str()).ok();
        let has_id = failure.id.is_some();
        let kind = FrameKind::Error {
            of: method,
            id: failure.id,
            code: error.as_ref().map(|error| error.code),
        };
        Inspection::of_message(kind, |revision| {
            let mut findings =
                prefix_paths("error", check(failure.error, ErrorObject::SHAPE, revision));
            if let Some(error) = &error {
                findings.extend(code_findings(error, revision));
            }
            if !has_id && revision < Revision::V2025_11_25 {
                findings.push(note_finding(
                    "`id` is missing: the schema requires it before 2025-11-25",
                ));
            }
            findings
        })
    }

    fn track_request(&mut self, id: RequestId, method: Option<Method>) {
        if id.as_i64().is_none() && id.to_string().len() > MAX_PENDING_ID {
            return;
        }
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((id, method));
    }

    /// Removes the request that a response belongs to, and returns its method.
    ///
    /// Each side chooses its own ids, and the input doesn't show which side sent a frame. Among
    /// several requests with the same id, the oldest for which the response `is_valid_for` the
    /// method is selected, or else the oldest of all.
    fn match_request(
        &mut self,
        id: &RequestId,
        is_valid_for: impl Fn(Method) -> bool,
    ) -> Option<Method> {
        let mut same_id = (0..)
            .zip(&self.pending)
            .filter(|(_, (other, _))| other == id);
        let (oldest, _) = same_id.clone().next()?;
        // Each method is tried once: the peer decides how often it uses an id.
        let mut tried = Vec::new();
        let best = same_id.find(|(_, (_, method))| {
            method.is_some_and(|method| {
                let is_new = !tried.contains(&method);
                tried.push(method);
                is_new && is_valid_for(method)
            })
        });
        let at = best.map_or(oldest, |(at, _)| at);
        self.pending.remove(at)?.1
    }
}

/// Returns the finding that makes a batch with this part invalid.
fn part_finding(part: &Inspection, number: usize, revision: Revision) -> Option<Finding> {
    match &part.kind {
        FrameKind::Invalid { error: reason } => {
            Some(error_finding(&format!("part {number}: {reason}")))
        }
        // Spec, basic/lifecycle, 2025-03-26: `initialize` must not be part of a batch.
        FrameKind::Request { method, .. } if &**method == "initialize" => {
            Some(error_finding("`initialize` must not be in a batch"))
        }
        _ if !part.is_valid_in(revision) => {
            Some(error_finding(&format!("part {number} is not valid")))
        }
        _ => None,
    }
}

fn method_findings(
    name: &str,
    is_request: bool,
    params: Option<RawJsonRef<'_>>,
    revision: Revision,
) -> Vec<Finding> {
    let method: Method = match name.parse() {
        Ok(method) => method,
        Err(unknown) => return vec![error_finding(&format!("{unknown}"))],
    };
    let mut findings = match check_method_revision(method, revision) {
        Ok(notes) => notes,
        Err(absent) => return vec![absent],
    };
    match (method.is_request(), is_request) {
        (true, false) => findings.push(error_finding("a request without an `id`")),
        (false, true) => findings.push(error_finding("a notification with an `id`")),
        (true, true) | (false, false) => {}
    }
    match params {
        Some(params) => findings.extend(prefix_paths(
            "params",
            check(params, method.params(), revision),
        )),
        None if method.params_required().contains(revision) => {
            findings.push(error_finding("required member `params` is missing"));
        }
        None => {}
    }
    findings
}

/// Returns notes on a method that `revision` has, or an error if it lacks the method.
fn check_method_revision(method: Method, revision: Revision) -> Result<Vec<Finding>, Finding> {
    let known_in = method.revisions();
    if !known_in.contains(revision) {
        return Err(error_finding(&format!(
            "{method} exists in {known_in} only"
        )));
    }
    let extension = method.extension(revision);
    let note = extension.map(|id| note_finding(&format!("belongs to the extension {id}")));
    Ok(note.into_iter().collect())
}

/// Checks the result of `method`.
fn result_findings(method: Method, result: RawJsonRef<'_>, revision: Revision) -> Vec<Finding> {
    let mut findings = match check_method_revision(method, revision) {
        Ok(notes) => notes,
        Err(absent) => return vec![absent],
    };
    if let Some(shape) = method.result() {
        findings.extend(prefix_paths("result", check(result, shape, revision)));
    }
    findings
}

/// Explains the code, and checks that the data has the type that the code requires.
fn code_findings(error_object: &ErrorObject, revision: Revision) -> Vec<Finding> {
    let code = error_object.code;
    let mut findings = Vec::new();
    let kind = ErrorCode::from_code(code, revision);
    if let Some(kind) = kind {
        findings.push(note_finding(&format!("code {code} means {kind}")));
    }
    if !can_send(code, revision) {
        findings.push(note_finding(&format!("code {code} must not be sent")));
    }
    let demanded = kind.and_then(|kind| kind.data(revision));
    match (demanded, &error_object.data) {
        (Some(shape), Some(data)) => {
            let data = prefix_paths("data", check(data.as_ref(), shape, revision));
            findings.extend(prefix_paths("error", data));
        }
        (Some(_), None) => {
            let missing = error_finding(&format!(
                "required member `data` is missing: code {code} requires it"
            ));
            findings.extend(prefix_paths("error", vec![missing]));
        }
        (None, _) => {}
    }
    findings
}

fn is_valid(findings: &[Finding]) -> bool {
    !findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

fn prefix_paths(key: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let prefix = |finding: Finding| Finding {
        path: crate::json::key_path(key, &finding.path),
        ..finding
    };
    findings.into_iter().map(prefix).collect()
}

fn error_finding(message: &str) -> Finding {
    finding(Severity::Error, message)
}

fn note_finding(message: &str) -> Finding {
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
    use crate::revision::Revisions;

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
    fn each_revision_reports_its_own_errors() {
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
    fn a_response_is_matched_to_its_request_once() {
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
        assert_eq!(second.summary(), "result of an unknown request, id 1");
        assert!(second.is_valid_in(Revision::V2024_11_05));
    }

    #[test]
    fn the_table_of_requests_is_bounded() {
        let mut inspector = Inspector::new();
        for id in 0..=MAX_PENDING {
            inspector
                .inspect(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        }
        let mut summary = |id: usize| {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            inspector.inspect(frame.as_bytes()).summary()
        };
        assert_eq!(summary(0), "result of an unknown request, id 0");
        assert_eq!(summary(1), "result of ping, id 1");
    }

    // proves: F-JR-12
    #[test]
    fn batches_are_valid_in_2025_03_26_only() {
        let batch = inspect(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        );
        assert_eq!(batch.valid_in().to_string(), "2025-03-26");
        assert_eq!(batch.summary(), "batch of 2");
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
    fn a_batch_keeps_a_bounded_number_of_parts() {
        let part = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let batch = |parts: usize, last: &str| {
            let text = [vec![part; parts - 1], vec![last]].concat().join(",");
            inspect(&format!("[{text}]"))
        };
        for parts in [MAX_PARTS, MAX_PARTS + 1] {
            let good = batch(parts, part);
            assert!(good.is_valid_in(Revision::V2025_03_26));
            assert_eq!(good.kind, FrameKind::Batch { len: parts });
            assert_eq!(good.parts.len(), MAX_PARTS);
        }
        // Parts that are not kept are checked too.
        let bad = batch(MAX_PARTS + 1, "1");
        assert_eq!(
            errors(&bad, Revision::V2025_03_26),
            ["part 1025: the frame is not a JSON object (byte 0)"]
        );
        let worse = inspect(&format!("[{}]", ["1"; 100].join(",")));
        assert_eq!(errors(&worse, Revision::V2025_03_26).len(), MAX_FINDINGS);
    }

    #[test]
    fn long_ids_are_not_tracked_and_are_shortened() {
        for (length, expected) in [
            (MAX_PENDING_ID, "result of ping"),
            (MAX_PENDING_ID + 1, "result of an unknown request"),
        ] {
            for id in [
                "9".repeat(length),
                format!("\"{}\"", "x".repeat(length - 2)),
            ] {
                let mut inspector = Inspector::new();
                let mut summary = |rest: &str| {
                    let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#);
                    inspector.inspect(frame.as_bytes()).summary()
                };
                let request = summary(r#""method":"ping""#);
                assert!(request.len() < 128, "{request}");
                let result = summary(r#""result":{}"#);
                assert!(
                    result.starts_with(expected) && result.len() < 128,
                    "{result}"
                );
            }
        }
    }

    #[test]
    fn an_invalid_frame_reports_its_offset_and_id() {
        let frame = r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#;
        let inspection = inspect(frame);
        assert_eq!(
            inspection.summary(),
            "not a message: both `result` and `error` (byte 47), id 7"
        );
        let FrameKind::Invalid { error } = inspection.kind else {
            panic!("it is no message");
        };
        assert_eq!(
            (error.offset(), error.id()),
            (47, Some(&RequestId::from(7)))
        );
    }

    #[test]
    fn error_codes_are_explained() {
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
                "code -32002 must not be sent"
            ]
        );
    }

    #[test]
    fn requests_of_both_sides_may_have_the_same_id() {
        let mut inspector = Inspector::new();
        inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
        let mut summary = |frame: &str| inspector.inspect(frame.as_bytes()).summary();
        let roots = summary(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
        assert_eq!(roots, "result of roots/list, id 1");
        let tools = summary(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
        assert_eq!(tools, "result of tools/list, id 1");
    }

    #[test]
    fn error_codes_require_their_data() {
        let without = inspect(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}"#);
        assert_eq!(
            errors(&without, Revision::V2026_07_28),
            ["error: required member `data` is missing: code -32022 requires it"]
        );
        // The code has no meaning in earlier revisions.
        assert!(without.is_valid_in(Revision::V2025_11_25));
        let wrong = inspect(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":1}}}"#,
        );
        assert_eq!(
            errors(&wrong, Revision::V2026_07_28),
            [
                "error.data.supported: expected an array, found a number",
                "error.data: required member `requested` is missing",
            ]
        );
    }

    #[test]
    fn many_requests_of_one_id_cost_no_more_than_one() {
        // Takes minutes without the bound.
        let mut inspector = Inspector::new();
        for _ in 0..MAX_PENDING {
            inspector.inspect(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        }
        let keys: String = (0..20_000).map(|n| format!("\"k{n}\":0,")).collect();
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{keys}"x":0}}}}"#);
        let answer = inspector.inspect(frame.as_bytes());
        assert_eq!(answer.summary(), "result of tools/list, id 1");
    }

    #[test]
    fn rules_beyond_single_members_are_checked() {
        let findings = |method: &str, result: &str| {
            let mut inspector = Inspector::new();
            let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            inspector.inspect(request.as_bytes());
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            errors(&inspector.inspect(answer.as_bytes()), Revision::V2026_07_28)
        };
        assert_eq!(
            findings("tools/call", r#"{"resultType":"input_required"}"#),
            [
                "result: `inputRequests` or `requestState` is required if resultType is input_required"
            ]
        );
        let list = r#"{"resultType":"complete","tools":[],"ttlMs":-5,"cacheScope":"public"}"#;
        assert_eq!(
            findings("tools/list", list),
            ["result.ttlMs: must not be negative"]
        );
        let values = vec!["\"\""; 101].join(",");
        let complete =
            format!(r#"{{"resultType":"complete","completion":{{"values":[{values}]}}}}"#);
        assert_eq!(
            findings("completion/complete", &complete),
            ["result.completion.values: more than 100 elements"]
        );
    }
}
