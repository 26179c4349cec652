//! The programs in `examples/`, for tests that need a process.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where an example is. Cargo builds it if it has to, with the features of the whole workspace as
/// `scripts/test` does: which targets a test run builds depends on how it was started.
pub(crate) fn example(name: &str) -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--message-format=json"])
        .args(["--workspace", "--example", name])
        .args(["--manifest-path", manifest])
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{name} can't be built");
    let messages = String::from_utf8(built.stdout).expect("JSON");
    let path = messages.lines().find_map(|message| {
        let (_, path) = message.split_once(r#""executable":""#)?;
        path.split('"').next()
    });
    path.expect("it is a program").into()
}
