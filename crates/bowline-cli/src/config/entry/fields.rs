//! The fields of a server, with the names that all clients use.
//!
//! Unknown fields belong to other clients, and are ignored.

use std::time::Duration;

use crate::config::entry::{
    CommandFields, ConfigFormat, Server, Text, Transport, UrlFields, UrlKind,
};
use crate::config::jsonc::{Node, Value};

/// An invalid field. `field` is empty for the server as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidField {
    pub(super) at: usize,
    pub(super) field: String,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// Reads the fields of a server.
pub(super) fn read(node: &Node, format: ConfigFormat) -> Result<Server, InvalidField> {
    if node.members().is_none() {
        let hint = r#"write {"command": "…", "args": […]} or {"url": "…"}"#;
        return Err(unexpected_value(node, "", "an object", hint));
    }
    Ok(Server {
        transport: read_transport(node)?,
        is_disabled: is_disabled(node)?,
        timeout: timeout(node, format)?,
    })
}

fn read_transport(node: &Node) -> Result<Transport, InvalidField> {
    let kind = transport_kind(node)?;
    let command = first_present(node, &["command"]);
    let url = first_present(node, &["url", "serverUrl", "httpUrl"]);
    match (kind, command, url) {
        (Some(TransportKind::Command) | None, Some((_, command)), _) => {
            command_fields(node, command).map(Transport::Command)
        }
        (Some(TransportKind::Url(kind)), _, Some((field, url))) => {
            url_fields(node, field, url, kind).map(Transport::Url)
        }
        (None, None, Some((field, url))) => {
            url_fields(node, field, url, UrlKind::Http).map(Transport::Url)
        }
        (Some(TransportKind::Command), None, _) => Err(invalid_server(
            node,
            r#"missing "command", which "type" requires"#,
            r#"add "command", or change "type""#,
        )),
        (Some(TransportKind::Url(_)), _, None) => Err(invalid_server(
            node,
            r#"missing "url", which "type" requires"#,
            r#"add "url", or change "type""#,
        )),
        (None, None, None) => Err(missing_transport(node)),
    }
}

