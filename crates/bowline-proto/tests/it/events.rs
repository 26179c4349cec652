//! Event streams: equal to the algorithm of the WHATWG, however the bytes are split.

use std::time::Duration;

use bowline_proto::codec::{SseDecoder, SseItem, write_event};
use proptest::prelude::*;

const ROOMY: usize = 1 << 20;

/// What comes out, and where the cursor is at the end.
fn decode(limit: usize, chunks: &[&[u8]]) -> (Vec<SseItem>, String) {
    let mut decoder = SseDecoder::new(limit);
    let mut items = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(item) = decoder.poll() {
            items.push(item);
        }
    }
    (items, decoder.last_event_id().to_owned())
}

fn event(name: &str, data: &str) -> SseItem {
    let mut decoder = SseDecoder::new(ROOMY);
    decoder.push(format!("event: {name}\n").as_bytes());
    for line in data.split('\n') {
        decoder.push(format!("data: {line}\n").as_bytes());
    }
    decoder.push(b"\n");
    decoder.poll().expect("the event is complete")
}

/// Checks the whole, every way to cut it in two, and byte by byte.
fn check(stream: &str, expected: &[SseItem], cursor: &str) {
    let bytes = stream.as_bytes();
    let expected = (expected.to_vec(), cursor.to_owned());
    assert_eq!(decode(ROOMY, &[bytes]), expected, "{stream:?}");
    for cut in 0..bytes.len() {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(
            decode(ROOMY, &[first, second]),
            expected,
            "{stream:?} cut at {cut}"
        );
    }
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(decode(ROOMY, &single), expected, "{stream:?} byte by byte");
}

// proves: F-SS-01, F-SS-02
#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "data:b", "data", "", "data:  c", ""].join(end) + end;
        check(
            &stream,
            &[event("message", "a\nb\n"), event("message", " c")],
            "",
        );
    }
    check("\u{feff}data: a\n\n", &[event("message", "a")], "");
    check("data: a\n\u{feff}data: b\n\n", &[event("message", "a")], "");
    check("data\n\n", &[event("message", "")], "");
    check("data\ndata\n\ndata:\n", &[event("message", "\n")], "");
    check(
        "unknown: x\ndata: a\n: c\n\n",
        &[SseItem::Comment, event("message", "a")],
        "",
    );
    check(
        "event: ping\ndata: x\n\nevent: lost\n\ndata: y\n\n",
        &[event("ping", "x"), event("message", "y")],
        "",
    );
}

// proves: F-SS-04
#[test]
fn ids_move_the_cursor_when_the_event_is_complete() {
    check("id: 1\n\n", &[SseItem::Cursor], "1");
    check("id: 1\ndata\n\n", &[event("message", "")], "1");
    check(
        "id: 1\ndata: x\n\nid: 2\ndata: y\n",
        &[event("message", "x")],
        "1",
    );
    check("id: 1\n\nid\n\n", &[SseItem::Cursor, SseItem::Cursor], "");
    check("id: 1\n\nid: a\0b\n\n", &[SseItem::Cursor], "1");
    check(
        "event: other\nid: 9\ndata: x\n\n",
        &[event("other", "x")],
        "9",
    );
}

#[test]
fn retry_is_digits_alone() {
    let retry = |millis| SseItem::Retry(Duration::from_millis(millis));
    check("retry: 1500\n", &[retry(1500)], "");
    for not in ["retry: -1\n", "retry: 1.5\n", "retry:\n", "retry: 1s\n"] {
        check(not, &[], "");
    }
    check("retry: 99999999999999999999999\n", &[retry(u64::MAX)], "");
}

// proves: F-SS-03
#[test]
fn comments_only_show_that_the_server_is_alive() {
    let mut decoder = SseDecoder::new(ROOMY);
    let chunk = b": keep-alive\n".repeat(1000);
    let mut comments = 0;
    for _ in 0..1000 {
        decoder.push(&chunk);
        while let Some(item) = decoder.poll() {
            assert_eq!(item, SseItem::Comment);
            comments += 1;
        }
        assert!(decoder.buffer().capacity() <= 128 * 1024);
    }
    assert_eq!(comments, 1_000_000);
}

// proves: F-SS-07
#[test]
fn an_unterminated_event_is_none() {
    check("data: a\n\ndata: b", &[event("message", "a")], "");
    check("data: b\n", &[], "");
}

