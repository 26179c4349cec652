//! The fields of a server, in the words of all clients.
//!
//! Fields that are not named here belong to others and are passed over in silence.

use std::time::Duration;

use crate::config::entry::{CommandFields, Reach, Server, Shape, Text, UrlFields, UrlKind};
use crate::config::jsonc::{Node, Value};

/// A field that makes no sense. `field` is empty for the server as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) field: String,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// What the fields say.
pub(super) fn read(node: &Node, shape: Shape) -> Result<Server, Wrong> {
    if node.members().is_none() {
        let hint = r#"write {"command": "…", "args": […]} or {"url": "…"}"#;
        return Err(expected(node, "", "an object", hint));
    }
    Ok(Server {
        reach: reach(node)?,
        is_disabled: is_disabled(node)?,
        timeout: timeout(node, shape)?,
    })
}

fn reach(node: &Node) -> Result<Reach, Wrong> {
    let kind = kind(node)?;
    let command = given(node, &["command"]);
    let url = given(node, &["url", "serverUrl", "httpUrl"]);
    match (kind, command, url) {
        (Some(Kind::Command) | None, Some((_, command)), _) => {
            command_fields(node, command).map(Reach::Command)
        }
        (Some(Kind::Url(kind)), _, Some((field, url))) => {
            url_fields(node, field, url, kind).map(Reach::Url)
        }
        (None, None, Some((field, url))) => {
            url_fields(node, field, url, UrlKind::Http).map(Reach::Url)
        }
        (Some(Kind::Command), None, _) => Err(missing(
            node,
            "it is to be started, but there is no command",
            r#"add "command", or change "type""#,
        )),
        (Some(Kind::Url(_)), _, None) => Err(missing(
            node,
            "it is to be reached by HTTP, but there is no url",
            r#"add "url", or change "type""#,
        )),
        (None, None, None) => Err(neither(node)),
    }
}

fn neither(node: &Node) -> Wrong {
    let from_extension = node.get("source").and_then(Node::text) == Some("extension");
    if from_extension || node.get("settings").is_some() {
        return missing(
            node,
            "it comes with an extension of the editor, which alone can start it",
            "add a server with the command that the extension starts",
        );
    }
    let hint = r#"write {"command": "…", "args": […]} or {"url": "…"}"#;
    missing(node, "it has neither a command nor a url", hint)
}

/// What `type` or `transport` says.
#[derive(Clone, Copy)]
enum Kind {
    Command,
    Url(UrlKind),
}

fn kind(node: &Node) -> Result<Option<Kind>, Wrong> {
    let Some((field, kind)) = given(node, &["type", "transport"]) else {
        return Ok(None);
    };
    let Some(name) = kind.text() else {
        return Err(expected(kind, field, "a string", KINDS));
    };
    match name.to_ascii_lowercase().as_str() {
        "stdio" | "local" => Ok(Some(Kind::Command)),
        "http" | "streamable-http" | "streamablehttp" | "streamable_http" | "remote" => {
            Ok(Some(Kind::Url(UrlKind::Http)))
        }
        "sse" => Ok(Some(Kind::Url(UrlKind::Sse))),
        _ => Err(Wrong {
            at: kind.at,
            field: field.to_owned(),
            message: format!("bowline has no transport `{name}`"),
            hint: KINDS,
        }),
    }
}

