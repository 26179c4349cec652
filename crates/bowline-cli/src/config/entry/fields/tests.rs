use super::*;
use crate::config::jsonc::parse;

fn server(text: &str, format: ConfigFormat) -> Result<Server, InvalidField> {
    read(&parse(text).unwrap(), format)
}

/// Formats a command in one line: `NAME=value… program args… (in folder)`.
fn command(text: &str, format: ConfigFormat) -> String {
    let Transport::Command(command) = server(text, format).unwrap().transport else {
        panic!("no command");
    };
    let env = command.env.iter();
    let mut words: Vec<_> = env
        .map(|(name, text)| format!("{name}={}", text.raw))
        .collect();
    words.push(command.program.raw);
    words.extend(command.args.into_iter().map(|arg| arg.raw));
    words.extend(command.folder.map(|folder| format!("(in {})", folder.raw)));
    words.extend(command.env_file.map(|file| format!("(with {})", file.raw)));
    words.join(" ")
}

#[test]
fn commands_are_understood_in_every_shape() {
    for (text, format, expected) in [
        (
            r#"{"command": "npx", "args": ["-y", 5, true], "env": {"A": "x", "P": 3000, "N": null}, "cwd": "/x"}"#,
            ConfigFormat::McpServers,
            "A=x P=3000 npx -y 5 true (in /x)",
        ),
        (
            r#"{"type": "stdio", "command": "npx", "args": null, "envFile": ".env", "other": [{}]}"#,
            ConfigFormat::VsCode,
            "npx (with .env)",
        ),
        (
            r#"{"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "b"}}"#,
            ConfigFormat::Opencode,
            "A=b npx -y x",
        ),
        (
            r#"{"command": {"path": "x", "args": ["a"], "env": {"B": "c"}}, "settings": {}}"#,
            ConfigFormat::Zed,
            "B=c x a",
        ),
        (
            r#"{"source": "custom", "command": "x", "args": ["a"], "env": {}}"#,
            ConfigFormat::Zed,
            "x a",
        ),
        // Without a type, a command takes precedence over a URL.
        (
            r#"{"command": "x", "url": "http://y"}"#,
            ConfigFormat::McpServers,
            "x",
        ),
    ] {
        assert_eq!(command(text, format), expected, "{text}");
    }
}

#[test]
fn urls_are_understood_in_every_shape() {
    for (text, kind) in [
        (
            r#"{"url": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Http,
        ),
        (
            r#"{"serverUrl": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Http,
        ),
        (
            r#"{"httpUrl": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Http,
        ),
        (
            r#"{"type": "remote", "url": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Http,
        ),
        (
            r#"{"type": "streamableHttp", "url": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Http,
        ),
        (
            r#"{"transport": "SSE", "url": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Sse,
        ),
        (
            r#"{"type": "sse", "command": "x", "url": "http://x", "headers": {"A": "b"}}"#,
            UrlKind::Sse,
        ),
    ] {
        let Transport::Url(fields) = server(text, ConfigFormat::McpServers).unwrap().transport
        else {
            panic!("no URL: {text}");
        };
        assert_eq!((fields.url.raw.as_str(), fields.kind), ("http://x", kind));
        let [(name, header)] = fields.headers.as_slice() else {
            panic!("{text}");
        };
        assert_eq!((name.as_str(), header.field.as_str()), ("A", "headers.A"));
    }
}

