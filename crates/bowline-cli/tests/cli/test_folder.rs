//! A folder for each test that connects to a server: its home, its project, and where files are
//! saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::demo::without_numbers;
use crate::run::{command, compare, text, transcript};

pub(crate) struct TestFolder {
    pub(crate) folder: PathBuf,
}

impl TestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // What a run before this one left.
        let _ = fs::remove_dir_all(&folder);
        // A project ends here, and so does the search for configurations.
        fs::create_dir_all(folder.join(".git")).unwrap();
        Self { folder }
    }

    /// Returns `bowline` in this folder, with nothing to read.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        for name in ["XDG_CONFIG_HOME", "NO_COLOR", "TERM", "COLUMNS"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs `bowline`, and compares its output with a snapshot. Times and folders, which differ
    /// from run to run, are left out.
    pub(crate) fn check(&self, name: &str, args: &[&str]) {
        self.compare(name, args, &self.run(args));
    }

    pub(crate) fn compare(&self, name: &str, args: &[&str], output: &Output) {
        let found = transcript(args, output);
        let lines: Vec<_> = found.lines().map(without_numbers).collect();
        let found = lines.join("\n") + "\n";
        let found = found.replace(self.folder.to_str().unwrap(), "[folder]");
        compare(name, &found.replace(peers().to_str().unwrap(), "[peers]"));
    }

    /// The names of the files here, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != ".git").collect();
        names.sort();
        names
    }
}

/// Where scripts are that play servers.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/peers")
}

/// The end of a command line for a server that is one of the scripts.
pub(crate) fn peer(name: &str) -> [String; 5] {
    let script = peers().join(name).to_str().unwrap().to_owned();
    ["--revision", "2025-06-18", "--", "sh", &script].map(str::to_owned)
}

/// Nothing that a terminal obeys is in any output.
fn assert_harmless(output: &Output) {
    // Lines of contents end as they did.
    let stdout = text(&output.stdout).replace("\r\n", "\n");
    for out in [&*stdout, text(&output.stderr)] {
        let is_harmful = |character: char| {
            (character.is_control() && character != '\n' && character != '\t')
                || character == '\u{202e}'
        };
        assert!(!out.contains(is_harmful), "{out:?}");
    }
}

/// Runs a command against a server whose every text is hostile, in words and as JSON.
pub(crate) fn check_hostile(test: &TestFolder, names: [&str; 2], args: &[&str]) {
    let peer = peer("hostile.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, format) in names.into_iter().zip([&[][..], &["--json"]]) {
        let args = [args, format, &peer].concat();
        let output = test.run(&args);
        assert_harmless(&output);
        test.compare(name, &args, &output);
    }
}
