//! Seals the state that a client keeps for the server between two rounds of input.
//!
//! XChaCha20-Poly1305: its nonce is long enough to be random. The key is random for each process,
//! unless one is configured that several nodes share.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_proto::server::Seal;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

const NONCE: usize = 24;

/// The seal of a server.
pub(super) struct RoundSeal {
    cipher: XChaCha20Poly1305,
    lifetime: Duration,
}

impl RoundSeal {
    /// Creates a seal with a key. Without one the key is random, and only this process can open the
    /// state.
    pub(super) fn new(key: Option<[u8; 32]>, lifetime: Duration) -> Result<Self, getrandom::Error> {
        let key = match key {
            Some(key) => key,
            None => random()?,
        };
        Ok(Self {
            cipher: XChaCha20Poly1305::new(&key.into()),
            lifetime,
        })
    }

    /// Returns a random id of 128 bits.
    pub(super) fn random_id() -> Result<String, getrandom::Error> {
        random::<16>().map(|bytes| hex(&bytes))
    }

    /// Returns the wall-clock time in seconds, which all nodes share.
    pub(super) fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    }

    /// Returns when state that is sealed now expires.
    pub(super) fn expiry(&self) -> u64 {
        self.now().saturating_add(self.lifetime.as_secs().max(1))
    }
}

impl Seal for RoundSeal {
    fn seal(&self, plain: &[u8], binding: &[u8]) -> String {
        // Without a nonce nothing is sealed, and the returned text will not open.
        let Ok(nonce) = random::<NONCE>() else {
            return String::new();
        };
        let payload = Payload {
            msg: plain,
            aad: binding,
        };
        let Ok(sealed) = self.cipher.encrypt(&XNonce::from(nonce), payload) else {
            return String::new();
        };
        hex(&[&nonce[..], &sealed[..]].concat())
    }

    fn open(&self, sealed: &str, binding: &[u8]) -> Option<Vec<u8>> {
        let bytes = unhex(sealed)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        let payload = Payload {
            msg: sealed,
            aad: binding,
        };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

impl std::fmt::Debug for RoundSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RoundSeal(…)")
    }
}

fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| {
        [
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]
    });
    digits.map(char::from).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-OA-20
    #[test]
    fn a_sealed_state_opens_for_its_binding_and_key_alone() {
        let seal = RoundSeal::new(None, Duration::from_secs(1)).expect("chance");
        let sealed = seal.seal(b"words", b"alice");
        assert_eq!(seal.open(&sealed, b"alice").as_deref(), Some(&b"words"[..]));
        assert_eq!(seal.open(&sealed, b"bob"), None);
        let mut changed = sealed.clone().into_bytes();
        for at in 0..changed.len() {
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            let text = String::from_utf8(changed.clone()).expect("ASCII");
            assert_eq!(seal.open(&text, b"alice"), None, "{at}");
            changed[at] = sealed.as_bytes()[at];
        }
        for odd in ["", "0", "zz", "00", "é"] {
            assert_eq!(seal.open(odd, b"alice"), None);
        }
        let other = RoundSeal::new(None, Duration::from_secs(1)).expect("chance");
        assert_eq!(other.open(&sealed, b"alice"), None);
        let same = |key| RoundSeal::new(Some(key), Duration::from_secs(1)).expect("a key");
        let sealed = same([7; 32]).seal(b"words", b"");
        assert!(same([7; 32]).open(&sealed, b"").is_some());
    }
}
