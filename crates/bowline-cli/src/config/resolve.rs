//! Resolves a configured server into what can be started: its variables are replaced here.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bounded_file::{open_regular, read_text};
use crate::config::entry::{CommandFields, Entry, Text, Transport, UrlFields, UrlKind};
use crate::config::env_file;
use crate::config::locations::{Location, Origin};
use crate::config::problem::Problem;
use crate::config::variables::{self, MAX_RESOLVED, ResolvedText};
use crate::environment::Environment;
use crate::launch::Launch;

/// A server with all variables resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResolvedServer {
    /// How to connect to it.
    pub(crate) transport: ResolvedTransport,
    /// The timeout of calls, if it is configured.
    pub(crate) timeout: Option<Duration>,
}

/// How to connect to a server, with all variables resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResolvedTransport {
    /// Start this program.
    Command(Launch),
    /// Connect to this address.
    Url {
        url: String,
        headers: Vec<(String, String)>,
        kind: UrlKind,
    },
}

impl Entry {
    /// Resolves the variables of the server.
    ///
    /// # Errors
    ///
    /// If a field is invalid, or a reference can't be resolved.
    pub(crate) fn resolve(
        &self,
        location: &Location,
        environment: &Environment,
    ) -> Result<ResolvedServer, Problem> {
        let server = self.server.as_ref().map_err(Clone::clone)?;
        let resolver = Resolver {
            entry: self,
            location,
            environment,
            room: Cell::new(MAX_RESOLVED),
        };
        Ok(ResolvedServer {
            transport: match &server.transport {
                Transport::Command(fields) => {
                    ResolvedTransport::Command(resolver.resolve_command(fields)?)
                }
                Transport::Url(fields) => resolver.resolve_url(fields)?,
            },
            timeout: server.timeout,
        })
    }
}

/// The context in which texts are resolved.
struct Resolver<'a> {
    entry: &'a Entry,
    location: &'a Location,
    environment: &'a Environment,
    /// The number of bytes that references may still stand for.
    room: Cell<usize>,
}

impl Resolver<'_> {
    fn resolve_command(&self, fields: &CommandFields) -> Result<Launch, Problem> {
        let program = self.resolve_text(&fields.program)?;
        if program.text.is_empty() {
            let hint = "set the variable, or configure a program";
            return Err(self.problem(
                &fields.program,
                "the program is empty after its variables are resolved",
                hint,
            ));
        }
        let args = fields.args.iter().map(|arg| self.resolve_text(arg));
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let folder = fields
            .folder
            .as_ref()
            .map(|folder| self.resolve_text(folder));
        let folder = folder.transpose()?;
        let words = [&program].into_iter().chain(&args).chain(&folder);
        let secrets = words.flat_map(|word| word.secrets.clone()).collect();
        let mut env = match &fields.env_file {
            Some(file) => self.read_env_file(file)?,
            None => Vec::new(),
        };
        // The server's own variables override those of the file: the last one of a name counts.
        for (name, value) in &fields.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                let hint = "write {\"NAME\": \"value\"}";
                return Err(self.problem(
                    value,
                    "not a valid name of an environment variable",
                    hint,
                ));
            }
            env.push((name.into(), self.resolve_text(value)?.text.into()));
        }
        Ok(Launch {
            program: program.text.into(),
            args: args.into_iter().map(|arg| arg.text.into()).collect(),
            env,
            inherits_env: false,
            folder: self.resolve_folder(fields.folder.as_ref().zip(folder))?,
            secrets,
        })
    }

    /// Returns the folder to start the server in: the configured one, or the folder of its
    /// project.
    fn resolve_folder(
        &self,
        folder: Option<(&Text, ResolvedText)>,
    ) -> Result<Option<PathBuf>, Problem> {
        let Some((text, resolved)) = folder else {
            return Ok(match self.location.origin {
                Origin::Project => Some(self.location.folder.clone()),
                Origin::Named | Origin::User => None,
            });
        };
        let folder = self.resolve_path(&resolved.text);
        if !folder.is_dir() {
            let message = format!("no such folder: {}", self.shown_path(&resolved));
            let hint = "create it, or configure another one";
            return Err(self.problem(text, message, hint));
        }
        Ok(Some(folder))
    }

    fn read_env_file(&self, file: &Text) -> Result<Vec<(OsString, OsString)>, Problem> {
        let resolved = self.resolve_text(file)?;
        let shown = self.shown_path(&resolved);
        let text =
            open_regular(&self.resolve_path(&resolved.text)).and_then(|(file, _)| read_text(file));
        let text = text
            .map_err(|error| self.problem(file, format!("{shown}: {error}"), "check the path"))?;
        let variables = env_file::parse(&text).map_err(|line| {
            let message = format!("{shown}:{line}: not a variable");
            self.problem(file, message, "write NAME=value")
        })?;
        let variables = variables.into_iter();
        Ok(variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect())
    }

    fn resolve_url(&self, fields: &UrlFields) -> Result<ResolvedTransport, Problem> {
        let headers = fields.headers.iter();
        let headers =
            headers.map(|(name, value)| Ok((name.clone(), self.resolve_text(value)?.text)));
        Ok(ResolvedTransport::Url {
            url: self.resolve_text(&fields.url)?.text,
            headers: headers.collect::<Result<_, _>>()?,
            kind: fields.kind,
        })
    }

    /// Returns the path, relative to the folder of the project or to the home folder.
    fn resolve_path(&self, path: &str) -> PathBuf {
        let in_home = path.strip_prefix("~/").zip(self.environment.home());
        match in_home {
            Some((path, home)) => home.join(path),
            None => self.location.folder.join(Path::new(path)),
        }
    }

    /// Returns the path for display, without secrets.
    fn shown_path(&self, path: &ResolvedText) -> String {
        self.environment.shown(&self.resolve_path(&path.redacted))
    }

    fn resolve_text(&self, text: &Text) -> Result<ResolvedText, Problem> {
        let (dialect, folder) = (self.entry.dialect(), &self.location.folder);
        let resolved = variables::resolve(&text.raw, dialect, folder, self.environment, &self.room);
        let resolved =
            resolved.map_err(|missing| self.problem(text, missing.message, missing.hint))?;
        if resolved.text.contains('\0') {
            // Neither an argument nor a header can contain it.
            let message = "contains a NUL character (U+0000)";
            return Err(self.problem(text, message, "remove it"));
        }
        Ok(resolved)
    }

    fn problem(
        &self,
        text: &Text,
        message: impl Into<String>,
        hint: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Problem {
        let field = Some(text.field.clone());
        self.entry.problem(text.at, field, message.into(), hint)
    }
}

#[cfg(test)]
mod tests;
