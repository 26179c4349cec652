//! What goes into a decoder of frames, and what comes out.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use bowline_types::RequestId;
use bowline_types::envelope::About;
use bytes::Bytes;

use super::length::header;

/// How frames are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// One frame a line: what the protocol says.
    #[default]
    Line,
    /// Headers before each frame, as language servers have it: what some peers do.
    ContentLength,
}

impl Framing {
    /// Appends what stands before a frame of `length` bytes.
    pub fn write_head(self, out: &mut Vec<u8>, length: usize) {
        match self {
            Self::Line => {}
            Self::ContentLength => {
                write!(out, "{}", header(length)).expect("a vector takes every write");
            }
        }
    }

    /// Returns what stands behind a frame.
    pub const fn tail(self) -> &'static [u8] {
        match self {
            Self::Line => b"\n",
            Self::ContentLength => b"",
        }
    }
}

/// What happens to a frame that is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oversize {
    /// It is reported as soon as the limit is passed, and nothing more is read: a client
    /// resets its connection.
    #[default]
    Stop,
    /// It is skipped, only its id is kept, and reading goes on behind it.
    Skip,
}

/// What a [`FrameDecoder`](super::FrameDecoder) lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameLimits {
    /// Bytes of a frame, without its line end or headers. Default 16 MiB: room for a
    /// large file in base64. A connection holds one such buffer while a frame arrives.
    pub frame: usize,
    /// What happens beyond it. Default [`Oversize::Stop`].
    pub oversize: Oversize,
    /// Bytes of an oversized frame that are skipped before the peer is given up. Default
    /// 64 MiB; costs time, not memory.
    pub skipped: u64,
    /// How long that may take. Default 30 s. The decoder knows no time: a connection looks
    /// at it.
    pub skip_timeout: Duration,
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self {
            frame: 16 * 1024 * 1024,
            oversize: Oversize::default(),
            skipped: 64 * 1024 * 1024,
            skip_timeout: Duration::from_secs(30),
        }
    }
}

/// What came out of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoded {
    /// A frame: a slice of the buffer.
    Frame(Bytes),
    /// A frame that was too large. With [`Oversize::Skip`] it was skipped as a whole.
    TooLarge(TooLarge),
    /// The bytes make no sense any more. Nothing more comes.
    Fault(CodecFault),
}

/// A frame that was too large.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// Its id, as far as it was read.
    pub id: Option<RequestId>,
    /// Whether that is the id of a request that it makes, or of one that it answers.
    pub about: About,
    /// Its bytes, as far as they came or were announced.
    pub size: u64,
}

impl TooLarge {
    pub(super) fn new(id: Option<RequestId>, about: About, size: u64) -> Self {
        Self { id, about, size }
    }
}

/// Why bytes make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecFault {
    /// The peer writes UTF-16; the protocol is UTF-8.
    Utf16,
    /// A `Content-Length` that is no number, or two of them.
    BadLength,
    /// Headers without a `Content-Length`.
    NoLength,
    /// A line among the headers that is none.
    BadHeader,
    /// More headers than anyone needs.
    HeadersTooLong,
    /// An oversized frame that doesn't end within what may be skipped.
    EndlessFrame,
    /// The stream ended inside a frame that announced its length.
    UnexpectedEnd,
}

impl fmt::Display for CodecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf16 => "the peer writes UTF-16, the protocol is UTF-8",
            Self::BadLength => "a Content-Length header without a valid number",
            Self::NoLength => "headers without a Content-Length",
            Self::BadHeader => "a header line without a colon",
            Self::HeadersTooLong => "headers without an end",
            Self::EndlessFrame => "a frame that is too large and doesn't end",
            Self::UnexpectedEnd => "the stream ended inside a frame",
        })
    }
}

impl std::error::Error for CodecFault {}
