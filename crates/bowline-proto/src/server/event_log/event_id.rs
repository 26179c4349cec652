//! The id of an event, as `id:` and `Last-Event-ID` carry it.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::outbox::StreamId;

/// The id of an event of a session: its stream, and its place on that stream, from 1.
///
/// Its text is `<stream>-<sequence>`, both in decimal without leading zeros, so each id has exactly
/// one text. 2025-11-25, basic/transports: ids should carry their stream, and must be unique
/// across all streams of a session.
///
/// ```
/// use bowline_proto::server::EventId;
///
/// let id: EventId = "7-12".parse()?;
/// assert_eq!((id.stream().get(), id.sequence()), (7, 12));
/// assert_eq!(id.to_string(), "7-12");
/// assert!("7-012".parse::<EventId>().is_err());
/// # Ok::<(), bowline_proto::server::BadEventId>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    stream: StreamId,
    sequence: NonZeroU64,
}

impl EventId {
    /// The longest text of an id, in bytes.
    pub const MAX_LEN: usize = 20 + 1 + 20;

    /// Creates the id of the event at this place on the stream. Places are counted from 1.
    pub const fn new(stream: StreamId, sequence: NonZeroU64) -> Self {
        Self { stream, sequence }
    }

    /// Parses the text of an id, such as the value of `Last-Event-ID`.
    ///
    /// # Errors
    ///
    /// Fails on anything that [`text`](Self::text) does not return. No more than
    /// [`MAX_LEN`](Self::MAX_LEN) bytes are read.
    pub fn parse(text: &[u8]) -> Result<Self, BadEventId> {
        if text.is_empty() {
            return Err(BadEventId::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(BadEventId::TooLong);
        }
        let mut parts = text.splitn(2, |byte| *byte == b'-');
        let stream = parse_decimal(parts.next().unwrap_or_default())?;
        let sequence = parse_decimal(parts.next().ok_or(BadEventId::Malformed)?)?;
        let sequence = NonZeroU64::new(sequence).ok_or(BadEventId::Malformed)?;
        Ok(Self::new(StreamId::new(stream), sequence))
    }

    /// Returns the stream of the event.
    pub const fn stream(self) -> StreamId {
        self.stream
    }

    /// Returns the place of the event on its stream.
    pub const fn sequence(self) -> u64 {
        self.sequence.get()
    }

    /// Returns the text, without an allocation.
    pub fn text(self) -> EventIdText {
        let mut text = EventIdText {
            bytes: [0; Self::MAX_LEN],
            start: Self::MAX_LEN,
        };
        text.prepend_decimal(self.sequence());
        text.prepend(b'-');
        text.prepend_decimal(self.stream.get());
        text
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl FromStr for EventId {
    type Err = BadEventId;

    fn from_str(text: &str) -> Result<Self, BadEventId> {
        Self::parse(text.as_bytes())
    }
}

/// The text of an [`EventId`].
#[derive(Clone, Copy, Debug)]
pub struct EventIdText {
    bytes: [u8; EventId::MAX_LEN],
    start: usize,
}

impl EventIdText {
    /// Returns the text: visible ASCII.
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(self.start..).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    fn prepend_decimal(&mut self, mut number: u64) {
        loop {
            // The remainder has one digit.
            self.prepend(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                return;
            }
        }
    }

    /// Prepends a byte. There is room for the longest text.
    fn prepend(&mut self, byte: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(place) = self.bytes.get_mut(self.start) {
            *place = byte;
        }
    }
}

/// Why a text is no valid event id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadEventId {
    /// It is empty.
    Empty,
    /// It is longer than [`EventId::MAX_LEN`].
    TooLong,
    /// It does not have the form `<stream>-<sequence>`.
    Malformed,
    /// A number in it is larger than 2⁶⁴ − 1.
    Overflow,
}

impl fmt::Display for BadEventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong => write!(f, "is longer than {} bytes", EventId::MAX_LEN),
            Self::Malformed => f.write_str("does not have the form `<stream>-<sequence>`"),
            Self::Overflow => f.write_str("has a number that is too large"),
        }
    }
}

impl std::error::Error for BadEventId {}

/// Parses a number that has no sign and no leading zeros.
pub(super) fn parse_decimal(text: &[u8]) -> Result<u64, BadEventId> {
    let is_canonical = match text {
        [] => false,
        [b'0', rest @ ..] => rest.is_empty(),
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if !is_canonical {
        return Err(BadEventId::Malformed);
    }
    let mut number = 0_u64;
    for digit in text {
        let grown = number.checked_mul(10);
        let grown = grown.and_then(|number| number.checked_add(u64::from(digit - b'0')));
        number = grown.ok_or(BadEventId::Overflow)?;
    }
    Ok(number)
}
