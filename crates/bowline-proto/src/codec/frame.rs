//! Frames of a byte stream.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use bowline_types::RequestId;
use bowline_types::envelope::About;
use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::hunter::IdHunter;
use super::length::{MAX_HEADERS, header, header_block, looks_like_header};
use super::{BOM, shrink};

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

    /// What stands behind a frame.
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

/// What a [`FrameDecoder`] lets in.
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

/// Cuts a byte stream into frames.
///
/// Bytes go in through [`buffer`](Self::buffer) or [`push`](Self::push), frames come out of
/// [`poll`](Self::poll) until it returns `None`. After the end of the stream
/// [`finish`](Self::finish) gives what has no line end.
#[derive(Debug)]
pub struct FrameDecoder {
    limits: FrameLimits,
    /// `None` until the peer has shown which one it speaks.
    framing: Option<Framing>,
    buffer: BytesMut,
    /// Bytes of the buffer in which no line end was found.
    searched: usize,
    state: State,
    is_at_start: bool,
    stray_boms: u64,
}

#[derive(Debug)]
enum State {
    /// At the beginning of a frame or inside one that fits.
    Reading,
    /// In a body of which so many bytes are still to come.
    Body { length: usize },
    /// In a frame that is too large.
    Skipping(Box<Skipping>),
    /// Nothing more comes out.
    Stopped,
}

#[derive(Debug)]
struct Skipping {
    hunter: IdHunter,
    size: u64,
    /// Bytes to come, where they were announced; up to the line end otherwise.
    left: Option<u64>,
}

