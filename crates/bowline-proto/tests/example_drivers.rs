//! The example drivers run a call in both eras, over real pipes.

use std::process::Command;

#[test]
fn a_blocking_driver_over_pipes() {
    // Through cargo, since a test run doesn't always build examples as programs.
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "pipes"])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        printed,
        "handshake: echo was called in 2025-11-25\nstateless: echo was called in 2026-07-28\n"
    );
}
