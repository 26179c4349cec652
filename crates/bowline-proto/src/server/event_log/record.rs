//! What a store keeps: the events and the heads of the streams, as bytes that don't change.
//!
//! # How a store keeps the log of a session for several nodes
//!
//! The node that runs a handler numbers its events and appends them to its own
//! [`EventLog`](super::EventLog), from which connections of that node are served. It also writes to
//! the store, in this order:
//!
//! 1. when a stream is opened, its [`StreamHead`]; the number of the stream comes from a counter of
//!    the session in the store, so that no two nodes use the same one;
//! 2. each [`EventRecord`], under its stream and with its sequence as the key (on Redis: `XADD
//!    <session>:<stream> <sequence>-0`, which refuses a sequence that is not newer);
//! 3. the [`StreamHead`] again, whenever the phase changes or events are removed.
//!
//! A node that is asked to resume a stream which it doesn't run reads the head, lets
//! [`StreamHead::check`] decide, and reads the records whose sequence is larger than the client's
//! id, then waits for further ones (`XREAD BLOCK`) until the record of the final response or a head
//! that has ended. What has been read decides: if the first record read is not the one after the
//! client's id, it was removed in between, and the head has to be read again. A store bounds what
//! it keeps by its own clock; before it removes records it raises `removed_through`.

use std::fmt;
use std::time::Duration;

use bytes::{BufMut, Bytes};

use super::error::ReplayError;
use super::event_id::{EventId, parse_decimal};
use crate::codec::{write_event, write_priming};
use crate::outbox::StreamId;

/// The version of both forms, their first byte.
const VERSION: u8 = b'1';

/// What an event carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventData {
    /// Nothing: the event gives the client an id with which it can resume. Since 2025-11-25.
    Priming,
    /// A JSON-RPC message: a notification, a request, or a response that is not the last one of its
    /// stream.
    Message(Bytes),
    /// The final response, with which the stream ends. The last one, where a batch has several.
    FinalResponse(Bytes),
}

impl EventData {
    /// Returns the message. Empty for a priming event.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Priming => &[],
            Self::Message(message) | Self::FinalResponse(message) => message,
        }
    }
}

/// An event with its id, as it is sent and as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// The id.
    pub id: EventId,
    /// What it carries.
    pub data: EventData,
}

impl EventRecord {
    /// Creates the record of an event.
    pub const fn new(id: EventId, data: EventData) -> Self {
        Self { id, data }
    }

    /// Appends the event in the form of an event stream. `retry` is sent with a priming event
    /// only: the time after which the client opens the stream again.
    pub fn write_sse(&self, out: &mut impl BufMut, retry: Option<Duration>) {
        let id = self.id.text();
        match &self.data {
            EventData::Priming => write_priming(out, id.as_str(), retry),
            EventData::Message(message) | EventData::FinalResponse(message) => {
                write_event(out, Some(id.as_str()), message);
            }
        }
    }

    /// Appends the stable form: a version, a letter for the kind, the id, a line end, the message.
    ///
    /// ```
    /// use bowline_proto::server::{EventData, EventRecord};
    ///
    /// let message = EventData::Message("{}".into());
    /// let record = EventRecord::new("7-12".parse()?, message);
    /// let mut bytes = Vec::new();
    /// record.encode(&mut bytes);
    /// assert_eq!(bytes, b"1m 7-12\n{}");
    /// assert_eq!(EventRecord::decode(&bytes.into()), Ok(record));
    /// # Ok::<(), bowline_proto::server::BadEventId>(())
    /// ```
    pub fn encode(&self, out: &mut impl BufMut) {
        let kind = match self.data {
            EventData::Priming => b'p',
            EventData::Message(_) => b'm',
            EventData::FinalResponse(_) => b'r',
        };
        out.put_slice(&[VERSION, kind, b' ']);
        out.put_slice(self.id.text().as_str().as_bytes());
        out.put_slice(b"\n");
        out.put_slice(self.data.as_bytes());
    }

    /// Decodes the stable form. The message is a slice of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if [`encode`](Self::encode) does not write these bytes.
    pub fn decode(bytes: &Bytes) -> Result<Self, BadRecord> {
        let (version, rest) = bytes.split_first().ok_or(BadRecord::Malformed)?;
        if *version != VERSION {
            return Err(BadRecord::UnknownVersion);
        }
        let end = memchr::memchr(b'\n', rest).ok_or(BadRecord::Malformed)?;
        let (head, message) = (rest.get(..end), bytes.slice(end + 2..));
        let Some([kind, b' ', id @ ..]) = head else {
            return Err(BadRecord::Malformed);
        };
        let id = EventId::parse(id).map_err(|_| BadRecord::Malformed)?;
        let data = match kind {
            b'p' if message.is_empty() => EventData::Priming,
            b'm' => EventData::Message(message),
            b'r' => EventData::FinalResponse(message),
            _ => return Err(BadRecord::Malformed),
        };
        Ok(Self { id, data })
    }
}