// proves: F-SS-08
#[test]
fn a_million_events_in_one_chunk() {
    let (items, _) = decode(ROOMY, &[&b"data: {}\n\n".repeat(1_000_000)]);
    assert_eq!(items.len(), 1_000_000);
}

// proves: F-SS-11
#[test]
fn events_beyond_the_limit_end_their_request_and_no_other() {
    let too_large = |stream: &str, limit| {
        let mut found = Vec::new();
        for chunks in [
            vec![stream.as_bytes()],
            stream.as_bytes().chunks(7).collect(),
        ] {
            let (items, _) = decode(limit, &chunks);
            let [SseItem::TooLarge(too_large), SseItem::Event { data, .. }] = &items[..] else {
                panic!("{items:?}");
            };
            assert_eq!(*data, "{}");
            found.push(too_large.id.as_ref().map(ToString::to_string));
        }
        assert_eq!(found[0], found[1]);
        found[0].clone()
    };
    let after = "\n\ndata: {}\n\n";
    let fits = r#"{"result":"","id":7}"#;
    let (items, _) = decode(fits.len(), &[format!("data: {fits}\n\n").as_bytes()]);
    assert_eq!(items, [event("message", fits)]);
    assert_eq!(
        too_large(&format!("data: {fits}{after}"), fits.len() - 1).as_deref(),
        Some("7")
    );
    // Many lines, and one that is longer than anything may be.
    let lines = format!(
        "data: {{\"result\":[\n{}data: 0],\"id\":\"x\"}}{after}",
        "data: 0,\n".repeat(100)
    );
    assert_eq!(too_large(&lines, 50).as_deref(), Some("\"x\""));
    let long = format!(
        "data: {{\"result\":\"{}\",\"id\":8}}{after}",
        "x".repeat(20_000)
    );
    assert_eq!(too_large(&long, 50).as_deref(), Some("8"));
}

#[test]
fn an_endless_line_is_bounded() {
    for start in [&b"data: "[..], b"event: ", b": "] {
        let mut decoder = SseDecoder::new(100_000);
        decoder.push(start);
        for _ in 0..1000 {
            decoder.push(&[b'x'; 4096]);
            assert_eq!(decoder.poll(), None);
            assert!(decoder.buffer().capacity() < 512 * 1024);
        }
    }
}

#[test]
fn a_written_event_is_read_as_itself() {
    let mut out = Vec::new();
    write_event(&mut out, Some("s/1"), b"{\"a\":1}");
    write_event(&mut out, None, b"two\nlines");
    check(
        std::str::from_utf8(&out).unwrap(),
        &[
            event("message", "{\"a\":1}"),
            event("message", "two\nlines"),
        ],
        "s/1",
    );
}

/// The algorithm of the WHATWG on a whole text.
fn reference(text: &str) -> (Vec<(String, String)>, String) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let complete = text.rfind('\n').map(|end| &text[..end]).unwrap_or_default();
    let (mut events, mut cursor) = (Vec::new(), String::new());
    let (mut data, mut name, mut id) = (String::new(), String::new(), None);
    if !text.contains('\n') {
        return (events, cursor);
    }
    for line in complete.split('\n') {
        if line.is_empty() {
            cursor = id.take().unwrap_or(cursor);
            if let Some(data) = data.strip_suffix('\n') {
                let name = if name.is_empty() { "message" } else { &name };
                events.push((name.to_owned(), data.to_owned()));
            }
            data.clear();
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data += &format!("{value}\n"),
            "event" => name = value.to_owned(),
            "id" if !value.contains('\0') => id = Some(value.to_owned()),
            _ => {}
        }
    }
    (events, cursor)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_to_the_algorithm(
        pieces in proptest::collection::vec(piece(), 0..24),
        size in 1_usize..9,
    ) {
        let text = pieces.concat();
        let chunks: Vec<_> = text.as_bytes().chunks(size).collect();
        let (items, cursor) = decode(ROOMY, &chunks);
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let events: Vec<_> = items
            .iter()
            .filter_map(|item| match item {
                SseItem::Event { name, data } => Some((string(name), string(data))),
                _ => None,
            })
            .collect();
        prop_assert_eq!((events, cursor), reference(&text));
    }
}

fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "data",
        "data:",
        "data: ",
        "event: e",
        "id: ",
        "id",
        ":",
        " ",
        "retry: 5",
        "x",
        "\0",
        "é",
        "\u{feff}",
        "{}",
        "data: {}\n\n",
    ];
    prop_oneof![
        9 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ]
}
