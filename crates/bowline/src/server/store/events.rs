//! The store of events.

use std::future::Future;
use std::num::NonZeroU64;
use std::time::Duration;

use bowline_proto::StreamId;
use bytes::Bytes;

use super::error::StoreError;
use super::key::StoreKey;

/// A stream of events within the log of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct StreamKey {
    /// The log, which is that of one session.
    pub log: StoreKey,
    /// The number of the stream in the log.
    pub stream: StreamId,
}

impl StreamKey {
    /// Creates the key of a stream.
    pub const fn new(log: StoreKey, stream: StreamId) -> Self {
        Self { log, stream }
    }
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEvent {
    /// Its number in its stream, from 1 on.
    pub sequence: NonZeroU64,
    /// The bytes, as they were written.
    pub record: Bytes,
}

impl StoredEvent {
    /// Creates an event: for a store.
    pub const fn new(sequence: NonZeroU64, record: Bytes) -> Self {
        Self { sequence, record }
    }
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEvents {
    /// What was [written](EventStore::write_head) last about the stream. Empty if nothing was.
    pub head: Bytes,
    /// The sequence through which events may be gone. 0 while all are kept.
    pub removed_through: u64,
    /// Events after the requested one, in their order.
    pub events: Vec<StoredEvent>,
}

impl StoredEvents {
    /// Creates a part of a stream: for a store.
    pub const fn new(head: Bytes, removed_through: u64, events: Vec<StoredEvent>) -> Self {
        Self {
            head,
            removed_through,
            events,
        }
    }
}

/// Keeps the events of streams, so that any node can resume them.
///
/// The node that runs the handler of a stream is its only writer and numbers its events; another
/// node reads what the client has missed. A reader that waits for more events subscribes to the
/// [`Bus`](super::Bus), and reads again when it is woken, or when it has waited for some time.
///
/// A store may bound what it keeps of a stream, and remove its oldest events. No reader may take the
/// rest for all: `removed_through` is raised before events are removed, and read after them.
pub trait EventStore: Send + Sync + 'static {
    /// Creates a stream without events, and keeps it for `ttl`. Its number comes from a counter of the
    /// log, which is kept at least as long: no two streams of a log have the same number.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if there are too many streams.
    fn create_stream(
        &self,
        log: &StoreKey,
        ttl: Duration,
    ) -> impl Future<Output = Result<StreamId, StoreError>> + Send;

    /// Writes what is known of a stream beside its events, and keeps the stream for `ttl` from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no such stream.
    fn write_head(
        &self,
        stream: &StreamKey,
        head: Bytes,
        ttl: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Appends an event, and keeps the stream for `ttl` from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if its sequence is not larger than that of each event before it,
    /// whether or not these are still kept; [`StoreError::Missing`] if there is no such stream.
    fn append(
        &self,
        stream: &StreamKey,
        event: StoredEvent,
        ttl: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns at most `limit` events whose sequence is larger than `after`, the oldest first, or
    /// `None` if there is no such stream.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn read(
        &self,
        stream: &StreamKey,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Option<StoredEvents>, StoreError>> + Send;

    /// Removes the events through this sequence. Before that it raises `removed_through`, which is
    /// never lowered.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no such stream.
    fn trim(
        &self,
        stream: &StreamKey,
        through: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes a stream with its events. Returns `true` if there was one.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn remove_stream(
        &self,
        stream: &StreamKey,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Removes all streams of a log, and its counter.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn remove_log(&self, log: &StoreKey) -> impl Future<Output = Result<(), StoreError>> + Send;
}
