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
    let lines = (line_of(8 * MIB), line_of(16 * MIB));
    let name = "a line of 16 MiB, byte by byte, to 8 MiB";
    compare(table, name, 2.3, lines, |line| {
        assert_eq!(decode(line, 1), 1);
    });
    table.heading("frames: the time for ten times as much");
    for chunk in [1, 64 * 1024] {
        let blank = |lines| b" \r\n".repeat(lines);
        let name = format!("a million blank lines, {chunk} B at a time");
        compare(table, &name, 13.0, (blank(SOME), blank(MANY)), |lines| {
            assert_eq!(decode(lines, chunk), 0);
        });
    }
}

/// Objects with more members than any message has.
// proves: F-JR-18
pub(crate) fn objects(table: &mut Table) {
    table.heading("objects: the time for a million members, to a hundred thousand");
    let distinct = |members| prompt(members, |number| number);
    // The second half repeats the first.
    let doubled = |members| prompt(members, move |number| number % (members / 2));
    let inputs = (distinct(SOME), distinct(MANY));
    compare(table, "envelope pass", 13.0, inputs.clone(), |frame| {
        assert!(matches!(Envelope::parse(frame), Ok(Envelope::Request(_))));
    });
    // Names are sorted to find one that stands twice: a little more than linear.
    compare(table, "decoded into a map", 16.0, inputs, |frame| {
        assert!(GetPromptParams::from_json(params_of(frame)).is_ok());
    });
    let inputs = (doubled(SOME), doubled(MANY));
    let name = "decoded into a map, every name twice";
    compare(table, name, 16.0, inputs.clone(), |frame| {
        assert!(GetPromptParams::from_json(params_of(frame)).is_err());
    });
    let name = "kept as text, every name twice";
    compare(table, name, 13.0, inputs, |frame| {
        assert!(CallToolParams::from_json(params_of(frame)).is_ok());
    });
}

const MIB: usize = 1024 * 1024;
const SOME: usize = 100_000;
const MANY: usize = 1_000_000;

/// Holds the time for the larger input, in units of that for the smaller one, to `promise`.
fn compare(
    table: &mut Table,
    name: &str,
    promise: f64,
    inputs: (Vec<u8>, Vec<u8>),
    work: impl Fn(&[u8]),
) {
    let (small, large) = inputs;
    let (mut fewer, mut more) = (f64::INFINITY, f64::INFINITY);
    for round in 0..20 {
        // In turn, so that a busy moment hits both.
        fewer = fewer.min(seconds(|| work(black_box(&small))));
        more = more.min(seconds(|| work(black_box(&large))));
        // Each takes at least so long; a busy machine needs more rounds to show it.
        if round >= 2 && more / fewer <= promise {
            break;
        }
    }
    table.hold(name, more / fewer, Unit::Ratio, promise);
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
