//! Time that must grow with the bytes and with nothing else.

#![expect(
    clippy::disallowed_types,
    reason = "a benchmark measures time; the core still knows none"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use bowline_proto::codec::{Decoded, FrameDecoder, FrameLimits};
use bowline_types::Wire;
use bowline_types::envelope::Envelope;
use bowline_types::prompts::GetPromptParams;
use bowline_types::tools::CallToolParams;

use super::table::{Table, Unit};

/// Frames that come byte by byte, and lines that hold nothing.
// proves: F-FR-23, F-FR-09
pub(crate) fn frames(table: &mut Table) {
    table.heading("frames: the time for twice as much");
    let mib = 1024 * 1024;
    let ratio = ratio(8 * mib, 16 * mib, line_of, |line| {
        // The frame and its line end.
        assert_eq!(decode(line, 1), 1);
    });
    table.hold(
        "a line of 16 MiB, byte by byte, to 8 MiB",
        ratio,
        Unit::Ratio,
        2.3,
    );
    table.heading("frames: the time for ten times as much");
    for chunk in [1, 64 * 1024] {
        let ratio = self::ratio(
            100_000,
            1_000_000,
            |lines| b" \r\n".repeat(lines),
            |lines| assert_eq!(decode(lines, chunk), 0),
        );
        let name = format!("a million blank lines, {chunk} B at a time");
        table.hold(&name, ratio, Unit::Ratio, 13.0);
    }
}

/// Objects with more members than any message has.
// proves: F-JR-18
pub(crate) fn objects(table: &mut Table) {
    table.heading("objects: the time for a million members, to a hundred thousand");
    let distinct = |members| prompt(members, |number| number);
    // The second half repeats the first.
    let repeated = |members| prompt(members, move |number| number % (members / 2));
    let envelope = ratio(SOME, MANY, distinct, |frame| {
        assert!(matches!(Envelope::parse(frame), Ok(Envelope::Request(_))));
    });
    table.hold("envelope pass", envelope, Unit::Ratio, 13.0);
    // Names are sorted to find one that stands twice: a little more than linear.
    let map = ratio(SOME, MANY, distinct, |frame| {
        assert!(GetPromptParams::from_json(params_of(frame)).is_ok());
    });
    table.hold("decoded into a map", map, Unit::Ratio, 16.0);
    let doubled = ratio(SOME, MANY, repeated, |frame| {
        assert!(GetPromptParams::from_json(params_of(frame)).is_err());
    });
    table.hold(
        "decoded into a map, every name twice",
        doubled,
        Unit::Ratio,
        16.0,
    );
    let kept = ratio(SOME, MANY, repeated, |frame| {
        assert!(CallToolParams::from_json(params_of(frame)).is_ok());
    });
    table.hold("kept as text, every name twice", kept, Unit::Ratio, 13.0);
}

const SOME: usize = 100_000;
const MANY: usize = 1_000_000;

/// The time for the larger input in units of that for the smaller one: the best of a few.
fn ratio(small: usize, large: usize, make: impl Fn(usize) -> Vec<u8>, work: impl Fn(&[u8])) -> f64 {
    let (small, large) = (make(small), make(large));
    let (mut fewer, mut more) = (f64::INFINITY, f64::INFINITY);
    // In turn, so that a busy moment hits both.
    for _ in 0..5 {
        fewer = fewer.min(seconds(|| work(black_box(&small))));
        more = more.min(seconds(|| work(black_box(&large))));
    }
    more / fewer
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// How many frames come out.
fn decode(bytes: &[u8], chunk: usize) -> usize {
    let mut decoder = FrameDecoder::new(FrameLimits::default());
    let mut frames = 0;
    for part in bytes.chunks(chunk) {
        decoder.push(part);
        while let Some(decoded) = decoder.poll() {
            assert!(matches!(decoded, Decoded::Frame(_)), "{decoded:?}");
            frames += 1;
        }
    }
    frames
}

fn line_of(bytes: usize) -> Vec<u8> {
    let mut line = vec![b'x'; bytes];
    line[0] = b'{';
    line.push(b'\n');
    line
}

/// A `prompts/get` with so many arguments, which is also a `tools/call`.
fn prompt(members: usize, name: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut frame = String::from(
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","arguments":{"#,
    );
    for number in 0..members {
        let comma = if number == 0 { "" } else { "," };
        write!(frame, r#"{comma}"n{}":"""#, name(number)).expect("a string takes every write");
    }
    frame.push_str("}}}");
    frame.into_bytes()
}

fn params_of(frame: &[u8]) -> &str {
    match Envelope::parse(frame) {
        Ok(Envelope::Request(request)) => request.params.expect("a call has parameters").as_str(),
        other => panic!("{other:?}"),
    }
}
