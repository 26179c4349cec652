//! A server in a configuration: its fields, whichever client they were written for.
//!
//! Nothing is completed here: texts keep their `${VAR}`, and where they stand.

mod fields;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::config::jsonc::Node;
use crate::config::problem::{Problem, Source};
use crate::config::variables::Dialect;

/// A server as it stands in a file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What it is called.
    pub(crate) name: String,
    /// The file that it stands in.
    pub(crate) source: Rc<Source>,
    /// Where in it.
    pub(crate) at: usize,
    /// Whose format the file has.
    pub(crate) format: ConfigFormat,
    /// What the fields say, or what is invalid with the first one that makes no sense. A server
    /// that can't be used shall not hide the others.
    pub(crate) server: Result<Server, Problem>,
}

/// Whose format a list of servers has. Some fields mean different things to different clients.
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

/// What the fields of a server say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    /// How to transport it.
    pub(crate) transport: Transport,
    /// Whether somebody switched it off.
    pub(crate) is_disabled: bool,
    /// How long a call may take.
    pub(crate) timeout: Option<Duration>,
}

/// How to transport a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transport {
    /// Start it.
    Command(CommandFields),
    /// It runs already.
    Url(UrlFields),
}

/// What to start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandFields {
    /// The program.
    pub(crate) program: Text,
    /// Its arguments.
    pub(crate) args: Vec<Text>,
    /// Its variables.
    pub(crate) env: Vec<(String, Text)>,
    /// A file with more of them.
    pub(crate) env_file: Option<Text>,
    /// The folder to start it in.
    pub(crate) folder: Option<Text>,
}

/// Where it runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UrlFields {
    /// Its address.
    pub(crate) url: Text,
    /// Headers for each request.
    pub(crate) headers: Vec<(String, Text)>,
    /// By which transport.
    pub(crate) kind: UrlKind,
}

/// The transports that have a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, of 2024-11-05.
    Sse,
}

/// A text of a field, which may have `${VAR}` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// As it was written.
    pub(crate) raw: String,
    /// Where that is.
    pub(crate) at: usize,
    /// The field, such as `args[2]`.
    pub(crate) field: String,
}

impl Entry {
    /// The server `name` that `node` describes.
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

    /// What is invalid with a field of this server.
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

    /// Whether somebody switched it off.
    pub(crate) fn is_disabled(&self) -> bool {
        self.server.as_ref().is_ok_and(|server| server.is_disabled)
    }

    /// Whether both transport the same server in the same way, wherever that is written.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        match (&self.server, &other.server) {
            (Ok(own), Ok(others)) => {
                self.dialect() == other.dialect() && own.transport.is_equivalent(&others.transport)
            }
            // What makes no sense is the same as nothing.
            _ => false,
        }
    }

    /// How its texts refer to variables.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.format {
            ConfigFormat::Opencode => Dialect::Opencode,
            ConfigFormat::McpServers | ConfigFormat::VsCode | ConfigFormat::Zed => Dialect::Dollar,
        }
    }
}

impl Transport {
    /// Whether both say the same, wherever it stands and in whichever order it names things.
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
