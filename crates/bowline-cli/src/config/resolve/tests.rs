use std::rc::Rc;

use super::*;
use crate::config::entry::ConfigFormat;
use crate::config::jsonc::parse;
use crate::config::problem::Source;
use crate::scratch::Scratch;

/// Resolves the server in `text`, in a project at `folder`.
fn resolve(text: &str, folder: &Path, origin: Origin) -> Result<ResolvedServer, Problem> {
    let path = folder.join("mcp.json");
    let source = Rc::new(Source::new(path, "mcp.json".to_owned(), text.to_owned()));
    let entry = Entry::read(
        "x",
        &parse(text).unwrap(),
        ConfigFormat::McpServers,
        &source,
    );
    let location = Location {
        path: folder.join("mcp.json"),
        origin,
        folder: folder.to_owned(),
    };
    let variables = [("HOME", "/home/me"), ("A", "1"), ("EMPTY", "")];
    let environment = Environment {
        folder: folder.to_owned(),
        variables: variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    entry.resolve(&location, &environment)
}

fn launch(text: &str, folder: &Path, origin: Origin) -> Launch {
    match resolve(text, folder, origin).unwrap().transport {
        ResolvedTransport::Command(launch) => launch,
        ResolvedTransport::Url { .. } => panic!("no command"),
    }
}

#[test]
fn every_text_of_a_command_is_resolved() {
    let scratch = Scratch::new();
    scratch.write("sub1/.keep", "");
    scratch.write("some.env", "B=file\nC=file\n");
    let text = r#"{"command": "${A}x", "args": ["${A}", "${workspaceFolder}"], "timeout": 5,
        "env": {"B": "${A}"}, "cwd": "sub${A}", "envFile": "${workspaceFolder}/some.env"}"#;
    let expected = Launch {
        program: "1x".into(),
        args: vec!["1".into(), scratch.path().into()],
        env: [("B", "file"), ("C", "file"), ("B", "1")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        inherits_env: false,
        folder: Some(scratch.path().join("sub1")),
        secrets: Vec::new(),
    };
    assert_eq!(launch(text, scratch.path(), Origin::User), expected);
    let timeout = resolve(text, scratch.path(), Origin::User).unwrap().timeout;
    assert_eq!(timeout, Some(Duration::from_secs(5)));
}

#[test]
fn values_of_secret_variables_are_collected_and_redacted() {
    let scratch = Scratch::new();
    let text = r#"{"command": "x${A}", "args": ["${API_TOKEN:-hunter2}"], "cwd": "CWD"}"#;
    let here = text.replace("CWD", ".");
    let launch = launch(&here, scratch.path(), Origin::User);
    assert_eq!(launch.secrets, ["hunter2"]);
    let nowhere = text.replace("CWD", "sub/${A_KEY:-hunter3}");
    let problem = resolve(&nowhere, scratch.path(), Origin::User).unwrap_err();
    let message = "no such folder: sub/${A_KEY:-[redacted]}";
    assert_eq!(&*problem.message, message);
}

#[test]
fn a_server_of_a_project_is_started_in_it() {
    let folder = Path::new("/srv/project");
    for (origin, expected) in [
        (Origin::Project, Some(folder)),
        (Origin::Named, None),
        (Origin::User, None),
    ] {
        let launch = launch(r#"{"command": "x"}"#, folder, origin);
        assert_eq!(launch.folder.as_deref(), expected);
    }
}

#[test]
fn every_text_of_a_url_is_resolved() {
    let text = r#"{"type": "sse", "url": "http://x/${A}", "headers": {"H": "B ${A}"}}"#;
    let server = resolve(text, Path::new("/"), Origin::User).unwrap();
    let expected = ResolvedTransport::Url {
        url: "http://x/1".to_owned(),
        headers: vec![("H".to_owned(), "B 1".to_owned())],
        kind: UrlKind::Sse,
    };
    assert_eq!(server.transport, expected);
}

#[test]
fn errors_have_the_position_of_the_field() {
    let scratch = Scratch::new();
    scratch.write("bad.env", "A=1\nnonsense\n");
    for (text, message) in [
        (
            r#"{"command": "${NO}"}"#,
            "mcp.json:1:13: server `x`: command: environment variable NO is not set",
        ),
        (
            r#"{"command": "x", "args": ["a", "${NO}"]}"#,
            "mcp.json:1:32: server `x`: args[1]: environment variable NO is not set",
        ),
        (
            r#"{"command": "x", "env": {"T": "${NO}"}}"#,
            "mcp.json:1:31: server `x`: env.T: environment variable NO is not set",
        ),
        (
            r#"{"command": "x", "cwd": "${NO}"}"#,
            "mcp.json:1:25: server `x`: cwd: environment variable NO is not set",
        ),
        (
            r#"{"url": "${NO}"}"#,
            "mcp.json:1:9: server `x`: url: environment variable NO is not set",
        ),
        (
            r#"{"url": "x", "headers": {"H": "${NO}"}}"#,
            "mcp.json:1:31: server `x`: headers.H: environment variable NO is not set",
        ),
        (
            r#"{"command": "${EMPTY}"}"#,
            "mcp.json:1:13: server `x`: command: the program is empty after its variables are resolved",
        ),
        (
            r#"{"command": "x", "env": {"A=B": "1"}}"#,
            "mcp.json:1:33: server `x`: env.A=B: not a valid name of an environment variable",
        ),
        (
            r#"{"command": "x\u0000y"}"#,
            "mcp.json:1:13: server `x`: command: contains a NUL character (U+0000)",
        ),
        (
            r#"{"command": "x", "cwd": "nowhere"}"#,
            "mcp.json:1:25: server `x`: cwd: no such folder: nowhere",
        ),
        (
            r#"{"command": "x", "envFile": "no.env"}"#,
            "mcp.json:1:29: server `x`: envFile: no.env: there is no such file",
        ),
        (
            r#"{"command": "x", "envFile": "/dev/zero"}"#,
            "mcp.json:1:29: server `x`: envFile: /dev/zero: it is not a regular file",
        ),
        (
            r#"{"command": "x", "args": ["y", "${A"]}"#,
            "mcp.json:1:32: server `x`: args[1]: missing } after ${",
        ),
        (
            r#"{"command": "x", "envFile": "bad.env"}"#,
            "mcp.json:1:29: server `x`: envFile: bad.env:2: not a variable",
        ),
        (
            r#"{"command": "x", "envFile": "~/no.env"}"#,
            "mcp.json:1:29: server `x`: envFile: ~/no.env: there is no such file",
        ),
        (
            r#"{"command": 5, "args": 5}"#,
            "mcp.json:1:24: server `x`: args: expected an array of strings, found 5",
        ),
    ] {
        let problem = resolve(text, scratch.path(), Origin::Project).unwrap_err();
        assert_eq!(problem.to_string(), message);
        assert!(!problem.hint.is_empty());
    }
}
