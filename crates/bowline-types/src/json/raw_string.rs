//! Strings inside JSON text: their escapes, and finding their end fast.

use std::borrow::Cow;

use super::member_name::Reading;
use super::syntax_error::{SyntaxError, SyntaxErrorKind};

/// The text between the quotes of a JSON string, escapes and all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawStr<'a> {
    span: &'a str,
    escaped: bool,
    /// Offset of the span in the scanned text, for errors.
    start: usize,
}

impl<'a> RawStr<'a> {
    /// `span` has been gone over by a scanner and begins at `start` of its text.
    pub(crate) fn new(span: &'a str, escaped: bool, start: usize) -> Self {
        Self {
            span,
            escaped,
            start,
        }
    }

    /// Returns `true` if there are escapes in it.
    pub(crate) fn is_escaped(self) -> bool {
        self.escaped
    }

    /// Returns the text between the quotes.
    pub(crate) fn as_written(self) -> &'a str {
        self.span
    }

    /// Returns the unescaped string. It is borrowed if there is no escape in it.
    pub(crate) fn unescape(self) -> Result<Cow<'a, str>, SyntaxError> {
        if !self.escaped {
            return Ok(Cow::Borrowed(self.span));
        }
        let mut text = String::with_capacity(self.span.len());
        let mut rest = self.span;
        loop {
            // Of what needs attention, only backslashes can be here.
            let (plain, escape) = rest.split_at(plain_prefix(rest.as_bytes()));
            text.push_str(plain);
            if escape.is_empty() {
                return Ok(Cow::Owned(text));
            }
            let (character, length) = unescape_one(escape).ok_or(SyntaxError {
                kind: SyntaxErrorKind::LoneSurrogate,
                offset: self.start + self.span.len() - escape.len(),
            })?;
            text.push(character);
            rest = escape.get(length..).unwrap_or_default();
        }
    }

    /// Returns `true` if the unescaped string is `wanted`, without allocating.
    #[inline]
    pub(crate) fn is(self, wanted: &str) -> bool {
        if !self.escaped {
            return self.span == wanted;
        }
        self.matches(wanted)
    }

    /// Returns `true` if both strings are the same, without allocating.
    pub(crate) fn is_same_as(self, other: Self) -> bool {
        let is_written_so = self.span == other.span;
        if is_written_so || !(self.escaped || other.escaped) {
            return is_written_so;
        }
        let (mut left, mut right) = (self.characters(), other.characters());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(Some(one)), Some(Some(another))) if one == another => {}
                // Half of a surrogate pair is the same as itself only.
                (_, _) => return false,
            }
        }
    }

    /// Returns `true` if some parser may take the string for `wanted`, an ASCII name: see
    /// `member_name.rs`.
    pub(crate) fn may_be_read_as(self, wanted: &str) -> bool {
        let mut wanted = wanted.chars().map(|letter| letter.to_ascii_lowercase());
        for character in self.characters() {
            // Half of a surrogate pair is no character that any parser drops.
            let Some(character) = character else {
                return false;
            };
            match Reading::of(character) {
                Reading::End => break,
                Reading::Dropped => {}
                Reading::Letter(letter) if wanted.next() == Some(letter) => {}
                Reading::Letter(_) => return false,
            }
        }
        wanted.next().is_none()
    }

    fn matches(self, wanted: &str) -> bool {
        self.characters().eq(wanted.chars().map(Some))
    }

    /// Returns the unescaped characters; `None` for half of a surrogate pair.
    fn characters(self) -> impl Iterator<Item = Option<char>> {
        let mut rest = self.span;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let (character, length) = match first {
                '\\' => match unescape_one(rest) {
                    Some((character, length)) => (Some(character), length),
                    None => (None, 6),
                },
                plain => (Some(plain), plain.len_utf8()),
            };
            rest = rest.get(length..).unwrap_or_default();
            Some(character)
        })
    }
}

/// Returns the character that the escape at the start of `text` stands for, and the length of
/// the escape. `None` for a lone surrogate; the scanner has refused everything else.
fn unescape_one(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(text),
        &other => char::from(other),
    };
    Some((character, 2))
}

fn unescape_unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let high = unit(2)?;
    if let Some(character) = char::from_u32(high) {
        return Some((character, 6));
    }
    if !(0xd800..0xdc00).contains(&high) || text.get(6..8)? != "\\u" {
        return None;
    }
    let low = unit(8)?;
    if !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    let character = char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?;
    Some((character, 12))
}

/// Returns the length of the longest prefix that needs no attention inside a JSON string: no
/// quote, no backslash, no control character.
///
/// Payloads are mostly strings, so this is where the time goes. Eight bytes are tested at
/// once, as one number, and most names end within the first eight.
#[inline]
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    match bytes.first_chunk().and_then(|word| first_special(&[*word])) {
        Some(special) => special,
        None => long_plain_prefix(bytes),
    }
}

