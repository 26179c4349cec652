//! What `bowline call` does.

use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{check, text};
use crate::test_folder::{TestFolder, check_hostile, peer};

#[test]
fn arguments_are_converted_by_the_schema_of_the_tool() {
    let test = TestFolder::new("call_arguments");
    test.check("call_add", &["call", "demo", "add", "a=2", "b=3"]);
    test.check(
        "call_json_values",
        &["call", "demo", "add", "a:=2.5", "b=-1e2"],
    );
    test.check(
        "call_object",
        &["call", "demo", "add", r#"{"a": 1, "b": 2}"#],
    );
    fs::write(test.folder.join("text"), "from a file\n").unwrap();
    test.check("call_file", &["call", "demo", "echo", "text=@text"]);
    test.check("call_no_file", &["call", "demo", "echo", "text=@none"]);
}

#[test]
fn a_server_can_be_a_command() {
    let test = TestFolder::new("call_command");
    let program = env!("CARGO_BIN_EXE_bowline");
    let args = ["call", "add", "a=2", "b=3", "--", program, "serve", "demo"];
    let output = test.run(&args);
    assert_eq!(text(&output.stdout), "5\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn arguments_can_come_from_stdin() {
    let test = TestFolder::new("call_stdin");
    for (args, input, expected) in [
        (&["add", "-"][..], r#"{"a": 1, "b": 2}"#, "3\n"),
        (&["echo", "text=@-"], "typed\ntext\n", "typed\ntext\n"),
        (&["add", "@-", "b=5"], r#"{"a": 1}"#, "6\n"),
    ] {
        let output = with_input(&test, &[&["call", "demo"], args].concat(), input);
        assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    }
    let args = ["call", "demo", "add", "-"];
    let output = with_input(&test, &args, "not json");
    test.compare("call_stdin_not_json", &args, &output);
}

fn with_input(test: &TestFolder, args: &[&str], input: &str) -> Output {
    let mut command = test.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let test = TestFolder::new("call_wrong");
    test.check("call_no_tool", &["call", "demo"]);
    test.check("call_typo", &["call", "demo", "ad", "a=2"]);
    test.check("call_typo_json", &["call", "demo", "ad", "--json"]);
    test.check("call_missing", &["call", "demo", "add", "a=2"]);
    test.check(
        "call_missing_json",
        &["call", "demo", "add", "a=2", "--json"],
    );
    test.check("call_wrong_type", &["call", "demo", "add", "a=two", "b=3"]);
    let level = ["call", "demo", "log", "level=warn", "text=x"];
    test.check("call_wrong_choice", &level);
    let key = ["call", "demo", "echo", "txet=hi"];
    test.check("call_wrong_key", &key);
    test.check("call_no_pair", &["call", "demo", "echo", "hi"]);
    let peer = peer("terse.sh");
    let peer = peer.each_ref().map(String::as_str);
    let unquoted = [&["call", "tagged", "tags=[a,b]"], &peer[..]].concat();
    test.check("call_unquoted", &unquoted);
}

// proves: F-CL-03
#[test]
fn a_tool_error_has_its_own_exit_code() {
    let test = TestFolder::new("call_fail");
    test.check("call_fail", &["call", "demo", "fail", "message=no luck"]);
    let old = ["--revision", "2025-06-18", "--json"];
    let args = [&["call", "demo", "fail"], &old[..]].concat();
    test.check("call_fail_json", &args);
    test.check("call_protocol_error", &["call", "demo", "protocol_error"]);
    let args = ["call", "demo", "protocol_error", "--json"];
    test.check("call_protocol_error_json", &args);
}

#[test]
fn structured_content_is_shown_where_there_is_no_text() {
    let test = TestFolder::new("call_structured");
    let args = ["call", "demo", "count_words", "text=two words"];
    test.check("call_structured", &args);
    let peer = peer("terse.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, tool) in [
        ("call_structured_only", "structured"),
        ("call_structured_wrapped", "wrapped"),
        ("call_structured_beside", "beside"),
        ("call_empty", "empty"),
    ] {
        test.check(name, &[&["call", tool], &peer[..]].concat());
    }
    let args = [&["call", "wrapped", "--json"], &peer[..]].concat();
    test.check("call_structured_json", &args);
    let output = test.run(&[&["call", "structured", "-o", "-"], &peer[..]].concat());
    assert_eq!(text(&output.stdout), r#"{"n":[1,12345678901234567890123]}"#);
}

#[test]
fn an_invalid_result_is_printed_with_its_problem() {
    let test = TestFolder::new("call_misfit");
    let peer = peer("misfit.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, args) in [
        ("call_misfit", &["call", "misfit"][..]),
        ("call_misfit_json", &["call", "misfit", "--json"]),
        ("call_unchecked", &["call", "unknown"]),
        ("call_unchecked_json", &["call", "unknown", "--json"]),
        ("call_unread", &["call", "unread"]),
        ("call_unread_json", &["call", "unread", "--json"]),
        ("call_blank", &["call", "blank"]),
        ("call_more", &["call", "more"]),
        ("call_more_json", &["call", "more", "--json"]),
    ] {
        test.check(name, &[args, &peer].concat());
    }
    let output = test.run(&[&["call", "blank", "-o", "-"], &peer[..]].concat());
    assert_eq!(text(&output.stdout), r#"{"answer":42}"#);
}

#[test]
fn a_call_that_takes_too_long_is_given_up() {
    let test = TestFolder::new("call_hang");
    test.check("call_hang", &["call", "demo", "hang", "--timeout", "2"]);
    // Each step is a sign of life, so that all of them may take longer than one.
    let args = ["from=9", "pause_ms=400", "--timeout", "3"];
    let begun = Instant::now();
    let output = test.run(&[&["call", "demo", "countdown"], &args[..]].concat());
    assert_eq!(text(&output.stdout), "counted down from 9\n");
    assert!(begun.elapsed() > Duration::from_secs(3));
}

#[test]
fn no_hint_suggests_starting_a_value_as_a_server() {
    let test = TestFolder::new("call_dash");
    test.check("call_dash", &["call", "add", "-1", "--", "server"]);
    let json = ["call", "add", "-1", "--json", "--", "server"];
    test.check("call_dash_json", &json);
    test.check("call_dash_alone", &["ping", "-1"]);
    test.check("call_dash_value", &["call", "demo", "add", "a=-1", "b=-2"]);
    // There it is right.
    test.check("call_dash_server", &["servers", "-1"]);
    // Other tips stay.
    test.check("call_dash_option", &["call", "demo", "add", "--jsno"]);
}

#[test]
fn no_progress_lets_a_call_take_longer_than_it_may_in_all() {
    let test = TestFolder::new("call_max_time");
    let args = ["from=1000", "pause_ms=10", "--max-time", "1"];
    let args = [&["call", "demo", "countdown"], &args[..]].concat();
    test.check("call_max_time", &args);
    let json = [&args[..], &["--json"]].concat();
    test.check("call_max_time_json", &json);
    // It becomes a task after a second.
    let task = ["call", "demo", "brew", "step_ms=60000", "--max-time", "2"];
    test.check("call_max_time_task", &task);
}

#[test]
fn a_server_lost_during_a_call_may_have_executed_it() {
    let test = TestFolder::new("call_lost");
    let peer = peer("dying.sh");
    let args = [&["call", "die"], &peer.each_ref().map(String::as_str)[..]].concat();
    test.check("call_lost", &args);
}

#[test]
fn binary_content_is_saved_and_nothing_is_overwritten() {
    let test = TestFolder::new("call_save");
    test.check("call_mixed", &["call", "demo", "mixed"]);
    test.check("call_mixed_again", &["call", "demo", "mixed"]);
    let names = ["audio-1.wav", "audio-2.wav", "image-1.png", "image-2.png"];
    assert_eq!(test.files(), names);
    let image = fs::read(test.folder.join("image-2.png")).unwrap();
    assert!(image.starts_with(b"\x89PNG"));
    let audio = fs::read(test.folder.join("audio-1.wav")).unwrap();
    assert!(audio.starts_with(b"RIFF"));
}

#[test]
fn files_go_where_they_are_wanted() {
    let test = TestFolder::new("call_output");
    let named = ["call", "demo", "image", "--output", "knot.png"];
    test.check("call_output_file", &named);
    test.check(
        "call_output_folder",
        &["call", "demo", "mixed", "-o", "new/"],
    );
    let exact = ["call", "demo", "echo", "text=\u{1b}[2J", "-o", "exact"];
    let output = test.run(&exact);
    assert_eq!(text(&output.stdout), "");
    let exact = fs::read(test.folder.join("exact")).unwrap();
    assert_eq!(exact, b"\x1b[2J");
    let image = fs::read(test.folder.join("knot.png")).unwrap();
    let poured = test.run(&["call", "demo", "image", "-o", "-"]);
    assert_eq!(poured.stdout, image);
    assert_eq!(test.files(), ["exact", "knot.png", "new"]);
    let nowhere = ["call", "demo", "image", "-o", "no/such/file"];
    test.check("call_output_nowhere", &nowhere);
    // Nothing is started, so that it does not matter which server it is.
    let nowhere = ["read", "x:", "-o", "exact/below", "--", "/no/such/server"];
    test.check("read_output_nowhere", &nowhere);
    let nowhere = ["prompt", "x", "-o", "exact/below/", "--", "/no/such/server"];
    test.check("prompt_output_nowhere", &nowhere);
}

#[test]
fn a_part_that_cannot_be_had_takes_nothing_with_it() {
    let test = TestFolder::new("call_broken");
    let peer = peer("broken.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, args) in [
        ("call_broken", &["call", "draw"][..]),
        ("call_broken_fail", &["call", "fail"]),
        ("call_broken_folder", &["call", "draw", "-o", "new/"]),
        (
            "call_broken_json",
            &["call", "fail", "--json", "-o", "new/"],
        ),
        ("call_broken_poured", &["call", "draw", "-o", "-"]),
        ("prompt_broken", &["prompt", "say"]),
    ] {
        test.check(name, &[args, &peer].concat());
    }
    assert_eq!(test.files(), ["image-1.png", "image-2.png", "new"]);
}

#[test]
fn contents_are_printed_with_control_sequences_escaped() {
    let test = TestFolder::new("call_odd");
    let peer = peer("broken.sh");
    let peer = peer.each_ref().map(String::as_str);
    let output = test.run(&[&["call", "odd"], &peer[..]].concat());
    let shown = "a\r\nco\u{ad}op 👩\u{200d}👧\\u{1b}[2J\n\\u{202e}b\n";
    assert_eq!(text(&output.stdout), shown);
    let note = "control characters are shown escaped; `--output -` writes them unescaped\n";
    assert_eq!(text(&output.stderr), note);
    let output = test.run(&[&["call", "odd", "-o", "-"], &peer[..]].concat());
    let poured = "a\r\nco\u{ad}op 👩\u{200d}👧\u{1b}[2J\n\u{202e}b";
    assert_eq!(text(&output.stdout), poured);
    assert_eq!(text(&output.stderr), "");
}

// proves: F-CL-03
#[test]
fn programs_get_the_result_and_files_only_if_they_ask() {
    let test = TestFolder::new("call_json");
    let args = ["call", "demo", "image", "--json"];
    let output = test.run(&args);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["content"][0]["mimeType"], "image/png");
    assert_eq!(text(&output.stderr), "");
    assert!(test.files().is_empty());
    let output = test.run(&[&args[..], &["-o", "knot.png"]].concat());
    let stderr: Value = serde_json::from_slice(&output.stderr).unwrap();
    let expected = serde_json::json!(
        {"saved": "knot.png", "bytes": 134, "mime_type": "image/png"}
    );
    assert_eq!(stderr, expected);
    assert_eq!(test.files(), ["knot.png"]);
}

#[test]
fn the_log_of_a_server_is_talk() {
    let test = TestFolder::new("call_log");
    let log = |level| ["call", "demo", "log", level, "text=hello"];
    test.check("call_log", &log("level=warning"));
    test.check("call_log_unwanted", &log("level=info"));
    let args = [&log("level=info")[..], &["--log", "info"]].concat();
    test.check("call_log_wanted", &args);
    let args = [&args[..], &["--revision", "2025-11-25"]].concat();
    test.check("call_log_wanted_before", &args);
    let args = [&args[..], &["--json"]].concat();
    test.check("call_log_json", &args);
}

#[test]
fn a_call_that_becomes_a_task_is_followed() {
    let output = TestFolder::new("call_task").run(&["call", "demo", "brew", "step_ms=500"]);
    assert_eq!(text(&output.stdout), "a cup of coffee\n");
}

// proves: F-CL-01
#[test]
fn hostile_answers_are_escaped_and_name_no_file() {
    let test = TestFolder::new("call_hostile");
    check_hostile(
        &test,
        ["call_hostile", "call_hostile_json"],
        &["call", "say"],
    );
    assert_eq!(test.files(), ["image-1.bin"]);
}

#[test]
fn stderr_of_a_server_is_not_mixed_with_ours() {
    let test = TestFolder::new("call_print");
    let output = test.run(&["call", "demo", "print", "text=\u{1b}[2J"]);
    assert_eq!(text(&output.stderr), "the result is empty\n");
    let output = test.run(&["-v", "call", "demo", "print", "text=\u{1b}[2J"]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("\\u{1b}[2J"), "{stderr}");
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let test = TestFolder::new("call_closed");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["call", "demo", "large", "bytes=1000000"];
    let output = test.command(&args).stdout(writer).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn usage() {
    check("call_help", &["call", "--help"], b"");
}

// proves: F-CL-02
#[test]
fn a_tool_error_is_reported_although_the_output_is_closed() {
    let test = TestFolder::new("call_unread");
    // More than a pipe holds.
    let message = format!("message={}", "x".repeat(100_000));
    for (format, stderr) in [
        (&[][..], "error: the tool reported an error\n"),
        (
            &["--json"],
            "{\"error\":\"the tool reported an error\",\"exit_code\":5}\n",
        ),
    ] {
        let args = [&["call", "demo", "fail", &message], format].concat();
        let mut command = test.command(&args);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Like `head -c 10`, of which nothing is left when there is more to read.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), stderr);
        assert_eq!(output.status.code(), Some(5));
    }
}

#[test]
fn a_required_argument_with_a_default_may_be_left_out() {
    let test = TestFolder::new("call_defaults");
    let peer = peer("defaults.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, args) in [
        ("call_default", &["call", "greet", "name=Ada"][..]),
        (
            "call_default_given",
            &["call", "greet", "name=Ada", "style=plain", "times=3"],
        ),
        (
            "call_default_inner",
            &["call", "greet", "name=Ada", "page.from=1"],
        ),
        // What is sent as it is stays as it is.
        ("call_default_json", &["call", "greet", r#"{"name":"Ada"}"#]),
        ("call_default_missing", &["call", "greet", "page.size=1"]),
    ] {
        test.check(name, &[args, &peer].concat());
    }
}
