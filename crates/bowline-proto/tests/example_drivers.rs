//! The example drivers run a call in both eras, over real pipes.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn a_blocking_driver_over_pipes() {
    let output = Command::new(example("pipes"))
        .output()
        .expect("the example runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        printed,
        "handshake: echo was called in 2025-11-25\nstateless: echo was called in 2026-07-28\n"
    );
}

/// Cargo builds examples beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>");
    profile.join("examples").join(name)
}
