//! Escapes text of a peer, so that it can't move the cursor, reach the clipboard, change the
//! reading direction or forge a line.
//!
//! The one place that decides which characters are harmful. [`Printer`](crate::printer) passes
//! everything through here, so no caller can forget it.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes `text` for a reader, on one line. Backslashes are kept, so escaped text is not escaped
/// twice.
pub(crate) fn for_terminal(text: &str) -> Cow<'_, str> {
    replace(text, |out, character| match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.extend(other.escape_unicode()),
    })
}

/// Escapes `text` for a reader, with its line breaks. Tabs are kept.
pub(crate) fn in_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        let line = replace(line, |out, character| match character {
            '\t' => out.push('\t'),
            other => out.push_str(&for_terminal(other.encode_utf8(&mut [0; 4]))),
        });
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Escapes a text that is the content of a result. Returns `true` beside it if something was
/// escaped. The text may be a file, so what is harmless within a text is kept: line ends, and
/// joiners, soft hyphens, byte order marks and emoji selectors, which words and emoji are made of.
/// A line end is added if the last line has none.
pub(crate) fn content(text: &str) -> (String, bool) {
    let mut out = String::with_capacity(text.len() + 1);
    let mut is_escaped = false;
    let mut before = '\n';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_kept = match character {
            '\n' | '\t' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{feff}' => true,
            // One selector after a possible emoji is kept. Several could carry hidden bytes.
            EMOJI => can_be_emoji(before),
            '\r' => characters.peek() == Some(&'\n'),
            other => !is_harmful(other),
        };
        if is_kept {
            out.push(character);
        } else {
            is_escaped = true;
            out.push_str(&for_terminal(character.encode_utf8(&mut [0; 4])));
        }
        before = character;
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    (out, is_escaped)
}

/// Escapes the harmful characters in the strings of `json`, a JSON text without line breaks. The
/// value is the same, and harmless on a terminal.
pub(crate) fn in_json(json: &str) -> Cow<'_, str> {
    // Outside of strings JSON is ASCII, so harmful characters are in strings.
    replace(json, |out, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Formats bytes that should be text: invalid UTF-8 is shown as `\xff`.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&for_terminal(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Replaces each harmful character in `text`.
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

/// Returns `true` if the character may have an emoji form: keycaps, signs and symbols. Letters have
/// none.
fn can_be_emoji(character: char) -> bool {
    let is_keycap = matches!(character, '0'..='9' | '#' | '*');
    let is_symbol = matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{2000}'..='\u{32ff}' | '\u{1f000}'..='\u{1faff}'
    );
    is_keycap || (is_symbol && !is_harmful(character))
}

/// Returns `true` if a terminal may interpret the character, or a reader not see it.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Soft hyphen, combining grapheme joiner, the fillers of Hangul, the inherent
            // vowels of Khmer, and Mongolian vowel separator.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            // The Arabic letter mark changes the reading direction,
            | '\u{61c}'
            // as do marks, embeddings, overrides and isolates. The others in these
            // ranges have no width or break the line.
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            // Variation selectors, of which there are enough to write bytes with.
            | '\u{fe00}'..='\u{fe0f}'
            // Byte order mark, annotations and what may become such.
            | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}'
            // Beams and slurs of musical notation.
            | '\u{1d173}'..='\u{1d17a}'
            // Tags, more variation selectors, and what is set aside for more of them.
            | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The selector of the emoji form of the character before it.
const EMOJI: char = '\u{fe0f}';

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-CL-01
    #[test]
    fn control_sequences_are_escaped() {
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
            // Bytes in variation selectors.
            (
                "a\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}",
                "a\\u{fe00}\\u{fe0f}\\u{e0100}\\u{e01ef}",
                "a\\ufe00\\ufe0f\\udb40\\udd00\\udb40\\uddef",
            ),
            (
                "\u{34f}\u{17b4}\u{17b5}\u{180e}",
                "\\u{34f}\\u{17b4}\\u{17b5}\\u{180e}",
                "\\u034f\\u17b4\\u17b5\\u180e",
            ),
            (
                "\u{1d173}\u{1d17a}\u{e0080}\u{e0fff}",
                "\\u{1d173}\\u{1d17a}\\u{e0080}\\u{e0fff}",
                "\\ud834\\udd73\\ud834\\udd7a\\udb40\\udc80\\udb43\\udfff",
            ),
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

    // proves: F-CL-01
    #[test]
    fn lines_stay_lines_and_nothing_else_is_obeyed() {
        for (text, shown) in [
            ("", ""),
            ("a", "a\n"),
            ("a\n", "a\n"),
            ("a\r\n\n\tb\n\n", "a\n\n\tb\n\n"),
            ("a\rb\u{1b}[2J\u{202e}", "a\\rb\\u{1b}[2J\\u{202e}\n"),
        ] {
            assert_eq!(in_lines(text), shown);
        }
    }

    // proves: F-CL-01
    #[test]
    fn contents_are_kept_except_for_control_sequences() {
        for (text, shown, is_escaped) in [
            ("", "", false),
            ("a", "a\n", false),
            ("a\r\n\n\tb\r\n", "a\r\n\n\tb\r\n", false),
            // A family, Persian, a soft hyphen, and a byte order mark.
            (
                "👩\u{200d}👧 می\u{200c}خواهم co\u{ad}op\n",
                "👩\u{200d}👧 می\u{200c}خواهم co\u{ad}op\n",
                false,
            ),
            ("\u{feff}a\n", "\u{feff}a\n", false),
            // Coloured emoji, a keycap; but no bytes behind a letter.
            (
                "❤\u{fe0f} 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈\n",
                "❤\u{fe0f} 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈\n",
                false,
            ),
            ("a\u{fe0f}", "a\\u{fe0f}\n", true),
            ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}\n", true),
            ("❤\u{fe0e}", "❤\\u{fe0e}\n", true),
            ("\u{e0100}", "\\u{e0100}\n", true),
            ("a\rb\n", "a\\rb\n", true),
            ("a\r", "a\\r\n", true),
            ("\u{1b}[2J", "\\u{1b}[2J\n", true),
            ("\u{7f}\u{9b}\0", "\\u{7f}\\u{9b}\\u{0}\n", true),
            ("\u{202e}a\u{2066}b", "\\u{202e}a\\u{2066}b\n", true),
            ("\u{200b}\u{200e}", "\\u{200b}\\u{200e}\n", true),
        ] {
            assert_eq!(content(text), (shown.to_owned(), is_escaped));
        }
        // Names and errors are stricter.
        assert_eq!(for_terminal("a\u{200d}\u{ad}\u{feff}").chars().count(), 23);
    }
}
