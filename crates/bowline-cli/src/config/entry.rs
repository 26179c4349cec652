//! A server in a configuration file, in the format of any client.
//!
//! Variables such as `${VAR}` are kept, with their positions.
//!
//! `fields` reads them from JSON, with the names that all clients use.

mod fields;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::config::jsonc::Node;
use crate::config::problem::{Problem, Source};
use crate::config::variables::Dialect;

/// A server in a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The name of the server.
    pub(crate) name: String,
    /// The configuration file.
    pub(crate) source: Rc<Source>,
    /// The offset of the server in the file.
    pub(crate) at: usize,
    /// The format of the list.
    pub(crate) format: ConfigFormat,
    /// The server, or the problem of its first invalid field. An invalid server must not hide the
    /// others.
    pub(crate) server: Result<Server, Problem>,
}

/// The format of a list of servers. Some fields mean different things in different clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    /// `mcpServers`: Claude, Cursor, Windsurf and most others.
    McpServers,
    /// `servers`, or `mcp.servers` in settings: VS Code.
    VsCode,
    /// `mcp`: opencode.
    Opencode,
    /// `context_servers`: Zed.
    Zed,
}

/// The fields of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    /// How to connect to the server.
    pub(crate) transport: Transport,
    /// `true` if the server is disabled.
    pub(crate) is_disabled: bool,
    /// The timeout of calls.
    pub(crate) timeout: Option<Duration>,
}

/// How to connect to a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transport {
    /// Start a program.
    Command(CommandFields),
    /// Connect to a URL.
    Url(UrlFields),
}

/// The fields of a server that is started.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandFields {
    /// The program.
    pub(crate) program: Text,
    /// The arguments.
    pub(crate) args: Vec<Text>,
    /// The environment variables.
    pub(crate) env: Vec<(String, Text)>,
    /// A file with more environment variables.
    pub(crate) env_file: Option<Text>,
    /// The working directory.
    pub(crate) folder: Option<Text>,
}

/// The fields of a server with a URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UrlFields {
    /// The URL.
    pub(crate) url: Text,
    /// The headers of each request.
    pub(crate) headers: Vec<(String, Text)>,
    /// The kind of transport.
    pub(crate) kind: UrlKind,
}

/// The kinds of transports with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as in 2024-11-05.
    Sse,
}

/// A text that may contain variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text as written.
    pub(crate) raw: String,
    /// The offset of the text in the file.
    pub(crate) at: usize,
    /// The name of the field, such as `args[2]`.
    pub(crate) field: String,
}

impl Entry {
    /// Reads the server `name` from `node`.
    pub(crate) fn read(name: &str, node: &Node, format: ConfigFormat, source: &Rc<Source>) -> Self {
        let mut entry = Self {
            name: name.to_owned(),
            source: Rc::clone(source),
            at: node.at,
            format,
            server: Err(Problem::of_file(&source.shown, "", "")),
        };
        entry.server = fields::read(node, format).map_err(|invalid| {
            let field = Some(invalid.field).filter(|field| !field.is_empty());
            entry.problem(invalid.at, field, invalid.message, invalid.hint)
        });
        entry
    }

    /// Creates the problem of a field of this server.
    pub(crate) fn problem(
        &self,
        at: usize,
        field: Option<String>,
        message: String,
        hint: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Problem {
        Problem {
            server: Some(self.name.as_str().into()),
            field: field.map(Into::into),
            ..Problem::in_file(&self.source, at, message, hint)
        }
    }

    /// Returns `true` if the server is disabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.server.as_ref().is_ok_and(|server| server.is_disabled)
    }

    /// Returns `true` if the server is reached by a URL.
    pub(crate) fn has_url(&self) -> bool {
        let server = self.server.as_ref();
        server.is_ok_and(|server| matches!(server.transport, Transport::Url(_)))
    }

    /// Returns `true` if both entries connect to the same server in the same way.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        match (&self.server, &other.server) {
            (Ok(own), Ok(others)) => {
                self.dialect() == other.dialect() && own.transport.is_equivalent(&others.transport)
            }
            // An invalid entry is never the same as another one.
            _ => false,
        }
    }

    /// Returns the syntax of references in its texts.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.format {
            ConfigFormat::Opencode => Dialect::Opencode,
            ConfigFormat::McpServers | ConfigFormat::VsCode | ConfigFormat::Zed => Dialect::Dollar,
        }
    }
}

impl Transport {
    /// Returns `true` if both have the same values, in any order.
    fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(own), Self::Command(others)) => {
                own.program.raw == others.program.raw
                    && own
                        .args
                        .iter()
                        .map(raw_text)
                        .eq(others.args.iter().map(raw_text))
                    && by_name(&own.env) == by_name(&others.env)
                    && own.env_file.as_ref().map(raw_text) == others.env_file.as_ref().map(raw_text)
                    && own.folder.as_ref().map(raw_text) == others.folder.as_ref().map(raw_text)
            }
            (Self::Url(own), Self::Url(others)) => {
                own.url.raw == others.url.raw
                    && by_name(&own.headers) == by_name(&others.headers)
                    && own.kind == others.kind
            }
            (Self::Command(_), Self::Url(_)) | (Self::Url(_), Self::Command(_)) => false,
        }
    }
}

fn raw_text(text: &Text) -> &str {
    &text.raw
}

fn by_name(texts: &[(String, Text)]) -> BTreeMap<&str, &str> {
    let texts = texts.iter();
    texts
        .map(|(name, text)| (name.as_str(), raw_text(text)))
        .collect()
}
