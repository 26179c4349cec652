//! Lines to frames: any split gives the same, and so does the naive way.

#![no_main]

use bowline_proto::codec::{FrameDecoder, FrameLimits, Framing, Oversize};
use libfuzzer_sys::fuzz_target;

#[path = "support/frames.rs"]
mod support;

use support::{HEADERS, LINE, after_start, decode, is_space};

fuzz_target!(|data: &[u8]| {
    let [options, size, bytes @ ..] = data else {
        return;
    };
    let size = usize::from(*size).max(1);
    let limits = support::limits(options & 1 == 1);
    let line = || FrameDecoder::with_framing(limits, Framing::Line);
    let split = decode(line(), LINE, bytes.chunks(size));
    assert_eq!(split, decode(line(), LINE, bytes.chunks(1)));
    assert_eq!(split, naive(limits, bytes));
    // While it is being found out how the peer frames, too.
    let split = decode(FrameDecoder::new(limits), HEADERS, bytes.chunks(size));
    assert_eq!(
        split,
        decode(FrameDecoder::new(limits), HEADERS, bytes.chunks(1))
    );
});

/// The frames of all the bytes at once.
fn naive(limits: FrameLimits, bytes: &[u8]) -> Vec<String> {
    let Some(bytes) = after_start(bytes) else {
        return vec!["Fault(Utf16)".into()];
    };
    let mut out = Vec::new();
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let line = without_head(line);
        // Without its end a line may have a byte more that turns out to be white space.
        let is_last = lines.peek().is_none();
        let whole = line.trim_ascii();
        let fits = match is_last {
            true => whole.len() <= limits.frame && line.len() <= limits.frame + 1,
            false => line.strip_suffix(b"\r").unwrap_or(line).len() <= limits.frame,
        };
        if fits {
            if !whole.is_empty() {
                out.push(support::frame(whole));
            }
            continue;
        }
        match limits.oversize {
            Oversize::Skip if line.len() as u64 > limits.skipped => {
                out.push("Fault(EndlessFrame)".into());
                return out;
            }
            Oversize::Skip => out.push(support::TOO_LARGE.into()),
            _ => {
                out.push(support::TOO_LARGE.into());
                return out;
            }
        }
    }
    out
}

/// Without the white space and byte order marks before a frame.
fn without_head(mut line: &[u8]) -> &[u8] {
    loop {
        line = match line {
            [first, rest @ ..] if is_space(*first) => rest,
            [0xef, 0xbb, 0xbf, rest @ ..] => rest,
            _ => return line,
        };
    }
}
