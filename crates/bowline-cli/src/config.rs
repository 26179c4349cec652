//! Configuration: the servers in the configuration files of common MCP clients.
//!
//! - [`locations`]: the files to search, in order.
//! - [`file`]: reads a file, and finds its lists of servers. [`jsonc`] is the parser.
//! - [`entry`]: reads one server of a list, in the format of any client. Nothing is resolved
//!   there.
//! - [`resolve`]: resolves the [`variables`] of a server, with `env_file` for variables in a file.
//! - [`problem`]: an error with its position.
//!
//! A [`Catalogue`] has all servers by name, and which of them shadow others. A file of a project
//! is untrusted: nothing is started without the name of the server on the command line.

pub(crate) mod entry;
mod env_file;
pub(crate) mod file;
mod jsonc;
pub(crate) mod locations;
pub(crate) mod problem;
pub(crate) mod resolve;
pub(crate) mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::config::entry::Entry;
use crate::config::file::ConfigFile;
use crate::config::locations::{Location, Origin, locations};
use crate::config::problem::Problem;
use crate::environment::Environment;
use crate::target::DEMO;

/// All configured servers.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// The files that exist, in order of precedence.
    pub(crate) files: Vec<ConfigFile>,
}

/// A configured server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfiguredServer<'a> {
    /// The server.
    pub(crate) entry: &'a Entry,
    /// The location of its file.
    pub(crate) location: &'a Location,
    /// The server that has the name instead, if there is one.
    pub(crate) shadowed_by: Option<NameOwner<'a>>,
}

/// The server that has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameOwner<'a> {
    /// The built-in demo.
    Demo,
    /// A configured server of higher precedence.
    Entry(&'a Entry),
}

