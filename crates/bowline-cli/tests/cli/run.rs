//! Runs the real binary, and compares its output with snapshots.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::{env, fs, thread};

/// Runs `bowline` with `stdin` as its input, in the package's directory.
pub(crate) fn run<A: AsRef<OsStr>>(args: &[A], stdin: &[u8]) -> Output {
    let mut child = spawn(args);
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // On a thread of its own: output and input may both be larger than a pipe.
    let writer = thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().unwrap();
    // A run that doesn't read its input closes the pipe, and that is fine.
    let _ = writer.join().unwrap();
    output
}

/// Starts `bowline` with pipes on all sides.
pub(crate) fn spawn<A: AsRef<OsStr>>(args: &[A]) -> Child {
    command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// `bowline`, not started yet.
pub(crate) fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
    command.args(args).current_dir(package());
    command
}

/// Runs `bowline` and compares stdout, stderr and exit code with the snapshot `name`.
///
/// With `BOWLINE_UPDATE_SNAPSHOTS` in the environment the snapshot is written instead.
pub(crate) fn check(name: &str, args: &[&str], stdin: &[u8]) {
    compare(name, &transcript(args, &run(args, stdin)));
}

/// Formats the command line and its output.
pub(crate) fn transcript(args: &[&str], output: &Output) -> String {
    format!(
        "$ {}\nexit code {}\n---- stdout\n{}---- stderr\n{}",
        [&["bowline"], args].concat().join(" "),
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Compares a transcript with the snapshot `name`, as [`check`] does.
pub(crate) fn compare(name: &str, found: &str) {
    let path = snapshots().join(name).with_extension("txt");
    if env::var_os("BOWLINE_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is not what it was; set BOWLINE_UPDATE_SNAPSHOTS=1 if that is right\n\
         ==== expected\n{expected}==== found\n{found}"
    );
}

/// Where snapshots are kept.
pub(crate) fn snapshots() -> PathBuf {
    package().join("tests/cli/snapshots")
}

/// Output as text; it is always UTF-8.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn no_snapshot_is_left_over() {
    let mut source = String::new();
    for entry in fs::read_dir(package().join("tests/cli")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some(OsStr::new("rs")) {
            source.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    for entry in fs::read_dir(snapshots()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            source.contains(&format!("\"{name}\"")),
            "no test makes {name}"
        );
    }
}