#[test]
fn a_server_can_be_disabled_by_either_field() {
    for (field, expected) in [
        (r#""disabled": true"#, true),
        (r#""disabled": false"#, false),
        (r#""enabled": false"#, true),
        (r#""enabled": true"#, false),
        (r#""disabled": null"#, false),
    ] {
        let text = format!(r#"{{"command": "x", {field}}}"#);
        assert_eq!(
            server(&text, ConfigFormat::McpServers).unwrap().is_disabled,
            expected
        );
    }
}

#[test]
fn a_timeout_is_read_in_the_unit_of_its_client() {
    for (number, format, expected) in [
        ("60", ConfigFormat::McpServers, Duration::from_secs(60)),
        ("999", ConfigFormat::McpServers, Duration::from_secs(999)),
        ("1000", ConfigFormat::McpServers, Duration::from_secs(1)),
        ("0.5", ConfigFormat::McpServers, Duration::from_millis(500)),
        ("500", ConfigFormat::Opencode, Duration::from_millis(500)),
        ("2000", ConfigFormat::Zed, Duration::from_secs(2000)),
        ("1e300", ConfigFormat::Zed, MAX_TIMEOUT),
    ] {
        let text = format!(r#"{{"command": "x", "timeout": {number}}}"#);
        assert_eq!(server(&text, format).unwrap().timeout, Some(expected));
    }
    assert_eq!(
        server(r#"{"command": "x"}"#, ConfigFormat::Zed)
            .unwrap()
            .timeout,
        None
    );
}

#[test]
fn texts_have_their_field_and_position() {
    let text = r#"{"command": {"path": "p", "args": ["a"], "env": {"B": "c"}}, "args": ["d"]}"#;
    let Transport::Command(command) = server(text, ConfigFormat::Zed).unwrap().transport else {
        panic!("no command");
    };
    let mut texts = vec![command.program];
    texts.extend(command.args);
    texts.extend(command.env.into_iter().map(|(_, text)| text));
    let found: Vec<_> = texts
        .iter()
        .map(|text| (text.field.as_str(), text.at))
        .collect();
    let at = |quoted| text.find(quoted).unwrap();
    assert_eq!(
        found,
        [
            ("command.path", at(r#""p""#)),
            ("command.args[0]", at(r#""a""#)),
            ("args[0]", at(r#""d""#)),
            ("command.env.B", at(r#""c""#)),
        ]
    );
}

#[test]
fn invalid_fields_are_reported() {
    for (text, field, message) in [
        (r#""x""#, "", "expected an object, found a string"),
        ("{}", "", r#"missing "command" or "url""#),
        (
            r#"{"source": "extension"}"#,
            "",
            "the server is started by an editor extension, and not configured here",
        ),
        (
            r#"{"command": ""}"#,
            "command",
            "expected a program, found an empty string",
        ),
        (
            r#"{"command": []}"#,
            "command",
            "expected a program, found an empty array",
        ),
        (
            r#"{"command": {}}"#,
            "command",
            "expected an object with a path, found an object",
        ),
        (
            r#"{"command": {"path": []}}"#,
            "command.path",
            "expected a string, found an empty array",
        ),
        (
            r#"{"command": ["x", null]}"#,
            "command[1]",
            "expected a string, found null",
        ),
        (
            r#"{"command": "x", "args": "a"}"#,
            "args",
            "expected an array of strings, found a string",
        ),
        (
            r#"{"command": "x", "args": [{}]}"#,
            "args[0]",
            "expected a string, found an object",
        ),
        (
            r#"{"command": "x", "env": []}"#,
            "env",
            "expected an object of strings, found an empty array",
        ),
        (
            r#"{"command": "x", "env": {"A": []}}"#,
            "env.A",
            "expected a string, found an empty array",
        ),
        (
            r#"{"command": "x", "cwd": []}"#,
            "cwd",
            "expected a string, found an empty array",
        ),
        (
            r#"{"command": "x", "disabled": "no"}"#,
            "disabled",
            "expected true or false, found a string",
        ),
        (
            r#"{"command": "x", "timeout": "1"}"#,
            "timeout",
            "expected a number above zero, found a string",
        ),
        (
            r#"{"command": "x", "timeout": -1}"#,
            "timeout",
            "expected a number above zero, found -1",
        ),
        (
            r#"{"type": "ws", "url": "x"}"#,
            "type",
            "unsupported transport `ws`",
        ),
        (
            r#"{"type": 1, "url": "x"}"#,
            "type",
            "expected a string, found 1",
        ),
        (
            r#"{"type": "stdio", "url": "x"}"#,
            "",
            r#"missing "command", which "type" requires"#,
        ),
        (
            r#"{"type": "http", "command": "x"}"#,
            "",
            r#"missing "url", which "type" requires"#,
        ),
        (
            r#"{"url": {}}"#,
            "url",
            "expected a string, found an object",
        ),
        (
            r#"{"url": "x", "headers": "y"}"#,
            "headers",
            "expected an object of strings, found a string",
        ),
    ] {
        let error = server(text, ConfigFormat::McpServers).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.message.as_str()),
            (field, message),
            "{text}"
        );
        assert!(!error.hint.is_empty());
    }
}
