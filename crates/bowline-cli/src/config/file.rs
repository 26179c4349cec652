//! A configuration file: which lists of servers it has, in whose shape.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;
use std::rc::Rc;

use crate::bounded_file::{ReadError, open_regular, read_file, read_text};
use crate::config::entry::{Entry, Shape};
use crate::config::jsonc::{self, Node};
use crate::config::places::{Origin, Place};
use crate::config::problem::{Problem, Source};
use crate::surroundings::Surroundings;

/// A file that was looked at.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Where it is, and why it was looked at.
    pub(crate) place: Place,
    /// Its servers in the order in which they win, or why there is no telling.
    pub(crate) entries: Result<Vec<Entry>, Problem>,
}

impl ConfigFile {
    /// Reads the file, if there is one. One that was named has to be there.
    pub(crate) fn read(place: Place, surroundings: &Surroundings) -> Option<Self> {
        let shown = surroundings.shown(&place.path);
        let entries = match text(&place, &shown) {
            Ok(text) => entries(text?, &place, &shown, surroundings),
            Err(problem) => Err(problem),
        };
        Some(Self { place, entries })
    }
}

/// The text of the file, or nothing if there is none and nobody said there would be.
fn text(place: &Place, shown: &str) -> Result<Option<String>, Problem> {
    let text = match place.origin {
        // Whoever names a file may name a pipe, such as <(…).
        Origin::Named => read_file(&place.path),
        Origin::Project | Origin::User => match open_regular(&place.path) {
            Ok((file, metadata)) => {
                if place.origin == Origin::Project
                    && let Some(owner) = foreign_owner(&metadata)
                {
                    return Err(of_another_user(owner, shown));
                }
                read_text(file)
            }
            Err(ReadError::Missing | ReadError::Directory) => return Ok(None),
            Err(error) => Err(error),
        },
    };
    text.map(Some).map_err(|error| {
        let hint = match error {
            ReadError::Missing => "check the path after --config",
            ReadError::Directory => "name a file in it",
            ReadError::NotRegular => "remove it, or name it with --config",
            ReadError::TooLarge => "put the servers into a file of their own",
            ReadError::NotText(_) => "save it as UTF-8",
            ReadError::Failed(_) => "check whether you may read it",
        };
        Problem {
            is_misnamed: matches!(error, ReadError::Missing | ReadError::Directory),
            ..Problem::of_file(shown, error.to_string(), hint)
        }
    })
}

fn of_another_user(owner: u32, shown: &str) -> Problem {
    let message = format!("not looked at, since it belongs to another user ({owner})");
    let hint = format!("name it with --config {shown} if you trust it");
    Problem::of_file(shown, message, hint)
}

/// The owner of a file that is neither ours nor the system's. In a folder that anybody can
/// write to, such as `/tmp`, anybody could put a command of theirs under a name of ours.
#[cfg(unix)]
fn foreign_owner(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let owner = metadata.uid();
    is_foreign(owner, rustix::process::geteuid().as_raw()).then_some(owner)
}

#[cfg(not(unix))]
fn foreign_owner(_: &Metadata) -> Option<u32> {
    None
}

fn is_foreign(owner: u32, user: u32) -> bool {
    owner != user && owner != ROOT
}

fn entries(
    text: String,
    place: &Place,
    shown: &str,
    surroundings: &Surroundings,
) -> Result<Vec<Entry>, Problem> {
    let source = Source::new(place.path.clone(), shown.to_owned(), text);
    let source = Rc::new(source);
    let root = jsonc::parse(source.text()).map_err(|fault| {
        let hint = "mend it; comments and a comma after the last element are fine";
        Problem::in_file(&source, fault.at, fault.message, hint)
    })?;
    if root.members().is_none() {
        let message = format!("expected an object, found {}", root.value);
        return Err(Problem::in_file(&source, root.at, message, EXAMPLE));
    }
    let lists = lists(&root, &surroundings.folder);
    if lists.is_empty() && place.origin == Origin::Named {
        let message = "it has no mcpServers, servers, mcp or context_servers";
        return Err(Problem::of_file(shown, message, EXAMPLE));
    }
    let mut entries = Vec::new();
    for List { key, node, shape } in lists {
        let Some(members) = node.members() else {
            let message = format!("{key}: expected an object of servers, found {}", node.value);
            return Err(Problem::in_file(&source, node.at, message, EXAMPLE));
        };
        // Of two with one name the last counts, as with every other reader.
        let mut seen = BTreeSet::new();
        let mut last: Vec<_> = members
            .iter()
            .rev()
            .filter(|(name, _)| seen.insert(name))
            .collect();
        last.reverse();
        for (name, node) in last {
            entries.push(Entry::read(name, node, shape, &source));
        }
    }
    Ok(entries)
}

/// A list of servers.
struct List<'a> {
    key: &'static str,
    node: &'a Node,
    shape: Shape,
}

/// The lists of a file, the nearest to the work in hand first.
fn lists<'a>(root: &'a Node, folder: &Path) -> Vec<List<'a>> {
    let mut lists = Vec::new();
    let mut add = |key, node: Option<&'a Node>, shape| {
        lists.extend(node.map(|node| List { key, node, shape }));
    };
    // Claude Code keeps what is for one project and one user in the user's file.
    for folder in folder.ancestors() {
        let project = folder
            .to_str()
            .and_then(|folder| root.get("projects")?.get(folder));
        let servers = project.and_then(|project| project.get("mcpServers"));
        add("projects.….mcpServers", servers, Shape::McpServers);
    }
    add("mcpServers", root.get("mcpServers"), Shape::McpServers);
    add("servers", root.get("servers"), Shape::VsCode);
    match root.get("mcp") {
        Some(mcp) if is_of_vscode(mcp) => add("mcp.servers", mcp.get("servers"), Shape::VsCode),
        mcp => add("mcp", mcp, Shape::Opencode),
    }
    add("context_servers", root.get("context_servers"), Shape::Zed);
    lists
}

/// Whether `mcp` is VS Code's, which has `servers` in it, and not opencode's, which is a list
/// and may have a server called `servers`.
fn is_of_vscode(mcp: &Node) -> bool {
    let servers = mcp.get("servers");
    let Some(members) = servers.and_then(Node::members) else {
        return false;
    };
    members.iter().all(|(_, node)| node.members().is_some())
        && !["type", "command", "url"]
            .iter()
            .any(|field| members.iter().any(|(key, _)| key == field))
}

const ROOT: u32 = 0;

const EXAMPLE: &str = r#"write {"mcpServers": {"NAME": {"command": "…", "args": […]}}}"#;

#[cfg(test)]
mod tests;