/// `command` is a string, an array with the arguments, or Zed's object of both.
fn command_fields(node: &Node, command: &Node) -> Result<CommandFields, Wrong> {
    let (program, mut args, inner) = match &command.value {
        Value::Object(_) => {
            let Some(path) = command.get("path") else {
                let hint = r#"write {"path": "…", "args": […]}"#;
                return Err(expected(command, "command", "an object with a path", hint));
            };
            let args = texts(command.get("args"), "command.args")?;
            (text(path, "command.path")?, args, Some(command))
        }
        Value::List(_) => {
            let mut words = texts(Some(command), "command")?.into_iter();
            let Some(program) = words.next() else {
                let hint = "name the program to start";
                return Err(expected(command, "command", "at least one word", hint));
            };
            (program, words.collect(), None)
        }
        _ => (text(command, "command")?, Vec::new(), None),
    };
    if program.raw.is_empty() {
        let hint = "name the program to start";
        return Err(expected(command, &program.field, "a program", hint));
    }
    args.extend(texts(given(node, &["args"]).map(|(_, args)| args), "args")?);
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

fn url_fields(node: &Node, field: &str, url: &Node, kind: UrlKind) -> Result<UrlFields, Wrong> {
    Ok(UrlFields {
        url: text(url, field)?,
        headers: pairs(node, &["headers"])?,
        kind,
    })
}

fn is_disabled(node: &Node) -> Result<bool, Wrong> {
    for (field, off) in [("disabled", true), ("enabled", false)] {
        match given(node, &[field]).map(|(_, node)| (node, &node.value)) {
            None => {}
            Some((_, Value::Bool(value))) if *value == off => return Ok(true),
            Some((_, Value::Bool(_))) => {}
            Some((node, _)) => {
                return Err(expected(
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

/// `timeout` is in seconds for some clients (Cline, Roo, Zed) and in milliseconds for others
/// (Claude Code, Gemini, opencode). Where the shape doesn't tell, a number below 1000 is taken
/// for seconds: nobody gives a server less than a second.
fn timeout(node: &Node, shape: Shape) -> Result<Option<Duration>, Wrong> {
    let Some((field, node)) = given(node, &["timeout"]) else {
        return Ok(None);
    };
    let wrong = || {
        expected(
            node,
            field,
            "a number above zero",
            "write a number of milliseconds",
        )
    };
    let Value::Number(number) = &node.value else {
        return Err(wrong());
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let is_seconds = match shape {
        Shape::Opencode => false,
        Shape::Zed => true,
        Shape::McpServers | Shape::VsCode => number < 1000.0,
    };
    let seconds = if is_seconds { number } else { number / 1000.0 };
    if seconds <= 0.0 {
        return Err(wrong());
    }
    let seconds = seconds.min(LONGEST.as_secs_f64());
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// The first of these fields that says something. `null` says nothing.
fn given<'a>(node: &'a Node, names: &[&'static str]) -> Option<(&'static str, &'a Node)> {
    let fields = names
        .iter()
        .filter_map(|name| Some((*name, node.get(name)?)));
    let mut given = fields.filter(|(_, node)| node.value != Value::Null);
    given.next()
}

fn optional_text(node: &Node, names: &[&'static str]) -> Result<Option<Text>, Wrong> {
    let field = given(node, names);
    field.map(|(name, node)| text(node, name)).transpose()
}

/// A text. Numbers and truth values stand for themselves, as in `"PORT": 3000`.
fn text(node: &Node, field: &str) -> Result<Text, Wrong> {
    let raw = match &node.value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Null | Value::List(_) | Value::Object(_) => {
            return Err(expected(
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

fn texts(node: Option<&Node>, field: &str) -> Result<Vec<Text>, Wrong> {
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    let Value::List(nodes) = &node.value else {
        let hint = r#"write ["one", "two"]"#;
        return Err(expected(node, field, "an array of strings", hint));
    };
    let texts = nodes.iter().enumerate();
    texts
        .map(|(index, node)| text(node, &format!("{field}[{index}]")))
        .collect()
}

/// Names with texts. VS Code has `null` for a variable that shall not be set.
fn pairs(node: &Node, names: &[&'static str]) -> Result<Vec<(String, Text)>, Wrong> {
    let Some((field, node)) = given(node, names) else {
        return Ok(Vec::new());
    };
    let Some(members) = node.members() else {
        let hint = r#"write {"NAME": "value"}"#;
        return Err(expected(node, field, "an object of strings", hint));
    };
    let given = members.iter().filter(|(_, node)| node.value != Value::Null);
    given
        .map(|(name, node)| Ok((name.clone(), text(node, &format!("{field}.{name}"))?)))
        .collect()
}

fn expected(node: &Node, field: &str, what: &str, hint: &'static str) -> Wrong {
    Wrong {
        at: node.at,
        field: field.to_owned(),
        message: format!("expected {what}, found {}", found(node)),
        hint,
    }
}

fn found(node: &Node) -> String {
    match &node.value {
        Value::Text(text) if text.is_empty() => "an empty string".to_owned(),
        Value::List(nodes) if nodes.is_empty() => "an empty array".to_owned(),
        Value::Number(number) => number.clone(),
        value => value.to_string(),
    }
}

fn missing(node: &Node, message: &str, hint: &'static str) -> Wrong {
    Wrong {
        at: node.at,
        field: String::new(),
        message: message.to_owned(),
        hint,
    }
}

const KINDS: &str = "the types are stdio, http and sse";

/// No timeout is longer than a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests;
