//! Every event and span in the sources is in docs/telemetry.md, and the other way round.
//!
//! What is emitted when is a matter of other tests; this one finds what no test emits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// An event or a span as the sources have it, or the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    /// The message of an event or the name of a span, behind the name of an event of the core or
    /// the target.
    key: String,
    level: String,
    target: String,
    fields: BTreeSet<String>,
    /// Those of the fields that may be missing.
    optional: BTreeSet<String>,
    place: String,
}

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// The text of an invocation of a macro, from behind its parenthesis to the one that closes it.
fn arguments(text: &str) -> &str {
    let mut depth = 1_u32;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => {
                while let Some((_, char)) = chars.next() {
                    match char {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    panic!("a macro that isn't closed: {text:.60}");
}

/// The arguments, one by one.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.trim().is_empty() {
        let mut end = rest.len();
        let mut at = 0;
        while let Some(char) = rest[at..].chars().next() {
            let within = &rest[at + char.len_utf8()..];
            match char {
                ',' => {
                    end = at;
                    break;
                }
                '"' => at += 1 + string(within).len(),
                '(' | '[' | '{' => at += 1 + arguments(within).len(),
                _ => {}
            }
            at += char.len_utf8();
        }
        parts.push(rest[..end].trim());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    parts
}

/// A string up to its closing quote.
fn string(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|char| {
        let is_end = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    });
    &text[..end.expect("a string ends")]
}

fn literal(argument: &str) -> Option<String> {
    let text = argument.strip_prefix('"')?.strip_suffix('"')?;
    Some(text.replace("\\\"", "\"").replace("\\'", "'"))
}

/// The name of a field in `name = value`, `%name` or `name`.
fn field_of(argument: &str) -> String {
    let name = argument.split('=').next().unwrap_or_default().trim();
    name.trim_start_matches(['%', '?']).to_owned()
}

/// An invocation of the macro of this name as a row. `level` is what the name says.
fn row(name: &str, text: &str, area: &str, place: String) -> Row {
    let mut row = Row {
        level: name.trim_end_matches("_span").to_owned(),
        target: area.to_owned(),
        place,
        ..Row::default()
    };
    let mut parts = split(text);
    if name == "about_handler" {
        row.level = parts.remove(0).to_owned();
        parts.remove(0);
        let fields = parts.remove(0);
        parts.splice(0..0, split(&fields[1..fields.len() - 1]));
        for field in ["request", "method", "tool", "prompt", "resource"] {
            row.fields.insert(field.to_owned());
            row.optional.insert(field.to_owned());
        }
    }
    let mut name = None;
    for part in parts {
        if let Some(text) = literal(part) {
            assert!(row.key.is_empty(), "{row:?}: {part}");
            row.key = text;
        } else if let Some(of) = part.strip_prefix("name:") {
            name = literal(of.trim());
        } else if let Some(target) = part.strip_prefix("target:") {
            row.target = literal(target.trim()).expect("a target is a literal");
        } else if let Some(level) = part.strip_prefix("Level::") {
            row.level = level.to_lowercase();
        } else if !part.starts_with("parent:") {
            let shown = part.rsplit('=').next().unwrap_or_default().trim();
            let is_whole = shown.starts_with('?');
            assert!(!is_whole, "a payload may be in it: {row:?} {part}");
            row.fields.insert(field_of(part));
        }
    }
    assert!(!row.key.is_empty(), "an event without a message: {row:?}");
    assert!(
        !row.key.contains('{'),
        "a message can be searched for: {row:?}"
    );
    let prefix = name.as_ref().unwrap_or(&row.target);
    row.key = format!("{prefix}: {}", row.key);
    row
}

/// The sources of the crates that users have.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = ["types", "proto", "cli"]
        .map(|name| crates.join(format!("bowline-{name}/src")))
        .into();
    folders.push(crates.join("bowline/src"));
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("it is text");
                let text = text.split("#[cfg(test)]\nmod tests {").next();
                sources.push((path.clone(), text.unwrap_or_default().to_owned()));
            }
        }
    }
    sources
}

