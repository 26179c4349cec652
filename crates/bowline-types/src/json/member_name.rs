//! Names of members that some parser takes for another name.
//!
//! A message is read more than once: by a gateway or a filter in front, and by us. Both have to
//! read the same, or what runs is not what was let through. JSON compares names character by
//! character, after escapes, and so do we: `"\u0069d"` is `id`. Some parsers do not:
//!
//! - Go's `encoding/json`, .NET and others ignore case, and with it what Unicode takes for a
//!   case of an ASCII letter, such as the long s of `paramſ`;
//! - parsers written in C end a name at its first NUL;
//! - others drop white space, control characters and characters without a width, or give
//!   letters of full width their usual one.
//!
//! A name that is not the one of a member but may be read as it so is ambiguous, and the message
//! is refused. Letters of other alphabets that only look alike to people are not among these: no
//! parser takes them for ASCII ones.

/// What a character is to the most lenient parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The name ends here.
    End,
    /// Nothing.
    Dropped,
    /// A letter, in lower case when it is an ASCII one.
    Letter(char),
}

impl Reading {
    pub(super) fn of(character: char) -> Self {
        let letter = match character {
            '\0' => return Self::End,
            '!'..='~' => character,
            '\u{130}' | '\u{131}' => 'i',
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            '\u{ff01}'..='\u{ff5e}' => full_width(character),
            other if is_dropped(other) => return Self::Dropped,
            other => other,
        };
        Self::Letter(letter.to_ascii_lowercase())
    }
}

/// Returns the ASCII character of the usual width.
fn full_width(character: char) -> char {
    const DISTANCE: u32 = 0xff01 - 0x21;
    char::from_u32(u32::from(character) - DISTANCE).unwrap_or(character)
}

/// Returns `true` if it is white space, a control character, the replacement of what could not be
/// decoded, or has no width (Unicode's Default_Ignorable_Code_Point).
fn is_dropped(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{fffd}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