impl FrameDecoder {
    /// A decoder that finds out how the peer frames.
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            framing: None,
            buffer: BytesMut::new(),
            searched: 0,
            state: State::Reading,
            is_at_start: true,
            stray_boms: 0,
        }
    }

    /// A decoder for a peer whose framing is known.
    pub fn with_framing(limits: FrameLimits, framing: Framing) -> Self {
        Self {
            framing: Some(framing),
            ..Self::new(limits)
        }
    }

    /// The buffer to read into. Append to it, then [`poll`](Self::poll).
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Appends bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, or `None` when more bytes are needed.
    pub fn poll(&mut self) -> Option<Decoded> {
        loop {
            if let Some(decoded) = self.skip_start() {
                return Some(decoded);
            }
            let step = match (&mut self.state, self.framing) {
                (State::Stopped, _) => {
                    self.buffer.clear();
                    shrink(&mut self.buffer);
                    return None;
                }
                (State::Skipping(_), _) => self.skip(),
                (State::Body { length }, _) => {
                    let length = *length;
                    self.body(length)
                }
                (State::Reading, Some(Framing::ContentLength)) => self.headers(),
                (State::Reading, Some(Framing::Line) | None) => self.line(),
            };
            match step {
                Step::Give(decoded) => return Some(decoded),
                Step::Again => {}
                Step::Wait => return None,
            }
        }
    }

    /// What is left at the end of the stream: a last line without its end, or a fault when
    /// a frame was cut off. Call it when [`poll`](Self::poll) has returned `None`.
    pub fn finish(&mut self) -> Option<Decoded> {
        let state = std::mem::replace(&mut self.state, State::Stopped);
        let rest = std::mem::take(&mut self.buffer);
        match (state, self.framing) {
            (State::Reading, Some(Framing::Line) | None) => {
                let line = trimmed(rest.freeze());
                if line.len() > self.limits.frame {
                    return Some(Skipping::whole(&line).finish());
                }
                (!line.is_empty()).then_some(Decoded::Frame(line))
            }
            (State::Reading, Some(Framing::ContentLength)) if rest.trim_ascii().is_empty() => None,
            (State::Reading | State::Body { .. }, _) => {
                Some(Decoded::Fault(CodecFault::UnexpectedEnd))
            }
            (State::Skipping(skipping), _) => Some(skipping.finish()),
            (State::Stopped, _) => None,
        }
    }

    /// Nothing more is read: what was is given back.
    pub(crate) fn abandon(&mut self) {
        self.state = State::Stopped;
        self.buffer = BytesMut::new();
    }

    /// How the peer frames, once that is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Whether an oversized frame is being skipped. A driver bounds how long that takes.
    pub fn is_skipping(&self) -> bool {
        matches!(self.state, State::Skipping(_))
    }

    /// Byte order marks that were found at the start of later lines, and dropped.
    pub fn stray_boms(&self) -> u64 {
        self.stray_boms
    }

    /// Bytes that the buffer holds room for.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Looks at the first bytes of the stream: a byte order mark goes, UTF-16 is refused.
    fn skip_start(&mut self) -> Option<Decoded> {
        if !self.is_at_start {
            return None;
        }
        if is_utf16(&self.buffer) {
            return Some(self.stop(CodecFault::Utf16));
        }
        if self.buffer.starts_with(BOM) {
            drop(self.buffer.split_to(BOM.len()));
            self.is_at_start = false;
        } else if !BOM.starts_with(&self.buffer) {
            // UTF-16 shows in the second byte.
            let may_be_utf16 = matches!(*self.buffer, [0xff | 0xfe | 0 | b'{' | b'[']);
            self.is_at_start = may_be_utf16;
        }
        None
    }

    fn line(&mut self) -> Step {
        // A mark at the beginning of the line may have come in parts.
        if self.searched < BOM.len() {
            self.skip_blank();
        }
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let found = memchr(b'\n', unsearched).map(|at| self.searched + at);
        if self.framing.is_none() {
            self.detect(found);
            if self.framing == Some(Framing::ContentLength) {
                self.searched = 0;
                return Step::Again;
            }
        }
        let Some(end) = found else {
            self.searched = self.buffer.len();
            // The line end may be one byte more than the frame, and `\r` another.
            if self.searched > self.limits.frame.saturating_add(1) {
                return self.begin_skipping(None);
            }
            return Step::Wait;
        };
        self.searched = 0;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        shrink(&mut self.buffer);
        let line = line.freeze();
        if line.strip_suffix(b"\r").unwrap_or(&line).len() > self.limits.frame {
            return self.refuse(&line);
        }
        let line = trimmed(line);
        if line.is_empty() {
            return Step::Again;
        }
        Step::Give(Decoded::Frame(line))
    }

    /// Looks at a line, of which the end may not have come, for how the peer frames.
    fn detect(&mut self, end: Option<usize>) {
        let line = self.buffer.get(..end.unwrap_or(self.buffer.len()));
        let line = line.unwrap_or_default().trim_ascii_start();
        if looks_like_header(line) {
            self.framing = Some(Framing::ContentLength);
        } else if matches!(line.first(), Some(b'{' | b'[')) {
            // Anything else may be a log line that got onto the stream.
            self.framing = Some(Framing::Line);
        }
    }

    /// A whole line that is one or two bytes too long.
    fn refuse(&mut self, line: &[u8]) -> Step {
        let skipping = Skipping::whole(line);
        match self.limits.oversize {
            Oversize::Stop => self.state = State::Stopped,
            Oversize::Skip if skipping.size > self.limits.skipped => {
                return Step::Give(self.stop(CodecFault::EndlessFrame));
            }
            Oversize::Skip => {}
        }
        Step::Give(skipping.finish())
    }

    fn headers(&mut self) -> Step {
        self.skip_blank();
        // Without another line end nothing has changed.
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        if memchr(b'\n', unsearched).is_none() && self.buffer.len() <= MAX_HEADERS {
            self.searched = self.buffer.len();
            return Step::Wait;
        }
        self.searched = 0;
        match header_block(&self.buffer) {
            None => {
                self.searched = self.buffer.len();
                Step::Wait
            }
            Some(Err(fault)) => Step::Give(self.stop(fault)),
            Some(Ok((body, length))) => {
                self.searched = 0;
                drop(self.buffer.split_to(body));
                match usize::try_from(length) {
                    Ok(length) if length <= self.limits.frame => {
                        self.state = State::Body { length };
                        Step::Again
                    }
                    Ok(_) | Err(_) => self.begin_skipping(Some(length)),
                }
            }
        }
    }

    fn body(&mut self, length: usize) -> Step {
        if self.buffer.len() < length {
            return Step::Wait;
        }
        self.state = State::Reading;
        let frame = self.buffer.split_to(length).freeze();
        shrink(&mut self.buffer);
        Step::Give(Decoded::Frame(frame))
    }

    fn begin_skipping(&mut self, announced: Option<u64>) -> Step {
        let mut skipping = Skipping {
            hunter: IdHunter::default(),
            size: 0,
            left: announced,
        };
        self.searched = 0;
        match self.limits.oversize {
            // What has come so far is all that is looked at.
            Oversize::Stop => {
                skipping.hunter.push(&self.buffer);
                skipping.size = announced.unwrap_or(self.buffer.len() as u64);
                self.state = State::Stopped;
                Step::Give(skipping.finish())
            }
            Oversize::Skip if announced.is_some_and(|length| length > self.limits.skipped) => {
                Step::Give(self.stop(CodecFault::EndlessFrame))
            }
            Oversize::Skip => {
                self.state = State::Skipping(Box::new(skipping));
                Step::Again
            }
        }
    }

    fn skip(&mut self) -> Step {
        let State::Skipping(skipping) = &mut self.state else {
            return Step::Again;
        };
        let here = match skipping.left {
            Some(left) => usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(self.buffer.len()),
            None => memchr(b'\n', &self.buffer).unwrap_or(self.buffer.len()),
        };
        let bytes = self.buffer.split_to(here);
        skipping.hunter.push(&bytes);
        skipping.size += here as u64;
        let is_done = match &mut skipping.left {
            Some(left) => {
                *left -= here as u64;
                *left == 0
            }
            None => !self.buffer.is_empty(),
        };
        if skipping.size > self.limits.skipped {
            return Step::Give(self.stop(CodecFault::EndlessFrame));
        }
        drop(bytes);
        shrink(&mut self.buffer);
        if !is_done {
            return Step::Wait;
        }
        match std::mem::replace(&mut self.state, State::Reading) {
            State::Skipping(skipping) => Step::Give(skipping.finish()),
            State::Reading | State::Body { .. } | State::Stopped => Step::Again,
        }
    }

    /// Drops blank lines, other white space and byte order marks before a frame.
    fn skip_blank(&mut self) {
        loop {
            let blank = self.buffer.len() - self.buffer.trim_ascii_start().len();
            drop(self.buffer.split_to(blank));
            if !self.buffer.starts_with(BOM) {
                break;
            }
            drop(self.buffer.split_to(BOM.len()));
            self.stray_boms += 1;
        }
        self.searched = 0;
    }

    fn stop(&mut self, fault: CodecFault) -> Decoded {
        self.state = State::Stopped;
        self.is_at_start = false;
        Decoded::Fault(fault)
    }
}

impl Skipping {
    /// A frame that has come as a whole.
    fn whole(frame: &[u8]) -> Self {
        let mut hunter = IdHunter::default();
        hunter.push(frame);
        Self {
            hunter,
            size: frame.len() as u64,
            left: None,
        }
    }

    fn finish(self) -> Decoded {
        let (id, about) = self.hunter.finish();
        Decoded::TooLarge(TooLarge::new(id, about, self.size))
    }
}

/// What a step of the decoder leads to.
enum Step {
    Give(Decoded),
    Again,
    Wait,
}

/// Without white space around it: a line may end in `\r\n`, or be blank.
fn trimmed(line: Bytes) -> Bytes {
    let start = line.len() - line.trim_ascii_start().len();
    let length = line.trim_ascii().len();
    line.slice(start..start + length)
}

/// A byte order mark of UTF-16, or a bracket with a zero byte beside it.
fn is_utf16(start: &[u8]) -> bool {
    matches!(
        start,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{' | b'[', 0, ..] | [0, b'{' | b'[', ..]
    )
}
