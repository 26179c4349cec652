//! Starts of a server: their number, the declared capabilities, and the errors of one that exits.

use std::fs;

use serde_json::Value;

use crate::run::text;
use crate::test_folder::{TestFolder, peer};

/// Returns how often the server was started; it writes each start as a line of `starts`.
fn starts(test: &TestFolder) -> usize {
    let starts = fs::read_to_string(test.folder.join("starts")).unwrap();
    fs::remove_file(test.folder.join("starts")).unwrap();
    starts.lines().count()
}

#[test]
fn a_server_that_ends_at_once_is_started_once_for_each_era() {
    let test = TestFolder::new("starts_dying");
    let server = ["--", "sh", "-c", "echo >> starts; exit 3"];
    for (args, count) in [
        // Asking for the era may be what ended it: it is started again without.
        (&["tools"][..], 2),
        (&["call", "x"], 2),
        (&["info", "--revision", "2026-07-28"], 1),
        (&["tools", "--revision", "2025-06-18"], 1),
    ] {
        let output = test.run(&[args, &server].concat());
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        assert_eq!(starts(&test), count, "{args:?}");
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_not_started_again() {
    let test = TestFolder::new("starts_lost");
    let [.., dying] = peer("dying.sh");
    let noted = format!("echo >> starts; exec sh {dying}");
    let server = ["--revision", "2025-06-18", "--", "sh", "-c", &noted];
    let output = test.run(&[&["call", "die"], &server[..]].concat());
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(starts(&test), 1);
    // Between two calls.
    let script = r#"echo >> starts; sed -u '/"ping"/{p;Q}' | "$0" serve demo"#;
    let program = env!("CARGO_BIN_EXE_bowline");
    let server = [
        "--revision",
        "2025-06-18",
        "--",
        "sh",
        "-c",
        script,
        program,
    ];
    let output = test.run(&[&["ping", "-c", "3", "-i", "0.2"], &server[..]].concat());
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert_eq!(starts(&test), 1);
    // It ends whenever it is asked for its tools.
    let noted = format!("echo >> starts; sed -u '/tools.list/Q' | sh {dying}");
    let server = ["--revision", "2025-06-18", "--", "sh", "-c", &noted];
    let output = test.run(&[&["tools"], &server[..]].concat());
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("the transport was lost"), "{stderr}");
    assert_eq!(starts(&test), 1);
}

/// Returns the capabilities that the client declared; the server writes every received message.
fn declared(test: &TestFolder, args: &[&str]) -> Value {
    let script = r#"tee heard | "$0" serve demo"#;
    let server = ["--revision", "2025-06-18", "--", "sh", "-c", script];
    let args = [args, &server, &[env!("CARGO_BIN_EXE_bowline")]].concat();
    test.run(&args);
    let heard = fs::read_to_string(test.folder.join("heard")).unwrap();
    let first = heard.lines().next().unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    first["params"]["capabilities"].clone()
}

#[test]
fn all_commands_declare_the_same() {
    let test = TestFolder::new("starts_declared");
    let expected = declared(&test, &["tools"]);
    assert!(expected["elicitation"].is_object(), "{expected}");
    assert!(expected["sampling"].is_object(), "{expected}");
    for args in [
        &["call", "ask_name"][..],
        &["call", "ask_name", "--answer", "name=Ada"],
        &["call", "ask_name", "--decline"],
        &["call", "ask_name", "--sample", "x", "--accept-urls"],
        &["info"],
        &["ping"],
        &["resources"],
        &["read", "demo://readme"],
        &["prompts"],
        &["prompt", "greet", "name=Ada"],
        &["complete", "greet", "style=f"],
        &["watch", "--for", "0.1"],
    ] {
        assert_eq!(declared(&test, args), expected, "{args:?}");
    }
}

#[test]
fn the_stderr_of_a_server_keeps_its_lines() {
    let test = TestFolder::new("starts_words");
    let script = r#"printf 'Traceback:\n  File "x", line 1\nError: no \033[31mlicence\n' >&2"#;
    let dying = format!("{script}; exit 3");
    test.check("words_dying", &["ping", "--", "sh", "-c", &dying]);
    test.check(
        "words_dying_json",
        &["ping", "--json", "--", "sh", "-c", &dying],
    );
    let hanging = format!("{script}; read line; exec sleep 600");
    test.check(
        "words_hanging",
        &["ping", "--timeout", "1", "--", "sh", "-c", &hanging],
    );
    let [.., peer] = peer("dying.sh");
    let script = format!(r"sed -u '/tools.call/Q' | sh {peer}; printf 'one\ntwo\n' >&2; exit 7");
    let server = ["--revision", "2025-06-18", "--", "sh", "-c", &script];
    let output = test.run(&[&["call", "die"], &server[..]].concat());
    let stderr = text(&output.stderr);
    assert!(stderr.contains("; stderr:\n  one\n  two\n"), "{stderr}");
}

// proves: F-CL-01
#[test]
fn few_descriptors_are_an_error_and_no_panic() {
    let test = TestFolder::new("starts_descriptors");
    let mut refused = 0;
    for limit in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 40] {
        for command in ["ping demo", "ping -v demo", "serve demo", "demo", "servers"] {
            // What the tests were started with would count as well.
            let closed = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done";
            let script = format!("{closed}; ulimit -n {limit}; exec \"$0\" {command}");
            let output = std::process::Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_bowline")])
                .current_dir(&test.folder)
                .env("HOME", &test.folder)
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let stderr = text(&output.stderr);
            assert!(!stderr.contains("panicked"), "{limit}, {command}: {stderr}");
            let code = output.status.code();
            assert!(code.is_some_and(|code| code < 100), "{limit}: {output:?}");
            if code != Some(0) {
                let names_it = stderr.contains("descriptors") || stderr.contains("open files");
                assert!(names_it, "{limit}, {command}: {stderr}");
                refused += usize::from(stderr.contains("ulimit -n"));
            }
        }
    }
    assert!(refused > 10, "{refused}");
}
