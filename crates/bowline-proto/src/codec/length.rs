//! `Content-Length` framing: headers, a blank line, a body of so many bytes.

use std::fmt;

use super::framing::CodecFault;

/// Bytes of a header block. One of a hundred bytes is long.
pub(super) const MAX_HEADERS: usize = 8 * 1024;

/// Returns `true` if the beginning of a line shows that the peer uses headers.
pub(super) fn looks_like_header(line: &[u8]) -> bool {
    [&b"content-length"[..], b"content-type"]
        .into_iter()
        .any(|name| {
            line.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
                && line
                    .get(name.len())
                    .is_some_and(|byte| matches!(byte, b':' | b' '))
        })
}

/// Finds the end of the header block at the start of `bytes`: where the body begins, and
/// how long it is. `None` when more bytes are needed.
pub(super) fn header_block(bytes: &[u8]) -> Option<Result<(usize, u64), CodecFault>> {
    let mut length = None;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = bytes.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        start = end + 1;
        if line.is_empty() {
            return Some(
                length
                    .ok_or(CodecFault::NoLength)
                    .map(|length| (start, length)),
            );
        }
        match content_length(line) {
            Ok(None) => {}
            Ok(Some(_)) if length.is_some() => return Some(Err(CodecFault::BadLength)),
            Ok(found) => length = found,
            Err(fault) => return Some(Err(fault)),
        }
    }
    (bytes.len() > MAX_HEADERS).then_some(Err(CodecFault::HeadersTooLong))
}

/// Returns the length that a header line gives. `None` for another header.
fn content_length(line: &[u8]) -> Result<Option<u64>, CodecFault> {
    let Some(colon) = memchr::memchr(b':', line) else {
        return Err(CodecFault::BadHeader);
    };
    let (name, value) = line.split_at(colon);
    if !name.trim_ascii().eq_ignore_ascii_case(b"content-length") {
        return Ok(None);
    }
    let digits = value.get(1..).unwrap_or_default().trim_ascii();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let length = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok());
    match length {
        Some(length) if is_number => Ok(Some(length)),
        // More digits than a number of 64 bits has: as good as the largest one.
        None if is_number => Ok(Some(u64::MAX)),
        Some(_) | None => Err(CodecFault::BadLength),
    }
}

/// Returns the header of a body of `length` bytes.
pub(super) fn header(length: usize) -> impl fmt::Display {
    struct Header(usize);
    impl fmt::Display for Header {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "Content-Length: {}\r\n\r\n", self.0)
        }
    }
    Header(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_blocks() {
        for (text, expected) in [
            ("Content-Length: 5\r\n\r\nhello", Some(Ok((21, 5)))),
            ("content-length:5\n\nhello", Some(Ok((18, 5)))),
            (
                "Content-Type: x; charset=utf-8\r\nContent-Length: 0\r\n\r\n",
                Some(Ok((53, 0))),
            ),
            ("Content-Length: 5\r\n", None),
            ("Content-Le", None),
            (
                "Content-Length: -5\r\n\r\n",
                Some(Err(CodecFault::BadLength)),
            ),
            (
                "Content-Length: 5x\r\n\r\n",
                Some(Err(CodecFault::BadLength)),
            ),
            ("Content-Length:\r\n\r\n", Some(Err(CodecFault::BadLength))),
            (
                "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
                Some(Err(CodecFault::BadLength)),
            ),
            ("Content-Type: x\r\n\r\n", Some(Err(CodecFault::NoLength))),
            ("garbage\r\n\r\n", Some(Err(CodecFault::BadHeader))),
        ] {
            assert_eq!(header_block(text.as_bytes()), expected, "{text:?}");
        }
        let huge = format!("Content-Length: {}\r\n\r\n", "9".repeat(40));
        assert_eq!(header_block(huge.as_bytes()), Some(Ok((60, u64::MAX))));
        let endless = "X".repeat(MAX_HEADERS + 1);
        let fault = CodecFault::HeadersTooLong;
        assert_eq!(header_block(endless.as_bytes()), Some(Err(fault)));
        assert_eq!(header_block(&endless.as_bytes()[1..]), None);
    }
}
