//! The envelope pass and typed decoding, compared with `serde_json::Value`.
//!
//! `cargo bench -p bowline-types`; figures are kept in `docs/benchmarks.md`.

use std::fmt;

use bowline_types::Wire;
use bowline_types::envelope::Envelope;
use bowline_types::tools::{CallToolParams, CallToolResult};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

#[divan::bench(args = frames())]
fn envelope_pass(bencher: Bencher<'_, '_>, frame: &Frame) {
    frame.bench(bencher, |bytes| Envelope::parse(bytes).is_ok());
}

#[divan::bench(args = frames())]
fn typed_decode(bencher: Bencher<'_, '_>, frame: &Frame) {
    frame.bench(bencher, |bytes| match Envelope::parse(bytes) {
        Ok(Envelope::Request(request)) => {
            let params = request.params.expect("a call has parameters");
            black_box(CallToolParams::from_json(params.as_str())).is_ok()
        }
        Ok(Envelope::Success(success)) => {
            black_box(CallToolResult::from_json(success.result.as_str())).is_ok()
        }
        other => panic!("{other:?}"),
    });
}

#[divan::bench(args = frames())]
fn serde_json_value(bencher: Bencher<'_, '_>, frame: &Frame) {
    frame.bench(bencher, |bytes| {
        black_box(serde_json::from_slice::<serde_json::Value>(bytes)).is_ok()
    });
}

struct Frame {
    name: String,
    bytes: Vec<u8>,
}

impl Frame {
    fn bench(&self, bencher: Bencher<'_, '_>, parse: impl Fn(&[u8]) -> bool + Sync) {
        bencher
            .counter(BytesCount::of_slice(&self.bytes))
            .bench(|| assert!(parse(black_box(&self.bytes))));
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Calls and results of three sizes, made up of a long string and of small values.
fn frames() -> Vec<Frame> {
    // Named so that they are sorted by size.
    let sizes = [("0.2 KB", 200), ("10 KB", 10_000), ("1000 KB", 1_000_000)];
    let frames = sizes.into_iter().flat_map(|(size, bytes)| {
        [
            ("text, call", filled(bytes, call, text)),
            ("text, result", filled(bytes, result, text)),
            ("structured, call", filled(bytes, call, structure)),
            (
                "structured, result",
                filled(bytes, structured_result, structure),
            ),
        ]
        .map(|(kind, frame)| Frame {
            name: format!("{kind}, {size}"),
            bytes: frame.into_bytes(),
        })
    });
    frames.collect()
}

/// Returns the frame with as much payload as makes it `bytes` long, or a little longer.
fn filled(bytes: usize, frame: fn(&str) -> String, payload: fn(usize) -> String) -> String {
    let around = frame(&payload(0)).len();
    frame(&payload(bytes.saturating_sub(around)))
}

fn call(payload: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"search","arguments":{{"query":{payload}}}}}}}"#
    )
}

fn result(payload: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":{payload}}}]}}}}"#
    )
}

fn structured_result(payload: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"structuredContent":{{"items":{payload}}}}}}}"#
    )
}

/// A string of prose: a line break in every 64 bytes, a quotation in every second of them.
fn text(bytes: usize) -> String {
    const LINES: &str = concat!(
        r"The quick brown fox jumps over the lazy dog, and café owners w\n",
        r#"atch it \"every\" day; nobody knows why it would want to do so.\n"#
    );
    let mut text = String::from("\"");
    while text.len() < bytes {
        text.push_str(LINES);
    }
    text.push('"');
    text
}

/// An array of small objects.
fn structure(bytes: usize) -> String {
    let mut items = String::from("[");
    let mut number = 0;
    while items.len() < bytes {
        if number > 0 {
            items.push(',');
        }
        number += 1;
        items.push_str(&format!(
            r#"{{"id":{number},"name":"item {number}","price":{number}.25,"tags":["a","new"],"at":{{"x":-{number},"ok":true,"next":null}}}}"#
        ));
    }
    items.push(']');
    items
}