impl Catalogue {
    /// Reads the files in `named`, or all known files if there are none.
    ///
    /// # Errors
    ///
    /// If a named file is invalid or can't be read. Other invalid files are skipped: see
    /// [`problems`](Self::problems).
    pub(crate) fn load(named: &[PathBuf], environment: &Environment) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        for location in locations(named, environment) {
            // Several paths may lead to the same file, which counts once.
            let path = location
                .path
                .canonicalize()
                .unwrap_or_else(|_| location.path.clone());
            if !seen.insert(path) {
                continue;
            }
            let Some(file) = ConfigFile::read(location, environment) else {
                continue;
            };
            match &file.entries {
                Err(problem) if file.location.origin == Origin::Named => {
                    return Err(problem.clone().into_error());
                }
                Ok(_) | Err(_) => files.push(file),
            }
        }
        Ok(Self { files })
    }

    /// Returns all servers, in order of precedence.
    pub(crate) fn servers(&self) -> Vec<ConfiguredServer<'_>> {
        let mut owners: BTreeMap<&str, NameOwner<'_>> = [(DEMO, NameOwner::Demo)].into();
        let mut servers = Vec::new();
        for file in &self.files {
            for entry in file.entries.iter().flatten() {
                servers.push(ConfiguredServer {
                    entry,
                    location: &file.location,
                    shadowed_by: owners.get(entry.name.as_str()).copied(),
                });
                owners.entry(&entry.name).or_insert(NameOwner::Entry(entry));
            }
        }
        servers
    }

    /// Returns the server that has the name.
    pub(crate) fn find(&self, name: &str) -> Option<ConfiguredServer<'_>> {
        let mut servers = self.servers().into_iter();
        servers.find(|server| server.entry.name == name && server.shadowed_by.is_none())
    }

    /// Returns the user's own server of the name, if `found` belongs to a project and differs from
    /// it. The user may mean either of them, and the project may be untrusted.
    pub(crate) fn conflicting_user_entry(&self, found: &ConfiguredServer<'_>) -> Option<&Entry> {
        if found.location.origin != Origin::Project {
            return None;
        }
        let user_files = self.files.iter();
        let user_files = user_files.filter(|file| file.location.origin == Origin::User);
        let mut entries = user_files.flat_map(|file| file.entries.iter().flatten());
        let own = entries.find(|entry| entry.name == found.entry.name)?;
        (!own.is_same_server(found.entry)).then_some(own)
    }

    /// Returns the problems of files that were not named.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.files
            .iter()
            .filter_map(|file| file.entries.as_ref().err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn environment(scratch: &Scratch) -> Environment {
        Environment {
            folder: scratch.path().join("project"),
            variables: [("HOME".into(), scratch.path().join("home").into())].into(),
        }
    }

    fn list(names: &[&str]) -> String {
        let servers = names
            .iter()
            .map(|name| format!(r#""{name}": {{"command": "x"}}"#));
        let servers: Vec<_> = servers.collect();
        format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(","))
    }

    #[test]
    fn the_first_server_of_a_name_shadows_the_others() {
        let scratch = Scratch::new();
        scratch.write("project/.git/HEAD", "");
        scratch.write("project/.mcp.json", list(&["a", "b", "demo"]));
        scratch.write("project/.cursor/mcp.json", list(&["b", "c"]));
        scratch.write("home/.claude.json", list(&["c", "b"]));
        let here = environment(&scratch);
        let catalogue = Catalogue::load(&[], &here).unwrap();
        let servers = catalogue.servers();
        let servers = servers.iter().map(|found| {
            let by = match found.shadowed_by {
                None => "-",
                Some(NameOwner::Demo) => "demo",
                Some(NameOwner::Entry(entry)) => &entry.source.shown,
            };
            (
                found.entry.name.as_str(),
                found.entry.source.shown.as_str(),
                by,
            )
        });
        assert_eq!(
            servers.collect::<Vec<_>>(),
            [
                ("a", ".mcp.json", "-"),
                ("b", ".mcp.json", "-"),
                ("demo", ".mcp.json", "demo"),
                ("b", ".cursor/mcp.json", ".mcp.json"),
                ("c", ".cursor/mcp.json", "-"),
                ("c", "~/.claude.json", ".cursor/mcp.json"),
                ("b", "~/.claude.json", ".mcp.json"),
            ]
        );
        assert_eq!(
            catalogue.find("c").unwrap().entry.source.shown,
            ".cursor/mcp.json"
        );
        assert!(catalogue.find("demo").is_none());
        assert!(catalogue.find("d").is_none());
    }

    #[test]
    fn a_different_user_server_of_the_same_name_conflicts() {
        let server = |fields: &str| format!(r#"{{"mcpServers": {{"a": {{{fields}}}}}}}"#);
        let url = r#""url": "https://example.com/mcp", "headers": {"A": "b"}"#;
        let usual = r#""command": "x", "args": ["y"], "env": {"A": "b", "C": "d"}"#;
        for (project, user, is_conflict) in [
            (usual, usual, false),
            // The same in another order, with a field that doesn't affect what is started.
            (
                usual,
                r#""timeout": 5, "env": {"C": "d", "A": "b"}, "args": ["y"], "command": "x""#,
                false,
            ),
            (url, url, false),
            (usual, url, true),
            (url, usual, true),
            (url, r#""url": "https://example.com/mcp""#, true),
            (url, &url.replace("/mcp", "/"), true),
            (url, &format!(r#"{url}, "type": "sse""#), true),
            (usual, &usual.replace('x', "z"), true),
            (usual, &usual.replace('y', "z"), true),
            (usual, &usual.replace('d', "z"), true),
            (usual, &format!(r#"{usual}, "cwd": "/""#), true),
            (usual, &format!(r#"{usual}, "envFile": "z""#), true),
            (usual, r#""command": 5"#, true),
            (r#""command": 5"#, usual, true),
        ] {
            let scratch = Scratch::new();
            scratch.write("project/.git/HEAD", "");
            let named = scratch.write("project/.mcp.json", server(project));
            scratch.write("home/.cursor/mcp.json", server(user));
            // Only the first of the user's servers counts.
            scratch.write("home/.claude.json", server(r#""command": "third""#));
            let here = environment(&scratch);
            let catalogue = Catalogue::load(&[], &here).unwrap();
            let conflict = catalogue.conflicting_user_entry(&catalogue.find("a").unwrap());
            let conflict = conflict.map(|conflict| conflict.source.shown.as_str());
            let expected = is_conflict.then_some("~/.cursor/mcp.json");
            assert_eq!(conflict, expected, "{project} and {user}");
            let catalogue = Catalogue::load(&[named], &here).unwrap();
            let conflict = catalogue.conflicting_user_entry(&catalogue.find("a").unwrap());
            assert!(conflict.is_none(), "{project} was named");
        }
    }

    #[test]
    fn an_invalid_file_is_an_error_only_if_named() {
        let scratch = Scratch::new();
        scratch.write("project/.git/HEAD", "");
        let invalid = scratch.write("project/.mcp.json", "{");
        scratch.write("project/mcp.json", list(&["a"]));
        let here = environment(&scratch);
        let catalogue = Catalogue::load(&[], &here).unwrap();
        assert!(catalogue.find("a").is_some());
        let problems: Vec<_> = catalogue.problems().map(ToString::to_string).collect();
        let message = ".mcp.json:1:2: expected a name in double quotes, found the end of the file";
        assert_eq!(problems, [message]);
        let error = Catalogue::load(&[invalid], &here).unwrap_err();
        assert_eq!(format!("{error:#}"), message);
    }

    #[test]
    fn named_files_replace_the_known_ones_in_their_order() {
        let scratch = Scratch::new();
        scratch.write("project/.mcp.json", list(&["a"]));
        let first = scratch.write("first.json", list(&["b"]));
        let second = scratch.write("second.json", list(&["b", "c"]));
        let here = environment(&scratch);
        let catalogue = Catalogue::load(&[first.clone(), second, first], &here).unwrap();
        assert_eq!(catalogue.files.len(), 2);
        assert!(catalogue.find("a").is_none());
        let location = catalogue.find("b").unwrap().location;
        assert!(location.path.ends_with("first.json"));
    }
}
