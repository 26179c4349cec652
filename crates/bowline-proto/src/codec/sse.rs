//! Event streams, as the WHATWG defines them, with a limit.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr2, memchr2_iter};

use super::framing::TooLarge;
use super::oversize_id_scanner::OversizeIdScanner;
use super::{BOM, shrink};

/// Bytes of a line that isn't data: an event's name or id. A longer one is ignored.
const MAX_FIELD: usize = 8 * 1024;

/// An item of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseItem {
    /// An event. Its data may be empty: such an event only moves the cursor.
    Event {
        /// Its name; `message` when the stream gives none.
        name: Bytes,
        /// Its data. A slice of the buffer when it is one line.
        data: Bytes,
    },
    /// An id without data: the cursor has moved.
    Cursor,
    /// The wait before the stream is opened again.
    Retry(Duration),
    /// A comment. It shows that the peer is alive.
    Comment,
    /// An event whose data was too large. It was skipped.
    TooLarge(TooLarge),
}

/// Cuts an event stream into events.
///
/// Bytes go in through [`buffer`](Self::buffer) or [`push`](Self::push), items come out of
/// [`poll`](Self::poll) until it returns `None`. An unterminated event at the end of the stream is
/// dropped with the decoder.
#[derive(Debug)]
pub struct SseDecoder {
    /// Bytes of data that an event may have.
    limit: usize,
    buffer: BytesMut,
    /// Bytes of the buffer in which no line end was found.
    searched: usize,
    is_at_start: bool,
    /// The last line ended with `\r`; a `\n` next belongs to it.
    is_after_return: bool,
    event: Event,
    /// Set while a line that is too long to be kept is skipped.
    skipped_line: Option<LongLine>,
    last_event_id: String,
}

/// The kind of a line that is too long to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LongLine {
    Data,
    Comment,
    /// A field that is ignored when it is so long.
    Other,
}

/// An incomplete event.
#[derive(Debug, Default)]
struct Event {
    name: Bytes,
    id: Option<String>,
    data: Data,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line, a slice of the buffer.
    Line(Bytes),
    /// Several lines, joined.
    Lines(BytesMut),
    /// More than the limit.
    Skipped(Box<(OversizeIdScanner, u64)>),
}

impl SseDecoder {
    /// Creates a decoder for events of at most `limit` bytes of data.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            is_at_start: true,
            is_after_return: false,
            event: Event::default(),
            skipped_line: None,
            last_event_id: String::new(),
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

    /// Returns the next item, or `None` when more bytes are needed.
    pub fn poll(&mut self) -> Option<SseItem> {
        loop {
            if !self.skip_start() {
                return None;
            }
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(at) = memchr2(b'\r', b'\n', unsearched) else {
                self.searched = self.buffer.len();
                if self.searched > self.limit.saturating_add(MAX_FIELD)
                    || self.skipped_line.is_some()
                {
                    self.skip_partial_line();
                }
                return None;
            };
            let end = self.searched + at;
            self.is_after_return = self.buffer.get(end) == Some(&b'\r');
            self.searched = 0;
            let mut line = self.buffer.split_to(end + 1);
            line.truncate(end);
            shrink(&mut self.buffer);
            if let Some(item) = self.line(line.freeze()) {
                return Some(item);
            }
        }
    }

    /// Returns the cursor: the id of the last event that had one. Empty when none had.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// Skips the beginning of the stream. Returns `false` if more bytes are needed.
    fn skip_start(&mut self) -> bool {
        if self.is_at_start {
            let is_prefix = BOM.starts_with(&self.buffer);
            if is_prefix && self.buffer.len() < BOM.len() {
                return false;
            }
            if self.buffer.starts_with(BOM) {
                drop(self.buffer.split_to(BOM.len()));
            }
            self.is_at_start = false;
        }
        if self.is_after_return && !self.buffer.is_empty() {
            self.is_after_return = false;
            if self.buffer.first() == Some(&b'\n') {
                drop(self.buffer.split_to(1));
                self.searched = 0;
            }
        }
        true
    }

