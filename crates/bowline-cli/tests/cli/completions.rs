//! Scripts that let shells complete the command line.

use std::process::{Command, Stdio};

use crate::run::{check, run, spawn, text};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// The names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = run(&["--help"], b"").stdout;
    let lines = text(&help).lines().map(str::to_owned);
    let list = lines.skip_while(|line| line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty());
    let names: Vec<_> = list
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(names.len() > 14, "{names:?}");
    names
}

#[test]
fn every_shell_has_a_script_that_names_every_command() {
    let options = ["accept-defaults", "revision", "json", "color"].map(str::to_owned);
    let words = [commands(), options.to_vec()].concat();
    for shell in SHELLS {
        let output = run(&["completions", shell], b"");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr), "");
        let script = text(&output.stdout);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let found: Vec<_> = script.split(|c| !is_part(c)).collect();
        for word in &words {
            let is_named = found
                .iter()
                .any(|option| option.trim_start_matches('-') == word);
            assert!(is_named, "{shell}: {word}");
        }
    }
}

#[test]
fn a_shell_can_read_its_script() {
    for (shell, args) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["-n"])] {
        let script = run(&["completions", shell], b"").stdout;
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("_{shell}"));
        std::fs::write(&path, script).unwrap();
        let mut command = Command::new(shell);
        command.args(args).arg(&path).stdin(Stdio::null());
        // Skipped if the shell is not installed.
        if let Ok(output) = command.output() {
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn shells_that_are_not_known_and_help() {
    check("completions_help", &["completions", "--help"], b"");
    check("completions_unknown", &["completions", "dos"], b"");
    check("completions_no_shell", &["completions"], b"");
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = spawn(&["completions", "zsh"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