fn missing_transport(node: &Node) -> InvalidField {
    let from_extension = node.get("source").and_then(Node::text) == Some("extension");
    if from_extension || node.get("settings").is_some() {
        return invalid_server(
            node,
            "the server is started by an editor extension, and not configured here",
            "add a server with the command of the extension",
        );
    }
    let hint = r#"write {"command": "…", "args": […]} or {"url": "…"}"#;
    invalid_server(node, r#"missing "command" or "url""#, hint)
}

/// The transport that the field `type` or `transport` selects.
#[derive(Clone, Copy)]
enum TransportKind {
    Command,
    Url(UrlKind),
}

fn transport_kind(node: &Node) -> Result<Option<TransportKind>, InvalidField> {
    let Some((field, kind)) = first_present(node, &["type", "transport"]) else {
        return Ok(None);
    };
    let Some(name) = kind.text() else {
        return Err(unexpected_value(kind, field, "a string", KINDS_HINT));
    };
    match name.to_ascii_lowercase().as_str() {
        "stdio" | "local" => Ok(Some(TransportKind::Command)),
        "http" | "streamable-http" | "streamablehttp" | "streamable_http" | "remote" => {
            Ok(Some(TransportKind::Url(UrlKind::Http)))
        }
        "sse" => Ok(Some(TransportKind::Url(UrlKind::Sse))),
        _ => Err(InvalidField {
            at: kind.at,
            field: field.to_owned(),
            message: format!("unsupported transport `{name}`"),
            hint: KINDS_HINT,
        }),
    }
}

/// Reads `command`: a string, an array with the arguments, or the object of Zed.
fn command_fields(node: &Node, command: &Node) -> Result<CommandFields, InvalidField> {
    let (program, mut args, inner) = match &command.value {
        Value::Object(_) => {
            let Some(path) = command.get("path") else {
                let hint = r#"write {"path": "…", "args": […]}"#;
                return Err(unexpected_value(
                    command,
                    "command",
                    "an object with a path",
                    hint,
                ));
            };
            let args = texts(command.get("args"), "command.args")?;
            (text(path, "command.path")?, args, Some(command))
        }
        Value::List(_) => {
            let mut words = texts(Some(command), "command")?.into_iter();
            let Some(program) = words.next() else {
                let hint = "write the program to start";
                return Err(unexpected_value(command, "command", "a program", hint));
            };
            (program, words.collect(), None)
        }
        _ => (text(command, "command")?, Vec::new(), None),
    };
    if program.raw.is_empty() {
        let hint = "write the program to start";
        return Err(unexpected_value(command, &program.field, "a program", hint));
    }
    args.extend(texts(
        first_present(node, &["args"]).map(|(_, args)| args),
        "args",
    )?);
    let mut env = pairs(node, &["env", "environment"])?;
    if let Some(inner) = inner {
        let mut more = pairs(inner, &["env"])?;
        for (_, text) in &mut more {
            text.field.insert_str(0, "command.");
        }
        env.extend(more);
    }
    Ok(CommandFields {
        program,
        args,
        env,
        env_file: optional_text(node, &["envFile"])?,
        folder: optional_text(node, &["cwd"])?,
    })
}

fn url_fields(
    node: &Node,
    field: &str,
    url: &Node,
    kind: UrlKind,
) -> Result<UrlFields, InvalidField> {
    Ok(UrlFields {
        url: text(url, field)?,
        headers: pairs(node, &["headers"])?,
        kind,
    })
}

fn is_disabled(node: &Node) -> Result<bool, InvalidField> {
    for (field, off) in [("disabled", true), ("enabled", false)] {
        match first_present(node, &[field]).map(|(_, node)| (node, &node.value)) {
            None => {}
            Some((_, Value::Bool(value))) if *value == off => return Ok(true),
            Some((_, Value::Bool(_))) => {}
            Some((node, _)) => {
                return Err(unexpected_value(
                    node,
                    field,
                    "true or false",
                    "write it without quotes",
                ));
            }
        }
    }
    Ok(false)
}

/// Reads `timeout`, which is in seconds for some clients (Cline, Roo, Zed) and in milliseconds for
/// others (Claude Code, Gemini, opencode). If the format doesn't decide, a number below 1000 is in
/// seconds: a timeout below one second is implausible.
fn timeout(node: &Node, format: ConfigFormat) -> Result<Option<Duration>, InvalidField> {
    let Some((field, node)) = first_present(node, &["timeout"]) else {
        return Ok(None);
    };
    let invalid = || {
        unexpected_value(
            node,
            field,
            "a number above zero",
            "write a number of milliseconds",
        )
    };
    let Value::Number(number) = &node.value else {
        return Err(invalid());
    };
    let number: f64 = number.parse().map_err(|_| invalid())?;
    let is_seconds = match format {
        ConfigFormat::Opencode => false,
        ConfigFormat::Zed => true,
        ConfigFormat::McpServers | ConfigFormat::VsCode => number < 1000.0,
    };
    let seconds = if is_seconds { number } else { number / 1000.0 };
    if seconds <= 0.0 {
        return Err(invalid());
    }
    let seconds = seconds.min(MAX_TIMEOUT.as_secs_f64());
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// Returns the first of these fields that is present. `null` counts as absent.
fn first_present<'a>(node: &'a Node, names: &[&'static str]) -> Option<(&'static str, &'a Node)> {
    let fields = names
        .iter()
        .filter_map(|name| Some((*name, node.get(name)?)));
    let mut present = fields.filter(|(_, node)| node.value != Value::Null);
    present.next()
}

fn optional_text(node: &Node, names: &[&'static str]) -> Result<Option<Text>, InvalidField> {
    let field = first_present(node, names);
    field.map(|(name, node)| text(node, name)).transpose()
}

/// Reads a text. Numbers and booleans are converted, as in `"PORT": 3000`.
fn text(node: &Node, field: &str) -> Result<Text, InvalidField> {
    let raw = match &node.value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Null | Value::List(_) | Value::Object(_) => {
            return Err(unexpected_value(
                node,
                field,
                "a string",
                "write it in double quotes",
            ));
        }
    };
    Ok(Text {
        raw,
        at: node.at,
        field: field.to_owned(),
    })
}

fn texts(node: Option<&Node>, field: &str) -> Result<Vec<Text>, InvalidField> {
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    let Value::List(nodes) = &node.value else {
        let hint = r#"write ["one", "two"]"#;
        return Err(unexpected_value(node, field, "an array of strings", hint));
    };
    let texts = nodes.iter().enumerate();
    texts
        .map(|(index, node)| text(node, &format!("{field}[{index}]")))
        .collect()
}

/// Reads an object of texts. In VS Code `null` stands for a variable that is not set.
fn pairs(node: &Node, names: &[&'static str]) -> Result<Vec<(String, Text)>, InvalidField> {
    let Some((field, node)) = first_present(node, names) else {
        return Ok(Vec::new());
    };
    let Some(members) = node.members() else {
        let hint = r#"write {"NAME": "value"}"#;
        return Err(unexpected_value(node, field, "an object of strings", hint));
    };
    let present = members.iter().filter(|(_, node)| node.value != Value::Null);
    present
        .map(|(name, node)| Ok((name.clone(), text(node, &format!("{field}.{name}"))?)))
        .collect()
}

fn unexpected_value(node: &Node, field: &str, what: &str, hint: &'static str) -> InvalidField {
    InvalidField {
        at: node.at,
        field: field.to_owned(),
        message: format!("expected {what}, found {}", describe(node)),
        hint,
    }
}

fn describe(node: &Node) -> String {
    match &node.value {
        Value::Text(text) if text.is_empty() => "an empty string".to_owned(),
        Value::List(nodes) if nodes.is_empty() => "an empty array".to_owned(),
        Value::Number(number) => number.clone(),
        value => value.to_string(),
    }
}

fn invalid_server(node: &Node, message: &str, hint: &'static str) -> InvalidField {
    InvalidField {
        at: node.at,
        field: String::new(),
        message: message.to_owned(),
        hint,
    }
}

const KINDS_HINT: &str = "supported: stdio, http, sse";

/// The maximum timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests;
