//! Each requirement and fault id that a test cites is defined in the documents.
//!
//! A citation is a comment with [`MARK`] and ids separated by commas. All text files of the
//! repository are searched, so a transcript may cite as well as a Rust test. Ids are defined by
//! the first cell of a table row in the [`DOCUMENTS`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_cited_id_is_defined() {
    let root = root();
    let defined = definitions(&root);
    let files = files(&root);
    // A search that misses this file would miss citations too.
    assert!(
        files
            .iter()
            .any(|file| file.ends_with("tests/it/cited_ids.rs"))
    );

    let mut unknown = Vec::new();
    for file in files {
        // Corpus files may hold any bytes. A file that isn't text cites nothing.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let name = file.strip_prefix(&root).unwrap_or(&file).display();
        for (line, id) in citations(&text) {
            if !defined.contains(id) {
                unknown.push(format!("{name}:{line}: `{id}`"));
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "cited, but defined in none of {DOCUMENTS:?}:\n{}",
        unknown.join("\n")
    );
}

/// The documents that define ids. Each row of the last two must be proven or pending.
const DOCUMENTS: &[&str] = &[
    "docs/requirements.md",
    "docs/faults.md",
    "docs/http.md",
    "docs/security.md",
];

/// Rows of docs/security.md that only the author of a server can fulfil. No test of ours can prove
/// one, so none may claim it.
const AUTHORS: &[&str] = &[
    "SE-24", "SE-60", "SE-80", "SE-81", "SE-85", "SE-86", "SE-107",
];

/// Rows that are not proven yet, and what they depend on.
const PENDING: &[(&str, &str)] = &[
    ("F-TO-09", "the HTTP client"),
    ("F-HT-01", "the HTTP client"),
    ("F-HT-02", "the HTTP client"),
    ("F-HT-04", "the HTTP client"),
    ("F-HT-05", "the HTTP client"),
    ("F-HT-07", "the HTTP client"),
    ("F-HT-08", "the HTTP client"),
    ("F-SS-06", "the HTTP client"),
    ("F-SS-09", "the HTTP client"),
    ("F-SS-10", "the HTTP client"),
    ("F-SE-01", "the HTTP client"),
    ("F-SE-02", "the HTTP client"),
    ("F-SE-04", "the HTTP client"),
    ("F-SE-05", "the HTTP client"),
    ("F-CP-16", "Windows, which is not tested"),
    ("F-SD-05", "the HTTP client"),
    (
        "F-CK-02",
        "a clock that runs while the machine sleeps; a keepalive notices it",
    ),
    ("F-CK-04", "authorization: tokens that expire"),
];

/// The sections of docs/faults.md whose rows must be proven or pending. `true` if the rows with
/// I/O are included.
const SECTIONS: &[(&str, bool)] = &[
    ("Framing", true),
    ("JSON-RPC", true),
    ("Lifecycle", true),
    ("Timeouts", true),
    ("Cancellation", true),
    ("Backpressure", true),
    ("Child processes", true),
    ("HTTP", true),
    ("SSE", true),
    ("Sessions", true),
    ("Server handlers", true),
    ("Shutdown", true),
    ("Clock", true),
];

#[test]
fn each_row_is_proven_or_listed_as_pending() {
    let root = root();
    let mut cited = BTreeSet::new();
    // What a fault of sockets or processes does is not shown by a test without them.
    let mut cited_with_io = BTreeSet::new();
    let without_io = ["bowline-proto", "bowline-sim"].map(|name| root.join("crates").join(name));
    for file in files(&root) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let ids = citations(&text).into_iter().map(|(_, id)| id.to_owned());
        if without_io.iter().any(|folder| file.starts_with(folder)) {
            cited.extend(ids);
        } else {
            cited_with_io.extend(ids);
        }
    }
    cited.extend(cited_with_io.iter().cloned());
    let [faults, http, security] = ["docs/faults.md", "docs/http.md", "docs/security.md"]
        .map(|document| fs::read_to_string(root.join(document)).expect("a document"));
    let mut rows = rows(&faults);
    assert!(rows.len() > 100, "only {} rows were found", rows.len());
    let others = defined_in(&http).into_iter().chain(defined_in(&security));
    rows.extend(others.map(|id| (id, Layer::Core)));
    let mut wrong = Vec::new();
    for (row, layer) in &rows {
        let is_exempt = PENDING.iter().any(|(id, _)| id == row) || AUTHORS.contains(row);
        let proofs = match layer {
            Layer::Core => &cited,
            Layer::Io => &cited_with_io,
        };
        if proofs.contains(*row) == is_exempt {
            wrong.push(*row);
        }
    }
    assert!(
        wrong.is_empty(),
        "must be either proven (with I/O: outside of bowline-proto and bowline-sim), pending, or up to the \
         author of a server: {wrong:?}"
    );
    let exempt = PENDING.iter().map(|(id, _)| id).chain(AUTHORS);
    let unknown: Vec<_> = exempt
        .filter(|id| !rows.iter().any(|(row, _)| row == *id))
        .collect();
    assert!(unknown.is_empty(), "no such rows: {unknown:?}");
}

