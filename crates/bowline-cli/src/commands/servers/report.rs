//! The servers as data, with secrets redacted. This is the output of `bowline servers --json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::config::entry::{Entry, Text, Transport, UrlKind};
use crate::config::locations::Origin;
use crate::config::problem::{Position, Problem};
use crate::config::{Catalogue, ConfiguredServer, NameOwner};
use crate::environment::Environment;
use crate::redact;
use crate::target::DEMO;

/// A server.
#[derive(Debug, Default, Serialize)]
pub(super) struct ServerReport<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) env_file: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) headers: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
    pub(super) origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    pub(super) disabled: bool,
    /// `true` if its transport is supported.
    pub(super) supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shadowed_by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) shadows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<ProblemReport>,
    /// The path of the file for a reader.
    #[serde(skip)]
    pub(super) shown_file: &'a str,
    /// The paths of the files that it shadows, for a reader.
    #[serde(skip)]
    pub(super) shown_shadows: Vec<&'a str>,
    /// The path of the file that shadows it, for a reader.
    #[serde(skip)]
    pub(super) shown_winner: Option<&'a str>,
}

/// All servers, and the files that were read.
#[derive(Debug, Serialize)]
pub(super) struct ServerList<'a> {
    servers: &'a [ServerReport<'a>],
    files: Vec<FileReport<'a>>,
}

/// A file.
#[derive(Debug, Serialize)]
struct FileReport<'a> {
    path: &'a Path,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemReport>,
}

/// Why a server or a file can't be used.
#[derive(Debug, Serialize)]
pub(super) struct ProblemReport {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    hint: String,
    /// The whole problem on one line.
    #[serde(skip)]
    pub(super) line_of_text: String,
}

impl<'a> ServerReport<'a> {
    /// Returns a server from a file, and its problem.
    pub(super) fn of_found(
        found: &ConfiguredServer<'a>,
        environment: &Environment,
    ) -> (Self, Option<Problem>) {
        let entry = found.entry;
        let problem = entry.resolve(found.location, environment).err();
        let mut report = Self {
            name: &entry.name,
            origin: origin(found.location.origin),
            file: Some(&entry.source.path),
            line: Some(entry.source.position(entry.at).line),
            disabled: entry.is_disabled(),
            supported: true,
            shown_file: &entry.source.shown,
            problem: problem.as_ref().map(ProblemReport::of),
            ..Self::default()
        };
        match found.shadowed_by {
            None => {}
            Some(NameOwner::Demo) => {
                report.shadowed_by = Some(BUILT_IN.to_owned());
                report.shown_winner = Some("the demo");
            }
            Some(NameOwner::Entry(winner)) => {
                report.shadowed_by = Some(winner.source.path.display().to_string());
                report.shown_winner = Some(&winner.source.shown);
            }
        }
        report.describe(entry);
        (report, problem)
    }

    /// Returns the demo server, which no file defines.
    pub(super) fn of_demo() -> Self {
        Self {
            name: DEMO,
            transport: Some("stdio"),
            command: ["bowline", "serve", DEMO].map(str::to_owned).to_vec(),
            origin: BUILT_IN,
            supported: true,
            shown_file: "(built in)",
            ..Self::default()
        }
    }

    /// Adds the files whose servers of the same name it shadows.
    pub(super) fn shadowing(mut self, others: &[ConfiguredServer<'a>]) -> Self {
        let paths = others.iter().map(|found| &found.entry.source.path);
        self.shadows = paths.map(|path| path.display().to_string()).collect();
        let shown = others.iter().map(|found| found.entry.source.shown.as_str());
        self.shown_shadows = shown.collect();
        self
    }

    fn describe(&mut self, entry: &'a Entry) {
        let Ok(server) = &entry.server else {
            return;
        };
        let dialect = entry.dialect();
        let hide =
            |(name, text): &'a (String, Text)| (name.as_str(), redact::value(&text.raw, dialect));
        self.timeout_ms = server
            .timeout
            .and_then(|timeout| timeout.as_millis().try_into().ok());
        match &server.transport {
            Transport::Command(fields) => {
                self.transport = Some("stdio");
                let args = fields.args.iter().map(|arg| arg.raw.as_str());
                let words = [fields.program.raw.as_str()].into_iter().chain(args);
                self.command = redact::arguments(words, dialect);
                self.env = fields.env.iter().map(hide).collect();
                let path = |text: &Text| redact::path(&text.raw, dialect);
                self.env_file = fields.env_file.as_ref().map(path);
                self.cwd = fields.folder.as_ref().map(path);
            }
            Transport::Url(fields) => {
                self.supported = false;
                self.transport = Some(match fields.kind {
                    UrlKind::Http => "http",
                    UrlKind::Sse => "sse",
                });
                self.url = Some(redact::url(&fields.url.raw, dialect));
                self.headers = fields.headers.iter().map(hide).collect();
            }
        }
    }
}

impl<'a> ServerList<'a> {
    /// Lists the servers, and the files of the catalogue.
    pub(super) fn new(servers: &'a [ServerReport<'a>], catalogue: &'a Catalogue) -> Self {
        let files = catalogue.files.iter().map(|file| FileReport {
            path: &file.location.path,
            origin: origin(file.location.origin),
            problem: file.entries.as_ref().err().map(ProblemReport::of),
        });
        Self {
            servers,
            files: files.collect(),
        }
    }
}

impl ProblemReport {
    fn of(problem: &Problem) -> Self {
        let (line, column) = match problem.position {
            Some(Position { line, column }) => (Some(line), Some(column)),
            None => (None, None),
        };
        Self {
            message: problem.message.to_string(),
            line,
            column,
            field: problem.field.as_deref().map(str::to_owned),
            hint: problem.hint.to_string(),
            line_of_text: problem.to_string(),
        }
    }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Named => "named",
        Origin::Project => "project",
        Origin::User => "user",
    }
}

const BUILT_IN: &str = "built-in";
