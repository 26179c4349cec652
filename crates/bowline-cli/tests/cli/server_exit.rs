//! How commands end their servers.

use std::env;
use std::fs;
use std::process;

use crate::run::{run, text};

/// A server that saves something when it ends, and takes its time.
const SAVES: &str = r#""$0" serve demo; sleep 0.3; echo saved > "$1""#;

#[test]
fn a_command_has_ended_when_its_server_has() {
    let saved = env::temp_dir().join(format!("bowline-saved-{}", process::id()));
    let path = saved.to_str().unwrap();
    let server = ["sh", "-c", SAVES, env!("CARGO_BIN_EXE_bowline"), path];
    let output = run(&[&["ping", "--"], &server[..]].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&saved).unwrap(), "saved\n");
    fs::remove_file(&saved).unwrap();
}

#[test]
fn a_server_that_does_not_exit_is_reported_and_killed() {
    let script = r#"trap "" TERM; echo $$ >&2; "$0" serve demo; while :; do sleep 1000; done"#;
    let server = ["sh", "-c", script, env!("CARGO_BIN_EXE_bowline")];
    let output = run(&[&["ping", "--verbose", "--"], &server[..]].concat(), b"");
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("waiting for sh to exit; Ctrl-C stops waiting"),
        "{stderr}"
    );
}
