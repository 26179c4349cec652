//! `--json` may be anywhere, and all output is JSON then.

use std::fs;

use serde_json::{Value, json};

use crate::run::{run, text};
use crate::test_folder::TestFolder;

#[test]
fn json_may_be_asked_for_before_the_command_and_after_it() {
    let test = TestFolder::new("json_anywhere");
    for line in [
        &["tools", "demo", "add"][..],
        &["call", "demo", "add", "a=1", "b=2"],
        &["servers", "demo"],
        &["explain"],
    ] {
        let before = test.run(&[&["--json"], line].concat());
        let after = test.run(&[line, &["--json"]].concat());
        assert_eq!(before.status.code(), Some(0), "{}", text(&before.stderr));
        assert_eq!(text(&before.stdout), text(&after.stdout));
        for object in text(&before.stdout).lines() {
            serde_json::from_str::<Value>(object).unwrap();
        }
    }
}

#[test]
fn a_script_is_printed_with_json_errors_too() {
    let plain = run(&["completions", "bash"], b"");
    let json = run(&["completions", "bash", "--json"], b"");
    assert_eq!(text(&plain.stdout), text(&json.stdout));
    assert_eq!(json.status.code(), Some(0));
}

/// Returns the objects that a command writes to stderr.
fn objects(test: &TestFolder, args: &[&str]) -> Vec<Value> {
    let output = test.run(args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stderr).lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn notes_are_objects() {
    let test = TestFolder::new("json_notes");
    let script = r#"trap "" TERM; "$0" serve demo; exec sleep 600"#;
    let servers = json!({"mcpServers": {
        "off": {"command": env!("CARGO_BIN_EXE_bowline"), "args": ["serve", "demo"], "disabled": true},
        "slow": {"command": "sh", "args": ["-c", script, env!("CARGO_BIN_EXE_bowline")]},
    }});
    fs::write(test.folder.join(".mcp.json"), servers.to_string()).unwrap();
    let note = "`off` is disabled in .mcp.json; using it because it was named explicitly";
    let messages = objects(&test, &["ping", "off", "--json"]);
    assert_eq!(messages, [json!({"note": note})]);
    let messages = objects(&test, &["--json", "ping", "slow"]);
    let note = "waiting for slow to exit; Ctrl-C stops waiting";
    assert_eq!(messages, [json!({"note": note})]);
}

#[test]
fn log_lines_are_json_objects_too() {
    let test = TestFolder::new("json_verbose");
    let messages = objects(&test, &["-vv", "--json", "ping", "demo"]);
    let is_note = |object: &Value| object["note"].as_str().is_some();
    assert!(
        messages.len() > 5 && messages.iter().all(is_note),
        "{messages:?}"
    );
}
