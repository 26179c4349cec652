//! Where configurations are looked for, and in which order.
//!
//! The first file that has a server of a name wins: what is nearer to the work in hand comes
//! before what is further away, and the project before the user.

use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;

/// A file that may have servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The file.
    pub(crate) path: PathBuf,
    /// Why it is looked at.
    pub(crate) origin: Origin,
    /// The folder of its project, or the current one when it has none. Servers refer to it.
    pub(crate) folder: PathBuf,
}

/// Why a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was named on the command line.
    Named,
    /// It belongs to the project that we are in.
    Project,
    /// It belongs to the user.
    User,
}

/// The files that were named, or without any those that are known.
pub(crate) fn locations(named: &[PathBuf], surroundings: &Surroundings) -> Vec<Location> {
    let user_files = user_files(surroundings);
    if !named.is_empty() {
        let named = named.iter().map(|path| {
            let path = surroundings.folder.join(path);
            let is_user_file = user_files.contains(&path);
            let project = project_of(&path).filter(|_| !is_user_file);
            Location {
                folder: project.unwrap_or(&surroundings.folder).to_owned(),
                path,
                origin: Origin::Named,
            }
        });
        return named.collect();
    }
    let mut locations = Vec::new();
    for folder in project_folders(&surroundings.folder) {
        let paths = PROJECT_FILES.iter().map(|file| folder.join(file));
        // In the home both lists have some files; there they are the user's.
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
        folder: surroundings.folder.clone(),
    }));
    locations
}

/// The current folder and those above it, up to the root of the repository.
fn project_folders(current: &Path) -> impl Iterator<Item = &Path> {
    let mut is_done = false;
    current.ancestors().take_while(move |folder| {
        // A work tree has a file in location of the folder.
        !std::mem::replace(&mut is_done, folder.join(".git").exists())
    })
}

/// The project of a file, if it is where projects have theirs.
fn project_of(path: &Path) -> Option<&Path> {
    let file = PROJECT_FILES.iter().find(|file| path.ends_with(file))?;
    path.ancestors().nth(Path::new(file).components().count())
}

/// The user's files, in order.
fn user_files(surroundings: &Surroundings) -> Vec<PathBuf> {
    let settings = surroundings.settings_folder();
    let home = surroundings.home();
    let files = USER_FILES.iter().filter_map(|(base, file)| {
        let base = match base {
            Base::Home => home?,
            Base::Settings => settings.as_deref()?,
        };
        Some(base.join(file))
    });
    files.collect()
}

/// What a path of [`USER_FILES`] begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Home,
    Settings,
}

/// Where projects have their configurations, in order.
const PROJECT_FILES: &[&str] = &[
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".zed/settings.json",
    "opencode.json",
    "opencode.jsonc",
    "mcp.json",
];

/// Where users have theirs, in order.
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

/// Where users have theirs, in order.
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

/// The order as the help tells it.
#[cfg(not(target_os = "macos"))]
pub(crate) const HELP: &str =
    "  In the current folder and each one above it, up to the root of the repository:
    .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .zed/settings.json,
    opencode.json, opencode.jsonc, mcp.json
  Then the user's, with $XDG_CONFIG_HOME for ~/.config where it is set:
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

/// The order as the help tells it.
#[cfg(target_os = "macos")]
pub(crate) const HELP: &str =
    "  In the current folder and each one above it, up to the root of the repository:
    .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .zed/settings.json,
    opencode.json, opencode.jsonc, mcp.json
  Then the user's, with $XDG_CONFIG_HOME for ~/.config where it is set:
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

    fn at(folder: &Path, home: &Path) -> Surroundings {
        Surroundings {
            folder: folder.to_owned(),
            variables: [("HOME".into(), home.into())].into(),
        }
    }

    #[test]
    fn project_files_come_before_user_files_nearest_first() {
        let scratch = Scratch::new();
        let inner = scratch.path().join("repository/inner");
        fs::create_dir_all(&inner).unwrap();
        // A work tree's.
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
        let environment = Surroundings {
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
