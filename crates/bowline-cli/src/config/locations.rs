//! The locations of configuration files, in order of precedence.
//!
//! The first file with a server of the name wins: near folders come before far ones, and the
//! project before the user.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The location of a configuration file, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// Why the file is searched.
    pub(crate) origin: Origin,
    /// The folder of its project, or the current folder if it has none. Relative paths of servers
    /// start here.
    pub(crate) folder: PathBuf,
}

/// Why a file is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file is named on the command line.
    Named,
    /// The file belongs to the current project.
    Project,
    /// The file belongs to the user.
    User,
}

/// Returns the locations in `named`, or all known locations if there are none.
pub(crate) fn locations(named: &[PathBuf], environment: &Environment) -> Vec<Location> {
    let user_files = user_files(environment);
    if !named.is_empty() {
        let named = named.iter().map(|path| {
            let path = environment.folder.join(path);
            let is_user_file = user_files.contains(&path);
            let project = project_of(&path).filter(|_| !is_user_file);
            Location {
                folder: project.unwrap_or(&environment.folder).to_owned(),
                path,
                origin: Origin::Named,
            }
        });
        return named.collect();
    }
    let mut locations = Vec::new();
    for folder in project_folders(&environment.folder) {
        let paths = PROJECT_FILES.iter().map(|file| folder.join(file));
        // Some files of the home folder are in both lists. They belong to the user.
        let paths = paths.filter(|path| !user_files.contains(path));
        locations.extend(paths.map(|path| Location {
            path,
            origin: Origin::Project,
            folder: folder.to_owned(),
        }));
    }
    locations.extend(user_files.into_iter().map(|path| Location {
        path,
        origin: Origin::User,
        folder: environment.folder.clone(),
    }));
    locations
}

/// Returns the current folder and those above it, up to the root of the repository.
fn project_folders(current: &Path) -> impl Iterator<Item = &Path> {
    let mut is_done = false;
    current.ancestors().take_while(move |folder| {
        // In a git worktree `.git` is a file.
        !std::mem::replace(&mut is_done, folder.join(".git").exists())
    })
}

/// Returns the folder of the project of a file, if it is at a known location of a project.
fn project_of(path: &Path) -> Option<&Path> {
    let file = PROJECT_FILES.iter().find(|file| path.ends_with(file))?;
    path.ancestors().nth(Path::new(file).components().count())
}

/// Returns the user's files, in order.
fn user_files(environment: &Environment) -> Vec<PathBuf> {
    let settings = environment.settings_folder();
    let home = environment.home();
    let files = USER_FILES.iter().filter_map(|(base, file)| {
        let base = match base {
            Base::Home => home?,
            Base::Settings => settings.as_deref()?,
        };
        Some(base.join(file))
    });
    files.collect()
}

/// The base of a path in [`USER_FILES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Home,
    Settings,
}

/// The configuration files of projects, in order.
const PROJECT_FILES: &[&str] = &[
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".zed/settings.json",
    "opencode.json",
    "opencode.jsonc",
    "mcp.json",
];

/// The configuration files of users, in order.
#[cfg(not(target_os = "macos"))]
const USER_FILES: &[(Base, &str)] = &[
    (Base::Settings, "bowline/servers.json"),
    (Base::Home, ".cursor/mcp.json"),
    (Base::Home, ".claude.json"),
    (Base::Settings, "Claude/claude_desktop_config.json"),
    (Base::Home, ".codeium/windsurf/mcp_config.json"),
    (Base::Settings, "Code/User/mcp.json"),
    (Base::Settings, "Code/User/settings.json"),
    (Base::Settings, "zed/settings.json"),
    (Base::Settings, "opencode/opencode.json"),
    (Base::Settings, "opencode/opencode.jsonc"),
];

