//! Frames that announce their lengths: any split gives the same, and so does the naive way.

#![no_main]

use bowline_proto::codec::{CodecFault, FrameDecoder, FrameLimits, Framing, Oversize};
use libfuzzer_sys::fuzz_target;

#[path = "support/frames.rs"]
mod support;

use support::{HEADERS, after_start, decode, is_space};

fuzz_target!(|data: &[u8]| {
    let [options, size, bytes @ ..] = data else {
        return;
    };
    // Longer headers than the limit are found out sooner or later, depending on the split.
    let bytes = &bytes[..bytes.len().min(8 * 1024)];
    let size = usize::from(*size).max(1);
    let limits = support::limits(options & 1 == 1);
    let length = || FrameDecoder::with_framing(limits, Framing::ContentLength);
    let split = decode(length(), HEADERS, bytes.chunks(size));
    assert_eq!(split, decode(length(), HEADERS, bytes.chunks(1)));
    assert_eq!(split, naive(limits, bytes));
});

/// The frames of all the bytes at once.
fn naive(limits: FrameLimits, bytes: &[u8]) -> Vec<String> {
    let Some(mut rest) = after_start(bytes) else {
        return vec!["Fault(Utf16)".into()];
    };
    let mut out = Vec::new();
    loop {
        let fault = match next(limits, &mut rest) {
            Ok(words) => {
                let is_over = words == support::TOO_LARGE && limits.oversize == Oversize::Stop;
                out.push(words);
                if is_over {
                    return out;
                }
                continue;
            }
            Err(fault) => fault,
        };
        // Nothing is left, or something that makes no sense.
        out.extend(fault.map(|fault| format!("Fault({fault:?})")));
        return out;
    }
}

/// Takes one frame off. `Err(None)` at the end.
fn next(limits: FrameLimits, rest: &mut &[u8]) -> Result<String, Option<CodecFault>> {
    loop {
        *rest = match *rest {
            [first, more @ ..] if is_space(*first) => more,
            [0xef, 0xbb, 0xbf, more @ ..] => more,
            _ => break,
        };
    }
    let is_empty = rest.is_empty();
    let mut length = None;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        *rest = &rest[end + 1..];
        if line.is_empty() {
            return body(limits, rest, length.ok_or(CodecFault::NoLength)?);
        }
        if let Some(found) = header(line)? {
            if length.replace(found).is_some() {
                return Err(Some(CodecFault::BadLength));
            }
        }
    }
    Err((!is_empty).then_some(CodecFault::UnexpectedEnd))
}

fn body(limits: FrameLimits, rest: &mut &[u8], length: u128) -> Result<String, Option<CodecFault>> {
    let is_there = length <= rest.len() as u128;
    let (body, behind) = rest.split_at((length as usize).min(rest.len()));
    if length > limits.frame as u128 {
        if limits.oversize == Oversize::Skip && length > u128::from(limits.skipped) {
            return Err(Some(CodecFault::EndlessFrame));
        }
        *rest = behind;
        return Ok(support::TOO_LARGE.into());
    }
    *rest = behind;
    if is_there {
        Ok(support::frame(body))
    } else {
        Err(Some(CodecFault::UnexpectedEnd))
    }
}

/// The length in a header, if it is the one that has it.
fn header(line: &[u8]) -> Result<Option<u128>, CodecFault> {
    let text = String::from_utf8_lossy(line);
    let Some((name, value)) = text.split_once(':') else {
        return Err(CodecFault::BadHeader);
    };
    let spaces = |character: char| character.is_ascii() && is_space(character as u8);
    if !name
        .trim_matches(spaces)
        .eq_ignore_ascii_case("content-length")
    {
        return Ok(None);
    }
    let digits = value.trim_matches(spaces);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CodecFault::BadLength);
    }
    Ok(Some(digits.parse().unwrap_or(u128::from(u64::MAX))))
}
