//! What `bowline explain` says, compared with the files in `snapshots`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::run::{check, run, snapshots, text};

#[test]
fn a_session_of_the_handshake_era() {
    check(
        "handshake",
        &["explain", "tests/cli/frames/handshake.jsonl"],
        b"",
    );
}

#[test]
fn a_session_of_the_stateless_era() {
    check(
        "stateless",
        &["explain", "tests/cli/frames/stateless.jsonl"],
        b"",
    );
}

#[test]
fn the_example_has_both_eras_and_one_fault() {
    check("example", &["explain", "examples/session.jsonl"], b"");
}

// proves: F-JR-12
#[test]
fn batches_show_their_parts() {
    check(
        "batches",
        &["explain", "tests/cli/frames/batches.jsonl"],
        b"",
    );
}

#[test]
fn frames_that_are_no_messages() {
    check(
        "no_messages",
        &["explain", "tests/cli/frames/no_messages.jsonl"],
        b"",
    );
}

#[test]
fn a_frame_that_is_not_utf8() {
    check(
        "not_utf8",
        &["explain"],
        b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}\n",
    );
}

#[test]
fn a_frame_that_is_nested_too_deep() {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    check("too_deep", &["explain"], frame.as_bytes());
}

#[test]
fn messages_that_no_revision_or_only_some_take() {
    check(
        "invalid_messages",
        &["explain", "tests/cli/frames/invalid_messages.jsonl"],
        b"",
    );
}

// proves: F-CL-03
#[test]
fn json_of_messages() {
    check(
        "json_stateless",
        &["explain", "--json", "tests/cli/frames/stateless.jsonl"],
        b"",
    );
    check(
        "json_ids",
        &["explain", "--json", "tests/cli/frames/ids.jsonl"],
        b"",
    );
}

// proves: F-CL-03
#[test]
fn json_of_batches_and_of_what_is_no_message() {
    let one = ["--json", "--revision", "2025-03-26"];
    for (name, file) in [
        ("json_batches", "tests/cli/frames/batches.jsonl"),
        ("json_no_messages", "tests/cli/frames/no_messages.jsonl"),
        (
            "json_invalid_messages",
            "tests/cli/frames/invalid_messages.jsonl",
        ),
    ] {
        check(name, &["explain", one[0], one[1], one[2], file], b"");
    }
}

#[test]
fn only_the_revisions_that_are_asked_for_judge() {
    let file = "tests/cli/frames/stateless.jsonl";
    check(
        "revision",
        &["explain", "--revision", "2025-06-18", file],
        b"",
    );
    check(
        "revisions",
        &[
            "explain",
            "--revision",
            "2026-07-28",
            "--revision",
            "2024-11-05",
            file,
        ],
        b"",
    );
}

#[test]
fn an_unknown_revision_is_a_usage_error() {
    check(
        "unknown_revision",
        &["explain", "--revision", "2025-06-17"],
        b"",
    );
}

#[test]
fn usage_errors_and_help() {
    check("no_command", &[], b"");
    check("unknown_option", &["explain", "--jsno"], b"");
    check(
        "json_unknown_option",
        &["explain", "--json", "--revison", "x"],
        b"",
    );
    check(
        "json_unknown_revision",
        &["explain", "--json", "--revision", "2025-06-17"],
        b"",
    );
    check("json_no_value", &["explain", "--json", "--revision"], b"");
    check("help", &["--help"], b"");
    check("explain_help", &["explain", "--help"], b"");
    check("serve_help", &["serve", "--help"], b"");
    check("serve_nothing", &["serve", "nothing"], b"");
    check("version", &["--version"], b"");
}

#[test]
fn a_file_that_is_not_there() {
    check(
        "missing_file",
        &["explain", "tests/cli/frames/nowhere.jsonl"],
        b"",
    );
}

#[test]
fn a_directory_is_no_file() {
    check("directory", &["explain", "tests/cli/frames"], b"");
}