/// The configuration files of users, in order.
#[cfg(target_os = "macos")]
const USER_FILES: &[(Base, &str)] = &[
    (Base::Settings, "bowline/servers.json"),
    (Base::Home, ".cursor/mcp.json"),
    (Base::Home, ".claude.json"),
    (
        Base::Home,
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    (Base::Home, ".codeium/windsurf/mcp_config.json"),
    (Base::Home, "Library/Application Support/Code/User/mcp.json"),
    (
        Base::Home,
        "Library/Application Support/Code/User/settings.json",
    ),
    (Base::Settings, "zed/settings.json"),
    (Base::Settings, "opencode/opencode.json"),
    (Base::Settings, "opencode/opencode.jsonc"),
];

/// The locations, as listed in the help.
#[cfg(not(target_os = "macos"))]
pub(crate) const HELP: &str =
    "  In the current folder and each one above it, up to the root of the repository:
    .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .zed/settings.json,
    opencode.json, opencode.jsonc, mcp.json
  Then the user's files ($XDG_CONFIG_HOME replaces ~/.config if it is set):
    ~/.config/bowline/servers.json
    ~/.cursor/mcp.json
    ~/.claude.json
    ~/.config/Claude/claude_desktop_config.json
    ~/.codeium/windsurf/mcp_config.json
    ~/.config/Code/User/mcp.json
    ~/.config/Code/User/settings.json
    ~/.config/zed/settings.json
    ~/.config/opencode/opencode.json
    ~/.config/opencode/opencode.jsonc";

/// The locations, as listed in the help.
#[cfg(target_os = "macos")]
pub(crate) const HELP: &str =
    "  In the current folder and each one above it, up to the root of the repository:
    .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .zed/settings.json,
    opencode.json, opencode.jsonc, mcp.json
  Then the user's files ($XDG_CONFIG_HOME replaces ~/.config if it is set):
    ~/.config/bowline/servers.json
    ~/.cursor/mcp.json
    ~/.claude.json
    ~/Library/Application Support/Claude/claude_desktop_config.json
    ~/.codeium/windsurf/mcp_config.json
    ~/Library/Application Support/Code/User/mcp.json
    ~/Library/Application Support/Code/User/settings.json
    ~/.config/zed/settings.json
    ~/.config/opencode/opencode.json
    ~/.config/opencode/opencode.jsonc";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::Scratch;

    fn at(folder: &Path, home: &Path) -> Environment {
        Environment {
            folder: folder.to_owned(),
            variables: [("HOME".into(), home.into())].into(),
        }
    }

    #[test]
    fn project_files_come_before_user_files_nearest_first() {
        let scratch = Scratch::new();
        let inner = scratch.path().join("repository/inner");
        fs::create_dir_all(&inner).unwrap();
        // `.git` is a file in a worktree.
        fs::write(scratch.path().join("repository/.git"), "gitdir: x").unwrap();
        let home = scratch.path().join("home");
        let found = locations(&[], &at(&inner, &home));
        let project = PROJECT_FILES.len();
        assert_eq!(found.len(), 2 * project + USER_FILES.len());
        assert_eq!(found[0].path, inner.join(".mcp.json"));
        assert_eq!(found[0].folder, inner);
        assert_eq!(
            found[project].path,
            scratch.path().join("repository/.mcp.json")
        );
        assert_eq!(found[project].folder, scratch.path().join("repository"));
        assert_eq!(
            found[2 * project].path,
            home.join(".config/bowline/servers.json")
        );
        assert_eq!(found[2 * project].folder, inner);
        let origins: Vec<_> = found.iter().map(|location| location.origin).collect();
        assert!(
            origins[..2 * project]
                .iter()
                .all(|origin| *origin == Origin::Project)
        );
        assert!(
            origins[2 * project..]
                .iter()
                .all(|origin| *origin == Origin::User)
        );
    }

    #[test]
    fn without_a_repository_all_folders_up_to_the_root_are_searched_once() {
        let home = Path::new("/no/such/home");
        let found = locations(&[], &at(&home.join("work"), home));
        let paths: Vec<_> = found.iter().map(|location| &location.path).collect();
        assert!(paths.contains(&&PathBuf::from("/mcp.json")));
        let cursor = home.join(".cursor/mcp.json");
        let of_cursor: Vec<_> = found
            .iter()
            .filter(|location| location.path == cursor)
            .collect();
        let [location] = of_cursor.as_slice() else {
            panic!("{of_cursor:?}");
        };
        assert_eq!(location.origin, Origin::User);
        assert_eq!(location.folder, home.join("work"));
    }

    #[test]
    fn without_a_home_there_are_no_user_files() {
        let environment = Environment {
            folder: "/".into(),
            variables: [].into(),
        };
        let found = locations(&[], &environment);
        assert!(
            found
                .iter()
                .all(|location| location.origin == Origin::Project)
        );
    }

    #[test]
    fn a_named_file_is_the_only_one_and_belongs_to_its_project() {
        let here = at(Path::new("/here"), Path::new("/home/me"));
        for (named, path, folder) in [
            ("x.json", "/here/x.json", "/here"),
            ("/p/.vscode/mcp.json", "/p/.vscode/mcp.json", "/p"),
            ("p/.mcp.json", "/here/p/.mcp.json", "/here/p"),
            ("/p/x.mcp.json", "/p/x.mcp.json", "/here"),
            (
                "/home/me/.cursor/mcp.json",
                "/home/me/.cursor/mcp.json",
                "/here",
            ),
        ] {
            let location = Location {
                path: path.into(),
                origin: Origin::Named,
                folder: folder.into(),
            };
            assert_eq!(locations(&[named.into()], &here), [location]);
        }
    }

    #[test]
    fn the_help_lists_all_locations_in_order() {
        let mut rest = HELP;
        let user = USER_FILES.iter().map(|(base, file)| match base {
            Base::Home => format!("~/{file}"),
            Base::Settings => format!("~/.config/{file}"),
        });
        for file in PROJECT_FILES
            .iter()
            .map(|file| (*file).to_owned())
            .chain(user)
        {
            let Some((_, after)) = rest.split_once(&file) else {
                panic!("{file} is not in its location");
            };
            rest = after;
        }
    }
}
