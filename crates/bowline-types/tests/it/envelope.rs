//! What the envelope pass makes of a frame: the kinds of messages, and every fault by name.

use crate::support::outcome;

use bowline_types::content::ContentBlock;
use bowline_types::envelope::{Envelope, EnvelopeError, Fault};
use bowline_types::error::{ErrorCode, ErrorObject};
use bowline_types::tools::{CallToolParams, Tool};
use bowline_types::{RequestId, Wire};

use outcome::check;

#[test]
fn members_decide_the_kind() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
        r#"request 1 m {"a":1}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":"1","method":"m"}"#,
        r#"request "1" m -"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"m"}"#, "notification m -");
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":{}}"#,
        "notification m {}",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"b":[]}}"#,
        r#"success 1 {"b":[]}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        r#"failure 1 {"code":1}"#,
    );
}

#[test]
fn order_and_white_space_do_not_matter() {
    check(
        r#"{"params":{},"method":"m","id":1,"jsonrpc":"2.0"}"#,
        "request 1 m {}",
    );
    check(
        "\t\r\n { \"result\" :\n{ \"a\" : 1 } , \"id\"\t: 1 ,\"jsonrpc\":\"2.0\"\r\n} \n",
        r#"success 1 { "a" : 1 }"#,
    );
}

#[test]
fn empty_names_and_strings_are_names_and_strings() {
    check(
        r#"{"jsonrpc":"2.0","id":"","method":""}"#,
        r#"request ""  -"#,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","":1,"i":2,"idx":3,"par":4}"#,
        "notification m -",
    );
}

#[test]
fn a_null_id_is_no_id() {
    // An answer may say that the id of its request could not be read. Nothing else may.
    check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "failure - {}");
    check(r#"{"jsonrpc":"2.0","error":{}}"#, "failure - {}");
    check(
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        "-32600 MissingId, Response -",
    );
    check(
        r#"{"jsonrpc":"2.0","result":{}}"#,
        "-32600 MissingId, Response -",
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        "-32600 InvalidId, Request -",
    );
    check(
        r#"{"jsonrpc":"2.0","id":null}"#,
        "-32600 NoMethodResultOrError, Unknown -",
    );
}

// proves: F-JR-05
#[test]
fn ids_are_exact_or_refused() {
    let long = format!("\"{}\"", "x".repeat(64 * 1024));
    let digits = "7".repeat(100_000);
    for id in [
        "0",
        "-1",
        "-0",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        r#""""#,
        r#""1""#,
        r#""\u0000""#,
        r#""é😀""#,
        &long,
        &digits,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
            &format!("request {id} m -"),
        );
    }
    for id in [
        "1.5",
        "1E400",
        "true",
        "false",
        "{}",
        "[]",
        "[1]",
        r#"{"id":1}"#,
        r#""\ud800""#,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
            "-32600 InvalidId, Request -",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{}}}}"#),
            "-32600 InvalidId, Response -",
        );
    }
    // What is written differently and means the same is the same.
    check(
        r#"{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}"#,
        r#"request "a/" m -"#,
    );
}

// proves: F-JR-15
#[test]
fn the_version_is_the_string_2_0() {
    for version in [
        r#""1.0""#,
        r#""2.00""#,
        r#""""#,
        "2.0",
        "2",
        "null",
        "true",
        r#"["2.0"]"#,
        "{}",
        r#""\ud800""#,
    ] {
        check(
            format!(r#"{{"jsonrpc":{version},"id":1,"method":"m"}}"#),
            "-32600 WrongVersion, Request 1",
        );
    }
    check(r#"{"id":1,"method":"m"}"#, "-32600 WrongVersion, Request 1");
    check(
        r#"{"id":"a","result":{}}"#,
        r#"-32600 WrongVersion, Response "a""#,
    );
    check(r#"{}"#, "-32600 WrongVersion, Unknown -");
    check(r#"{"jsonrpc":"\u0032.0","method":"m"}"#, "notification m -");
}

#[test]
fn methods_are_strings() {
    for method in ["1", "null", "true", "[]", "{}", r#""\udc00""#] {
        check(
            format!(r#"{{"jsonrpc":"2.0","method":{method},"id":1}}"#),
            "-32600 InvalidMethod, Request 1",
        );
    }
    check(
        r#"{"jsonrpc":"2.0","method":"tools\/\u0063all"}"#,
        "notification tools/call -",
    );
}

#[test]
fn payloads_are_objects() {
    for value in ["[]", "[{}]", "1", r#""{}""#, "false"] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{value}}}"#),
            "-32602 ParamsNotAnObject, Request 1",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","result":{value},"id":1}}"#),
            "-32600 ResultNotAnObject, Response 1",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","error":{value},"id":"e"}}"#),
            r#"-32600 ErrorNotAnObject, Response "e""#,
        );
    }
}

#[test]
fn null_beside_a_value_is_ignored_and_is_no_response_alone() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null,"result":null}"#,
        "request 1 m -",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
        "success 1 {}",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{}}"#,
        "failure 1 {}",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        "-32600 ResultNotAnObject, Response 1",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
        "-32600 ErrorNotAnObject, Response 1",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null,"params":{}}"#,
        "-32600 Duplicate(\"params\"), Request 1",
    );
}

