//! References such as `${VAR}` in the texts of a configuration.

use std::cell::Cell;
use std::path::Path;

use crate::environment::Environment;
use crate::redact;

/// The syntax of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and the references of VS Code.
    Dollar,
    /// The same, and `{env:VAR}`.
    Opencode,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text.
    Plain(&'a str),
    /// A reference with its braces, and the text between them.
    Reference { whole: &'a str, inner: &'a str },
}

/// The kind of a reference.
#[derive(Debug, PartialEq, Eq)]
enum ReferenceKind<'a> {
    /// An environment variable, with an optional default.
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// The folder of the project.
    ProjectFolder,
    /// The name of the project's folder.
    ProjectName,
    /// The user's home folder.
    Home,
    /// The path separator.
    Separator,
    /// An input that VS Code requests from its user.
    Input(&'a str),
    /// A reference that only its own client can resolve.
    Unknown,
}

/// A text with all references resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResolvedText {
    /// The resolved text.
    pub(crate) text: String,
    /// The text for display: references to secrets are not resolved.
    pub(crate) redacted: String,
    /// The values of secret variables.
    pub(crate) secrets: Vec<String>,
}

/// Why a reference can't be resolved, with a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolveError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Resolves all references in `text`. `project` is the folder of the project; `room`, which begins
/// with [`MAX_RESOLVED`], the number of bytes that references may still stand for in one server.
///
/// # Errors
///
/// If a variable is not set, a reference is unknown, or there is no room left.
pub(crate) fn resolve(
    text: &str,
    dialect: Dialect,
    project: &Path,
    environment: &Environment,
    room: &Cell<usize>,
) -> Result<ResolvedText, ResolveError> {
    let mut resolved = ResolvedText::default();
    for piece in pieces(text, dialect) {
        match piece {
            Piece::Plain(plain) => match find_opening(plain, dialect) {
                None => resolved.push(plain),
                Some((_, opening)) => return Err(unclosed_reference(opening)),
            },
            Piece::Reference { whole, inner } => {
                let value = resolve_reference(whole, inner, project, environment)?;
                let left = room.get().checked_sub(value.len());
                room.set(left.ok_or_else(too_much)?);
                match parse_reference(inner) {
                    ReferenceKind::Variable { name, .. }
                        if redact::is_secret_variable(name, &value) =>
                    {
                        resolved.push_secret(value, &redact::value(whole, dialect));
                    }
                    _ => resolved.push(&value),
                }
            }
        }
    }
    Ok(resolved)
}

impl ResolvedText {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.redacted.push_str(text);
    }

    fn push_secret(&mut self, value: String, reference: &str) {
        self.text.push_str(&value);
        self.redacted.push_str(reference);
        self.secrets.push(value);
    }
}

/// Returns the pieces of a text, in order. A reference without an end is part of the last literal.
pub(crate) fn pieces(text: &str, dialect: Dialect) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((start, length, opening)) = next_reference(rest, dialect) {
        let (plain, from) = rest.split_at(start);
        let (whole, after) = from.split_at(length);
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        let inner = &whole[opening..whole.len() - 1];
        pieces.push(Piece::Reference { whole, inner });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    pieces
}

/// Returns the start of the next reference, its length, and the length of its opening.
fn next_reference(text: &str, dialect: Dialect) -> Option<(usize, usize, usize)> {
    let (start, opening) = find_opening(text, dialect)?;
    let length = text[start..].find('}')? + 1;
    let brace = opening.find('{')? + 1;
    Some((start, length, brace))
}

/// Returns the position and text of the first opening of a reference.
fn find_opening(text: &str, dialect: Dialect) -> Option<(usize, &'static str)> {
    let openings = match dialect {
        Dialect::Dollar => &["${"][..],
        // `${env:` contains `{env:` too; the opening that begins first counts.
        Dialect::Opencode => &["${", "{env:", "{file:"],
    };
    // One walk for all of them: one that is nowhere would be looked for to the end of the text,
    // behind each reference again.
    let starts = text.match_indices(['$', '{']).map(|(start, _)| start);
    let mut starts = starts.filter_map(|start| {
        let mut openings = openings.iter();
        let opening = openings.find(|opening| text[start..].starts_with(**opening))?;
        Some((start, *opening))
    });
    starts.next()
}

fn too_much() -> ResolveError {
    ResolveError {
        message: format!(
            "the variables of this server expand to more than {} MiB",
            MAX_RESOLVED >> 20
        ),
        hint: "use fewer or shorter variables".to_owned(),
    }
}

/// The text after the opening may be part of a password, so it is not included.
fn unclosed_reference(opening: &str) -> ResolveError {
    ResolveError {
        message: format!("missing }} after {opening}"),
        hint: "close the reference; put literal braces into an environment variable".to_owned(),
    }
}

