//! Bytes to frames and events: any split gives the same, and nothing grows.

#![no_main]

use bowline_proto::codec::{Decoded, FrameDecoder, FrameLimits, Oversize, SseDecoder, SseItem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [options, size, bytes @ ..] = data else {
        return;
    };
    let size = usize::from(*size).max(1);
    let mut limits = FrameLimits::default();
    limits.frame = 32;
    limits.skipped = 100;
    if options & 1 == 1 {
        limits.oversize = Oversize::Skip;
    }
    let split = frames(limits, bytes.chunks(size));
    assert_eq!(split, frames(limits, bytes.chunks(1)));
    let split = events(bytes.chunks(size));
    assert_eq!(split, events(bytes.chunks(1)));
});

/// What comes out. How much of an oversized frame had come depends on the split.
fn frames<'a>(limits: FrameLimits, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = FrameDecoder::new(limits);
    let mut out = Vec::new();
    let mut keep = |decoded: Decoded| match decoded {
        Decoded::Frame(frame) => out.push(frame.escape_ascii().to_string()),
        Decoded::TooLarge(_) => out.push("too large".into()),
        Decoded::Fault(fault) => out.push(fault.to_string()),
        _ => {}
    };
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(decoded) = decoder.poll() {
            keep(decoded);
        }
        assert!(decoder.capacity() < 1024);
    }
    if let Some(decoded) = decoder.finish() {
        keep(decoded);
    }
    // A frame that is given up is given up sooner or later.
    let endless = bowline_proto::codec::CodecFault::EndlessFrame.to_string();
    let end = out.iter().position(|words| *words == endless);
    out.truncate(end.unwrap_or(out.len()));
    out
}

fn events<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, String) {
    let mut decoder = SseDecoder::new(64);
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(item) = decoder.poll() {
            out.push(match item {
                SseItem::TooLarge(_) => "too large".into(),
                other => format!("{other:?}"),
            });
        }
    }
    (out, decoder.last_event_id().to_owned())
}
