//! The number of allocations per message.
//!
//! The promises: the envelope pass makes at most 2 small allocations and none for the payload;
//! typed decoding of a small `tools/call` makes at most 12. The tests assert the actual numbers,
//! so that a regression shows.

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use bowline_types::content::ContentBlock;
use bowline_types::envelope::{self, Envelope};
use bowline_types::tools::{CallToolParams, CallToolResult};
use bowline_types::{RawJson, RequestId, Revision, Wire};

#[test]
fn the_envelope_pass_allocates_for_a_string_id_only() {
    for size in [200, 10_000, 1_000_000] {
        let frame = call(r#""7f9c2ba4""#, size);
        let allocated = envelope_pass(&frame);
        assert_eq!(
            (allocated.count_total, allocated.bytes_total),
            (1, 8),
            "{size} bytes"
        );

        let frame = call("7", size);
        let allocated = envelope_pass(&frame);
        assert_eq!(
            (allocated.count_total, allocated.bytes_total),
            (0, 0),
            "{size} bytes"
        );
    }
}

#[test]
fn responses_are_parsed_without_allocation() {
    for size in [200, 10_000, 1_000_000] {
        let text = "x".repeat(size);
        for member in [
            format!(r#""result":{{"content":[{{"type":"text","text":"{text}"}}]}}"#),
            format!(r#""error":{{"code":-32603,"message":"{text}"}}"#),
        ] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":7,{member}}}"#);
            assert_eq!(
                envelope_pass(frame.as_bytes()).count_total,
                0,
                "{size} bytes"
            );
        }
    }
}

#[test]
fn an_escaped_name_costs_one_allocation() {
    let frame = br#"{"jsonrpc":"2.0","\u0069d":7,"method":"tools\/call","params":{"\u0061":1}}"#;
    let allocated = envelope_pass(frame);
    assert_eq!((allocated.count_total, allocated.bytes_total), (1, 11));
}

#[test]
fn a_batch_is_parsed_without_allocation() {
    let part = String::from_utf8(call("7", 100)).unwrap();
    let frame = format!("[{}]", vec![part; 100].join(","));
    let allocated = measure(|| {
        let Ok(Envelope::Batch(batch)) = Envelope::parse(frame.as_bytes()) else {
            panic!("a batch");
        };
        assert_eq!(batch.messages().filter(Result::is_ok).count(), 100);
    });
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn typed_decoding_allocates_once_per_kept_value() {
    // One for each of name, arguments and `_meta`. The id is a number. The size doesn't matter.
    for size in [200, 10_000, 1_000_000] {
        let frame = call("7", size);
        let allocated = measure(|| {
            black_box(decoded(&frame));
        });
        assert_eq!(allocated.count_total, 3, "{size} bytes");
        let kept = frame.len() as u64;
        assert!(
            allocated.bytes_total < kept,
            "{} of {kept}",
            allocated.bytes_total
        );
    }
    let frame = call(r#""7f9c2ba4""#, 200);
    let allocated = measure(|| {
        black_box(decoded(&frame));
    });
    assert_eq!(allocated.count_total, 4);
}

#[test]
fn encoding_into_a_warm_buffer_does_not_allocate() {
    let result = CallToolResult::new()
        .content([
            ContentBlock::text("line\n".repeat(1000)),
            ContentBlock::image("aGVsbG8=", "image/png"),
        ])
        .structured_content(RawJson::parse(r#"{"a":[1,2.5,"x"]}"#).unwrap())
        .is_error(false);
    let id = RequestId::from(7);
    let mut out = Vec::with_capacity(16 * 1024);
    for revision in Revision::ALL {
        let allocated = measure(|| {
            out.clear();
            envelope::write_result(&mut out, &id, &result, revision).unwrap();
        });
        assert_eq!(allocated.count_total, 0, "{revision}");
        assert!(Envelope::parse(&out).is_ok());
    }
}

#[test]
fn the_counter_counts() {
    let allocated = measure(|| {
        let mut grown = vec![0_u8; 8];
        grown.extend_from_slice(black_box(&[0; 100]));
        black_box(grown);
    });
    assert_eq!(allocated.count_total, 2);
    assert!(allocated.bytes_total > 100);
}

fn envelope_pass(frame: &[u8]) -> AllocationInfo {
    measure(|| {
        black_box(Envelope::parse(black_box(frame))).expect("a message");
    })
}

fn decoded(frame: &[u8]) -> (RequestId, CallToolParams) {
    let Ok(Envelope::Request(request)) = Envelope::parse(frame) else {
        panic!("a request");
    };
    let params = request.params.expect("a call has parameters");
    let params = CallToolParams::from_json(params.as_str()).expect("a call");
    (request.id, params)
}

/// A `tools/call` of 2026-07-28 with about `size` bytes of arguments.
fn call(id: &str, size: usize) -> Vec<u8> {
    let text = "some \\\"text\\\" é ".repeat(size / 16);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"search","arguments":{{"query":"{text}","limit":10}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":7}}}}}}"#
    )
    .into_bytes()
}