fn resolve_reference(
    whole: &str,
    inner: &str,
    project: &Path,
    environment: &Environment,
) -> Result<String, ResolveError> {
    match parse_reference(inner) {
        ReferenceKind::Variable { name, default } => resolve_variable(name, default, environment),
        ReferenceKind::ProjectFolder => Ok(project.display().to_string()),
        ReferenceKind::ProjectName => {
            let name = project.file_name().unwrap_or_default();
            Ok(name.to_string_lossy().into_owned())
        }
        ReferenceKind::Home => match environment.home() {
            Some(home) => Ok(home.display().to_string()),
            None => Err(unset_variable("HOME")),
        },
        ReferenceKind::Separator => Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
        ReferenceKind::Input(id) => Err(ResolveError {
            message: format!(
                "unsupported reference {whole}: VS Code requests its value from the user"
            ),
            hint: format!(
                "set an environment variable and write ${{env:{}}} here",
                suggested_name(id)
            ),
        }),
        ReferenceKind::Unknown => Err(ResolveError {
            message: format!("unknown reference {}", redact_reference(whole, inner)),
            hint: "write the value itself, or ${VAR} for an environment variable".to_owned(),
        }),
    }
}

/// Returns an unknown reference for a message. It is redacted if it may be part of a password, or
/// have one as its default.
fn redact_reference<'a>(whole: &'a str, inner: &str) -> &'a str {
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || "_.:/~".contains(character);
    if inner.chars().all(is_part) {
        whole
    } else {
        "${…}"
    }
}

fn resolve_variable(
    name: &str,
    default: Option<&str>,
    environment: &Environment,
) -> Result<String, ResolveError> {
    match (environment.variable(name), default) {
        // As in a shell, the default of `:-` also replaces an empty variable.
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => match value.to_str() {
            Some(value) => Ok(value.to_owned()),
            None => Err(ResolveError {
                message: format!("environment variable {name} is not valid UTF-8"),
                hint: format!("set {name} to UTF-8 text"),
            }),
        },
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(unset_variable(name)),
    }
}

fn unset_variable(name: &str) -> ResolveError {
    ResolveError {
        message: format!("environment variable {name} is not set"),
        hint: format!("set it (export {name}=…), or add a default: ${{{name}:-…}}"),
    }
}

fn parse_reference(inner: &str) -> ReferenceKind<'_> {
    match inner {
        "workspaceFolder" | "workspaceRoot" => return ReferenceKind::ProjectFolder,
        "workspaceFolderBasename" => return ReferenceKind::ProjectName,
        "userHome" => return ReferenceKind::Home,
        "pathSeparator" | "/" => return ReferenceKind::Separator,
        _ => {}
    }
    if let Some(id) = inner.strip_prefix("input:") {
        return ReferenceKind::Input(id);
    }
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    // A default with a reference would end at the first brace, so it is not supported.
    if is_name(name) && !default.is_some_and(|default| default.contains("${")) {
        ReferenceKind::Variable { name, default }
    } else {
        ReferenceKind::Unknown
    }
}

/// Returns a text that may be secret for display: references are shown, literals are hidden.
pub(crate) fn hide_plain(text: &str, dialect: Dialect, hidden: &str) -> String {
    let mut out = String::new();
    for piece in pieces(text, dialect) {
        match piece {
            Piece::Plain(_) => out.push_str(hidden),
            // An unknown reference may be part of a password.
            Piece::Reference { inner, .. } if parse_reference(inner) == ReferenceKind::Unknown => {
                out.push_str(hidden);
            }
            // A default is a literal too.
            Piece::Reference { whole, .. } => match whole.split_once(":-") {
                Some((reference, _)) => out.extend([reference, ":-", hidden, "}"]),
                None => out.push_str(whole),
            },
        }
    }
    out
}

/// Returns a text that isn't secret for display: only the defaults of secret variables are hidden.
pub(crate) fn hide_defaults(text: &str, dialect: Dialect, hidden: &str) -> String {
    let shown = pieces(text, dialect).into_iter().map(|piece| match piece {
        Piece::Plain(plain) => plain.to_owned(),
        Piece::Reference { whole, inner } => match parse_reference(inner) {
            ReferenceKind::Variable { name, default }
                if redact::is_secret_variable(name, default.unwrap_or_default()) =>
            {
                hide_plain(whole, dialect, hidden)
            }
            _ => whole.to_owned(),
        },
    });
    shown.collect()
}

/// Bytes that references may stand for in one server, 1 MiB: a system takes hardly more as arguments and
/// variables of a program.
pub(crate) const MAX_RESOLVED: usize = 1024 * 1024;

fn is_name(name: &str) -> bool {
    let is_part = |character: char| character == '_' || character.is_ascii_alphanumeric();
    name.starts_with(|character: char| character == '_' || character.is_ascii_alphabetic())
        && name.chars().all(is_part)
}

/// Suggests the name of an environment variable for an input of VS Code.
fn suggested_name(id: &str) -> String {
    let upper = id.chars().map(|character| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => character.to_ascii_uppercase(),
        _ => '_',
    });
    let name: String = upper.collect();
    if is_name(&name) {
        name
    } else {
        "VALUE".to_owned()
    }
}

#[cfg(test)]
mod tests;
