//! The envelope pass against full parses of the same frames: see `support/oracle.rs`.

use crate::support::frames;
use crate::support::oracle;

use std::collections::BTreeSet;
use std::path::Path;

use bowline_types::envelope::{
    self, Envelope, JsonRpcErrorResponse, JsonRpcNotification, JsonRpcRequest,
    JsonRpcResultResponse,
};
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, RawJson, RawJsonRef, RequestId, Revision, Wire};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use frames::{Bytes, Tape, damaged_frame, json_object, taped};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        oracle::check(&bytes);
    }

    #[test]
    fn any_text(text: String) {
        oracle::check(text.as_bytes());
    }

    #[test]
    fn frames_as_they_are(frame in taped(Tape::frame)) {
        oracle::check(frame.as_bytes());
    }

    #[test]
    fn damaged_frames(frame in damaged_frame()) {
        oracle::check(&frame.0);
    }

    #[test]
    fn frames_written_by_serde_json(message in taped(value_message)) {
        for frame in [serde_json::to_vec(&message), serde_json::to_vec_pretty(&message)] {
            let frame = frame.unwrap();
            oracle::check(&frame);
            prop_assert_eq!(&as_value(&Envelope::parse(&frame).unwrap()), &message);
        }
    }

    #[test]
    fn a_written_message_is_parsed_as_itself(
        (id, method) in taped(|tape| (id(tape), tape.text())),
        payload in json_object(),
        has_params: bool,
    ) {
        let payload = RawJsonRef::parse(&payload).unwrap();
        let params = has_params.then_some(payload).filter(|params| is_clear(*params));
        let mut out = Vec::new();

        envelope::write_raw_request(&mut out, &id, &method, params);
        let request = parsed(&out);
        let Envelope::Request(request) = request else { panic!("{request:?}") };
        prop_assert_eq!((&request.id, &*request.method), (&id, method.as_str()));
        prop_assert_eq!(request.params.map(RawJsonRef::to_owned), params.map(on_one_line));

        out.clear();
        envelope::write_raw_notification(&mut out, &method, params);
        let notification = parsed(&out);
        let Envelope::Notification(notification) = notification else {
            panic!("{notification:?}")
        };
        prop_assert_eq!(&*notification.method, method.as_str());
        prop_assert_eq!(notification.params.map(RawJsonRef::to_owned), params.map(on_one_line));

        out.clear();
        envelope::write_raw_result(&mut out, &id, payload);
        let success = parsed(&out);
        let Envelope::Success(success) = success else { panic!("{success:?}") };
        prop_assert_eq!(&success.id, &id);
        prop_assert_eq!(success.result.to_owned(), on_one_line(payload));
    }

    #[test]
    fn typed_answers_are_read_back(
        (id, text) in taped(|tape| (id(tape), tape.text())),
        code: i64,
        data in json_object(),
        has_id: bool,
    ) {
        let mut out = Vec::new();
        let data = on_one_line(RawJsonRef::parse(&data).unwrap());
        let error = ErrorObject::new(code, text.clone()).data(data.clone());
        let failed = has_id.then_some(&id);
        envelope::write_error(&mut out, failed, &error);
        let failure = parsed(&out);
        let Envelope::Failure(failure) = failure else { panic!("{failure:?}") };
        prop_assert_eq!(failure.id.as_ref(), failed);
        prop_assert_eq!(ErrorObject::from_json(failure.error.as_str()), Ok(error));

        // Structured content came with 2025-06-18.
        let result = CallToolResult::text(text).structured_content(data);
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            out.clear();
            envelope::write_result(&mut out, &id, &result, revision).unwrap();
            let success = parsed(&out);
            let Envelope::Success(success) = success else { panic!("{success:?}") };
            prop_assert_eq!(&success.id, &id);
            let read = CallToolResult::from_json(success.result.as_str()).unwrap();
            prop_assert_eq!(&read, &result);
        }
    }
}

/// Returns `true` if no member is repeated: parameters with a repeated member are not read.
fn is_clear(object: RawJsonRef<'_>) -> bool {
    let mut names = BTreeSet::new();
    let mut members = object.members().expect("an object");
    members.all(|(key, _)| names.insert(key.unescape()))
}

