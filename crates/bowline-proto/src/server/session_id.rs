//! The id of a session, as `Mcp-Session-Id` carries it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The id of a session of the handshake era over HTTP.
///
/// Any holder of the id can act as the client, so it is a secret: [`Debug`](fmt::Debug) shows its
/// beginning at most, and there is no `Display`. Comparing takes a time that depends on the
/// text; what keeps an id from being guessed is that it is long and random.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The longest accepted id, in bytes. A UUID has 36, and signed tokens have fewer than this; a
    /// client can't make the server look up or log a longer one.
    pub const MAX_LEN: usize = 256;

    /// Creates the id with that text.
    ///
    /// # Errors
    ///
    /// 2025-11-25, basic/transports: an id consists of visible ASCII characters, 0x21 to
    /// 0x7E. It must not be empty, nor longer than [`MAX_LEN`](Self::MAX_LEN).
    pub fn new(text: &str) -> Result<Self, BadSessionId> {
        if text.is_empty() {
            return Err(BadSessionId::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(BadSessionId::TooLong);
        }
        if !text.bytes().all(|byte| matches!(byte, 0x21..=0x7e)) {
            return Err(BadSessionId::IllegalCharacter);
        }
        Ok(Self(text.into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = BadSessionId;

    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        Self::new(text)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Enough to distinguish sessions in a log; of a short id it would reveal too much.
        let shown = match self.0.len() {
            16.. => self.0.get(..4).unwrap_or_default(),
            _ => "",
        };
        write!(f, "SessionId({shown}…)")
    }
}

/// Why a text is no valid session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadSessionId {
    /// It is empty.
    Empty,
    /// It is longer than [`SessionId::MAX_LEN`].
    TooLong,
    /// It has a character that is not visible ASCII.
    IllegalCharacter,
}

impl fmt::Display for BadSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong => write!(f, "is longer than {} bytes", SessionId::MAX_LEN),
            Self::IllegalCharacter => f.write_str("has characters that are not visible ASCII"),
        }
    }
}

impl std::error::Error for BadSessionId {}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-SE-03
    #[test]
    fn ids_are_visible_ascii_of_some_length() {
        for good in [
            "a",
            "!~",
            "1868a90c-7d1f-4a",
            &"x".repeat(SessionId::MAX_LEN),
        ] {
            assert_eq!(SessionId::new(good).unwrap().as_str(), good);
        }
        let (past, huge) = ("x".repeat(SessionId::MAX_LEN + 1), "x".repeat(64 << 10));
        for (bad, why) in [
            ("", BadSessionId::Empty),
            (&*past, BadSessionId::TooLong),
            (&*huge, BadSessionId::TooLong),
            ("a b", BadSessionId::IllegalCharacter),
            (" ", BadSessionId::IllegalCharacter),
            ("a\u{7f}", BadSessionId::IllegalCharacter),
            ("\0", BadSessionId::IllegalCharacter),
            ("sitzung-ä", BadSessionId::IllegalCharacter),
        ] {
            assert_eq!(bad.parse::<SessionId>(), Err(why));
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        for (id, shown) in [
            ("a", "SessionId(…)"),
            ("0123456789abcde", "SessionId(…)"),
            ("0123456789abcdef", "SessionId(0123…)"),
        ] {
            assert_eq!(format!("{:?}", SessionId::new(id).unwrap()), shown);
        }
    }
}
