//! Excerpts: the part of a frame around an error, with a caret below it.

use crate::escape;

/// Returns a line of a frame, and a line with a caret below the byte at `offset`. A long frame is
/// cut on both sides.
pub(crate) fn excerpt(frame: &[u8], offset: usize) -> [String; 2] {
    let offset = offset.min(frame.len());
    let (start, end) = if frame.len() <= WHOLE {
        (0, frame.len())
    } else {
        (
            boundary(frame, offset.saturating_sub(AROUND)),
            boundary(frame, offset.saturating_add(AROUND)),
        )
    };
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let (before, after) = frame[start..end].split_at(offset - start);
    let before = format!("{}{}", cut(start > 0), escape::bytes(before));
    let after = format!("{}{}", escape::bytes(after), cut(end < frame.len()));
    let caret = format!("{}^", " ".repeat(before.chars().count()));
    [before + &after, caret]
}

/// Returns the nearest position at or before `at` that is a character boundary.
fn boundary(frame: &[u8], at: usize) -> usize {
    let is_inside = |at: &usize| frame.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // A character has at most four bytes; invalid bytes may go on for longer.
    let back = (0..4).map(|back| at.saturating_sub(back));
    back.into_iter()
        .find(|at| !is_inside(at))
        .unwrap_or(at)
        .min(frame.len())
}

/// Frames up to this size are shown as a whole.
const WHOLE: usize = 100;

/// The number of bytes shown of a longer frame on either side.
const AROUND: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_the_fault() {
        for (frame, offset, expected) in [
            (&b"{\"a\":x}"[..], 5, ["{\"a\":x}", "     ^"]),
            (b"{", 1, ["{", " ^"]),
            (b"", 0, ["", "^"]),
            (
                "\"ü\u{1b}\"x".as_bytes(),
                5,
                ["\"ü\\u{1b}\"x", "         ^"],
            ),
            (b"a\xffb", 1, ["a\\xffb", " ^"]),
            (b"ab", 9, ["ab", "  ^"]),
        ] {
            assert_eq!(excerpt(frame, offset), expected);
        }
    }

    #[test]
    fn a_long_frame_is_cut_between_characters() {
        let whole = "x".repeat(WHOLE);
        assert_eq!(excerpt(whole.as_bytes(), 0)[0], whole);
        let long = "ü".repeat(WHOLE);
        let [text, caret] = excerpt(long.as_bytes(), WHOLE);
        assert_eq!(text, format!("…{}…", "ü".repeat(AROUND)));
        assert_eq!(caret.chars().count(), AROUND / 2 + 2);
        let odd = format!("x{long}");
        let [text, _] = excerpt(odd.as_bytes(), WHOLE + 1);
        assert_eq!(text, format!("…{}…", "ü".repeat(AROUND)));
        // Nothing but continuation bytes: no place is good, none is a reason to panic.
        for offset in [0, 1, 150, 299, 300] {
            let [text, caret] = excerpt(&[0x80; 300], offset);
            assert!(text.len() < 400 && caret.ends_with('^'));
        }
    }
}
