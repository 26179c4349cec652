//! Memory under a hostile peer: each case in a process of its own, so that the system tells
//! how far it grew.
//!
//! `cargo bench -p bowline-proto --bench hostile`; figures are kept in `docs/benchmarks.md`.
//! It exits with 1 when a bound is broken. Growth is read from `/proc`: elsewhere than on
//! Linux nothing is measured.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "a benchmark measures time; the core still knows none"
)]

#[path = "support/single_side.rs"]
mod single_side;

use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs};

use bowline_proto::codec::{
    Decoded, FrameDecoder, FrameLimits, Framing, Oversize, SseDecoder, SseItem,
};

use single_side::{Client, Server};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["case", name] => {
            let case = CASES.iter().find(|case| case.name == name);
            println!("{}", case.ok_or("no such case")?.measure()?);
            Ok(ExitCode::SUCCESS)
        }
        // cargo adds `--bench`.
        [] | ["--bench"] => run_all(),
        _ => Err("usage: hostile [case NAME]".into()),
    }
}

fn run_all() -> Result<ExitCode, Box<dyn Error>> {
    if memory("VmHWM").is_err() {
        println!("skipped: this system doesn't report how much memory a process has used");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{:<44} {:>8} {:>8} {:>7}", "MiB", "grew", "bound", "s");
    let mut has_failed = false;
    for case in CASES {
        let output = Command::new(env::current_exe()?)
            .args(["case", case.name])
            .output()?;
        let report = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            println!("{}: FAILED\n{error}", case.name);
            has_failed = true;
            continue;
        }
        has_failed |= !case.judge(report.trim_end())?;
    }
    Ok(if has_failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

struct Case {
    name: &'static str,
    run: fn() -> Found,
    /// MiB by which the process may grow.
    bound: f64,
    /// When it is measured: at its highest, or at the end.
    when: When,
}

#[derive(Clone, Copy)]
enum When {
    Peak,
    End,
}

/// What a case found beside its memory.
struct Found {
    /// In words.
    words: String,
    /// Returns `true` if it is within its limit.
    is_right: bool,
    /// What is alive at the end.
    _kept: Box<dyn std::any::Any>,
}

impl Found {
    fn new(is_right: bool, words: String, kept: impl std::any::Any) -> Self {
        Self {
            words,
            is_right,
            _kept: Box::new(kept),
        }
    }
}

impl Case {
    /// Runs in this process. MiB, seconds, whether all else is right, and words.
    fn measure(&self) -> Result<String, Box<dyn Error>> {
        let name = match self.when {
            When::Peak => "VmHWM",
            When::End => "VmRSS",
        };
        let before = memory(name)?;
        let start = Instant::now();
        let found = (self.run)();
        let seconds = start.elapsed().as_secs_f64();
        let grew = memory(name)? - before;
        Ok(format!(
            "{grew:.1} {seconds:.2} {} {}",
            found.is_right, found.words
        ))
    }

    /// Prints what another process measured. Returns `true` if it is as expected.
    fn judge(&self, report: &str) -> Result<bool, Box<dyn Error>> {
        let mut parts = report.splitn(4, ' ');
        let mut next = || parts.next().ok_or("a part is missing");
        let (grew, seconds) = (next()?, next()?);
        let (is_right, words): (bool, &str) = (next()?.parse()?, next()?);
        let holds = is_right && grew.parse::<f64>()? <= self.bound;
        let verdict = if holds { "ok" } else { "BROKEN" };
        let (name, bound) = (self.name, self.bound);
        println!("{name:<44} {grew:>8} {bound:>8.1} {seconds:>7} {verdict}: {words}");
        Ok(holds)
    }
}

/// MiB that the system counts for this process.
fn memory(name: &str) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kib.ok_or("no such line")?.parse::<f64>()? / 1024.0)
}

const fn peak(name: &'static str, bound: f64, run: fn() -> Found) -> Case {
    Case {
        name,
        run,
        bound,
        when: When::Peak,
    }
}

const fn at_end(name: &'static str, bound: f64, run: fn() -> Found) -> Case {
    Case {
        when: When::End,
        ..peak(name, bound, run)
    }
}

/// A frame of 16 MiB, and room to read.
const ONE_FRAME: f64 = 24.0;

/// 64 MiB of payloads that are not taken, a frame, and the same to keep them in order.
const UNTAKEN: f64 = 128.0;