/// What a fault needs to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// Nothing: a test of the core proves the row.
    Core,
    /// Sockets, processes or a real clock.
    Io,
}

fn rows(document: &str) -> Vec<(&str, Layer)> {
    let mut rows = Vec::new();
    let mut section = None;
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            section = SECTIONS.iter().find(|(name, _)| heading.starts_with(name));
        }
        let mut cells = line.split('|').skip(1).map(str::trim);
        let (Some((_, has_io)), Some(id), Some(layer)) = (section, cells.next(), cells.next())
        else {
            continue;
        };
        let layer = match layer {
            "core" => Layer::Core,
            layer if *has_io && layer.starts_with("io") => Layer::Io,
            _ => continue,
        };
        if id.starts_with("F-") {
            rows.push((id, layer));
        }
    }
    rows
}

#[test]
fn citations_are_found_in_comments_only() {
    let text = format!(
        "// {MARK} CN-7, F-FR-06\n\
         \x20   let x = 1; // {MARK} CN-8\n\
         //! {MARK}CN-9\n\
         # {MARK} CN-10\r\n\
         text with {MARK} nothing\n\
         let mark = \"{MARK}\";\n"
    );
    assert_eq!(
        citations(&text),
        [
            (1, "CN-7"),
            (1, "F-FR-06"),
            (2, "CN-8"),
            (3, "CN-9"),
            (4, "CN-10")
        ]
    );
}

#[test]
fn an_invalid_id_is_reported() {
    let defined = BTreeSet::from(["CN-7".to_owned()]);
    for bad in [
        "NO-1",
        "CN-70",
        "cn-7",
        "CN-7 and more",
        "CN-7, ",
        "CN 7",
        "",
    ] {
        let text = format!("// {MARK} {bad}");
        assert!(
            citations(&text)
                .iter()
                .any(|(_, id)| !defined.contains(*id)),
            "{bad:?} was accepted"
        );
    }
}

#[test]
fn only_the_first_cell_of_a_row_defines() {
    let text = "| id | promise |\n|---|---|\n| CN-1 | see CN-2 |\n|F-FR-06|core|\n| total | CN-3 |\nCN-4 | x |\n";
    assert_eq!(defined_in(text), ["CN-1", "F-FR-06"]);
}

/// Returns the ids that the documents define.
fn definitions(root: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document))
            .expect("the document is part of the repository");
        let ids = defined_in(&text);
        assert!(!ids.is_empty(), "{document} defines no id");
        for id in ids {
            assert!(
                all.insert(id.to_owned()),
                "{document}: {id} is defined twice"
            );
        }
    }
    all
}

fn defined_in(markdown: &str) -> Vec<&str> {
    markdown
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next())
        .map(str::trim)
        .filter(|cell| is_id(cell))
        .collect()
}

/// Returns `true` for upper-case parts and a number, joined by hyphens: `CN-7`, `F-FR-06`.
fn is_id(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(area, number)| {
        let is_upper =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && area.split('-').all(is_upper)
    })
}

/// Returns line numbers and cited words. Words that aren't ids are included, so that they are
/// reported.
fn citations(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some((before, after)) = line.split_once(MARK) else {
            continue;
        };
        let before = before.trim_end();
        if ["//", "//!", "#"]
            .iter()
            .any(|comment| before.ends_with(comment))
        {
            found.extend(after.split(',').map(|id| (number, id.trim())));
        }
    }
    found
}

/// Returns all files that may cite, in a stable order.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a directory just listed can be read") {
            let entry = entry.expect("a directory entry can be read");
            let path = entry.path();
            // Symbolic links are skipped: the target is either searched itself, or not part of the
            // repository.
            let kind = entry
                .file_type()
                .expect("the type of a directory entry can be read");
            if kind.is_dir() && !is_skipped(root, &path) {
                directories.push(path);
            } else if kind.is_file() && path.extension().is_none_or(|extension| extension != "md") {
                // Not Markdown, where prose may show an example of a citation.
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns `true` for build output and history anywhere, and for the definitions and schemas at
/// the root. A module may have one of these names too.
fn is_skipped(root: &Path, directory: &Path) -> bool {
    directory.ends_with("target")
        || directory.ends_with(".git")
        || ["docs", "schema"]
            .iter()
            .any(|name| directory == root.join(name))
}

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .nth(2)
        .expect("the package is two levels below the root")
        .to_owned()
}

const MARK: &str = "proves:";
