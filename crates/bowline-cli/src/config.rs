//! Configurations: which servers there are, from the files of the common clients.
//!
//! [`locations`] says where to look, [`file`] reads a file ([`jsonc`]) and finds its lists of
//! servers, [`entry`] reads one server, [`resolve`] fills in its [`variables`]. A
//! [`Catalogue`] is all of it: the servers by name, and who shadows whom.

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
use crate::surroundings::Surroundings;
use crate::target::DEMO;

/// All servers that were found.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// The files that are there, in the order in which they win.
    pub(crate) files: Vec<ConfigFile>,
}

/// A server that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfiguredServer<'a> {
    /// The server.
    pub(crate) entry: &'a Entry,
    /// Where it was found.
    pub(crate) location: &'a Location,
    /// Who has the name instead of it.
    pub(crate) shadowed_by: Option<NameOwner<'a>>,
}

/// Who has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameOwner<'a> {
    /// The demo, which is built in.
    Demo,
    /// A server that was found earlier.
    Entry(&'a Entry),
}

impl Catalogue {
    /// Reads the files that were named, or without any those that are known.
    ///
    /// # Errors
    ///
    /// A file that was named can't be used. Those that weren't named are no reason to stop:
    /// see [`broken`](Self::broken).
    pub(crate) fn load(named: &[PathBuf], surroundings: &Surroundings) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        for location in locations(named, surroundings) {
            // The same file may be reached by several paths, and counts once.
            let path = location
                .path
                .canonicalize()
                .unwrap_or_else(|_| location.path.clone());
            if !seen.insert(path) {
                continue;
            }
            let Some(file) = ConfigFile::read(location, surroundings) else {
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

    /// All servers, in the order in which they win.
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

    /// The server that has the name, if one has.
    pub(crate) fn find(&self, name: &str) -> Option<ConfiguredServer<'_>> {
        let mut servers = self.servers().into_iter();
        servers.find(|server| server.entry.name == name && server.shadowed_by.is_none())
    }

    /// The user's own server of the name, if `found` is a project's and another one. Whoever
    /// types the name may mean either, and a project may be anybody's.
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

    /// What is wrong with files that nobody named.
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

    fn surroundings(scratch: &Scratch) -> Surroundings {
        Surroundings {
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
        let here = surroundings(&scratch);
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
            // The same in another order, and with what doesn't say what is started.
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
            // Of the user's own only the first counts.
            scratch.write("home/.claude.json", server(r#""command": "third""#));
            let here = surroundings(&scratch);
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
        let here = surroundings(&scratch);
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
        let here = surroundings(&scratch);
        let catalogue = Catalogue::load(&[first.clone(), second, first], &here).unwrap();
        assert_eq!(catalogue.files.len(), 2);
        assert!(catalogue.find("a").is_none());
        let location = catalogue.find("b").unwrap().location;
        assert!(location.path.ends_with("first.json"));
    }
}