/// Returns the place of the quote, when it is among the first bytes and no backslash before it.
/// Some fifty bytes are the longest names in use.
#[inline]
pub(super) fn quote_of_first(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    let special = first_special(words.get(..6).unwrap_or(words))?;
    (bytes.get(special) == Some(&b'"')).then_some(special)
}

/// Goes on four by four, which the compiler turns into vector instructions.
#[inline(never)]
fn long_plain_prefix(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let (head, body) = words.split_at(words.len().min(2));
    if let Some(special) = first_special(head) {
        return special;
    }
    let (blocks, _) = body.as_chunks::<4>();
    let plain_blocks = blocks
        .iter()
        .take_while(|block| block.iter().fold(0, |any, word| any | specials(*word)) == 0)
        .count();
    let (plain, body) = body.split_at(plain_blocks * 4);
    let start = (head.len() + plain.len()) * 8;
    if let Some(special) = first_special(body) {
        return start + special;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let plain = rest.iter().position(is_special).unwrap_or(rest.len());
    start + body.len() * 8 + plain
}

/// Returns the place of the first special byte.
#[inline]
fn first_special(words: &[[u8; 8]]) -> Option<usize> {
    words.iter().enumerate().find_map(|(index, word)| {
        let specials = specials(*word);
        (specials != 0).then(|| index * 8 + specials.trailing_zeros() as usize / 8)
    })
}

/// Marks the special bytes by their highest bit. Only the first mark is certain: it may
/// spill over to the next byte.
#[inline]
fn specials(word: [u8; 8]) -> u64 {
    const EACH: u64 = u64::MAX / 0xff;
    let word = u64::from_le_bytes(word);
    // The subtraction sets the highest bit of what is below the limit, and of what has it
    // set anyway.
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word;
    let equal = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use super::super::scanner::Scanner;
    use super::*;

    #[test]
    fn strings_are_unescaped_or_refused() {
        let unescape = |text: &str| {
            let raw = Scanner::new(text).string()?;
            raw.unescape().map(Cow::into_owned)
        };
        assert_eq!(
            unescape(r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\té😀é"
        );
        for lone in [
            r#""x\ud800""#,
            r#""x\ud800\u0041""#,
            r#""x\ude00""#,
            r#""x\ud83d\ud83d""#,
        ] {
            let error = unescape(lone).unwrap_err();
            assert_eq!(error.kind, SyntaxErrorKind::LoneSurrogate, "{lone}");
            assert_eq!(error.offset, 2, "{lone}");
        }
    }

    #[test]
    fn names_match_through_escapes() {
        let raw = |text| Scanner::new(text).string().unwrap();
        assert!(raw(r#""id""#).is("id"));
        assert!(raw(r#""\u0069d""#).is("id"));
        assert!(!raw(r#""idx""#).is("id"));
        assert!(!raw(r#""i""#).is("id"));
        assert!(!raw(r#""\ud800""#).is("id"));
        assert!(raw(r#""\u0049D""#).may_be_read_as("id"));
        assert!(raw("\"RE\u{17f}ULT\"").may_be_read_as("result"));
        assert!(raw(r#""\u0131d""#).may_be_read_as("id"));
        assert!(raw(r#""protocol\u200bVersion\u0000x""#).may_be_read_as("protocolVersion"));
        assert!(raw("\"\u{ff3f}meta\"").may_be_read_as("_meta"));
        assert!(!raw(r#""\u0000id""#).may_be_read_as("id"));
        assert!(!raw(r#""\ud800id""#).may_be_read_as("id"));
        assert!(raw(r#""\u0069d""#).is_same_as(raw(r#""id""#)));
        assert!(raw(r#""\ud800""#).is_same_as(raw(r#""\ud800""#)));
        assert!(!raw(r#""\ud800""#).is_same_as(raw(r#""\ud801""#)));
        assert!(!raw(r#""\u0069""#).is_same_as(raw(r#""id""#)));
    }

    #[test]
    fn every_character_with_a_case_of_ascii_is_known() {
        let is_case_of = |character: char, letter: char| {
            let mut lower = character.to_lowercase();
            lower.next() == Some(letter)
                || character.to_uppercase().eq([letter.to_ascii_uppercase()])
        };
        let cased = |character: &char| character.is_lowercase() || character.is_uppercase();
        for character in (char::MIN..=char::MAX).filter(cased) {
            if ('\u{ff01}'..='\u{ff5e}').contains(&character) {
                continue;
            }
            let text = format!("{character}");
            for letter in 'a'..='z' {
                assert_eq!(
                    RawStr::new(&text, false, 0).may_be_read_as(letter.encode_utf8(&mut [0])),
                    is_case_of(character, letter),
                    "{character:?} {letter}"
                );
            }
        }
    }

    #[test]
    fn every_position_of_a_special_byte_is_found() {
        for length in 0..70 {
            let mut bytes = vec![b'x'; length];
            assert_eq!(plain_prefix(&bytes), length);
            for at in 0..length {
                for special in [b'"', b'\\', 0, 0x1f] {
                    bytes[at] = special;
                    assert_eq!(plain_prefix(&bytes), at);
                }
                bytes[at] = 0xff;
            }
        }
    }
}
