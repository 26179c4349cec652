//! Keys of records.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// The key of a record in a store: text that needs no escaping in any system. Cloning it is cheap.
///
/// ```
/// use bowline::server::store::StoreKey;
///
/// assert!(StoreKey::new("node-7.events").is_ok());
/// assert!(StoreKey::new("a:b*\r\n").is_err());
/// // Text of a client has a key all the same, from which it can't be read.
/// assert_eq!(StoreKey::digest("session", "a:b*\r\n").as_str().len(), 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(Arc<str>);

impl StoreKey {
    /// The longest key, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Creates a key.
    ///
    /// # Errors
    ///
    /// A key has 1 to [`MAX_LEN`](Self::MAX_LEN) ASCII letters, digits, `-`, `_` and `.`.
    pub fn new(text: &str) -> Result<Self, BadStoreKey> {
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if text.is_empty() || text.len() > Self::MAX_LEN || !text.bytes().all(is_safe) {
            return Err(BadStoreKey);
        }
        Ok(Self(text.into()))
    }

    /// Creates the key of any text: the SHA-256 of a kind and the text, in hexadecimal digits. Ids
    /// that are secrets, such as those of sessions, can't be read from it.
    pub fn digest(kind: &str, text: &str) -> Self {
        let mut digest = Sha256::new();
        // The length keeps two kinds apart, whatever the text is.
        digest.update((kind.len() as u64).to_be_bytes());
        digest.update(kind);
        digest.update(text);
        let digits = digest.finalize();
        let digits = digits.iter().map(|byte| format!("{byte:02x}"));
        Self(digits.collect::<String>().into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no key: it is empty, longer than [`StoreKey::MAX_LEN`], or has other characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadStoreKey;

impl fmt::Display for BadStoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = StoreKey::MAX_LEN;
        write!(
            f,
            "invalid store key (allowed: 1 to {most} ASCII letters, digits, '-', '_' and '.')"
        )
    }
}

impl std::error::Error for BadStoreKey {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_need_no_escaping() {
        let longest = "k".repeat(StoreKey::MAX_LEN);
        for good in ["a", "A-z_0.9", &longest] {
            assert_eq!(StoreKey::new(good).unwrap().as_str(), good);
        }
        let past = "k".repeat(StoreKey::MAX_LEN + 1);
        for bad in [
            "", &past, "a b", "a:b", "a*", "{a}", "a\r\n", "\0", "ä", "a/b", "a?",
        ] {
            assert_eq!(StoreKey::new(bad), Err(BadStoreKey), "{bad:?}");
        }
    }

    #[test]
    fn a_digest_is_a_key_of_its_own_for_each_kind_and_text() {
        let keys = [("a", "b"), ("", "ab"), ("ab", ""), ("a", "c"), ("a", "")];
        let keys = keys.map(|(kind, text)| StoreKey::digest(kind, text));
        for (at, key) in keys.iter().enumerate() {
            assert!(StoreKey::new(key.as_str()).is_ok(), "{key}");
            assert!(!keys[..at].contains(key), "{key}");
        }
        // The form is stable: nodes of two versions share a store.
        let stable = "8574a6d4434104ed220353877eb88cb4945fee267f23c2645993370b914b7a8e";
        assert_eq!(StoreKey::digest("session", "abc").as_str(), stable);
    }
}
