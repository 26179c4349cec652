//! From the fields of a server to what can be started: variables are resolved in here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bounded::{open_regular, read_text};
use crate::config::entry::{CommandFields, Entry, Text, Transport, UrlFields, UrlKind};
use crate::config::env_file;
use crate::config::locations::{Location, Origin};
use crate::config::problem::Problem;
use crate::config::variables::{self, ResolvedText};
use crate::launch::Launch;
use crate::surroundings::Surroundings;

/// A server with everything resolved in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResolvedServer {
    /// How to transport it.
    pub(crate) transport: ResolvedTransport,
    /// How long a call may take, if that was said.
    pub(crate) timeout: Option<Duration>,
}

/// How to transport it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResolvedTransport {
    /// Start this.
    Command(Launch),
    /// It runs at this address.
    Url {
        url: String,
        headers: Vec<(String, String)>,
        kind: UrlKind,
    },
}

impl Entry {
    /// The server with everything resolved in.
    ///
    /// # Errors
    ///
    /// A field makes no sense, or refers to something that isn't there.
    pub(crate) fn resolve(
        &self,
        location: &Location,
        surroundings: &Surroundings,
    ) -> Result<ResolvedServer, Problem> {
        let server = self.server.as_ref().map_err(Clone::clone)?;
        let resolver = Resolver {
            entry: self,
            location,
            surroundings,
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

/// What is needed to fill in texts.
struct Resolver<'a> {
    entry: &'a Entry,
    location: &'a Location,
    surroundings: &'a Surroundings,
}

impl Resolver<'_> {
    fn resolve_command(&self, fields: &CommandFields) -> Result<Launch, Problem> {
        let program = self.resolve_text(&fields.program)?;
        if program.text.is_empty() {
            let hint = "set the variable that it refers to, or name a program";
            return Err(self.problem(&fields.program, "there is no program left", hint));
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
        // What is nearer wins over the file: the last of two with one name counts.
        for (name, value) in &fields.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                let hint = "name the variable before the colon, its value after it";
                return Err(self.problem(value, "no variable can have this name", hint));
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

    /// Where to start it: as it says, or where a client that knows the project would.
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
            let message = format!("there is no folder {}", self.shown_path(&resolved));
            let hint = "create it, or name another one";
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
            let message = format!("{shown}:{line}: this is no variable");
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

    /// A path, from the folder of the project.
    fn resolve_path(&self, path: &str) -> PathBuf {
        let in_home = path.strip_prefix("~/").zip(self.surroundings.home());
        match in_home {
            Some((path, home)) => home.join(path),
            None => self.location.folder.join(Path::new(path)),
        }
    }

    /// A path for a reader.
    fn shown_path(&self, path: &ResolvedText) -> String {
        self.surroundings.shown(&self.resolve_path(&path.redacted))
    }

    fn resolve_text(&self, text: &Text) -> Result<ResolvedText, Problem> {
        let (dialect, folder) = (self.entry.dialect(), &self.location.folder);
        let resolved = variables::resolve(&text.raw, dialect, folder, self.surroundings);
        let resolved =
            resolved.map_err(|missing| self.problem(text, missing.message, missing.hint))?;
        if resolved.text.contains('\0') {
            // No program and no header can be given one.
            let message = "it has a character that means the end of a text (U+0000)";
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
