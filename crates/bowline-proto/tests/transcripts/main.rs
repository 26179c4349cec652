//! Transcripts: what is said on a connection, line by line, with its time.
//!
//! A transcript is a text file. Lines that begin with a time are steps:
//!
//! ```text
//! 0.000 ! open                 a command, or something that the world does
//! 0.000 > {"jsonrpc":…}        what we send
//! 0.010 < {"jsonrpc":…}        what the peer sends
//! 0.010 * ready 2025-11-25     an event
//! ```
//!
//! `!` and `<` are replayed; `>` and `*` are what follows, and must be what the file says.
//! `BOWLINE_UPDATE_TRANSCRIPTS=1 cargo test -p bowline-proto --test transcripts` writes
//! them anew. `#` begins a comment, `% name value` sets something up.

mod client;
mod server;

use std::path::{Path, PathBuf};

/// Replays every transcript below `folder` and compares.
fn replay_all(folder: &str, replay: impl Fn(&str) -> String) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of transcripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let update = std::env::var_os("BOWLINE_UPDATE_TRANSCRIPTS").is_some();
    let mut wrong = Vec::new();
    for file in &files {
        let expected = std::fs::read_to_string(file).expect("a transcript");
        let found = replay(&expected);
        if found == expected {
            continue;
        }
        if update {
            std::fs::write(file, found).expect("the transcript is written");
        } else {
            wrong.push(format!(
                "{}:\n{}",
                file.display(),
                difference(&expected, &found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    files.len()
}

/// The first lines that differ.
fn difference(expected: &str, found: &str) -> String {
    let mut lines = expected.lines().zip(found.lines()).zip(1..);
    let differing = lines.find(|((expected, found), _)| expected != found);
    match differing {
        Some(((expected, found), line)) => {
            format!("line {line}\n  expected {expected}\n  found    {found}")
        }
        None => format!(
            "expected {} lines, found {}",
            expected.lines().count(),
            found.lines().count()
        ),
    }
}

/// A line of a transcript.
enum Line<'a> {
    /// Something that is replayed, and when.
    Step { millis: u64, step: &'a str },
    /// Something that follows from the steps.
    Effect,
    /// Anything else; it stays where it is.
    Other(&'a str),
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let Some((time, rest)) = line.split_once(' ') else {
            return Self::Other(line);
        };
        let Some(millis) = millis(time) else {
            return Self::Other(line);
        };
        match rest.as_bytes().first() {
            Some(b'!' | b'<') => Self::Step { millis, step: rest },
            Some(b'>' | b'*') => Self::Effect,
            _ => panic!("not a step: {line}"),
        }
    }
}

/// `1.250` is 1250.
fn millis(time: &str) -> Option<u64> {
    let (seconds, millis) = time.split_once('.')?;
    let is_time = millis.len() == 3
        && seconds
            .bytes()
            .chain(millis.bytes())
            .all(|byte| byte.is_ascii_digit());
    if !is_time {
        return None;
    }
    Some(seconds.parse::<u64>().ok()? * 1000 + millis.parse::<u64>().ok()?)
}

fn stamp(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
