//! The files and functions that `ARCHITECTURE.md` names exist, and its lines are short.
//!
//! A path in the text has one of the prefixes of [`PREFIXES`], or none for the crate `bowline`;
//! `file.rs::name` is a function. The first cell of a row of the code map has paths in the crate
//! of the heading above it.

use std::fs;
use std::path::{Path, PathBuf};

const MAX_COLUMNS: usize = 140;

const PREFIXES: &[(&str, &str)] = &[
    ("proto/", "crates/bowline-proto/src"),
    ("types/", "crates/bowline-types/src"),
    ("cli/", "crates/bowline-cli/src"),
    ("", "crates/bowline/src"),
];

#[test]
fn no_line_is_too_long() {
    for (line, number) in document().lines().zip(1..) {
        let columns = line.chars().count();
        assert!(
            columns <= MAX_COLUMNS,
            "line {number} has {columns} columns"
        );
    }
}

#[test]
fn every_function_that_is_named_exists() {
    let text = document();
    let walks = section(&text, "## Where each decision is made", "## Invariants");
    let mut problems = Vec::new();
    let mut count = 0;
    for span in spans(walks) {
        let (path, function) = match span.split_once("::") {
            Some((path, function)) => (path, Some(function)),
            None => (span, None),
        };
        if !path.ends_with(".rs") || path.contains('<') {
            continue;
        }
        count += 1;
        match (fs::read_to_string(source(path)), function) {
            (Err(_), _) => problems.push(format!("no file {path}")),
            (Ok(_), None) => {}
            (Ok(code), Some(function)) => {
                let declared = [format!("fn {function}("), format!("fn {function}<")];
                if !declared.iter().any(|declared| code.contains(declared)) {
                    problems.push(format!("no function {function} in {path}"));
                }
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn every_folder_of_the_map_exists() {
    let text = document();
    let map = section(&text, "## Code map", "## Where each decision is made");
    let mut folder = root();
    let mut problems = Vec::new();
    for line in map.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let name = spans(heading).into_iter().next().unwrap_or_default();
            folder = if name.ends_with('/') {
                root()
            } else {
                root().join("crates").join(name)
            };
        }
        let cell = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next());
        for path in spans(cell.unwrap_or_default()) {
            let exists = |base: &Path| base.join(path).exists();
            if !(exists(&folder) || exists(&folder.join("src"))) {
                problems.push(path);
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Returns the file of a path in the text.
fn source(path: &str) -> PathBuf {
    let found = PREFIXES
        .iter()
        .find_map(|(prefix, folder)| Some(root().join(folder).join(path.strip_prefix(prefix)?)));
    found.expect("the last prefix is empty")
}

/// Returns the texts between backticks.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn section<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).expect("the section begins");
    let (section, _) = rest.split_once(to).expect("the section ends");
    section
}

fn document() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the document")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
