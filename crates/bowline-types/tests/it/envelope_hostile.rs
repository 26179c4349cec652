//! Frames that no honest peer sends: what isn't UTF-8 or JSON, what is too deep or too much.

use crate::support::outcome;

use bowline_types::envelope::{self, Envelope};
use bowline_types::json::MAX_DEPTH;
use bowline_types::{RawJsonRef, RequestId};

use outcome::check;

// proves: F-JR-09
#[test]
fn depth_costs_no_stack() {
    let run = || {
        let deep = "[".repeat(1_000_000);
        check(&deep, "-32600 TooDeep, Unknown -");
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{deep}"#),
            "-32700 Syntax(UnexpectedEnd), Request 1",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{deep}"#),
            "-32700 Syntax(UnexpectedEnd), Unknown -",
        );
        let object = r#"{"a":"#.repeat(1_000_000);
        check(&object, "-32700 Syntax(UnexpectedEnd), Unknown -");
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{object}"#),
            "-32700 Syntax(UnexpectedEnd), Response 1",
        );
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

// proves: F-JR-09
#[test]
fn the_id_is_found_behind_what_is_too_deep() {
    let deep = nested(1_000_000);
    let too_deep = |members: String, expected: &str| {
        check(
            format!(r#"{{"jsonrpc":"2.0",{members}}}"#),
            &format!("-32600 TooDeep, {expected}"),
        );
    };
    too_deep(
        format!(r#""method":"m","params":{{"a":{deep}}},"id":7"#),
        "Request 7",
    );
    too_deep(format!(r#""result":{deep},"id":"a""#), r#"Response "a""#);
    too_deep(format!(r#""id":1,"error":{{"data":{deep}}}"#), "Response 1");
    too_deep(format!(r#""x":{deep},"id":1"#), "Unknown 1");
    too_deep(format!(r#""id":{deep},"method":"m""#), "Request -");
    too_deep(format!(r#""method":{deep},"id":1"#), "Request 1");
    check(
        format!(r#"{{"id":1,"method":"m","jsonrpc":{deep}}}"#),
        "-32600 TooDeep, Request 1",
    );
    // Brackets in strings are no nesting, and an escaped quote ends none.
    let strings = format!(
        r#""result":{{"a":{}}},"id":1"#,
        around(r#""]}\"]}\\""#, 200)
    );
    too_deep(strings, "Response 1");
}

#[test]
fn depth_is_counted_from_the_frame() {
    let limit = MAX_DEPTH - 1;
    for (depth, expected) in [
        (limit, format!("notification m {}", object(limit))),
        (limit + 1, "-32600 TooDeep, Notification -".to_owned()),
    ] {
        let params = object(depth);
        check(
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#),
            &expected,
        );
    }
    let part = |depth| {
        let params = object(depth);
        format!(r#"[{{"jsonrpc":"2.0","method":"m","params":{params}}}]"#)
    };
    let params = object(limit - 1);
    check(part(limit - 1), &format!("batch [notification m {params}]"));
    check(part(limit), "-32600 TooDeep, Unknown -");
    // Something else that stands in the way is named, be it ever so deep.
    check(nested(MAX_DEPTH + 1), "-32600 TooDeep, Unknown -");
    check(nested(MAX_DEPTH), "batch [-32600 NestedBatch, Unknown -]");
}

#[test]
fn frames_that_are_not_utf_8_are_refused() {
    for bad in [
        &b"\xff"[..],
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\x80",
    ] {
        for (before, after, whose) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":""#,
                r#""}}"#,
                "Request 1",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m""#, "}", "Request 1"),
            ("", r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "Unknown -"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "", "Request 1"),
        ] {
            let frame = [before.as_bytes(), bad, after.as_bytes()].concat();
            check(&frame, &format!("-32700 InvalidUtf8, {whose}"));
            let error = Envelope::parse(&frame).unwrap_err();
            assert_eq!(error.offset(), before.len());
        }
    }
    let frame = r#"{"jsonrpc":"2.0","method":"€"}"#;
    check(frame, "notification € -");
    let cut = frame.find('€').unwrap() + 1;
    check(&frame.as_bytes()[..cut], "-32700 InvalidUtf8, Request -");
}

#[test]
fn nul_bytes_are_refused_wherever_they_are() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"result":{"a":"b"}}"#;
    for at in 0..=frame.len() {
        let mut bytes = frame.as_bytes().to_vec();
        bytes.insert(at, 0);
        let error = Envelope::parse(&bytes).unwrap_err();
        assert_eq!(error.offset(), at);
    }
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\0\"}}",
        "-32700 Syntax(ControlCharacter(0)), Response 1",
    );
}

// proves: F-FR-14
#[test]
fn a_line_break_in_a_string_leaves_two_bad_lines() {
    let frame =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"a\":\"x\ny\"}}";
    check(frame, "-32700 Syntax(ControlCharacter(10)), Request 1");
    let (first, second) = frame.split_once('\n').unwrap();
    check(first, "-32700 Syntax(UnexpectedEnd), Request 1");
    check(second, "-32700 Syntax(UnexpectedByte(121)), Unknown -");
}

// proves: F-FR-17
#[test]
fn a_frame_is_one_value() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    for rest in [frame, " {}", "]", "}", ",", " x", "null", "\u{a0}", "//"] {
        check(
            format!("{frame}{rest}"),
            "-32700 Syntax(TrailingText), Request 1",
        );
    }
    check(
        format!("[{frame}]{frame}"),
        "-32700 Syntax(TrailingText), Unknown -",
    );
}

#[test]
fn frames_that_are_not_json_are_refused() {
    for (frame, kind) in [
        ("", "UnexpectedEnd"),
        (" \n", "UnexpectedEnd"),
        ("{", "UnexpectedEnd"),
        ("{\"a\"", "UnexpectedEnd"),
        ("{\"a\":", "UnexpectedEnd"),
        ("{\"a\":1", "UnexpectedEnd"),
        ("[", "UnexpectedEnd"),
        ("[{}", "UnexpectedEnd"),
        ("[{},]", "UnexpectedByte(93)"),
        ("[,{}]", "UnexpectedByte(44)"),
        ("{\"a\":1,}", "UnexpectedByte(125)"),
        ("{a:1}", "UnexpectedByte(97)"),
        ("{'a':1}", "UnexpectedByte(39)"),
        ("\u{feff}{}", "UnexpectedByte(239)"),
        ("{\"a\":01}", "BadNumber"),
        ("{\"a\":+1}", "UnexpectedByte(43)"),
        ("{\"a\":NaN}", "UnexpectedByte(78)"),
        ("{\"a\":-Infinity}", "BadNumber"),
        ("{\"\\x\":1}", "BadEscape"),
        ("{\"a\":1 /**/}", "UnexpectedByte(47)"),
        ("hello", "UnexpectedByte(104)"),
    ] {
        check(frame, &format!("-32700 Syntax({kind}), Unknown -"));
    }
    for scalar in ["1", "null", "true", r#""{}""#, " -0.5e3 "] {
        check(scalar, "-32600 NotAMessage, Unknown -");
    }
    check("1 2", "-32700 Syntax(TrailingText), Unknown -");
}

// proves: F-JR-10
#[test]
fn numbers_are_passed_on_as_they_are_written() {
    let digits = "1".repeat(100_000);
    for number in ["1e400", "-0.0", "-0", "1.0", "1E+2", &digits] {
        let result = format!(r#"{{"n":{number}}}"#);
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
            &format!("success 1 {result}"),
        );
        let mut out = Vec::new();
        let json = RawJsonRef::parse(&result).unwrap();
        envelope::write_raw_result(&mut out, &RequestId::from(1), json);
        check(&out, &format!("success 1 {result}"));
    }
    for word in ["NaN", "Infinity", "-Infinity"] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"n":{word}}}}}"#);
        assert!(Envelope::parse(frame.as_bytes()).is_err(), "{word}");
    }
}

// proves: F-JR-11
#[test]
fn lone_surrogates_are_passed_on_or_refused() {
    let lone = r"\ud800 \udc00 \ud800\u0041 \u0000";
    let params = format!(r#"{{"{lone}":["{lone}"]}}"#);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params},"{lone}":1}}"#);
    check(&frame, &format!("request 1 m {params}"));
    let mut out = Vec::new();
    let json = RawJsonRef::parse(&params).unwrap();
    envelope::write_raw_notification(&mut out, "m", Some(json));
    check(&out, &format!("notification m {params}"));

    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        "-32600 InvalidMethod, Request 1",
    );
    check(
        r#"{"jsonrpc":"2.0","id":"\udfff","result":{}}"#,
        "-32600 InvalidId, Response -",
    );
    check(
        r#"{"jsonrpc":"2.0","id":"\u0000","method":"\u0000\ud83d\ude00"}"#,
        "request \"\\u0000\" \0😀 -",
    );
}

#[test]
fn batches_hold_messages() {
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    let two = r#"{"jsonrpc":"2.0","method":"n","params":{"a":[1,2]}}"#;
    check("[]", "-32600 EmptyBatch, Unknown -");
    check(" [ \n ] ", "-32600 EmptyBatch, Unknown -");
    check(format!("[{one}]"), "batch [request 1 m -]");
    check(
        format!(" [ {one} , {two} ] "),
        r#"batch [request 1 m -; notification n {"a":[1,2]}]"#,
    );
    check(
        format!(r#"[{one},1,"x",null,[{one}],[],{{}},{{"jsonrpc":"2.0","id":1,"id":1}},{two}]"#),
        concat!(
            "batch [request 1 m -; ",
            "-32600 NotAMessage, Unknown -; ",
            "-32600 NotAMessage, Unknown -; ",
            "-32600 NotAMessage, Unknown -; ",
            "-32600 NestedBatch, Unknown -; ",
            "-32600 NestedBatch, Unknown -; ",
            "-32600 WrongVersion, Unknown -; ",
            "-32600 Duplicate(\"id\"), Unknown 1; ",
            "notification n {\"a\":[1,2]}]",
        ),
    );
    // It is JSON as a whole or not at all.
    check(
        format!("[{one},{two}"),
        "-32700 Syntax(UnexpectedEnd), Unknown -",
    );
    check(
        format!("[{one} {two}]"),
        "-32700 Syntax(UnexpectedByte(123)), Unknown -",
    );
}

#[test]
fn a_batch_may_be_long() {
    let parts: Vec<_> = (0..100_000)
        .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
        .collect();
    let frame = format!("[{}]", parts.join(","));
    let Ok(Envelope::Batch(batch)) = Envelope::parse(frame.as_bytes()) else {
        panic!("a batch");
    };
    assert_eq!(batch.len(), 100_000);
    let mut ids = 0..;
    for part in batch.messages() {
        let Ok(Envelope::Success(success)) = part else {
            panic!("a result");
        };
        assert_eq!(success.id.as_i64(), ids.next());
    }
    assert_eq!(ids.next(), Some(100_000));
}

#[test]
fn a_million_keys_are_gone_over_once() {
    let keys: Vec<_> = (0..1_000_000).map(|key| format!("\"k{key}\":0")).collect();
    let keys = keys.join(",");
    check(
        format!(r#"{{{keys},"jsonrpc":"2.0","id":1,"method":"m"}}"#),
        "request 1 m -",
    );
    let params = format!("{{{keys}}}");
    check(
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#),
        &format!("request 1 m {params}"),
    );
    let ids = vec![r#""id":1"#; 1_000_000].join(",");
    check(
        format!(r#"{{"jsonrpc":"2.0",{ids},"method":"m"}}"#),
        r#"-32600 Duplicate("id"), Request 1"#,
    );
}

/// Arrays inside each other.
fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

/// An object with `depth` containers, itself counted.
fn object(depth: usize) -> String {
    format!(r#"{{"a":{}}}"#, nested(depth - 1))
}

/// `inner` inside so many objects and arrays.
fn around(inner: &str, depth: usize) -> String {
    r#"{"[":["#.repeat(depth) + inner + &"]}".repeat(depth)
}
