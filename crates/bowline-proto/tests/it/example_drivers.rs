//! The example drivers run a call in both eras, over real pipes and a real socket.

use std::process::Command;

#[test]
fn a_blocking_driver_over_pipes() {
    assert_eq!(printed_by("pipes"), BOTH_ERAS);
}

#[test]
fn a_driver_over_plain_hyper() {
    assert_eq!(printed_by("http"), BOTH_ERAS);
}

/// A driver that needs more is not small.
#[test]
fn both_are_small() {
    for example in ["pipes", "http"] {
        let path = format!("{}/examples/{example}.rs", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).expect("the source");
        assert!(source.lines().count() < 150, "{example}");
    }
}

const BOTH_ERAS: &str =
    "handshake: echo was called in 2025-11-25\nstateless: echo was called in 2026-07-28\n";

/// Runs an example through cargo, since a test run doesn't always build examples as programs.
fn printed_by(example: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", example])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
