//! Making text harmless: what a peer chose can't move the cursor, reach the clipboard,
//! turn the reading direction or begin a line of its own.
//!
//! The one place that says which characters are harmful. [`Printer`](crate::printer)
//! sends everything through here, so no caller can forget to.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` for a reader: on one line, and nothing in it that a terminal obeys or that
/// can't be seen. Backslashes stay as they are, so what is escaped already is not
/// escaped twice.
pub(crate) fn for_terminal(text: &str) -> Cow<'_, str> {
    replace(text, |out, character| match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.extend(other.escape_unicode()),
    })
}

/// `json`, a JSON text without line breaks, with the harmful characters in its strings
/// as escapes: the same value, harmless on a terminal.
pub(crate) fn in_json(json: &str) -> Cow<'_, str> {
    // Outside of strings JSON is ASCII, so what is harmful stands in a string.
    replace(json, |out, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string can't fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Bytes that should be text: what isn't UTF-8 is shown as `\xff`.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&for_terminal(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string can't fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// `text` with each harmful character replaced.
fn replace(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmful(character) {
            escape(&mut out, character);
        } else {
            out.push(character);
        }
    }
    out.into()
}

/// Whether a terminal may obey the character, or a reader not see it.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Soft hyphen, the fillers of Hangul, and Mongolian vowel separator.
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}'
            // The Arabic letter mark changes the reading direction,
            | '\u{61c}'
            // as do marks, embeddings, overrides and isolates. The others in these
            // ranges have no width or break the line.
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, annotations, tags.
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-CL-01
    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (hostile, shown, json) in [
            ("plain", "plain", "plain"),
            ("Grüße, 世界 👋", "Grüße, 世界 👋", "Grüße, 世界 👋"),
            ("\\n and \\u{1b}", "\\n and \\u{1b}", "\\n and \\u{1b}"),
            // Colours, moving the cursor, clearing the screen.
            ("\u{1b}[31m", "\\u{1b}[31m", "\\u001b[31m"),
            (
                "\u{1b}[2J\u{1b}[H",
                "\\u{1b}[2J\\u{1b}[H",
                "\\u001b[2J\\u001b[H",
            ),
            // The clipboard, by OSC 52, and a title, by the one-byte OSC.
            (
                "\u{1b}]52;c;aGk=\u{7}",
                "\\u{1b}]52;c;aGk=\\u{7}",
                "\\u001b]52;c;aGk=\\u0007",
            ),
            (
                "\u{9d}0;title\u{9c}",
                "\\u{9d}0;title\\u{9c}",
                "\\u009d0;title\\u009c",
            ),
            ("\u{9b}31m", "\\u{9b}31m", "\\u009b31m"),
            // Forged lines.
            (
                "a\nline 2: valid",
                "a\\nline 2: valid",
                "a\\u000aline 2: valid",
            ),
            ("a\r\tb", "a\\r\\tb", "a\\u000d\\u0009b"),
            (
                "a\u{85}b\u{2028}c",
                "a\\u{85}b\\u{2028}c",
                "a\\u0085b\\u2028c",
            ),
            // Rubbed out, or never seen.
            (
                "a\u{8}\u{7f}\0",
                "a\\u{8}\\u{7f}\\u{0}",
                "a\\u0008\\u007f\\u0000",
            ),
            (
                "a\u{200b}b\u{feff}",
                "a\\u{200b}b\\u{feff}",
                "a\\u200bb\\ufeff",
            ),
            ("\u{e0041}", "\\u{e0041}", "\\udb40\\udc41"),
            // The other way round.
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe", "\\u202egnp.exe"),
            (
                "\u{2067}x\u{2069}\u{61c}",
                "\\u{2067}x\\u{2069}\\u{61c}",
                "\\u2067x\\u2069\\u061c",
            ),
        ] {
            assert_eq!(for_terminal(hostile), shown);
            assert_eq!(for_terminal(shown), shown);
            assert_eq!(in_json(hostile), json);
            assert_eq!(bytes(hostile.as_bytes()), shown);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        assert_eq!(bytes(b"a\xff\xc3(\xe2\x82"), "a\\xff\\xc3(\\xe2\\x82");
    }
}
