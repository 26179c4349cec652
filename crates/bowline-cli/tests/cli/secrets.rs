//! What a server was given is not told by what it says.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;
use crate::run::text;

/// Says what it was given, and is the demo then, or nothing.
const SAYS: &str = r#"echo "my token is $TOK, \"$URL\", $*" >&2
case $1 in demo) exec "$0" serve demo;; *) exit 3;; esac"#;

/// A place that has such servers.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    let server = |what: &str| {
        json!({
            "command": "sh",
            "args": ["-c", SAYS, env!("CARGO_BIN_EXE_bowline"), what, "--password", "hunter2"],
            "env": {"TOK": "hunter3", "URL": "postgres://me:hunter4@db/x", "A": "1"},
        })
    };
    let servers = json!({"mcpServers": {
        "talks": server("demo"),
        "dies": server("die"),
        "missing": {"command": "mcp-server --token hunter5"},
    }});
    fs::write(place.folder.join(".mcp.json"), servers.to_string()).unwrap();
    place
}

/// What a command says on stderr.
fn said(place: &Place, args: &[&str], code: i32) -> String {
    let output = place.run(args);
    let said = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    for out in [&said, text(&output.stdout)] {
        assert!(!out.contains("hunter"), "{out}");
    }
    said
}

// proves: F-CL-04
#[test]
fn verbose_tells_no_secret_of_a_configuration() {
    let place = place("secrets_verbose");
    for format in [&[][..], &["--json"]] {
        let said = said(&place, &[&["ping", "-vv", "talks"], format].concat(), 0);
        let words = "my token is [redacted], ";
        assert!(said.contains(words), "{said}");
    }
}

// proves: F-CL-04
#[test]
fn errors_tell_no_secret_of_a_configuration() {
    let place = place("secrets_errors");
    for verbose in [&[][..], &["--verbose"]] {
        let line = |name| [&["tools", name], verbose].concat();
        let died = said(&place, &line("dies"), 4);
        let words =
            r#"its last words: my token is [redacted], "[redacted]", die --password [redacted]"#;
        assert!(died.contains(words), "{died}");
        let missing = said(&place, &line("missing"), 4);
        assert!(
            missing.contains("mcp-server --token [redacted]: no such"),
            "{missing}"
        );
    }
    for name in ["dies", "missing"] {
        let said = said(&place, &["tools", name, "--json"], 4);
        let object: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(object["exit_code"], 4);
        assert!(
            object["error"].as_str().unwrap().contains("[redacted]"),
            "{said}"
        );
    }
}
