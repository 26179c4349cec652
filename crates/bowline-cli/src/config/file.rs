//! Configuration files: finds the lists of servers, and the format of each.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;
use std::rc::Rc;

use crate::bounded_file::{ReadError, open_regular, read_file, read_text};
use crate::config::entry::{ConfigFormat, Entry};
use crate::config::jsonc::{self, Node};
use crate::config::locations::{Location, Origin};
use crate::config::problem::{Problem, Source};
use crate::environment::Environment;

/// A configuration file that exists.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The location of the file.
    pub(crate) location: Location,
    /// The servers in order of precedence, or why the file can't be used.
    pub(crate) entries: Result<Vec<Entry>, Problem>,
}

impl ConfigFile {
    /// Reads the file. Returns `None` if it doesn't exist and was not named on the command line.
    pub(crate) fn read(location: Location, environment: &Environment) -> Option<Self> {
        let shown = environment.shown(&location.path);
        let entries = match read_config_text(&location, &shown) {
            Ok(text) => parse_entries(text?, &location, &shown, environment),
            Err(problem) => Err(problem),
        };
        Some(Self { location, entries })
    }
}

/// Reads the text of the file. `None` if it doesn't exist and was not named on the command line.
fn read_config_text(location: &Location, shown: &str) -> Result<Option<String>, Problem> {
    let text = match location.origin {
        // A named file may be a pipe, such as `<(…)`.
        Origin::Named => read_file(&location.path),
        Origin::Project | Origin::User => match open_regular(&location.path) {
            Ok((file, metadata)) => {
                if location.origin == Origin::Project
                    && let Some(owner) = foreign_owner(&metadata)
                {
                    return Err(foreign_owner_problem(owner, shown));
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
            ReadError::Directory => "name a file inside the folder",
            ReadError::NotRegular => "remove it, or name it with --config",
            ReadError::TooLarge => "move the servers to a separate file",
            ReadError::NotText(_) => "save it as UTF-8",
            ReadError::Failed(_) => "check the permissions of the file",
        };
        Problem {
            is_usage_error: matches!(error, ReadError::Missing | ReadError::Directory),
            ..Problem::of_file(shown, error.to_string(), hint)
        }
    })
}

fn foreign_owner_problem(owner: u32, shown: &str) -> Problem {
    let message = format!("ignored, since the file belongs to another user (uid {owner})");
    let hint = format!("name it with --config {shown} if you trust it");
    Problem::of_file(shown, message, hint)
}

/// Returns the owner of a file, if it is neither the current user nor root. In a folder that all
/// users can write to, such as `/tmp`, another user could define a command under a familiar name.
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

fn parse_entries(
    text: String,
    location: &Location,
    shown: &str,
    environment: &Environment,
) -> Result<Vec<Entry>, Problem> {
    let source = Source::new(location.path.clone(), shown.to_owned(), text);
    let source = Rc::new(source);
    let root = jsonc::parse(source.text()).map_err(|error| {
        let hint = "fix the syntax; comments and trailing commas are allowed";
        Problem::in_file(&source, error.at, error.message, hint)
    })?;
    if root.members().is_none() {
        let message = format!("expected an object, found {}", root.value);
        return Err(Problem::in_file(&source, root.at, message, EXAMPLE));
    }
    let lists = server_lists(&root, &environment.folder);
    if lists.is_empty() && location.origin == Origin::Named {
        let message = "no list of servers (mcpServers, servers, mcp or context_servers)";
        return Err(Problem::of_file(shown, message, EXAMPLE));
    }
    let mut entries = Vec::new();
    for ServerList { key, node, format } in lists {
        let Some(members) = node.members() else {
            let message = format!("{key}: expected an object of servers, found {}", node.value);
            return Err(Problem::in_file(&source, node.at, message, EXAMPLE));
        };
        // The last of several servers with the same name counts, as in other JSON readers.
        let mut seen = BTreeSet::new();
        let mut last: Vec<_> = members
            .iter()
            .rev()
            .filter(|(name, _)| seen.insert(name))
            .collect();
        last.reverse();
        for (name, node) in last {
            entries.push(Entry::read(name, node, format, &source));
        }
    }
    Ok(entries)
}

/// A list of servers.
struct ServerList<'a> {
    key: &'static str,
    node: &'a Node,
    format: ConfigFormat,
}

/// Returns the lists of a file, in order of precedence.
fn server_lists<'a>(root: &'a Node, folder: &Path) -> Vec<ServerList<'a>> {
    let mut lists = Vec::new();
    let mut add = |key, node: Option<&'a Node>, format| {
        lists.extend(node.map(|node| ServerList { key, node, format }));
    };
    // Claude Code keeps servers of one user and one project in the user's file.
    for folder in folder.ancestors() {
        let project = folder
            .to_str()
            .and_then(|folder| root.get("projects")?.get(folder));
        let servers = project.and_then(|project| project.get("mcpServers"));
        add("projects.….mcpServers", servers, ConfigFormat::McpServers);
    }
    add(
        "mcpServers",
        root.get("mcpServers"),
        ConfigFormat::McpServers,
    );
    add("servers", root.get("servers"), ConfigFormat::VsCode);
    match root.get("mcp") {
        Some(mcp) if is_vscode_settings(mcp) => {
            add("mcp.servers", mcp.get("servers"), ConfigFormat::VsCode)
        }
        mcp => add("mcp", mcp, ConfigFormat::Opencode),
    }
    add(
        "context_servers",
        root.get("context_servers"),
        ConfigFormat::Zed,
    );
    lists
}

/// Returns `true` if `mcp` is that of VS Code, which has a member `servers`. In opencode `mcp` is
/// the list itself, and may have a server called `servers`.
fn is_vscode_settings(mcp: &Node) -> bool {
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
