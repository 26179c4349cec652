//! The secrets that a server is given are redacted from its output and from ours.

use std::fs;

use serde_json::{Value, json};

use crate::run::text;
use crate::test_folder::TestFolder;

/// Says what it was given, and is the demo then, or nothing.
const SAYS: &str = r#"echo "my token is $TOK, \"$URL\", $*" >&2
case $1 in demo) exec "$0" serve demo;; *) exit 3;; esac"#;

/// A folder with such servers in its configuration.
fn with_servers(name: &str) -> TestFolder {
    let test = TestFolder::new(name);
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
    fs::write(test.folder.join(".mcp.json"), servers.to_string()).unwrap();
    test
}

/// Returns stderr of a command.
fn stderr_of(test: &TestFolder, args: &[&str], code: i32) -> String {
    let output = test.run(args);
    let stderr = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for out in [&stderr, text(&output.stdout)] {
        assert!(!out.contains("hunter"), "{out}");
    }
    stderr
}

// proves: F-CL-04
#[test]
fn verbose_redacts_secrets_of_a_configuration() {
    let test = with_servers("secrets_verbose");
    for format in [&[][..], &["--json"]] {
        let stderr = stderr_of(&test, &[&["ping", "-vv", "talks"], format].concat(), 0);
        let words = "my token is [redacted], ";
        assert!(stderr.contains(words), "{stderr}");
    }
}

// proves: F-CL-04
#[test]
fn errors_redact_secrets_of_a_configuration() {
    let test = with_servers("secrets_errors");
    for verbose in [&[][..], &["--verbose"]] {
        let line = |name| [&["tools", name], verbose].concat();
        let died = stderr_of(&test, &line("dies"), 4);
        let words = r#"stderr: my token is [redacted], "[redacted]", die --password [redacted]"#;
        assert!(died.contains(words), "{died}");
        let missing = stderr_of(&test, &line("missing"), 4);
        assert!(
            missing.contains("mcp-server --token [redacted]: command not found"),
            "{missing}"
        );
    }
    for name in ["dies", "missing"] {
        let stderr = stderr_of(&test, &["tools", name, "--json"], 4);
        let object: Value = serde_json::from_str(&stderr).unwrap();
        assert_eq!(object["exit_code"], 4);
        assert!(
            object["error"].as_str().unwrap().contains("[redacted]"),
            "{stderr}"
        );
    }
}

/// A command that prints its arguments and exits.
const BAD: &str = r#"echo "bad token $GITHUB_TOKEN, $DSN, $SHORT_KEY" >&2; exit 1"#;

// proves: F-CL-04
#[test]
fn secrets_of_the_environment_of_a_typed_command_are_redacted() {
    let test = TestFolder::new("secrets_typed");
    let run = |args: &[&str]| {
        let mut command = test.command(args);
        command
            .env("GITHUB_TOKEN", "hunter2-of-github")
            .env("DSN", "postgres://me:ghp_abcdefghijklmnop1234@db/x")
            .env("SHORT_KEY", "1");
        command.output().unwrap()
    };
    let args = ["tools", "--", "sh", "-c", BAD];
    test.compare("secrets_typed", &args, &run(&args));
    let output = run(&["tools", "-vv", "--", "sh", "-c", BAD]);
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("bad token [redacted], [redacted], 1"),
        "{stderr}"
    );
    assert!(!stderr.contains("hunter2"), "{stderr}");
    assert!(!stderr.contains("ghp_"), "{stderr}");
}

/// Servers with references to variables whose names don't show that they are secret.
const REFERRING: &str = r#"{"mcpServers": {
  "says": {"command": "sh", "args": ["-c", "echo \"given $0 $1\" >&2; exit 1", "${API_TOKEN}", "${MY_KEY:-hunter6}"]},
  "folder": {"command": "x", "cwd": "/nowhere/${API_TOKEN}"},
  "file": {"command": "x", "envFile": "/nowhere/${MY_KEY:-hunter6}.env"},
  "compound": {"command": "x", "args": ["--authtoken", "hunter7", "--accesskey=hunter8", "--monkey", "5"]}
}}"#;

// proves: F-CL-04
#[test]
fn substituted_secrets_are_redacted_everywhere() {
    let test = TestFolder::new("secrets_variables");
    fs::write(test.folder.join(".mcp.json"), REFERRING).unwrap();
    let check = |name: &str, args: &[&str]| {
        let mut command = test.command(args);
        let output = command.env("API_TOKEN", "hunter2").output().unwrap();
        test.compare(name, args, &output);
    };
    check("secrets_variables", &["servers"]);
    check("secrets_variables_json", &["servers", "--json"]);
    check("secrets_folder", &["tools", "folder"]);
    check("secrets_file", &["tools", "file"]);
    check("secrets_arguments", &["tools", "says"]);
}
