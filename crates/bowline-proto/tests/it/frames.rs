//! Frames of byte streams: any split of the bytes gives the same frames.

use bowline_proto::codec::{
    CodecFault, Decoded, FrameDecoder, FrameLimits, Framing, Oversize, TooLarge,
};
use bowline_types::envelope::Envelope;
use proptest::prelude::*;

/// What comes out of the bytes, in words.
fn decode(limits: FrameLimits, chunks: &[&[u8]]) -> Vec<String> {
    let mut decoder = FrameDecoder::new(limits);
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(decoded) = decoder.poll() {
            out.push(words(&decoded));
        }
    }
    out.extend(decoder.finish().map(|decoded| words(&decoded)));
    assert_eq!(decoder.finish(), None);
    out
}

fn words(decoded: &Decoded) -> String {
    match decoded {
        Decoded::Frame(frame) => format!("frame {}", frame.escape_ascii()),
        Decoded::TooLarge(TooLarge {
            id,
            message_kind,
            size,
            ..
        }) => {
            let id = id
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or("none".into());
            format!("too large: id {id}, {message_kind:?}, {size} bytes")
        }
        Decoded::Fault(fault) => format!("fault {fault:?}"),
        other => panic!("{other:?}"),
    }
}

/// Checks the whole, and every way to cut it in two, and byte by byte.
fn check(limits: FrameLimits, bytes: &[u8], expected: &[&str]) {
    assert_eq!(
        decode(limits, &[bytes]),
        expected,
        "{}",
        bytes.escape_ascii()
    );
    for cut in 0..bytes.len() {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(decode(limits, &[first, second]), expected, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(limits, &single), expected, "byte by byte");
}

fn limit(frame: usize, oversize: Oversize) -> FrameLimits {
    let mut limits = FrameLimits::default();
    limits.frame = frame;
    limits.oversize = oversize;
    limits
}

// proves: F-FR-06, F-FR-07, F-FR-08, F-FR-14
#[test]
fn lines_are_frames_however_they_are_split() {
    let all = FrameLimits::default();
    check(
        all,
        b"{\"a\":1}\n{\"b\":2}\r\n",
        &["frame {\\\"a\\\":1}", "frame {\\\"b\\\":2}"],
    );
    check(
        all,
        "{\"é\":\"👩‍👩‍👧 \\ud83d\\ude00\"}\n".as_bytes(),
        &[
            "frame {\\\"\\xc3\\xa9\\\":\\\"\\xf0\\x9f\\x91\\xa9\\xe2\\x80\\x8d\\xf0\\x9f\\x91\\xa9\\xe2\\x80\\x8d\\xf0\\x9f\\x91\\xa7 \\\\ud83d\\\\ude00\\\"}",
        ],
    );
    // A lone CR ends no line; a newline in a string ends one. Neither half is a message.
    check(all, b"{}\r{}\n", &["frame {}\\r{}"]);
    check(
        all,
        b"{\"a\":\"x\ny\"}\n",
        &["frame {\\\"a\\\":\\\"x", "frame y\\\"}"],
    );
    for part in [&b"{}\r{}"[..], b"{\"a\":\"x", b"y\"}"] {
        assert!(Envelope::parse(part).is_err());
    }
    // The last frame may lack its line end.
    check(all, b"{}\n[1]", &["frame {}", "frame [1]"]);
}

// proves: F-FR-09
#[test]
fn blank_lines_are_nothing() {
    check(FrameLimits::default(), b"\n \r\n\t\n{}\n\n", &["frame {}"]);
    let mut many = b" \r\n".repeat(1_000_000);
    many.extend_from_slice(b"{}\n");
    assert_eq!(decode(FrameLimits::default(), &[&many]), ["frame {}"]);
}

// proves: F-FR-10
#[test]
fn byte_order_marks_are_dropped_and_counted() {
    let bytes = b"\xef\xbb\xbf{}\n\xef\xbb\xbf[]\n";
    check(FrameLimits::default(), bytes, &["frame {}", "frame []"]);
    let mut decoder = FrameDecoder::new(FrameLimits::default());
    decoder.push(bytes);
    while decoder.poll().is_some() {}
    assert_eq!(decoder.stray_boms(), 1);
}

// proves: F-FR-11
#[test]
fn utf16_is_named() {
    let text: Vec<u16> = "{\"jsonrpc\":\"2.0\"}\n".encode_utf16().collect();
    let little: Vec<u8> = text.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = text.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    for bytes in [
        &little,
        &big,
        &[b"\xff\xfe", &*little].concat(),
        &[b"\xfe\xff", &*big].concat(),
    ] {
        check(FrameLimits::default(), bytes, &["fault Utf16"]);
    }
    assert!(CodecFault::Utf16.to_string().contains("UTF-16 received"));
}

// proves: F-FR-12, F-FR-13, F-FR-17
#[test]
fn nonsense_is_a_frame_that_is_no_message_and_the_stream_goes_on() {
    for nonsense in [
        &b"{\"a\":\0}"[..],
        b"\0",
        b"\xff",
        b"{\"a\":\"\xc0\x80\"}",
        b"{\"a\":\"\xed\xa0\x80\"}",
        b"{\"a\":\"\xe2\x82",
        b"{}{}",
        b"{} x",
    ] {
        let stream = [nonsense, b"\n{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n"].concat();
        let mut decoder = FrameDecoder::new(FrameLimits::default());
        decoder.push(&stream);
        let Some(Decoded::Frame(first)) = decoder.poll() else {
            panic!("{}", stream.escape_ascii());
        };
        assert!(
            Envelope::parse(&first).is_err(),
            "{}",
            nonsense.escape_ascii()
        );
        let Some(Decoded::Frame(second)) = decoder.poll() else {
            panic!("{}", stream.escape_ascii());
        };
        assert!(Envelope::parse(&second).is_ok());
    }
}

#[test]
fn the_limit_and_one_more() {
    let response = |length: usize| {
        let padding = "x".repeat(length - r#"{"id":7,"result":""}"#.len());
        format!(r#"{{"id":7,"result":"{padding}"}}"#)
    };
    for oversize in [Oversize::Stop, Oversize::Skip] {
        let limits = limit(64, oversize);
        for end in ["\n", "\r\n"] {
            let fits = format!("{}{end}{{}}\n", response(64));
            let frame = format!("frame {}", response(64).escape_default());
            check(limits, fits.as_bytes(), &[&frame, "frame {}"]);
        }
        for (extra, end) in [(1, "\n"), (1, "\r\n"), (2, "\n"), (3, "\n"), (40, "\n")] {
            let size = 64 + extra;
            let over = format!("{}{end}{{}}\n", response(size));
            let words = decode(limits, &[over.as_bytes()]);
            assert!(
                words[0].starts_with("too large: id 7, Response"),
                "{words:?}"
            );
            match oversize {
                Oversize::Skip => assert_eq!(words[1..], ["frame {}"]),
                _ => assert_eq!(words.len(), 1),
            }
        }
    }
}

// proves: F-FR-01, F-FR-02
#[test]
fn sixteen_mebibytes_fit_and_one_byte_more_is_skipped() {
    let mut limits = FrameLimits::default();
    limits.oversize = Oversize::Skip;
    let response = |length: usize| {
        let head = r#"{"jsonrpc":"2.0","result":{"t":""#;
        let tail = r#""},"id":"late"}"#;
        let padding = "x".repeat(length - head.len() - tail.len());
        [head, &padding, tail, "\n{}\n"].concat()
    };
    let mut decoder = FrameDecoder::new(limits);
    decoder.push(response(16_777_216).as_bytes());
    assert!(matches!(decoder.poll(), Some(Decoded::Frame(frame)) if frame.len() == 16_777_216));
    assert!(matches!(decoder.poll(), Some(Decoded::Frame(frame)) if frame == "{}"));
    assert_eq!(
        decode(limits, &[response(16_777_217).as_bytes()]),
        [
            "too large: id \"late\", Response, 16777217 bytes",
            "frame {}"
        ]
    );
    let in_chunks = response(20_000_000);
    let chunks: Vec<&[u8]> = in_chunks.as_bytes().chunks(65536).collect();
    assert_eq!(
        decode(limits, &chunks),
        [
            "too large: id \"late\", Response, 20000000 bytes",
            "frame {}"
        ]
    );
}

// proves: F-FR-04
#[test]
fn an_endless_frame_is_given_up_in_bounded_memory() {
    let mut limits = limit(1024 * 1024, Oversize::Skip);
    limits.skipped = 8 * 1024 * 1024;
    let mut decoder = FrameDecoder::new(limits);
    let chunk = [b'x'; 65536];
    let mut pushed = 0_u64;
    let fault = loop {
        decoder.push(&chunk);
        pushed += chunk.len() as u64;
        match decoder.poll() {
            Some(decoded) => break decoded,
            None => assert!(decoder.capacity() <= 4 * 1024 * 1024 && pushed < 16 * 1024 * 1024),
        }
    };
    assert_eq!(fault, Decoded::Fault(CodecFault::EndlessFrame));
    assert!(pushed > limits.skipped && pushed <= limits.skipped + 2 * 65536);
    decoder.push(b"\n{}\n");
    assert_eq!(decoder.poll(), None);
}

// proves: F-FR-25
#[test]
fn a_large_frame_leaves_no_large_buffer_behind() {
    let mut decoder = FrameDecoder::new(FrameLimits::default());
    let frame = [&b"x".repeat(16_000_000)[..], b"\n"].concat();
    for chunk in frame.chunks(65536) {
        decoder.push(chunk);
    }
    assert!(decoder.poll().is_some());
    assert_eq!(decoder.poll(), None);
    assert!(decoder.capacity() <= 64 * 1024, "{}", decoder.capacity());
}

#[test]
fn a_small_frame_does_not_keep_the_large_one_before_it() {
    let large = format!("[{}]", "1,".repeat(100_000) + "1");
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let lines = format!("{large}\n[2]\n");
    let lengths = framed(&large) + &framed("[2]");
    for stream in [lines, lengths] {
        let mut decoder = FrameDecoder::new(FrameLimits::default());
        decoder.push(stream.as_bytes());
        let Some(Decoded::Frame(first)) = decoder.poll() else {
            panic!("a frame is there");
        };
        let second = decoder.poll();
        assert_eq!(second, Some(Decoded::Frame("[2]".into())));
        assert!(first.len() == large.len() && first.is_unique());
    }
}

// proves: F-FR-18
#[test]
fn content_length_is_detected_and_its_faults_are_named() {
    let all = FrameLimits::default();
    let two = b"Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length: 4\n\n[1]\n";
    check(all, two, &["frame {}", "frame [1]\\n"]);
    // Log lines before it don't hide it, and a blank line between frames is harmless.
    check(
        all,
        b"starting\nContent-Length: 2\r\n\r\n{}\r\nContent-Length: 2\r\n\r\n[]",
        &["frame starting", "frame {}", "frame []"],
    );
    for (bytes, fault) in [
        (&b"Content-Length: -1\r\n\r\n{}"[..], "fault BadLength"),
        (b"Content-Length: x\r\n\r\n{}", "fault BadLength"),
        (b"Content-Type: x\r\n\r\n{}", "fault NoLength"),
        (
            b"Content-Length: 2\r\nnonsense\r\n\r\n{}",
            "fault BadHeader",
        ),
        (b"Content-Length: 9\r\n\r\n{}", "fault UnexpectedEnd"),
        (b"Content-Length: 9\r\n", "fault UnexpectedEnd"),
    ] {
        check(all, bytes, &[fault]);
    }
    let huge = b"Content-Length: 99999999999999999999\r\n\r\n{\"id\":1";
    assert_eq!(
        decode(all, &[huge]),
        ["too large: id 1, Unknown, 18446744073709551615 bytes"]
    );
    let skipped = b"Content-Length: 18\r\n\r\n{\"id\":1,\"error\":{}Content-Length: 2\r\n\r\n[]";
    assert_eq!(
        decode(limit(10, Oversize::Skip), &[skipped]),
        ["too large: id 1, Response, 18 bytes", "frame []"]
    );
    let mut known = FrameDecoder::with_framing(all, Framing::ContentLength);
    known.push(b"Content-Length: 2\r\n\r\n{}");
    assert!(matches!(known.poll(), Some(Decoded::Frame(_))));
    let mut lines = FrameDecoder::with_framing(all, Framing::Line);
    lines.push(b"Content-Length: 2\r\n");
    assert!(matches!(lines.poll(), Some(Decoded::Frame(_))));
}

#[test]
fn a_written_frame_is_read_as_itself() {
    for framing in [Framing::Line, Framing::ContentLength] {
        let mut out = Vec::new();
        for frame in [&b"{}"[..], b"[1,2]"] {
            framing.write_head(&mut out, frame.len());
            out.extend_from_slice(frame);
            out.extend_from_slice(framing.tail());
        }
        check(FrameLimits::default(), &out, &["frame {}", "frame [1,2]"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_frames(
        pieces in proptest::collection::vec(piece(), 0..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        frame in 20_usize..40,
        skip in any::<bool>(),
    ) {
        let bytes = pieces.concat();
        let oversize = if skip { Oversize::Skip } else { Oversize::Stop };
        let mut limits = limit(frame, oversize);
        limits.skipped = 60;
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in cuts {
            chunks.push(&bytes[start..cut]);
            start = cut;
        }
        chunks.push(&bytes[start..]);
        let split = decode(limits, &chunks);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let single = decode(limits, &single);
        prop_assert_eq!(sized(&split), sized(&single));
    }
}

/// When reading stops at an oversized or endless frame, how much of it had come depends
/// on the split; whose it is may, too.
fn sized(words: &[String]) -> Vec<&str> {
    words
        .iter()
        .map(|word| {
            if word.starts_with("too large") {
                "too large"
            } else {
                word
            }
        })
        .take_while(|word| *word != "fault EndlessFrame")
        .collect()
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(b"Content-Length: 3\r\n\r\n".to_vec()),
        Just(b"Content-Length: 300\n\n".to_vec()),
        Just(b"{\"id\":1}".to_vec()),
        Just(b"[".to_vec()),
        Just(b" ".to_vec()),
        Just(vec![0]),
        proptest::collection::vec(any::<u8>(), 0..30),
        proptest::collection::vec(Just(b'x'), 0..100),
    ]
}
