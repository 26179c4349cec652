//! Event streams: any split gives the same, and so does the naive way.

#![no_main]

use std::iter::once;
use std::time::Duration;

use bowline_proto::codec::{SseDecoder, SseItem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [options, size, bytes @ ..] = data else {
        return;
    };
    let size = usize::from(*size).max(1);
    // A line that is too long to be kept, which no input of libFuzzer's is.
    let name = match options % 8 {
        0 => "data: ",
        1 => "id: ",
        2 => "unknown: ",
        _ => return check(b"", bytes, size),
    };
    let mut long = name.as_bytes().to_vec();
    long.resize(MAX_FIELD + LIMIT + 10, b'x');
    check(&long, bytes, size);
});

/// Checks the stream of `head` and `bytes`, of which only the second is cut up.
fn check(head: &[u8], bytes: &[u8], size: usize) {
    let whole = [head, bytes].concat();
    let split = decode(once(head).chain(bytes.chunks(size)));
    assert_eq!(split, decode(once(head).chain(bytes.chunks(1))));
    assert_eq!(split, decode(once(&*whole)));
    assert_eq!(split, naive(&whole));
}

/// What comes out, in words, and the cursor. How large an oversized event is depends on the
/// split.
fn decode<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, String) {
    let mut decoder = SseDecoder::new(LIMIT);
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(item) = decoder.poll() {
            out.push(words(item));
        }
        assert!(decoder.buffer().capacity() < 64 * 1024);
    }
    (out, decoder.last_event_id().to_owned())
}

fn words(item: SseItem) -> String {
    match item {
        SseItem::TooLarge(_) => "too large".into(),
        SseItem::Event { name, data } => event(&name, &data),
        other => format!("{other:?}"),
    }
}

fn event(name: &[u8], data: &[u8]) -> String {
    format!("event {}: {}", name.escape_ascii(), data.escape_ascii())
}

/// The events of all the bytes at once.
fn naive(bytes: &[u8]) -> (Vec<String>, String) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut out = Vec::new();
    let mut cursor = String::new();
    let (mut name, mut id, mut data) = (&b""[..], None, Vec::<&[u8]>::new());
    for line in lines(bytes) {
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => {
                out.push(format!("{:?}", SseItem::Comment));
                continue;
            }
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => {
                let moved = id.take();
                let has_moved = moved.is_some();
                cursor = moved.unwrap_or(cursor);
                let joined = data.join(&b'\n');
                if data.is_empty() {
                    out.extend(has_moved.then(|| format!("{:?}", SseItem::Cursor)));
                } else if joined.len() > LIMIT {
                    out.push("too large".into());
                } else {
                    out.push(event(
                        if name.is_empty() { b"message" } else { name },
                        &joined,
                    ));
                }
                name = b"";
                data.clear();
            }
            b"data" => data.push(value),
            b"event" if value.len() <= MAX_FIELD => name = value,
            b"id" if value.len() <= MAX_FIELD && !value.contains(&0) => {
                id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry"
                if (1..=MAX_FIELD).contains(&value.len())
                    && value.iter().all(u8::is_ascii_digit) =>
            {
                let millis = String::from_utf8_lossy(value).parse().unwrap_or(u64::MAX);
                out.push(format!(
                    "{:?}",
                    SseItem::Retry(Duration::from_millis(millis))
                ));
            }
            _ => {}
        }
    }
    (out, cursor)
}

/// The lines that have an end: `\n`, `\r` or both.
fn lines(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&rest[..end]);
        let is_both = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(is_both)..];
    }
    lines
}

/// Bytes of an event's data.
const LIMIT: usize = 64;

/// Bytes of another field, as the decoder has it.
const MAX_FIELD: usize = 8 * 1024;
