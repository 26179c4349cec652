//! Usage errors are written on one line, with a hint.

use serde_json::Value;

use crate::run::{check, run, text};

/// Command lines, and their errors.
const LINES: [(&str, &str, &str); 20] = [
    ("-v", "no command given", "see `bowline --help`"),
    (
        "tools demo --xyzzy",
        "unexpected argument '--xyzzy' found",
        "see `bowline tools --help`",
    ),
    (
        "serve",
        "the following required arguments were not provided: <WHAT>",
        "see `bowline serve --help`",
    ),
    (
        "ping demo --count 0",
        "invalid value '0' for '--count <N>': 0 is not in 1..=4294967295",
        "see `bowline ping --help`",
    ),
    (
        "toolz",
        "unrecognized subcommand 'toolz'",
        "a similar subcommand exists: 'tools' (see `bowline --help`)",
    ),
    // What follows is no command, whatever it is called.
    (
        "tool demo",
        "unrecognized subcommand 'tool'",
        "a similar subcommand exists: 'tools' (see `bowline --help`)",
    ),
    (
        "frob",
        "unrecognized subcommand 'frob'",
        "see `bowline --help`",
    ),
    (
        "call demo add a=1 --b=3",
        "unexpected argument '--b' found",
        "arguments are written without dashes: b=3 (see `bowline call --help`)",
    ),
    (
        "call demo add a=1 --b 3",
        "unexpected argument '--b' found",
        "arguments are written without dashes: b=… (see `bowline call --help`)",
    ),
    (
        "call demo add --a=2",
        "unexpected argument '--a' found",
        "arguments are written without dashes: a=2 (see `bowline call --help`)",
    ),
    (
        "prompt demo greet --name=Ann",
        "unexpected argument '--name' found",
        "arguments are written without dashes: name=Ann (see `bowline prompt --help`)",
    ),
    (
        "prompt demo greet --timout=5",
        "unexpected argument '--timout' found",
        "a similar argument exists: '--timeout' (see `bowline prompt --help`)",
    ),
    (
        "call demo add a=1 -b",
        "unexpected argument '-b' found",
        "write a value that begins with - after its name: NAME=-b (see `bowline call --help`)",
    ),
    (
        "call demo add --jsno",
        "unexpected argument '--jsno' found",
        "a similar argument exists: '--json' (see `bowline call --help`)",
    ),
    (
        "completions bash --frob",
        "unexpected argument '--frob' found",
        "see `bowline completions --help`",
    ),
    (
        "completions dos",
        "invalid value 'dos' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]",
        "see `bowline completions --help`",
    ),
    (
        "explain --frob",
        "unexpected argument '--frob' found",
        "to pass '--frob' as a value, use '-- --frob' (see `bowline explain --help`)",
    ),
    (
        "explain a b",
        "unexpected argument 'b' found",
        "see `bowline explain --help`",
    ),
    (
        "--color",
        "a value is required for '--color <WHEN>' but none was supplied \
         [possible values: auto, always, never]",
        "see `bowline --help`",
    ),
    (
        "--color never tools demo --timeout",
        "a value is required for '--timeout <SECONDS>' but none was supplied",
        "see `bowline tools --help`",
    ),
];

#[test]
fn an_error_is_one_line_and_its_hint_another() {
    for (line, error, hint) in LINES {
        let output = run(&line.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(text(&output.stdout), "", "{line}");
        let expected = format!("error: {error}\nhint: {hint}\n");
        assert_eq!(text(&output.stderr), expected, "{line}");
    }
}

#[test]
fn usage_errors_are_json_objects_too() {
    for (line, error, hint) in LINES {
        // At the beginning, since an option at the end may lack its value.
        let line = format!("--json {line}");
        let output = run(&line.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!(output.status.code(), Some(2), "{line}");
        let object: Value = serde_json::from_slice(&output.stderr).unwrap();
        let expected = serde_json::json!({"error": error, "hint": hint, "exit_code": 2});
        assert_eq!(object, expected, "{line}");
    }
}

#[test]
fn help_uses_the_chosen_colours() {
    for (line, is_coloured) in [
        ("--color always --help", true),
        ("tools --help --color=always", true),
        ("--color never --help", false),
        ("--help", false),
    ] {
        let output = run(&line.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(
            text(&output.stdout).contains('\u{1b}'),
            is_coloured,
            "{line}"
        );
    }
}

#[test]
fn a_hint_is_about_what_was_typed() {
    check("refusal_argument", &["call", "demo", "add", "--a=2"], b"");
    let named = ["prompt", "demo", "greet", "--name=Ann"];
    check("refusal_named", &named, b"");
    check("refusal_command", &["tool", "demo"], b"");
}
