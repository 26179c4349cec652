//! `${VAR}` and its relatives in the texts of a configuration.

use std::path::Path;

use crate::redact;
use crate::surroundings::Surroundings;

/// Whose ways of referring to things a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and what VS Code has.
    Dollar,
    /// The same, and `{env:VAR}`.
    Opencode,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What stands for itself.
    Plain(&'a str),
    /// What stands for something else, with its braces, and what is between them.
    Reference { whole: &'a str, inner: &'a str },
}

/// What a reference stands for.
#[derive(Debug, PartialEq, Eq)]
enum ReferenceKind<'a> {
    /// A variable, or the default when it isn't set.
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// The folder of the project.
    ProjectFolder,
    /// Its name.
    ProjectName,
    /// The user's home.
    Home,
    /// What separates folders in a path.
    Separator,
    /// What VS Code asks its user for.
    Input(&'a str),
    /// What nobody but the client knows for which it was written.
    Unknown,
}

/// A text with everything in it that stands for something else replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResolvedText {
    /// The text.
    pub(crate) text: String,
    /// The same for a reader: what is secret stays as it was referred to.
    pub(crate) redacted: String,
    /// What secret variables stood for.
    pub(crate) secrets: Vec<String>,
}

/// Why a text can't be completed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolveError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// `text` with everything in it that stands for something else replaced. `project` is the
/// folder that the configuration is for.
///
/// # Errors
///
/// A variable is not set, or something else is not known.
pub(crate) fn resolve(
    text: &str,
    dialect: Dialect,
    project: &Path,
    surroundings: &Surroundings,
) -> Result<ResolvedText, ResolveError> {
    let mut resolved = ResolvedText::default();
    for piece in pieces(text, dialect) {
        match piece {
            Piece::Plain(plain) => match find_opening(plain, dialect) {
                None => resolved.push(plain),
                Some((_, opening)) => return Err(unclosed_reference(opening)),
            },
            Piece::Reference { whole, inner } => {
                let value = resolve_reference(whole, inner, project, surroundings)?;
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

/// The parts of a text, in order. A `${` without end is a part of what stands for itself, and
/// of the last one.
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

/// Where the next reference begins, its length, and that of its opening.
fn next_reference(text: &str, dialect: Dialect) -> Option<(usize, usize, usize)> {
    let (start, opening) = find_opening(text, dialect)?;
    let length = text[start..].find('}')? + 1;
    let brace = opening.find('{')? + 1;
    Some((start, length, brace))
}

/// Where something begins that ends with a brace, and what it begins with.
fn find_opening(text: &str, dialect: Dialect) -> Option<(usize, &'static str)> {
    let openings = match dialect {
        Dialect::Dollar => &["${"][..],
        // `${env:` has two of them; the one that begins first is meant.
        Dialect::Opencode => &["${", "{env:", "{file:"],
    };
    let found = openings.iter();
    let found = found.filter_map(|opening| Some((text.find(opening)?, *opening)));
    found.min()
}

/// What follows may be a part of a password, and is not told.
fn unclosed_reference(opening: &str) -> ResolveError {
    ResolveError {
        message: format!("there is no }} after {opening}"),
        hint: "add it; a text that shall have it as it is has to come from a variable".to_owned(),
    }
}

fn resolve_reference(
    whole: &str,
    inner: &str,
    project: &Path,
    surroundings: &Surroundings,
) -> Result<String, ResolveError> {
    match parse_reference(inner) {
        ReferenceKind::Variable { name, default } => resolve_variable(name, default, surroundings),
        ReferenceKind::ProjectFolder => Ok(project.display().to_string()),
        ReferenceKind::ProjectName => {
            let name = project.file_name().unwrap_or_default();
            Ok(name.to_string_lossy().into_owned())
        }
        ReferenceKind::Home => match surroundings.home() {
            Some(home) => Ok(home.display().to_string()),
            None => Err(unset_variable("HOME")),
        },
        ReferenceKind::Separator => Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
        ReferenceKind::Input(id) => Err(ResolveError {
            message: format!("{whole} is asked for by VS Code, and bowline doesn't ask"),
            hint: format!(
                "put the value into the environment and write ${{env:{}}} here",
                suggested_name(id)
            ),
        }),
        ReferenceKind::Unknown => Err(ResolveError {
            message: format!(
                "{} is nothing that bowline knows",
                redact_reference(whole, inner)
            ),
            hint: "write the value itself, or ${VAR} for one from the environment".to_owned(),
        }),
    }
}

/// A reference that nobody knows, for a message. It may be a part of a password, or have one
/// as its default.
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
    surroundings: &Surroundings,
) -> Result<String, ResolveError> {
    match (surroundings.variable(name), default) {
        // As in a shell, `:-` also counts for a variable that is empty.
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => match value.to_str() {
            Some(value) => Ok(value.to_owned()),
            None => Err(ResolveError {
                message: format!("the variable {name} is not UTF-8"),
                hint: format!("set {name} to a text"),
            }),
        },
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(unset_variable(name)),
    }
}

fn unset_variable(name: &str) -> ResolveError {
    ResolveError {
        message: format!("the variable {name} is not set"),
        hint: format!("set it (export {name}=…), or give a default: ${{{name}:-…}}"),
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
    // A default that refers to something itself would be cut at the first brace.
    if is_name(name) && !default.is_some_and(|default| default.contains("${")) {
        ReferenceKind::Variable { name, default }
    } else {
        ReferenceKind::Unknown
    }
}

/// `text`, a value that may be secret, for a reader: what it refers to is shown, what it says
/// itself is not.
pub(crate) fn hide_plain(text: &str, dialect: Dialect, hidden: &str) -> String {
    let mut out = String::new();
    for piece in pieces(text, dialect) {
        match piece {
            Piece::Plain(_) => out.push_str(hidden),
            // What nobody knows may be a part of a password.
            Piece::Reference { inner, .. } if parse_reference(inner) == ReferenceKind::Unknown => {
                out.push_str(hidden);
            }
            // A default is a value too.
            Piece::Reference { whole, .. } => match whole.split_once(":-") {
                Some((reference, _)) => out.extend([reference, ":-", hidden, "}"]),
                None => out.push_str(whole),
            },
        }
    }
    out
}

/// `text`, which is no secret itself, for a reader: only what secret variables are by default is
/// not shown.
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

fn is_name(name: &str) -> bool {
    let is_part = |character: char| character == '_' || character.is_ascii_alphanumeric();
    name.starts_with(|character: char| character == '_' || character.is_ascii_alphabetic())
        && name.chars().all(is_part)
}

/// A variable's name for an input of VS Code, as people would choose it.
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
