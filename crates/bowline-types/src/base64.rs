//! Base64 (RFC 4648, section 4), as in images, audio, blobs and headers: with the standard alphabet
//! and padding, decoded strictly.

/// Encodes bytes as base64, as needed for images, audio and blobs.
///
/// ```
/// use bowline_types::base64;
///
/// assert_eq!(base64::encode(b"knot"), "a25vdA==");
/// assert_eq!(base64::decode("a25vdA==").as_deref(), Some(&b"knot"[..]));
/// ```
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let octet = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = octet(0) << 16 | octet(1) << 8 | octet(2);
        for place in 0..4 {
            // One byte fills two digits, two fill three; the rest is padding.
            let is_filled = place <= chunk.len();
            out.push(if is_filled {
                digit(bits >> (18 - 6 * place))
            } else {
                '='
            });
        }
    }
    out
}

/// Decodes base64. Returns `None` if there is a character outside of the alphabet, wrong padding, or
/// bits that are not zero after the last byte.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for &digit in digits {
        bits = bits << 6 | u32::from(value(digit)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    // What is left over must be zero, or two texts would stand for the same bytes.
    let is_exact = bits & ((1 << count) - 1) == 0;
    is_exact.then_some(out)
}

/// Returns the digit of the lowest six bits.
fn digit(bits: u32) -> char {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let at = usize::try_from(bits & 0x3f).unwrap_or(0);
    DIGITS.get(at).copied().map_or('=', char::from)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("SGVsbG8=", Some(b"Hello")),
            ("IHVzLXdlc3Qx", Some(b" us-west1")),
            ("SGVsbG8sIOS4lueVjA==", Some("Hello, 世界".as_bytes())),
            ("SGVsbG8", None),
            ("SGVs!!!bG8=", None),
            ("====", None),
            ("A===", None),
            ("SGVsbG9=", None),
            ("SGVs bG8=", None),
            ("SG=sbG8=", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes, "{text}");
        }
    }

    #[test]
    fn encoded_bytes_decode_to_themselves() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xfb\xff\xfe", "+//+"),
        ] {
            assert_eq!(encode(bytes), text);
        }
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..=all.len() {
            let bytes = &all[..length];
            assert_eq!(decode(&encode(bytes)).as_deref(), Some(bytes));
        }
    }
}