#[test]
fn a_message_is_of_exactly_one_kind() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        "-32600 ResultAndError, Response 1",
    );
    check(
        r#"{"jsonrpc":"2.0","result":{},"error":{}}"#,
        "-32600 ResultAndError, Response -",
    );
    check(
        r#"{"jsonrpc":"2.0","id":"n"}"#,
        r#"-32600 NoMethodResultOrError, Unknown "n""#,
    );
    check(
        r#"{"jsonrpc":"2.0","params":{}}"#,
        "-32600 NoMethodResultOrError, Unknown -",
    );
    for answer in [
        r#""result":{}"#,
        r#""error":{}"#,
        r#""result":{},"error":{}"#,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0",{answer},"method":"m","id":1}}"#),
            "-32600 MethodAndResponse, Request 1",
        );
    }
}

#[test]
fn members_stand_once() {
    for (name, value) in ENVELOPE {
        // Before or behind the fault, the id is found, and the same value twice is no better.
        let twice = format!(r#""{name}":{value},"{name}":{value}"#);
        let rest: Vec<_> = ENVELOPE
            .into_iter()
            .filter(|(other, _)| *other != name && !["result", "error"].contains(other))
            .map(|(other, value)| format!(r#""{other}":{value}"#))
            .collect();
        let rest = rest.join(",");
        let expected = format!("-32600 Duplicate(\"{name}\"), Request 1");
        check(format!("{{{twice},{rest}}}"), &expected);
        check(format!("{{{rest},{twice}}}"), &expected);
    }
    check(
        r#"{"jsonrpc":"2.0","\u0069d":1,"id":1,"result":{}}"#,
        r#"-32600 Duplicate("id"), Response 1"#,
    );
}

#[test]
fn of_two_ids_that_differ_neither_counts() {
    for ids in [
        r#""id":1,"id":2"#,
        r#""id":1,"id":"1""#,
        r#""id":1,"id":null"#,
        r#""id":null,"id":1"#,
        r#""id":1,"id":2,"id":2"#,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0",{ids},"result":{{}}}}"#),
            r#"-32600 Duplicate("id"), Response -"#,
        );
    }
    check(
        r#"{"jsonrpc":"2.0","id":1.5,"id":1,"result":{}}"#,
        "-32600 InvalidId, Response -",
    );
}

#[test]
fn names_in_other_letters_are_refused() {
    for (varied, name) in [
        ("JSONRPC", "jsonrpc"),
        ("Jsonrpc", "jsonrpc"),
        ("ID", "id"),
        ("Id", "id"),
        (r"\u0049d", "id"),
        ("Method", "method"),
        ("paramS", "params"),
        ("RESULT", "result"),
        ("erroR", "error"),
        // Letters whose upper or lower case is an ASCII one.
        ("re\u{17f}ult", "result"),
        (r"param\u017f", "params"),
        ("\u{131}d", "id"),
        ("\u{130}d", "id"),
    ] {
        let expected = format!("-32600 AmbiguousName(\"{name}\"), Request 1");
        check(
            format!(r#"{{"{varied}":1,"jsonrpc":"2.0","id":1,"method":"m"}}"#),
            &expected,
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","{varied}":{{}}}}"#),
            &expected,
        );
    }
    // In its place it is none.
    check(
        r#"{"jsonrpc":"2.0","ID":1,"method":"m"}"#,
        r#"-32600 AmbiguousName("id"), Request -"#,
    );
    // What is in the envelope matters in the envelope only.
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":{"ID":1,"id":2,"Method":3}}"#,
        r#"notification m {"ID":1,"id":2,"Method":3}"#,
    );
}

#[test]
fn a_request_has_its_meta() {
    for (params, meta) in [
        (
            r#"{"name":"a","_meta":{"a":[1]},"x":2}"#,
            Some(r#"{"a":[1]}"#),
        ),
        (r#"{"_m\u0065ta": {} }"#, Some("{}")),
        (r#"{"_meta":[]}"#, Some("[]")),
        (r#"{"_meta":null}"#, None),
        (r#"{"arguments":{"_meta":{}}}"#, None),
        ("{}", None),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let Ok(Envelope::Request(request)) = Envelope::parse(frame.as_bytes()) else {
            panic!("{params}");
        };
        assert_eq!(request.meta.map(|meta| meta.as_str()), meta, "{params}");
    }
}

#[test]
fn a_request_has_the_members_of_a_call() {
    for (params, name, arguments, others) in [
        (
            r#"{"name":"a","_meta":{"name":"b","arguments":{}}}"#,
            Some("\"a\""),
            None,
            false,
        ),
        (
            r#"{"arguments":{"name":"b"} , "n\u0061me": 1 }"#,
            Some("1"),
            Some(r#"{"name":"b"}"#),
            false,
        ),
        (
            r#"{"name":null,"arguments":[ ]}"#,
            Some("null"),
            Some("[ ]"),
            false,
        ),
        (
            r#"{"argum\u0065nts":{},"name":"a"}"#,
            Some("\"a\""),
            None,
            true,
        ),
        (r#"{"name":"a","task":{}}"#, Some("\"a\""), None, true),
        ("{}", None, None, false),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let Ok(Envelope::Request(request)) = Envelope::parse(frame.as_bytes()) else {
            panic!("{params}");
        };
        let seen = request.seen;
        let texts = [seen.name, seen.arguments].map(|value| value.map(|value| value.as_str()));
        assert_eq!(
            (texts, seen.has_others),
            ([name, arguments], others),
            "{params}"
        );
    }
}

#[test]
fn members_of_parameters_are_held_to_the_same() {
    for (params, path) in [
        (r#"{"name":"add","name":"echo"}"#, "name"),
        (r#"{"name":"add","n\u0061me":"echo"}"#, "name"),
        (r#"{"name":"add","NAME":"echo"}"#, "NAME"),
        (r#"{"name":"add","name\u0000":"echo"}"#, "[\"name\\0\"]"),
        (
            r#"{"arguments":{},"name":"add","arguments":{"a":1}}"#,
            "arguments",
        ),
        (
            r#"{"name":"add","arguments":{"a":1,"b":{},"a":2}}"#,
            "arguments.a",
        ),
        (
            r#"{"_meta":{"progressToken":1,"progressToken":1}}"#,
            "_meta.progressToken",
        ),
        (r#"{"_META":{}}"#, "_META"),
        (r#"{"x":1,"x":1}"#, "x"),
    ] {
        for order in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#),
            format!(r#"{{"params":{params},"method":"tools/call","id":1,"jsonrpc":"2.0"}}"#),
        ] {
            let error = Envelope::parse(order.as_bytes()).unwrap_err();
            let Fault::Params(fault) = error.fault() else {
                panic!("{error:?} of {params}");
            };
            assert_eq!(
                fault
                    .path()
                    .strip_prefix("params")
                    .map(|path| path.trim_start_matches('.')),
                Some(path)
            );
            assert_eq!(
                (error.error_code(), error.id()),
                (ErrorCode::InvalidParams, Some(&1.into()))
            );
            assert_eq!(&order[error.offset()..=error.offset()], "\"");
        }
    }
    check(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}"#,
        "-32602 Params(DecodeError(Inner { path: \"params.requestId\", problem: Duplicate, offset: 15 })), Notification -",
    );
    // Other methods, the same members; and of an answer nothing is called.
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":{"name":1,"Name":2,"arguments":{"a":1,"a":2}}}"#,
        r#"notification m {"name":1,"Name":2,"arguments":{"a":1,"a":2}}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2},"params":{"a":1,"a":2}}"#,
        r#"success 1 {"a":1,"a":2}"#,
    );
}

/// A filter in front may be written in C, or drop what it can't show.
#[test]
fn names_that_another_parser_may_take_for_a_member_are_refused() {
    for (other, name) in [
        // Text that ends at its first NUL.
        (r"method\u0000", "method"),
        (r"id\u0000", "id"),
        (r"params\u0000x", "params"),
        (r"id\u0000\ud800", "id"),
        (r"ID\u0000ID", "id"),
        // Space, control characters and what has no width.
        (" id", "id"),
        (r"result\n", "result"),
        ("\u{7f}method", "method"),
        ("me\u{200b}thod", "method"),
        ("\u{feff}params", "params"),
        (r"error\ufe0f", "error"),
        (r"json\udb40\udc01rpc", "jsonrpc"),
        ("method\u{fffd}", "method"),
        // Letters of full width.
        ("\u{ff49}d", "id"),
        ("\u{ff2d}ethod", "method"),
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","{other}":{{}}}}"#),
            &format!("-32600 AmbiguousName(\"{name}\"), Request 1"),
        );
    }
    for other in [
        "ids",
        "i",
        "",
        r"\u0000",
        r"\u0000id",
        " ",
        "і\u{434}",
        "_id",
        "x id",
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","method":"m","{other}":{{}}}}"#),
            "notification m -",
        );
    }
}

/// Only an answer: the id of a request is repeated as it is, or refused.
#[test]
fn an_answer_may_have_an_integer_written_otherwise() {
    for (id, value) in [
        ("1.0", "1"),
        ("1e0", "1"),
        ("10e-1", "1"),
        ("0.5E1", "5"),
        ("12.50e+2", "1250"),
        ("-3.000", "-3"),
        ("9007199254740993.0", "9007199254740993"),
        ("0.0e99999999999999999999", "0"),
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            &format!("success {value} {{}}"),
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","error":{{}},"id":{id}}}"#),
            &format!("failure {value} {{}}"),
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#),
            &format!("-32600 ResultNotAnObject, Response {value}"),
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
            "-32600 InvalidId, Request -",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":1}}"#),
            "-32600 InvalidId, Request -",
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            "-32600 InvalidId, Unknown -",
        );
    }
    for id in [
        "1.5",
        "1e-1",
        "1.00000000000000000000000000001",
        "1e400",
        "1e99999999999999999999",
        "9223372036854775808.0",
        "1e-99999999999999999999",
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            "-32600 InvalidId, Response -",
        );
    }
    check(
        r#"{"jsonrpc":"2.0","id":1.0,"id":1,"result":{}}"#,
        r#"-32600 Duplicate("id"), Response 1"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1.0,"id":2,"result":{}}"#,
        r#"-32600 Duplicate("id"), Response -"#,
    );
}

#[test]
fn the_error_of_a_frame_that_is_not_utf8_has_its_id() {
    for (frame, expected) in [
        (
            &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}"[..],
            "Response 1",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"error\":{\"\xc3\":1},\"id\":\"a\"}",
            "Response \"a\"",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\xe2\x28\"}",
            "Request 2",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"a\":\"\xf0\"}}",
            "Notification -",
        ),
        // The bytes may be a part of the id, or of the name that says that it is one.
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\",\"result\":{}}",
            "Response -",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\xff\":1,\"result\":{}}",
            "Response -",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"result\":{\"a\":\"\xff\"}}",
            "Response -",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\xff}",
            "Response 3",
        ),
        (b"\xff\xfe{}", "Unknown -"),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}]",
            "Unknown -",
        ),
    ] {
        let shown = frame.escape_ascii();
        let error = Envelope::parse(frame).unwrap_err();
        let id = error.id().map_or("-".to_owned(), RequestId::to_string);
        assert_eq!(error.fault(), &Fault::InvalidUtf8, "{shown}");
        assert_eq!(
            format!("{:?} {id}", error.message_kind()),
            expected,
            "{shown}"
        );
    }
}

#[test]
fn names_may_be_escaped() {
    check(
        r#"{"\u006a\u0073onrpc":"2.0","\u0069d":1,"m\u0065thod":"m","\u0070arams":{}}"#,
        "request 1 m {}",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"r\u0065sult":{}}"#,
        "success 1 {}",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"\u0065rror":{}}"#,
        "failure 1 {}",
    );
    // The escape of a lone surrogate is no name that we know.
    check(
        r#"{"jsonrpc":"2.0","\ud800id":1,"method":"m"}"#,
        "notification m -",
    );
}

// proves: F-JR-16
#[test]
fn unknown_members_are_ignored_or_kept() {
    let frame = r#"{"x":[{"id":2}],"jsonrpc":"2.0","id":1,"meta":null,"method":"tools/call",
        "params":{"name":"t","x":{"y":1},"_meta":{"a/b":[1.0]}},"trace":{"method":"n"}}"#;
    let Ok(Envelope::Request(request)) = Envelope::parse(frame.as_bytes()) else {
        panic!("a request with more than it needs");
    };
    assert_eq!(
        (request.id.as_i64(), &*request.method),
        (Some(1), "tools/call")
    );
    let params = CallToolParams::from_json(request.params.unwrap().as_str()).unwrap();
    let lossless = params.to_lossless_json().unwrap();
    assert_eq!(lossless.as_str(), r#"{"name":"t","_meta":{"a/b":[1.0]}}"#);

    let error = ErrorObject::from_json(r#"{"code":1,"x":2,"message":"m"}"#).unwrap();
    assert_eq!(error, ErrorObject::new(1, "m"));

    let tool = r#"{"name":"t","inputSchema":{"type":"object","x":1.0},"x":{"y":[1e2]}}"#;
    let read = Tool::from_json(tool).unwrap();
    assert_eq!(read.to_lossless_json().unwrap().as_str(), tool);
    let content = r#"{"type":"text","text":"t","x":[{"y":1e400}]}"#;
    let block = ContentBlock::from_json(content).unwrap();
    assert_eq!(block.to_lossless_json().unwrap().as_str(), content);
}

#[test]
fn the_first_fault_is_named() {
    check(
        r#"{"jsonrpc":"1.0","id":1.5,"params":[],"method":"m"}"#,
        "-32600 WrongVersion, Request -",
    );
    check(
        r#"{"params":[],"id":{},"method":"m"}"#,
        "-32602 ParamsNotAnObject, Request -",
    );
    // What isn't JSON is that, whatever came before.
    check(
        r#"{"id":1,"id":1,"method":"m","jsonrpc":"2.0""#,
        "-32700 Syntax(UnexpectedEnd), Request 1",
    );
}

#[test]
fn a_notification_is_known_by_its_method_and_the_want_of_an_id() {
    for (frame, expected) in [
        (
            r#"{"jsonrpc":"2.0","method":"m","params":[]}"#,
            "-32602 ParamsNotAnObject, Notification -",
        ),
        (
            r#"{"params":7,"method":"m"}"#,
            "-32602 ParamsNotAnObject, Notification -",
        ),
        (r#"{"method":"m"}"#, "-32600 WrongVersion, Notification -"),
        // Somebody waits for an answer, or may do so.
        (
            r#"{"params":[],"method":"m","Id":1}"#,
            "-32602 ParamsNotAnObject, Request -",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","result":{}}"#,
            "-32600 MethodAndResponse, Request -",
        ),
        (
            r#"{"jsonrpc":"2.0","method":5}"#,
            "-32600 InvalidMethod, Request -",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","params":["#,
            "-32700 Syntax(UnexpectedEnd), Request -",
        ),
    ] {
        check(frame, expected);
    }
}

#[test]
fn the_error_of_a_truncated_frame_has_its_kind_and_id() {
    for (frame, about) in [
        (r#"{"id":1,"method":"#, "Request 1"),
        (r#"{"id":1,"method":"to"#, "Request 1"),
        (r#"{"id":1,"method":"m","params":{"a":"#, "Request 1"),
        (r#"{"id":"a","result":{"a":[1,"#, r#"Response "a""#),
        (r#"{"id":1,"error":"#, "Response 1"),
        (r#"{"error":{"code":"#, "Response -"),
        (r#"{"id":1,"params":{"#, "Unknown 1"),
        (r#"{"id":1,"id":"#, "Unknown 1"),
        (r#"{"result":{},"id":"ab""#, r#"Response "ab""#),
        (r#"{"result":{},"id":"ab"#, "Response -"),
        // Of 123, for all we know.
        (r#"{"result":{},"id":12"#, "Response -"),
        (r#"{"result":{},"id":12,"#, "Response 12"),
    ] {
        check(frame, &format!("-32700 Syntax(UnexpectedEnd), {about}"));
    }
}

#[test]
fn faults_have_a_place() {
    for (frame, offset, shown) in [
        (
            "{\"id\":1, \n\"id\":1}",
            10,
            "duplicate member `id` (byte 10)",
        ),
        (
            r#"{"ID":1}"#,
            1,
            "ambiguous member name: some parsers read it as `id` (byte 1)",
        ),
        (
            r#"{"id": 1.5}"#,
            7,
            "`id` is neither a string nor an integer (byte 7)",
        ),
        (" []", 0, "a batch without messages (byte 0)"),
        (" 1", 1, "the frame is not a JSON object (byte 1)"),
        (r#"{"a":tru"#, 8, "the text ends inside a value (byte 8)"),
        ("{}", 2, "`jsonrpc` is not \"2.0\" (byte 2)"),
    ] {
        let error: EnvelopeError = Envelope::parse(frame.as_bytes()).unwrap_err();
        assert_eq!(
            (error.offset(), error.to_string().as_str()),
            (offset, shown)
        );
    }
}

/// The envelope's members, each with a value that is right for it.
const ENVELOPE: [(&str, &str); 6] = [
    ("jsonrpc", r#""2.0""#),
    ("id", "1"),
    ("method", r#""m""#),
    ("params", "{}"),
    ("result", "{}"),
    ("error", "{}"),
];