#[test]
fn nothing_to_explain() {
    check("empty", &["explain"], b"");
    check("empty_json", &["explain", "--json", "-"], b"");
}

#[test]
fn byte_order_mark_crlf_and_blank_lines_are_tolerated() {
    let input = "\u{feff}\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n  \t\r\n \
                 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}} \n\n";
    check("tolerated", &["explain", "-"], input.as_bytes());
    let input = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\u{feff}{}\n";
    check("byte_order_mark", &["explain"], input.as_bytes());
}

#[test]
fn the_last_frame_needs_no_newline() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    check("no_newline", &["explain"], input);
}

// proves: F-CL-01
#[test]
fn hostile_text_is_escaped() {
    check(
        "hostile",
        &["explain", "tests/cli/frames/hostile.jsonl"],
        b"",
    );
    check(
        "json_hostile",
        &["explain", "--json", "tests/cli/frames/hostile.jsonl"],
        b"",
    );
    // The same characters themselves, in frames that are refused and shown.
    let raw = "{\"jsonrpc\":\"2.0\",\"method\":\"\u{1b}]52;c;aGk=\u{7}\"}\n\
               \u{1b}[2J\u{202e}\u{9b}31m\r\u{8}\n\
               {\"jsonrpc\":\"2.0\",\"method\":\"\u{202e}\u{2028}\"}\n";
    check("hostile_raw", &["explain"], raw.as_bytes());
    check("json_hostile_raw", &["explain", "--json"], raw.as_bytes());

    let file = fs::read(frames("hostile")).unwrap();
    for input in [file.as_slice(), raw.as_bytes()] {
        for args in [&["explain"][..], &["explain", "--json"]] {
            let output = run(args, input);
            for text in [text(&output.stdout), text(&output.stderr)] {
                let obeyed = |character: char| {
                    character.is_control() || "\u{202e}\u{2028}\u{2066}".contains(character)
                };
                assert!(!text.lines().any(|line| line.contains(obeyed)), "{text:?}");
            }
        }
    }
}

// proves: F-CL-03
#[test]
fn stdout_is_json_and_nothing_else() {
    for file in [
        "handshake",
        "stateless",
        "batches",
        "no_messages",
        "invalid_messages",
        "hostile",
    ] {
        let path = format!("tests/cli/frames/{file}.jsonl");
        let output = run(&["explain", "--json", &path], b"");
        let frames = fs::read_to_string(frames(file)).unwrap();
        let objects = text(&output.stdout).lines().map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            assert!(value.is_object(), "{line}");
        });
        assert_eq!(objects.count(), frames.lines().count(), "{file}");
        assert_eq!(text(&output.stderr), "", "{file}");
    }
    // What is not data goes elsewhere, also when there is none.
    check(
        "json_missing_file",
        &["explain", "--json", "tests/cli/frames/nowhere.jsonl"],
        b"",
    );
}

#[test]
fn the_help_documents_every_member_of_the_json() {
    let help = run(&["explain", "--help"], b"").stdout;
    let documented: BTreeSet<_> = text(&help)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut found = BTreeSet::new();
    for file in ["stateless", "batches", "no_messages"] {
        let path = format!("tests/cli/frames/{file}.jsonl");
        for line in text(&run(&["explain", "--json", &path], b"").stdout).lines() {
            collect_keys(&serde_json::from_str(line).unwrap(), &mut found);
        }
    }
    assert!(found.len() > 12, "{found:?}");
    for key in found {
        assert!(documented.contains(key.as_str()), "{key} is not documented");
    }
}

/// Where the frames of that name are, seen from anywhere.
fn frames(name: &str) -> PathBuf {
    let directory = snapshots().with_file_name("frames");
    directory.join(name).with_extension("jsonl")
}

/// The keys of all objects in `value`, but not the names of revisions.
fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if !key.starts_with("20") {
                    keys.insert(key.clone());
                }
                collect_keys(value, keys);
            }
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| collect_keys(element, keys)),
        _ => {}
    }
}
