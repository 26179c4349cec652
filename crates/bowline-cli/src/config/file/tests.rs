use std::path::PathBuf;

use super::*;
use crate::scratch::Scratch;

const HERE: &str = "/srv/project";

fn location(path: PathBuf, origin: Origin) -> Location {
    Location {
        path,
        origin,
        folder: HERE.into(),
    }
}

fn environment(folder: &Path) -> Environment {
    Environment {
        folder: folder.to_owned(),
        ..Environment::default()
    }
}

fn read(text: &str, origin: Origin) -> Result<Vec<Entry>, Problem> {
    let scratch = Scratch::new();
    let path = scratch.write("mcp.json", text);
    let mut here = environment(scratch.path());
    let shown = here.shown(&path);
    here.folder = HERE.into();
    let mut file = ConfigFile::read(location(path, origin), &here).unwrap();
    if let Err(problem) = &mut file.entries {
        problem.file = shown.into();
    }
    file.entries
}

fn names(text: &str) -> Vec<(String, ConfigFormat)> {
    let entries = read(text, Origin::Project).unwrap();
    let names = entries.into_iter().map(|entry| (entry.name, entry.format));
    names.collect()
}

#[test]
fn lists_are_found_in_every_shape() {
    for (text, expected) in [
        (
            r#"{"mcpServers": {"a": {}, "b": {}}}"#,
            &[
                ("a", ConfigFormat::McpServers),
                ("b", ConfigFormat::McpServers),
            ][..],
        ),
        (
            r#"{"inputs": [], "servers": {"a": {}}}"#,
            &[("a", ConfigFormat::VsCode)],
        ),
        (
            r#"{"mcp": {"inputs": [], "servers": {"a": {}}}}"#,
            &[("a", ConfigFormat::VsCode)],
        ),
        (
            r#"{"mcp": {"a": {"type": "local"}}}"#,
            &[("a", ConfigFormat::Opencode)],
        ),
        // A server of opencode with the name `servers`.
        (
            r#"{"mcp": {"servers": {"command": ["x"]}}}"#,
            &[("servers", ConfigFormat::Opencode)],
        ),
        (
            r#"{"context_servers": {"a": {}}}"#,
            &[("a", ConfigFormat::Zed)],
        ),
        (
            r#"{"mcpServers": {"a": {}}, "servers": {"b": {}}}"#,
            &[("a", ConfigFormat::McpServers), ("b", ConfigFormat::VsCode)],
        ),
        (r#"{"theme": "dark"}"#, &[]),
        // The projects of Claude Code.
        (
            r#"{"mcpServers": {"u": {}}, "projects": {"/srv": {"mcpServers": {"w": {}}},
                "/srv/project": {"mcpServers": {"p": {}}}, "/other": {"mcpServers": {"o": {}}}}}"#,
            &[
                ("p", ConfigFormat::McpServers),
                ("w", ConfigFormat::McpServers),
                ("u", ConfigFormat::McpServers),
            ],
        ),
    ] {
        let names = names(text);
        let names: Vec<_> = names
            .iter()
            .map(|(name, format)| (name.as_str(), *format))
            .collect();
        assert_eq!(names, expected, "{text}");
    }
}

#[test]
fn the_last_of_duplicate_servers_counts() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "b": {}, "a": {"command": "y"}}}"#;
    let entries = read(text, Origin::Project).unwrap();
    let [b, a] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert_eq!((b.name.as_str(), a.at), ("b", text.rfind('{').unwrap()));
}

#[test]
fn an_invalid_server_does_not_hide_the_others() {
    let text = "{\"mcpServers\": {\n  \"bad\": {\"command\": 5, \"args\": 7},\n  \"good\": {\"command\": \"x\"}}}";
    let entries = read(text, Origin::Project).unwrap();
    let problem = entries[0].server.clone().unwrap_err();
    assert!(
        problem
            .to_string()
            .ends_with(":2:33: server `bad`: args: expected an array of strings, found 7"),
        "{problem}"
    );
    assert!(entries[1].server.is_ok());
}

#[test]
fn an_invalid_file_is_reported_with_its_position() {
    for (text, message) in [
        (
            "{\n  \"mcpServers\": {\n    \"a\" {}",
            "mcp.json:3:9: expected `:` after the name, found `{`",
        ),
        ("[]", "mcp.json:1:1: expected an object, found an array"),
        (
            "",
            "mcp.json:1:1: expected a value, found the end of the file",
        ),
        (
            "{\"mcpServers\": []}",
            "mcp.json:1:16: mcpServers: expected an object of servers, found an array",
        ),
    ] {
        for origin in [Origin::Named, Origin::Project, Origin::User] {
            let problem = read(text, origin).unwrap_err();
            assert_eq!(problem.to_string(), message);
            assert!(!problem.hint.is_empty());
        }
    }
}

#[test]
fn a_file_without_servers_is_a_problem_only_if_named() {
    let problem = read("{}", Origin::Named).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "mcp.json: no list of servers (mcpServers, servers, mcp or context_servers)"
    );
    assert!(read("{}", Origin::User).unwrap().is_empty());
}

#[test]
fn a_missing_file_is_a_problem_only_if_named() {
    let scratch = Scratch::new();
    let here = environment(scratch.path());
    for path in [scratch.path().join("none"), scratch.path().to_owned()] {
        for origin in [Origin::Project, Origin::User] {
            assert!(ConfigFile::read(location(path.clone(), origin), &here).is_none());
        }
    }
    let file = ConfigFile::read(location(scratch.path().join("none"), Origin::Named), &here);
    let problem = file.unwrap().entries.unwrap_err();
    assert_eq!(problem.to_string(), "none: there is no such file");
}

#[test]
fn a_file_of_another_user_is_not_trusted() {
    assert!(!is_foreign(1000, 1000));
    assert!(!is_foreign(0, 1000));
    assert!(is_foreign(1001, 1000));
    assert!(is_foreign(1001, 0));
    let scratch = Scratch::new();
    let mine = scratch.write("mine", "").metadata().unwrap();
    assert_eq!(foreign_owner(&mine), None);
}
