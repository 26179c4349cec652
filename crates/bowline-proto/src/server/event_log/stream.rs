//! One stream of a log, and the connection that reads it.

use std::collections::VecDeque;
use std::time::Duration;

use super::config::EventLogConfig;
use super::kept_events::{Class, Order, cost};
use super::record::{EventData, EventRecord, Removal, StreamHead};
use crate::outbox::StreamId;
use crate::time::Instant;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) head: StreamHead,
    /// The events that are kept: the first one is that after `head.removed_through`.
    pub(super) orders: VecDeque<Order>,
    pub(super) reader: Option<Attached>,
    /// The sequence of the newest event that a connection has read.
    pub(super) read_through: u64,
    /// A connection has read the final response.
    pub(super) is_response_fetched: bool,
    /// When the stream ended, if it has.
    pub(super) ended_at: Instant,
}

/// The reader of a stream, on the side of the log.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    pub(super) key: u64,
    /// The sequence of the last event that was read.
    pub(super) cursor: u64,
    /// The newest event when it began. Those up to here are kept as for a client that is not
    /// connected: the limit on unread bytes must not end every attempt to read a long backlog.
    pub(super) backlog: u64,
    /// It has read an event, and not only resumed after one.
    pub(super) has_read: bool,
    /// It was given up, and its next read returns that.
    pub(super) is_lagging: bool,
    /// It ends after this sequence, and the client polls.
    pub(super) closing: Option<(u64, Duration)>,
}

impl Attached {
    pub(super) const fn new(key: u64, cursor: u64, backlog: u64) -> Self {
        Self {
            key,
            cursor,
            backlog,
            has_read: false,
            is_lagging: false,
            closing: None,
        }
    }

    /// Returns `true` before the first event that is replayed.
    pub(super) const fn is_first_replayed(&self) -> bool {
        self.cursor > 0 && !self.has_read
    }
}

impl Stream {
    pub(super) const fn new(stream: StreamId) -> Self {
        Self::restored(StreamHead::new(stream))
    }

    /// Creates a stream whose events, if there were some, are gone.
    pub(super) const fn restored(head: StreamHead) -> Self {
        let removal = match head.removal {
            None if head.issued > 0 => Some(Removal::Expired),
            removal => removal,
        };
        Self {
            head: StreamHead {
                removed_through: head.issued,
                removal,
                ..head
            },
            orders: VecDeque::new(),
            reader: None,
            read_through: head.issued,
            is_response_fetched: false,
            ended_at: Instant::START,
        }
    }

    /// Returns the reader, if it is the one with this key.
    pub(super) fn attached(&self, key: u64) -> Option<&Attached> {
        self.reader.as_ref().filter(|reader| reader.key == key)
    }

    /// Returns the backlog of a reader that begins now. What a connection that it displaces has
    /// not read stays unread, so that taking a stream over evicts nothing.
    pub(super) fn backlog(&self) -> u64 {
        let displaced = self.reader.as_ref().filter(|reader| !reader.is_lagging);
        displaced.map_or(self.head.issued, |reader| reader.cursor.max(reader.backlog))
    }

    /// Returns the place of the event after the cursor.
    pub(super) fn order_after(&self, cursor: u64) -> Option<Order> {
        let index = cursor.checked_sub(self.head.removed_through)?;
        self.orders.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns why an event of this stream is kept.
    pub(super) fn class_of(&self, record: &EventRecord, config: &EventLogConfig) -> Class {
        let will_be_read = self.reader.as_ref().is_some_and(|reader| {
            !reader.is_lagging && reader.cursor.max(reader.backlog) < record.id.sequence()
        });
        let is_response = matches!(record.data, EventData::FinalResponse(_));
        if will_be_read && is_response {
            Class::UnreadResponse
        } else if will_be_read {
            Class::Unread
        } else if cost(record) > config.bytes {
            Class::Oversize
        } else if is_response && !self.is_response_fetched {
            Class::Response
        } else {
            Class::History
        }
    }
}
