//! The environment of the command: its folder and variables. Passed as an argument, so that tests
//! can have their own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The environment of the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The folder that it was started in.
    pub(crate) folder: PathBuf,
    /// Its environment variables.
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns the environment of this process.
    ///
    /// # Errors
    ///
    /// The folder does not exist any more.
    pub(crate) fn current() -> anyhow::Result<Self> {
        Ok(Self {
            folder: env::current_dir().context("cannot read the current folder")?,
            variables: env::vars_os().collect(),
        })
    }

    /// Returns a variable, if it is set.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns the folder that a variable names. The XDG specification requires that relative paths
    /// are ignored; HOME is treated the same.
    fn named_folder(&self, name: &str) -> Option<&Path> {
        self.variable(name)
            .map(Path::new)
            .filter(|path| path.is_absolute())
    }

    /// Returns the home of the user.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.named_folder("HOME")
    }

    /// Returns the folder of the settings of the user: `$XDG_CONFIG_HOME` or `~/.config`.
    pub(crate) fn settings_folder(&self) -> Option<PathBuf> {
        match self.named_folder("XDG_CONFIG_HOME") {
            Some(folder) => Some(folder.to_owned()),
            None => Some(self.home()?.join(".config")),
        }
    }

    /// Formats `path` for a reader: relative to the current folder or the home, where that is
    /// shorter.
    pub(crate) fn shown(&self, path: &Path) -> String {
        if let Ok(relative) = path.strip_prefix(&self.folder)
            && !relative.as_os_str().is_empty()
        {
            return relative.display().to_string();
        }
        let in_home = self.home().and_then(|home| path.strip_prefix(home).ok());
        match in_home {
            Some(relative) => Path::new("~").join(relative).display().to_string(),
            None => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment {
            folder: "/home/me/work".into(),
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    #[test]
    fn settings_are_in_the_xdg_folder() {
        for (variables, expected) in [
            (&[("HOME", "/home/me")][..], Some("/home/me/.config")),
            (
                &[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/x")],
                Some("/x"),
            ),
            (
                &[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "x")],
                Some("/home/me/.config"),
            ),
            (
                &[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "")],
                Some("/home/me/.config"),
            ),
            (&[("HOME", "")], None),
            (&[], None),
        ] {
            let found = environment(variables).settings_folder();
            assert_eq!(found.as_deref(), expected.map(Path::new));
        }
    }

    #[test]
    fn paths_are_shown_from_where_the_reader_is() {
        let here = environment(&[("HOME", "/home/me")]);
        for (path, expected) in [
            ("/home/me/work/.mcp.json", ".mcp.json"),
            ("/home/me/work", "~/work"),
            ("/home/me/.cursor/mcp.json", "~/.cursor/mcp.json"),
            ("/etc/x", "/etc/x"),
            ("relative/x", "relative/x"),
        ] {
            assert_eq!(here.shown(Path::new(path)), expected);
        }
    }
}
