//! Frames of a byte stream.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::framing::{CodecFault, Decoded, FrameLimits, Framing, Oversize, TooLarge};
use super::length::{MAX_HEADERS, header_block, looks_like_header};
use super::oversize_id_scanner::OversizeIdScanner;
use super::{BOM, shrink, shrink_after};

/// Cuts a byte stream into frames.
///
/// Bytes go in through [`buffer`](Self::buffer) or [`push`](Self::push), frames come out of
/// [`poll`](Self::poll) until it returns `None`. After the end of the stream
/// [`finish`](Self::finish) gives what has no line end.
#[derive(Debug)]
pub struct FrameDecoder {
    limits: FrameLimits,
    /// The framing of the peer. `None` until it is detected.
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
    /// In a body with this number of bytes still to come.
    Body { length: usize },
    /// In a frame that is too large.
    Skipping(Box<Skipping>),
    /// The decoder has stopped.
    Stopped,
}

#[derive(Debug)]
struct Skipping {
    scanner: OversizeIdScanner,
    size: u64,
    /// Bytes to come, where they were announced; up to the line end otherwise.
    left: Option<u64>,
}

impl FrameDecoder {
    /// Creates a decoder that detects the framing of the peer.
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

    /// Creates a decoder for a peer whose framing is known.
    pub fn with_framing(limits: FrameLimits, framing: Framing) -> Self {
        Self {
            framing: Some(framing),
            ..Self::new(limits)
        }
    }

    /// Returns the buffer to read into. Append to it, then [`poll`](Self::poll).
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Appends bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next frame, or `None` when more bytes are needed.
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

    /// Returns what is left at the end of the stream: a last line without its end, or a fault when
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

    /// Stops the decoder and releases its buffer.
    pub(crate) fn abandon(&mut self) {
        self.state = State::Stopped;
        self.buffer = BytesMut::new();
    }

    /// Returns the framing of the peer, once it is detected.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Returns `true` if an oversized frame is being skipped. A driver bounds how long that takes.
    pub fn is_skipping(&self) -> bool {
        matches!(self.state, State::Skipping(_))
    }

    /// Returns `true` if only a part of a frame has arrived.
    pub fn is_inside(&self) -> bool {
        !self.buffer.is_empty() || matches!(self.state, State::Body { .. })
    }

    /// Returns the number of byte order marks that were dropped at the start of later lines.
    pub fn stray_boms(&self) -> u64 {
        self.stray_boms
    }

    /// Returns the number of bytes that the buffer holds room for.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Checks the first bytes of the stream: drops a byte order mark, and refuses UTF-16.
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
        shrink_after(&mut self.buffer, end);
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

    /// Detects the framing of the peer from a line, which may be incomplete.
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

    /// Returns a whole line that is one or two bytes too long.
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
        shrink_after(&mut self.buffer, length);
        Step::Give(Decoded::Frame(frame))
    }

    fn begin_skipping(&mut self, announced: Option<u64>) -> Step {
        let mut skipping = Skipping {
            scanner: OversizeIdScanner::default(),
            size: 0,
            left: announced,
        };
        self.searched = 0;
        match self.limits.oversize {
            // Only the bytes that have arrived are scanned.
            Oversize::Stop => {
                skipping.scanner.push(&self.buffer);
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
        skipping.scanner.push(&bytes);
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
        shrink_after(&mut self.buffer, here);
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
    /// Creates the state for an oversized frame that has arrived completely.
    fn whole(frame: &[u8]) -> Self {
        let mut scanner = OversizeIdScanner::default();
        scanner.push(frame);
        Self {
            scanner,
            size: frame.len() as u64,
            left: None,
        }
    }

    fn finish(self) -> Decoded {
        let (id, about) = self.scanner.finish();
        Decoded::TooLarge(TooLarge::new(id, about, self.size))
    }
}

/// The result of a step of the decoder.
enum Step {
    Give(Decoded),
    Again,
    Wait,
}

/// Trims white space: a line may end in `\r\n`, or be blank.
fn trimmed(line: Bytes) -> Bytes {
    let start = line.len() - line.trim_ascii_start().len();
    let length = line.trim_ascii().len();
    line.slice(start..start + length)
}

/// Returns `true` for a byte order mark of UTF-16, or a bracket with a zero byte beside it.
fn is_utf16(start: &[u8]) -> bool {
    matches!(
        start,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{' | b'[', 0, ..] | [0, b'{' | b'[', ..]
    )
}