const CASES: &[Case] = &[
    peak("line of 1 GiB, client", ONE_FRAME, || {
        client(Oversize::Stop, Framing::Line)
    }),
    peak("line of 1 GiB, client skips", ONE_FRAME, || {
        client(Oversize::Skip, Framing::Line)
    }),
    peak("line of 1 GiB, skipped to its end", ONE_FRAME, || {
        decoder(b"", b"\n{}\n")
    }),
    peak("length of 1 GiB, client", ONE_FRAME, || {
        client(Oversize::Stop, Framing::ContentLength)
    }),
    peak("length of 1 GiB, client skips", ONE_FRAME, || {
        client(Oversize::Skip, Framing::ContentLength)
    }),
    peak("length of 1 GiB, skipped to its end", ONE_FRAME, || {
        decoder(LENGTH, b"Content-Length: 2\r\n\r\n{}")
    }),
    peak("event: one data line of 1 GiB", ONE_FRAME, || {
        events(b"data: ", b"x")
    }),
    peak("event: data lines of 64 B, 1 GiB", ONE_FRAME, || {
        events(b"", &DATA_LINE)
    }),
    peak("event: data of 1 B a line, 128 MiB", ONE_FRAME, || {
        short_lines()
    }),
    peak("100,000 requests, small ids", ONE_FRAME, || requests(8)),
    peak("100,000 requests, ids of 1 KiB", ONE_FRAME, || {
        requests(1024)
    }),
    peak("4,000 requests, ids of 64 KiB", ONE_FRAME, || {
        requests(64 * 1024)
    }),
    peak(
        "client: notifications of 1 KiB that are not taken",
        UNTAKEN,
        || client_notes(r#""params":{"text":""#, 1024, "\"}"),
    ),
    peak("client: notes of no weight", UNTAKEN, || {
        client_notes("\"x\":\"", 0, "\"")
    }),
    peak("client: light notes in frames of 1 MiB", UNTAKEN, || {
        client_notes(r#""params":{},"x":""#, 1024 * 1024, "\"")
    }),
    peak("client: one small note in every chunk", UNTAKEN, || {
        sparse_notes()
    }),
    peak(
        "server: notifications of 1 KiB that are not taken",
        UNTAKEN,
        || server_notes(1024),
    ),
    peak(
        "server: small notifications that are not taken",
        UNTAKEN,
        || server_notes(0),
    ),
    at_end("after a frame of 10 MiB", 1.0, || idle(10 * MIB)),
    at_end("after a frame of 16 MiB", 1.0, || idle(16 * MIB)),
    at_end("after a frame that fills the buffer", 1.0, || {
        idle(16 * MIB - 1)
    }),
];

/// A client that is sent a frame without an end, for as long as it wants to read.
fn client(oversize: Oversize, framing: Framing) -> Found {
    let mut limits = FrameLimits::default();
    limits.oversize = oversize;
    let mut client = Client::ready(limits, framing);
    if framing == Framing::ContentLength {
        client.reads(LENGTH);
    }
    let chunk = filler();
    let mut let_in = 0;
    while client.wants_read() && let_in < GIB {
        client.reads(&chunk);
        let_in += CHUNK;
    }
    let closed = client.drop_events();
    let is_right = let_in <= 65 * MIB && closed.is_some();
    let why = closed.unwrap_or_default();
    let words = format!("read {} MiB: {why}", let_in / MIB);
    Found::new(is_right, words, client)
}

/// A decoder that skips a frame of 1 GiB and finds the one behind it.
fn decoder(head: &[u8], tail: &[u8]) -> Found {
    let mut limits = FrameLimits::default();
    limits.oversize = Oversize::Skip;
    limits.skipped = 2 * GIB as u64;
    let mut decoder = FrameDecoder::new(limits);
    decoder.push(head);
    let chunk = filler();
    let mut found = Vec::new();
    for _ in 0..GIB / CHUNK {
        decoder.push(&chunk);
        found.extend(std::iter::from_fn(|| decoder.poll()));
    }
    decoder.push(tail);
    found.extend(std::iter::from_fn(|| decoder.poll()));
    let is_right = matches!(*found, [Decoded::TooLarge(_), Decoded::Frame(_)]);
    let words = format!("{} frames found", found.len());
    Found::new(is_right, words, decoder)
}

/// A chunk of a JSON text that never ends: what a file in an answer looks like.
fn filler() -> Vec<u8> {
    let mut chunk = br#"{"id":7,"result":"abcdefghijklm\n"},"#.repeat(CHUNK / 34);
    chunk.resize(CHUNK, b' ');
    chunk
}

/// An event that doesn't end.
fn events(head: &[u8], filler: &[u8]) -> Found {
    let mut decoder = SseDecoder::new(FrameLimits::default().frame);
    decoder.push(head);
    let chunk = filler.repeat(CHUNK / filler.len());
    for _ in 0..GIB / CHUNK {
        decoder.push(&chunk);
        assert!(decoder.poll().is_none());
    }
    event_ends(decoder)
}

fn short_lines() -> Found {
    let mut decoder = SseDecoder::new(FrameLimits::default().frame);
    let chunk = b"data:x\n".repeat(CHUNK / 7);
    for _ in 0..128 * MIB / CHUNK {
        decoder.push(&chunk);
        assert!(decoder.poll().is_none());
    }
    event_ends(decoder)
}

fn event_ends(mut decoder: SseDecoder) -> Found {
    decoder.push(b"\n\n");
    let item = decoder.poll();
    let is_right = matches!(item, Some(SseItem::TooLarge(_)));
    Found::new(is_right, format!("skipped: {is_right}"), decoder)
}

/// Requests with ids of so many bytes, to a server whose handlers never answer.
fn requests(id: usize) -> Found {
    let mut server = Server::ready();
    let padding = "x".repeat(id.saturating_sub(8));
    let total = if id > 1024 { 4000 } else { 100_000 };
    let (mut begun, mut answered) = (0, 0);
    for number in 0..total {
        let frame = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"{number:08}{padding}\",\"method\":\"tools/list\"}}\n"
        );
        server.reads(frame.as_bytes());
        begun += server.drop_events();
        answered += server.drop_sent();
    }
    let open = server.open_requests();
    let refused = server.refused();
    // A thousand, or a mebibyte of ids.
    let most = 1024.min(MIB / id);
    let is_right = open == most && begun == most && answered == total - most;
    let words = format!("{total} came, {open} open, {refused} answered \"busy\"");
    Found::new(is_right, words, server)
}

/// Notifications to a client whose driver reads while it may and takes no event.
fn client_notes(head: &str, padding: usize, tail: &str) -> Found {
    let mut client = Client::ready(FrameLimits::default(), Framing::Line);
    let note = note(head, padding, tail);
    let total = notes(padding);
    let mut let_in = 0;
    while client.wants_read() && let_in < total {
        client.reads(note.as_bytes());
        let_in += 1;
    }
    // Of the large ones nothing is kept, so that all of them may come.
    let is_right = !client.wants_read() || padding > 1024;
    Found::new(is_right, format!("{let_in} of {total} let in"), client)
}

/// Small notifications, each alone in a chunk of blank lines, which are not taken.
fn sparse_notes() -> Found {
    let mut client = Client::ready(FrameLimits::default(), Framing::Line);
    let mut chunk = note(r#""params":{"text":""#, 16, "\"}").into_bytes();
    chunk.resize(CHUNK, b'\n');
    let total = 20_000;
    let mut let_in = 0;
    while client.wants_read() && let_in < total {
        client.reads(&chunk);
        let_in += 1;
    }
    Found::new(true, format!("{let_in} of {total} let in"), client)
}

/// The same, to a server.
fn server_notes(padding: usize) -> Found {
    let mut server = Server::ready();
    let note = note(r#""params":{"text":""#, padding, "\"}");
    let total = notes(padding);
    let mut let_in = 0;
    while server.wants_read() && let_in < total {
        server.reads(note.as_bytes());
        let_in += 1;
    }
    let is_right = !server.wants_read();
    Found::new(is_right, format!("{let_in} of {total} let in"), server)
}

/// Enough notes to pass every bound, not more than the machine has.
fn notes(padding: usize) -> usize {
    match padding {
        0 => 1_000_000,
        1..=1024 => 100_000,
        _ => 300,
    }
}

fn note(head: &str, padding: usize, tail: &str) -> String {
    let padding = "x".repeat(padding);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\",{head}{padding}{tail}}}\n"
    )
}

/// A frame of so many bytes, taken and dropped, and then nothing.
fn idle(bytes: usize) -> Found {
    let mut decoder = FrameDecoder::new(FrameLimits::default());
    let chunk = [b'x'; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(CHUNK);
        decoder.push(&chunk[..part]);
        assert_eq!(decoder.poll(), None);
        left -= part;
    }
    decoder.push(b"\n");
    let frame = decoder.poll();
    let is_right = matches!(&frame, Some(Decoded::Frame(frame)) if frame.len() == bytes);
    drop(frame);
    assert_eq!(decoder.poll(), None);
    let capacity = decoder.capacity();
    let is_right = is_right && capacity <= MIB;
    Found::new(is_right, format!("capacity {capacity} bytes"), decoder)
}

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;
const GIB: usize = 1024 * MIB;
const LENGTH: &[u8] = b"Content-Length: 1073741824\r\n\r\n";
const DATA_LINE: [u8; 64] = {
    let mut line = [b'x'; 64];
    let name = *b"data:";
    let mut at = 0;
    while at < name.len() {
        line[at] = name[at];
        at += 1;
    }
    line[63] = b'\n';
    line
};