/// The target of what is in a file: `bowline::` and the first folder, or the module's own name.
fn area(path: &Path) -> String {
    let path = path.to_string_lossy();
    let (_, within) = path.rsplit_once("/src/").expect("a source");
    let first = within.split(['/', '.']).next().unwrap_or_default();
    format!("bowline::{first}")
}

/// The events or the spans of the sources.
fn found(are_spans: bool) -> Vec<Row> {
    let names = if are_spans {
        LEVELS.map(|level| format!("{level}_span")).to_vec()
    } else {
        let names = LEVELS.map(str::to_owned).into_iter();
        names
            .chain(["event", "about_handler"].map(str::to_owned))
            .collect()
    };
    let mut rows = Vec::new();
    for (path, text) in sources() {
        for name in &names {
            let start = format!("{name}!(");
            for (at, _) in text.match_indices(&start) {
                let before = text[..at].chars().next_back();
                let line = text[..at].rsplit('\n').next().unwrap_or_default();
                let is_other = before.is_some_and(|character| {
                    character.is_alphanumeric() || "_$".contains(character)
                });
                if is_other || line.trim_start().starts_with("//") {
                    continue;
                }
                let number = text[..at].lines().count();
                let place = format!("{}:{number}", path.display());
                let inner = arguments(&text[at + start.len()..]);
                rows.push(row(name, inner, &area(&path), place));
            }
        }
    }
    assert!(!rows.is_empty(), "the sources are found");
    rows
}

/// The rows of a table whose head begins with these words.
fn documented(head: &str) -> BTreeMap<String, Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    let text = fs::read_to_string(path).expect("the document");
    let lines = text.lines().skip_while(|line| !line.starts_with(head));
    let lines = lines.skip(2).take_while(|line| line.starts_with('|'));
    let plain = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let rows = lines.map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let is_core = head.starts_with("| event");
        let key = if is_core {
            format!("{}: {}", plain(cells[0]), cells[3])
        } else {
            format!("{}: {}", plain(cells[2]), cells[0].trim_matches('`'))
        };
        let fields = cells[if is_core { 4 } else { 3 }].split(", ");
        let fields = fields.filter(|field| !field.is_empty() && *field != "none");
        let optional = fields.clone().filter(|field| field.ends_with('?'));
        let name = |field: &str| plain(field.trim_end_matches('?'));
        let row = Row {
            key: key.clone(),
            level: cells[1].to_owned(),
            target: plain(cells[2]),
            optional: optional.map(name).collect(),
            fields: fields.map(name).collect(),
            place: "docs/telemetry.md".to_owned(),
        };
        (key, row)
    });
    rows.collect()
}

fn check(found: &[Row], documented: &BTreeMap<String, Row>) {
    for row in found {
        let of = documented.get(&row.key);
        let of = of.unwrap_or_else(|| panic!("not in docs/telemetry.md: {row:#?}"));
        assert_eq!(
            (&row.level, &row.target),
            (&of.level, &of.target),
            "{row:#?}"
        );
        assert!(row.fields.is_subset(&of.fields), "{row:#?}\n{of:#?}");
        let always: BTreeSet<_> = of.fields.difference(&of.optional).cloned().collect();
        assert!(row.fields.is_superset(&always), "{row:#?}\n{of:#?}");
    }
    let found: BTreeSet<_> = found.iter().map(|row| &row.key).collect();
    let documented: BTreeSet<_> = documented.keys().collect();
    assert_eq!(found, documented, "all that is documented exists");
}

// proves: TE-1
#[test]
fn every_event_has_a_message_and_is_documented() {
    let (of_core, of_library): (Vec<_>, Vec<_>) = found(false)
        .into_iter()
        .partition(|row| row.place.contains("bowline-proto/src"));
    check(&of_core, &documented("| event |"));
    check(&of_library, &documented("| message |"));
}

// proves: TE-1
#[test]
fn every_span_is_documented() {
    check(&found(true), &documented("| span |"));
}
