//! From the fields of a server to what can be started: variables are filled in here.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bounded_file::{open_regular, read_text};
use crate::config::entry::{CommandFields, Entry, Reach, Text, UrlFields, UrlKind};
use crate::config::env_file;
use crate::config::places::{Origin, Place};
use crate::config::problem::Problem;
use crate::config::variables::{self, Filled, MAX_FILLED};
use crate::launch::Launch;
use crate::surroundings::Surroundings;

/// A server with everything filled in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Complete {
    /// How to reach it.
    pub(crate) reach: CompleteReach,
    /// How long a call may take, if that was said.
    pub(crate) timeout: Option<Duration>,
}

/// How to reach it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompleteReach {
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
    /// The server with everything filled in.
    ///
    /// # Errors
    ///
    /// A field makes no sense, or refers to something that isn't there.
    pub(crate) fn complete(
        &self,
        place: &Place,
        surroundings: &Surroundings,
    ) -> Result<Complete, Problem> {
        let server = self.server.as_ref().map_err(Clone::clone)?;
        let completion = Completion {
            entry: self,
            place,
            surroundings,
            room: Cell::new(MAX_FILLED),
        };
        Ok(Complete {
            reach: match &server.reach {
                Reach::Command(fields) => CompleteReach::Command(completion.command(fields)?),
                Reach::Url(fields) => completion.url(fields)?,
            },
            timeout: server.timeout,
        })
    }
}

/// What is needed to fill in texts.
struct Completion<'a> {
    entry: &'a Entry,
    place: &'a Place,
    surroundings: &'a Surroundings,
    /// Bytes that may still be filled in.
    room: Cell<usize>,
}

impl Completion<'_> {
    fn command(&self, fields: &CommandFields) -> Result<Launch, Problem> {
        let program = self.text(&fields.program)?;
        if program.text.is_empty() {
            let hint = "set the variable that it refers to, or name a program";
            return Err(self.problem(&fields.program, "there is no program left", hint));
        }
        let args = fields.args.iter().map(|arg| self.text(arg));
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let folder = fields.folder.as_ref().map(|folder| self.text(folder));
        let folder = folder.transpose()?;
        let words = [&program].into_iter().chain(&args).chain(&folder);
        let secrets = words.flat_map(|word| word.secrets.clone()).collect();
        let mut env = match &fields.env_file {
            Some(file) => self.variables_of_file(file)?,
            None => Vec::new(),
        };
        // What is nearer wins over the file: the last of two with one name counts.
        for (name, value) in &fields.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                let hint = "name the variable before the colon, its value after it";
                return Err(self.problem(value, "no variable can have this name", hint));
            }
            env.push((name.into(), self.text(value)?.text.into()));
        }
        Ok(Launch {
            program: program.text.into(),
            args: args.into_iter().map(|arg| arg.text.into()).collect(),
            env,
            inherits_env: false,
            folder: self.folder(fields.folder.as_ref().zip(folder))?,
            secrets,
        })
    }

    /// Where to start it: as it says, or where a client that knows the project would.
    fn folder(&self, folder: Option<(&Text, Filled)>) -> Result<Option<PathBuf>, Problem> {
        let Some((text, filled)) = folder else {
            return Ok(match self.place.origin {
                Origin::Project => Some(self.place.folder.clone()),
                Origin::Named | Origin::User => None,
            });
        };
        let folder = self.path(&filled.text);
        if !folder.is_dir() {
            let message = format!("there is no folder {}", self.shown(&filled));
            let hint = "create it, or name another one";
            return Err(self.problem(text, message, hint));
        }
        Ok(Some(folder))
    }

    fn variables_of_file(&self, file: &Text) -> Result<Vec<(OsString, OsString)>, Problem> {
        let filled = self.text(file)?;
        let shown = self.shown(&filled);
        let text = open_regular(&self.path(&filled.text)).and_then(|(file, _)| read_text(file));
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

    fn url(&self, fields: &UrlFields) -> Result<CompleteReach, Problem> {
        let headers = fields.headers.iter();
        let headers = headers.map(|(name, value)| Ok((name.clone(), self.text(value)?.text)));
        Ok(CompleteReach::Url {
            url: self.text(&fields.url)?.text,
            headers: headers.collect::<Result<_, _>>()?,
            kind: fields.kind,
        })
    }

    /// A path, from the folder of the project.
    fn path(&self, path: &str) -> PathBuf {
        let in_home = path.strip_prefix("~/").zip(self.surroundings.home());
        match in_home {
            Some((path, home)) => home.join(path),
            None => self.place.folder.join(Path::new(path)),
        }
    }

    /// A path for a reader.
    fn shown(&self, path: &Filled) -> String {
        self.surroundings.shown(&self.path(&path.shown))
    }

    fn text(&self, text: &Text) -> Result<Filled, Problem> {
        let (dialect, folder) = (self.entry.dialect(), &self.place.folder);
        let complete =
            variables::complete(&text.raw, dialect, folder, self.surroundings, &self.room);
        let complete =
            complete.map_err(|missing| self.problem(text, missing.message, missing.hint))?;
        if complete.text.contains('\0') {
            // No program and no header can be given one.
            let message = "it has a character that means the end of a text (U+0000)";
            return Err(self.problem(text, message, "remove it"));
        }
        Ok(complete)
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
