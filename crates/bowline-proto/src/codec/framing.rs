//! Framing, its limits, and the items and faults of the frame decoder.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use bowline_types::RequestId;
use bowline_types::envelope::MessageKind;
use bytes::Bytes;

use super::length::header;

/// The framing of messages on a byte stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// One message per line: the framing of the protocol.
    #[default]
    Line,
    /// Headers before each message, as in the Language Server Protocol: some peers use it.
    ContentLength,
}

impl Framing {
    /// Appends the head of a frame of `length` bytes.
    pub fn write_head(self, out: &mut Vec<u8>, length: usize) {
        match self {
            Self::Line => {}
            Self::ContentLength => {
                write!(out, "{}", header(length)).expect("a vector takes every write");
            }
        }
    }

    /// Returns the tail of a frame.
    pub const fn tail(self) -> &'static [u8] {
        match self {
            Self::Line => b"\n",
            Self::ContentLength => b"",
        }
    }
}

/// The treatment of oversized frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oversize {
    /// Report the frame as soon as the limit is passed, and read nothing more: a client resets its
    /// connection.
    #[default]
    Stop,
    /// Skip the frame, keep only its id, and continue to read behind it.
    Skip,
}

/// The limits of a [`FrameDecoder`](super::FrameDecoder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameLimits {
    /// Bytes of a frame, without its line end or headers. Default 16 MiB: room for a
    /// large file in base64. A connection holds one such buffer while a frame arrives.
    pub frame: usize,
    /// The treatment of larger frames. Default [`Oversize::Stop`].
    pub oversize: Oversize,
    /// Bytes of an oversized frame that are skipped before the connection is closed. Default
    /// 64 MiB; costs time, not memory.
    pub skipped: u64,
    /// How long skipping may take. Default 30 s. The decoder has no clock: the connection checks
    /// it.
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

/// An item of the frame decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoded {
    /// A frame: a slice of the buffer.
    Frame(Bytes),
    /// A frame that was too large. With [`Oversize::Skip`] it was skipped as a whole.
    TooLarge(TooLarge),
    /// The bytes can't be decoded any more. This is the last item.
    Fault(CodecFault),
}

/// A frame that was too large.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// Its id, if it was found.
    pub id: Option<RequestId>,
    /// The kind of the message: a request or a response.
    pub message_kind: MessageKind,
    /// Its size in bytes, as far as it arrived or was announced.
    pub size: u64,
}

impl TooLarge {
    pub(super) fn new(id: Option<RequestId>, message_kind: MessageKind, size: u64) -> Self {
        Self {
            id,
            message_kind,
            size,
        }
    }
}

/// Why bytes can't be decoded into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecFault {
    /// The peer writes UTF-16; the protocol is UTF-8.
    Utf16,
    /// A `Content-Length` that is no number, or two of them.
    BadLength,
    /// Headers without a `Content-Length`.
    NoLength,
    /// A malformed header line.
    BadHeader,
    /// Too many headers.
    HeadersTooLong,
    /// An oversized frame that doesn't end within what may be skipped.
    EndlessFrame,
    /// The stream ended inside a frame that announced its length.
    UnexpectedEnd,
}

impl fmt::Display for CodecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf16 => "UTF-16 received, but MCP messages are UTF-8",
            Self::BadLength => "a Content-Length header without a valid number",
            Self::NoLength => "headers without a Content-Length",
            Self::BadHeader => "a header line without a colon",
            Self::HeadersTooLong => "unterminated headers",
            Self::EndlessFrame => "an oversized frame without an end",
            Self::UnexpectedEnd => "the stream ended inside a frame",
        })
    }
}

impl std::error::Error for CodecFault {}
