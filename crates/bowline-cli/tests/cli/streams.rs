//! The pipes of `bowline explain`: frames of any size, immediate output, and readers that close the
//! pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdout;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::run::{run, spawn, text};

const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const RESULT: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
const LIMIT: usize = 16 * 1024 * 1024;

#[test]
fn a_frame_that_is_too_large_is_skipped_and_the_next_one_explained() {
    let large = |size: usize| {
        let (before, after) = (r#"{"jsonrpc":"2.0","id":2,"method":""#, r#""}"#);
        let filling = "x".repeat(size - before.len() - after.len());
        format!("{before}{filling}{after}\n").into_bytes()
    };
    let input = [
        REQUEST,
        &large(LIMIT),
        &large(LIMIT + 1),
        &large(LIMIT * 2),
        RESULT,
    ]
    .concat();

    let output = run(&["explain", "--revision", "2025-11-25"], &input);
    let expected = format!(
        "line 1: request ping, id 1\n  valid in 2025-11-25\n\
         line 2: request {name}…, id 2\n  not valid in 2025-11-25: no protocol revision has a method \"{name}…\"\n\
         line 3: too large: 16777217 bytes, more than the limit of 16777216\n\
         line 4: too large: 33554432 bytes, more than the limit of 16777216\n\
         line 5: result of ping, id 1\n  valid in 2025-11-25\n",
        name = "x".repeat(64)
    );
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "5 frames: 2 valid, 3 invalid\n");
    assert_eq!(output.status.code(), Some(1));

    let output = run(&["explain", "--json"], &input);
    let too_large = text(&output.stdout).lines().nth(2).unwrap();
    assert_eq!(
        too_large,
        r#"{"line":3,"kind":"invalid","summary":"too large: 16777217 bytes, more than the limit of 16777216","valid":false,"valid_in":[],"revisions":{},"reason":"16777217 bytes, more than the limit of 16777216"}"#
    );
}

#[test]
fn a_batch_with_many_parts_is_shown_in_part_and_checked_as_a_whole() {
    let part = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let batch = |last: &str| format!("[{}{last}]\n", format!("{part},").repeat(2000));
    let output = run(
        &["explain", "--revision", "2025-03-26"],
        batch(part).as_bytes(),
    );
    assert_eq!(
        text(&output.stdout).lines().last(),
        Some("  and 977 more parts")
    );
    assert_eq!(output.status.code(), Some(0));

    let output = run(&["explain", "--json"], batch("7").as_bytes());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["parts"].as_array().unwrap().len(), 1024);
    assert_eq!(
        (&json["parts_left_out"], &json["valid"]),
        (&977.into(), &false.into())
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_frame_is_explained_before_the_next_one_is_written() {
    for (args, first, second) in [
        (
            &["explain"][..],
            "line 1: request ping, id 1",
            "line 2: result of ping, id 1",
        ),
        (&["explain", "--json"], "{\"line\":1,", "{\"line\":2,"),
    ] {
        let mut child = spawn(args);
        let mut stdin = child.stdin.take().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        stdin.write_all(REQUEST).unwrap();
        assert!(next(&lines).starts_with(first));
        stdin.write_all(RESULT).unwrap();
        while !next(&lines).starts_with(second) {}
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in [&["explain"][..], &["explain", "--json"]] {
        let mut child = spawn(args);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(REQUEST).unwrap();
        stdout.read_line(&mut String::new()).unwrap();
        // Like `head -1`.
        drop(stdout);
        // Until it is gone: a process that another test starts at this moment may hold the
        // pipe for as long as its start takes.
        while stdin.write_all(b"this is no message\n").is_ok() {}
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

// proves: F-CL-02
#[test]
fn a_reader_of_the_talk_that_leaves_is_no_error_either() {
    let mut child = spawn(&["explain"]);
    drop(child.stderr.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(REQUEST).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).starts_with("line 1: request ping"));
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = crate::run::command(&["explain", "tests/cli/frames/ids.jsonl"])
        .stdout(full)
        .output()
        .unwrap();
    let error = text(&output.stderr);
    assert!(
        error.starts_with("error: cannot write the output: "),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// The lines of a pipe as they come.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(()) = sender.send(line.unwrap()) else {
                return;
            };
        }
    });
    lines
}

/// The next line. A run that doesn't answer fails instead of hanging.
fn next(lines: &Receiver<String>) -> String {
    lines.recv_timeout(Duration::from_secs(60)).unwrap()
}
