//! What the targets of the two framings share.

use bowline_proto::codec::{Decoded, FrameDecoder, FrameLimits, Oversize};

/// Limits that short inputs reach.
pub fn limits(skips: bool) -> FrameLimits {
    let mut limits = FrameLimits::default();
    limits.frame = 32;
    limits.skipped = 100;
    if skips {
        limits.oversize = Oversize::Skip;
    }
    limits
}

/// What comes out, in words, while the buffer stays below `room` bytes. How much of an oversized frame had come depends on the split,
/// and so does its id when it is not read to its end.
pub fn decode<'a>(
    mut decoder: FrameDecoder,
    room: usize,
    chunks: impl Iterator<Item = &'a [u8]>,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut keep = |decoded: Decoded| {
        out.push(match decoded {
            Decoded::Frame(bytes) => frame(&bytes),
            Decoded::TooLarge(_) => TOO_LARGE.into(),
            other => format!("{other:?}"),
        });
    };
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(decoded) = decoder.poll() {
            keep(decoded);
        }
        assert!(decoder.capacity() < room);
    }
    if let Some(decoded) = decoder.finish() {
        keep(decoded);
    }
    assert_eq!(decoder.finish(), None);
    out
}

/// Room for the longest line, and as much again.
#[allow(dead_code, reason = "a frame with a length has headers")]
pub const LINE: usize = 1024;

/// Room for the longest headers, and as much again.
pub const HEADERS: usize = 32 * 1024;

pub fn frame(bytes: &[u8]) -> String {
    format!("frame {}", bytes.escape_ascii())
}

pub const TOO_LARGE: &str = "too large";

/// The bytes behind the byte order mark, or `None` for UTF-16.
pub fn after_start(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => None,
        [b'{' | b'[', 0, ..] | [0, b'{' | b'[', ..] => None,
        [0xef, 0xbb, 0xbf, rest @ ..] => Some(rest),
        _ => Some(bytes),
    }
}

pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}