    /// Handles a line without its end.
    fn line(&mut self, line: Bytes) -> Option<SseItem> {
        match self.skipped_line.take() {
            None => {}
            Some(LongLine::Data) => {
                self.skip_data(&line);
                return None;
            }
            Some(LongLine::Comment) => return Some(SseItem::Comment),
            Some(LongLine::Other) => return None,
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = match memchr::memchr(b':', &line) {
            Some(0) => return Some(SseItem::Comment),
            Some(colon) => {
                let after = line.slice(colon + 1..);
                let has_space = after.first() == Some(&b' ');
                (line.slice(..colon), after.slice(usize::from(has_space)..))
            }
            None => (line, Bytes::new()),
        };
        match &*name {
            b"data" => self.event.data.push(value, self.limit),
            b"event" if value.len() <= MAX_FIELD => self.event.name = value,
            b"id" if value.len() <= MAX_FIELD && !value.contains(&0) => {
                self.event.id = Some(String::from_utf8_lossy(&value).into_owned());
            }
            b"retry" => return retry(&value),
            _ => {}
        }
        None
    }

    /// Handles a blank line: the event is complete.
    fn dispatch(&mut self) -> Option<SseItem> {
        let Event { name, id, data } = std::mem::take(&mut self.event);
        let moves_cursor = id.is_some();
        if let Some(id) = id {
            self.last_event_id = id;
        }
        let data = match data {
            Data::None if moves_cursor => return Some(SseItem::Cursor),
            Data::None => return None,
            Data::Line(line) => line,
            Data::Lines(lines) => lines.freeze(),
            Data::Skipped(skipped) => {
                let (scanner, size) = *skipped;
                let (id, about) = scanner.finish();
                return Some(SseItem::TooLarge(TooLarge::new(id, about, size)));
            }
        };
        let name = if name.is_empty() {
            Bytes::from_static(b"message")
        } else {
            name
        };
        Some(SseItem::Event { name, data })
    }

    /// Skips an incomplete line that is longer than any event may be.
    fn skip_partial_line(&mut self) {
        let part = self.buffer.split();
        self.searched = 0;
        shrink(&mut self.buffer);
        if let Some(line) = self.skipped_line {
            if line == LongLine::Data {
                self.skip_data(&part);
            }
            return;
        }
        let data = part.strip_prefix(b"data:");
        self.skipped_line = Some(match (data, part.first()) {
            (Some(data), _) => {
                self.event
                    .data
                    .give_up(data.strip_prefix(b" ").unwrap_or(data));
                LongLine::Data
            }
            (None, Some(b':')) => LongLine::Comment,
            (None, _) => LongLine::Other,
        });
    }

    fn skip_data(&mut self, part: &[u8]) {
        if let Data::Skipped(skipped) = &mut self.event.data {
            skipped.0.push(part);
            skipped.1 += part.len() as u64;
        }
    }
}

impl Data {
    fn push(&mut self, value: Bytes, limit: usize) {
        let joined = match self {
            Self::None => value.len(),
            Self::Line(line) => line.len() + 1 + value.len(),
            Self::Lines(lines) => lines.len() + 1 + value.len(),
            Self::Skipped(_) => usize::MAX,
        };
        if joined > limit {
            return self.give_up(&value);
        }
        match self {
            Self::None => *self = Self::Line(value),
            Self::Line(line) => {
                let mut lines = BytesMut::with_capacity(joined);
                lines.extend_from_slice(line);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&value);
                *self = Self::Lines(lines);
            }
            Self::Lines(lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&value);
            }
            Self::Skipped(_) => {}
        }
    }

    /// Drops the data, except for the id that identifies the call.
    fn give_up(&mut self, more: &[u8]) {
        let mut skipped = match std::mem::take(self) {
            Self::Skipped(skipped) => skipped,
            other => {
                let kept: &[u8] = match &other {
                    Self::Line(line) => line,
                    Self::Lines(lines) => lines,
                    Self::None | Self::Skipped(_) => b"",
                };
                let mut scanner = OversizeIdScanner::default();
                scanner.push(kept);
                Box::new((scanner, kept.len() as u64))
            }
        };
        skipped.0.push(more);
        skipped.1 += more.len() as u64;
        *self = Self::Skipped(skipped);
    }
}

/// Appends an event: its id when it has one, which must not contain a line end, and its
/// data, a line for each of theirs. The data is copied once.
pub fn write_event(out: &mut impl BufMut, id: Option<&str>, data: &[u8]) {
    if let Some(id) = id {
        write_field(out, b"id: ", id.as_bytes());
    }
    let mut start = 0;
    for end in memchr2_iter(b'\n', b'\r', data) {
        write_field(out, b"data: ", data.get(start..end).unwrap_or_default());
        start = end + 1;
    }
    write_field(out, b"data: ", data.get(start..).unwrap_or_default());
    out.put_slice(b"\n");
}

/// Appends an event that gives an id without a message, so that a client can resume before it has
/// received one: the id, `retry` when there is one, and empty data. A client must not dispatch it.
pub fn write_priming(out: &mut impl BufMut, id: &str, retry: Option<Duration>) {
    write_field(out, b"id: ", id.as_bytes());
    write_retry_field(out, retry);
    out.put_slice(b"data: \n\n");
}

/// Appends an event that has only `retry`, in milliseconds: the time after which the client opens
/// the stream again. The last event id stays.
pub fn write_retry(out: &mut impl BufMut, retry: Duration) {
    write_retry_field(out, Some(retry));
    out.put_slice(b"\n");
}

/// Appends a comment, which keeps a connection alive and is no event. A line end in `text` begins
/// another comment.
pub fn write_comment(out: &mut impl BufMut, text: &str) {
    for line in text.split(['\n', '\r']) {
        write_field(out, b": ", line.as_bytes());
    }
    out.put_slice(b"\n");
}

fn write_field(out: &mut impl BufMut, name: &[u8], value: &[u8]) {
    out.put_slice(name);
    out.put_slice(value);
    out.put_slice(b"\n");
}

fn write_retry_field(out: &mut impl BufMut, retry: Option<Duration>) {
    if let Some(retry) = retry {
        write_field(out, b"retry: ", retry.as_millis().to_string().as_bytes());
    }
}

/// Returns the time in a `retry` field, which counts only when it is all digits.
fn retry(value: &[u8]) -> Option<SseItem> {
    if value.is_empty() || value.len() > MAX_FIELD || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let millis = std::str::from_utf8(value).ok()?.parse().unwrap_or(u64::MAX);
    Some(SseItem::Retry(Duration::from_millis(millis)))
}
