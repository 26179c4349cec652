//! Transcripts: the messages of a connection, line by line, with their times.
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
//! What goes to a stream of its own is marked `(on 7)`. `!` and `<` are replayed; `>` and
//! `*` are what follows, and must be what the file says. After each step everything is sent
//! and reported, unless the transcript holds it: `! hold messages` and `! hold events` until
//! `! let go`; `! take` sends one message meanwhile, `! hear` tells one event.
//!
//! `BOWLINE_UPDATE_TRANSCRIPTS=1 cargo test -p bowline-proto --test it transcripts` writes
//! them anew. `#` begins a comment, `% name value` sets something up. Which transcript shows
//! what is in README.md.

mod client;
mod http;
mod link;
mod server;
mod settings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_proto::{Instant, Outcome, Payload, Sent, Transmit, TransmitKind};

/// Whose transcripts there are.
const SIDES: [&str; 3] = ["client", "server", "link"];

/// README.md lists what each transcript shows.
#[test]
fn every_transcript_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let text = std::fs::read_to_string(folder.join("README.md")).expect("the table");
    let named: BTreeSet<String> = text
        .split('`')
        .filter(|word| {
            SIDES
                .iter()
                .any(|side| word.starts_with(&format!("{side}/")))
        })
        .filter(|word| *word != "server/discover")
        .map(str::to_owned)
        .collect();
    let mut found = BTreeSet::new();
    for side in SIDES {
        let names = transcripts(&folder.join(side));
        let names = names.iter().filter_map(|path| path.file_stem()?.to_str());
        found.extend(names.map(|name| format!("{side}/{name}")));
    }
    let differing: Vec<_> = named.symmetric_difference(&found).collect();
    assert!(differing.is_empty(), "named or found alone: {differing:?}");
}

/// The transcripts of a folder.
fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of transcripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

/// Replays every transcript below `folder` and compares.
fn replay_all(folder: &str, replay: impl Fn(&str) -> String) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(folder);
    let files = transcripts(&folder);
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

/// One side of a conversation, which a transcript drives.
trait Player {
    /// Performs a step.
    fn step(&mut self, script: &mut Script, step: &str);

    /// Lets time pass.
    fn handle_timeout(&mut self, now: Instant);

    fn poll_timeout(&self) -> Option<Instant>;
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// The next event, in words.
    fn poll_event(&mut self) -> Option<String>;
}

/// Replays a transcript, and returns it as it should be.
fn play(text: &str, player: &mut impl Player) -> String {
    let mut script = Script::default();
    for line in text.lines() {
        match Line::parse(line) {
            Line::Step { millis, step } => {
                script.advance(player, millis);
                script.write(step);
                if !script.holds(player, step) {
                    player.step(&mut script, step);
                }
                script.effects(player);
            }
            Line::Effect => {}
            Line::Other(other) => script.out += &format!("{other}\n"),
        }
    }
    script.out
}

/// A transcript as it is written.
#[derive(Default)]
struct Script {
    millis: u64,
    out: String,
    holds_messages: bool,
    holds_events: bool,
}

impl Script {
    fn now(&self) -> Instant {
        Instant::START + Duration::from_millis(self.millis)
    }

    /// Lets the time pass, with every timeout on the way.
    fn advance(&mut self, player: &mut impl Player, millis: u64) {
        let until = Instant::START + Duration::from_millis(millis);
        while let Some(due) = player.poll_timeout()
            && due <= until
        {
            self.millis = due.as_nanos() / 1_000_000;
            player.handle_timeout(due);
            self.effects(player);
        }
        self.millis = millis;
    }

    /// Steps that are about the driver: whether this is one.
    fn holds(&mut self, player: &mut impl Player, step: &str) -> bool {
        match step {
            "! hold messages" => self.holds_messages = true,
            "! hold events" => self.holds_events = true,
            "! let go" => (self.holds_messages, self.holds_events) = (false, false),
            "! take" => drop(self.send(player)),
            "! hear" => drop(self.take_event(player)),
            _ => return false,
        }
        true
    }

    /// Writes the messages that are sent and the events.
    fn effects(&mut self, player: &mut impl Player) {
        while !self.holds_messages && self.send(player).is_some() {}
        while !self.holds_events && self.take_event(player).is_some() {}
    }

    /// Writes the next message.
    fn send(&mut self, player: &mut impl Player) -> Option<()> {
        let transmit = player.poll_transmit()?;
        let text = String::from_utf8(transmit.to_bytes()).expect("UTF-8");
        let text = match transmit.kind {
            TransmitKind::Reset(call) => format!("(reset of the stream of {call})"),
            _ => text.trim_end_matches('\n').replace("\r\n", "\\r\\n"),
        };
        let stream = transmit.stream.map(|stream| stream.get());
        let stream = stream.map_or(String::new(), |stream| format!("(on {stream}) "));
        self.write(&format!("> {stream}{text}"));
        Some(())
    }

    /// Writes the next event.
    fn take_event(&mut self, player: &mut impl Player) -> Option<()> {
        let words = player.poll_event()?;
        self.event(&words);
        Some(())
    }

    fn event(&mut self, words: &str) {
        self.write(&format!("* {words}"));
    }

    /// Writes why a command was refused, if it was.
    fn refusal(&mut self, error: Option<impl ToString>) {
        if let Some(error) = error {
            self.event(&format!("refused: {}", error.to_string()));
        }
    }

    fn write(&mut self, line: &str) {
        let (seconds, millis) = (self.millis / 1000, self.millis % 1000);
        self.out += &format!("{seconds}.{millis:03} {line}\n");
    }
}

/// The counters that are not zero.
fn counted(stats: &str) -> String {
    let (_, fields) = stats.split_once("{ ").expect("the debug form of a struct");
    let fields = fields.trim_end_matches(" }").split(", ");
    let counted: Vec<_> = fields.filter(|field| !field.ends_with(": 0")).collect();
    counted.join(", ")
}

/// How a call ended, in words, and whether it was sent; a subscription has no word for that.
fn ending(outcome: &Outcome, sent: Option<Sent>) -> String {
    let is_sent = sent.map_or_else(String::new, |sent| format!(", sent {sent:?}"));
    match outcome {
        Outcome::Result(payload) => format!("result {payload:?}"),
        Outcome::Error(error) => format!("error {error}"),
        Outcome::TimedOut { elapsed } => format!("timed out after {elapsed:?}{is_sent}"),
        Outcome::Lost { reason } => format!("lost{is_sent}: {reason}"),
        other => format!("{other:?}{is_sent}"),
    }
}

fn with_params(words: String, params: Option<&Payload>) -> String {
    params.map_or_else(|| words.clone(), |params| format!("{words} {params:?}"))
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