/// The phase of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamPhase {
    /// More events may come.
    Open,
    /// More events may come; they wait, since the server has closed the connection and the client
    /// polls. Resuming opens the stream again.
    Polling,
    /// The stream has ended: with the final response, or without.
    Ended,
}

/// Why events are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Removal {
    /// A limit on events or bytes was reached.
    Evicted,
    /// They were too old.
    Expired,
}

/// What is known of a stream beside its events: enough to decide whether it can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamHead {
    /// The stream.
    pub stream: StreamId,
    /// The phase.
    pub phase: StreamPhase,
    /// How many events were numbered, which is the sequence of the newest one.
    pub issued: u64,
    /// The sequence through which events are no longer kept. 0 while all are.
    pub removed_through: u64,
    /// Why the last of those was removed.
    pub removal: Option<Removal>,
}

impl StreamHead {
    /// Creates the head of a stream without events.
    pub const fn new(stream: StreamId) -> Self {
        Self {
            stream,
            phase: StreamPhase::Open,
            issued: 0,
            removed_through: 0,
            removal: None,
        }
    }

    /// Returns the id of the newest event.
    pub fn newest(&self) -> Option<EventId> {
        self.id(self.issued)
    }

    /// Returns the id of the oldest event that is kept.
    pub fn first_available(&self) -> Option<EventId> {
        if self.removed_through >= self.issued {
            return None;
        }
        self.id(self.removed_through.saturating_add(1))
    }

    /// Checks that every event after `last` is kept.
    ///
    /// # Errors
    ///
    /// Fails if `last` belongs to another stream, was never issued, or if an event after it is no
    /// longer kept.
    pub fn check(&self, last: EventId) -> Result<(), ReplayError> {
        if last.stream() != self.stream {
            return Err(ReplayError::UnknownStream(last.stream()));
        }
        self.check_sequence(last.sequence())
    }

    /// As [`check`](Self::check); 0 is the beginning of the stream.
    pub(super) fn check_sequence(&self, last: u64) -> Result<(), ReplayError> {
        if last > self.issued {
            let newest = self.newest();
            return Err(ReplayError::NotIssued { newest });
        }
        if last >= self.removed_through {
            return Ok(());
        }
        let first_available = self.first_available();
        Err(match self.removal {
            Some(Removal::Expired) => ReplayError::Expired { first_available },
            Some(Removal::Evicted) | None => ReplayError::Evicted { first_available },
        })
    }

    /// Decodes the stable form, which [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// Fails on any other text, and on numbers that contradict each other.
    pub fn decode(text: &[u8]) -> Result<Self, BadRecord> {
        let mut words = text.split(|byte| *byte == b' ');
        if words.next() != Some(&[VERSION]) {
            return Err(BadRecord::UnknownVersion);
        }
        let mut number = || {
            let word = words.next().unwrap_or_default();
            parse_decimal(word).map_err(|_| BadRecord::Malformed)
        };
        let (stream, issued, removed_through) = (number()?, number()?, number()?);
        let phase = match words.next() {
            Some(b"open") => StreamPhase::Open,
            Some(b"polling") => StreamPhase::Polling,
            Some(b"ended") => StreamPhase::Ended,
            _ => return Err(BadRecord::Malformed),
        };
        let removal = match words.next() {
            None => None,
            Some(b"evicted") => Some(Removal::Evicted),
            Some(b"expired") => Some(Removal::Expired),
            Some(_) => return Err(BadRecord::Malformed),
        };
        let is_consistent = removed_through <= issued && removal.is_some() == (removed_through > 0);
        if words.next().is_some() || !is_consistent {
            return Err(BadRecord::Malformed);
        }
        Ok(Self {
            stream: StreamId::new(stream),
            phase,
            issued,
            removed_through,
            removal,
        })
    }

    fn id(&self, sequence: u64) -> Option<EventId> {
        let sequence = std::num::NonZeroU64::new(sequence)?;
        Some(EventId::new(self.stream, sequence))
    }
}

impl fmt::Display for StreamHead {
    /// Writes the stable form: `1 <stream> <issued> <removed through> <phase>`, and why events were
    /// removed if some were.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase {
            StreamPhase::Open => "open",
            StreamPhase::Polling => "polling",
            StreamPhase::Ended => "ended",
        };
        let (stream, issued, removed) = (self.stream.get(), self.issued, self.removed_through);
        write!(f, "1 {stream} {issued} {removed} {phase}")?;
        match self.removal {
            None => Ok(()),
            Some(Removal::Evicted) => f.write_str(" evicted"),
            Some(Removal::Expired) => f.write_str(" expired"),
        }
    }
}

/// Why bytes of a store are no valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadRecord {
    /// They have another version, of a newer Bowline.
    UnknownVersion,
    /// They have another form.
    Malformed,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownVersion => "unsupported version of a stored record (supported: 1)",
            Self::Malformed => "malformed stored record",
        })
    }
}

impl std::error::Error for BadRecord {}