fn parsed(frame: &[u8]) -> Envelope<'_> {
    assert!(!frame.contains(&b'\n'), "one frame is one line");
    Envelope::parse(frame).expect("what is written is a message")
}

/// What the encoder makes of a value that it passes on.
fn on_one_line(json: RawJsonRef<'_>) -> RawJson {
    RawJson::parse(&json.as_str().replace(['\n', '\r'], " ")).expect("white space is white space")
}

/// The message, put together again.
fn as_value(envelope: &Envelope<'_>) -> Value {
    let value = |payload: RawJsonRef<'_>| payload.to::<Value>().expect("from a value");
    match envelope {
        Envelope::Request(JsonRpcRequest {
            id, method, params, ..
        }) => match params {
            Some(params) => {
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": value(*params)})
            }
            None => json!({"jsonrpc": "2.0", "id": id, "method": method}),
        },
        Envelope::Notification(JsonRpcNotification { method, params, .. }) => match params {
            Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": value(*params)}),
            None => json!({"jsonrpc": "2.0", "method": method}),
        },
        Envelope::Success(JsonRpcResultResponse { id, result, .. }) => {
            json!({"jsonrpc": "2.0", "id": id, "result": value(*result)})
        }
        Envelope::Failure(JsonRpcErrorResponse {
            id: Some(id),
            error,
            ..
        }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": value(*error)})
        }
        Envelope::Failure(JsonRpcErrorResponse {
            id: None, error, ..
        }) => {
            json!({"jsonrpc": "2.0", "error": value(*error)})
        }
        Envelope::Batch(batch) => panic!("{batch:?}"),
    }
}

/// A message as `serde_json` has it.
fn value_message(tape: &mut Tape) -> Value {
    let id = match tape.below(2) {
        0 => Value::from(tape.bytes().cast_signed()),
        _ => Value::from(tape.text()),
    };
    let method = tape.text();
    let payload: Value = serde_json::from_str(&tape.object(4)).unwrap_or(json!({}));
    match tape.below(7) {
        0 => json!({"jsonrpc": "2.0", "id": id, "method": method}),
        1 => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": payload}),
        2 => json!({"jsonrpc": "2.0", "method": method}),
        3 => json!({"jsonrpc": "2.0", "method": method, "params": payload}),
        4 => json!({"jsonrpc": "2.0", "id": id, "result": payload}),
        5 => json!({"jsonrpc": "2.0", "id": id, "error": payload}),
        _ => json!({"jsonrpc": "2.0", "error": payload}),
    }
}

fn id(tape: &mut Tape) -> RequestId {
    match tape.below(3) {
        0 => tape.bytes().cast_signed().into(),
        1 => tape.text().into(),
        _ => {
            let digits = format!("-1{:020}", tape.bytes());
            RequestId::from_json(&digits).expect("an integer")
        }
    }
}

#[test]
fn the_corpus_of_the_fuzz_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/envelope");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let frame = std::fs::read(entry.unwrap().path()).unwrap();
        oracle::check(&frame);
        files += 1;
    }
    assert!(files >= 20, "{files} files");
}

/// The properties say little when most frames are refused for the same reason.
#[test]
fn generated_frames_are_of_every_kind_and_fault() {
    let mut seen = BTreeSet::new();
    let mut runner = TestRunner::deterministic();
    let frames = damaged_frame();
    for _ in 0..20_000 {
        let Bytes(frame) = frames.new_tree(&mut runner).unwrap().current();
        let shown = match Envelope::parse(&frame) {
            Ok(envelope) => format!("{envelope:?}"),
            Err(error) => format!("{:?}", error.fault()),
        };
        let name = shown.split(['(', ' ']).next().unwrap_or_default();
        seen.insert(name.to_owned());
    }
    let expected = [
        "AmbiguousName",
        "Batch",
        "Duplicate",
        "EmptyBatch",
        "ErrorNotAnObject",
        "Failure",
        "InvalidId",
        "InvalidMethod",
        "InvalidUtf8",
        "MethodAndResponse",
        "MissingId",
        "NoMethodResultOrError",
        "NotAMessage",
        "Notification",
        "Params",
        "ParamsNotAnObject",
        "Request",
        "ResultAndError",
        "ResultNotAnObject",
        "Success",
        "Syntax",
        "TooDeep",
        "WrongVersion",
    ];
    assert_eq!(Vec::from_iter(seen), expected);
}
