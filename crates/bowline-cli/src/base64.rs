//! Base64 of images, audio and blobs.

/// Decodes the standard or the URL alphabet, with or without padding. Line breaks are skipped.
/// Returns `None` for any other character, or an incomplete byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_ascii_end().trim_end_matches('=');
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in digits.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bits = bits << 6 | u32::from(value(digit)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    // A single digit is less than a byte.
    (count < 6).then_some(out)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_read_as_servers_write_them() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm8", Some(b"fo")),
            ("Zm9v\r\nYmFy\n", Some(b"foobar")),
            ("+/-_", Some(b"\xfb\xff\xbf")),
            ("Z", None),
            ("Zm9vY", None),
            ("Zm=v", None),
            ("Zm9\u{e9}", None),
            ("a b?", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn encoded_bytes_are_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(decode(&bowline::server::base64(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_is_a_reason_to_panic(text in ".*") {
            decode(&text);
        }
    }
}
