//! Events in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::{Instant, StreamId};
use bytes::Bytes;

use super::super::error::StoreError;
use super::super::events::{EventStore, StoredEvent, StoredEvents, StreamKey};
use super::super::key::StoreKey;
use super::records::{RecordLimits, Records};
use crate::clock::Clock;

/// An [`EventStore`] in memory: for tests, and for several servers of one process.
#[derive(Debug)]
pub struct MemoryEvents {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The number of the newest stream of each log, kept as long as that stream at least.
    counters: Records<StoreKey, Counter>,
    streams: Records<StreamKey, Stream>,
    max_events: usize,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    last: u64,
    expires: Instant,
}

#[derive(Debug, Default)]
struct Stream {
    head: Bytes,
    newest: u64,
    removed_through: u64,
    events: VecDeque<StoredEvent>,
    /// Of the events, with [`EVENT_BYTES`] for each.
    event_bytes: usize,
}

/// What an event takes beside its own bytes.
const EVENT_BYTES: usize = 64;

impl MemoryEvents {
    /// Creates an empty store.
    pub fn new() -> Self {
        let counters = RecordLimits {
            records: 10_000,
            bytes: usize::MAX,
        };
        let streams = RecordLimits {
            records: 10_000,
            bytes: 64 * 1024 * 1024,
        };
        Self {
            clock: Clock::start(),
            state: Mutex::new(State {
                counters: Records::new(counters),
                streams: Records::new(streams),
                max_events: 1024,
            }),
        }
    }

    /// Sets the most streams of all logs together. Default 10,000; beyond it none is created.
    #[must_use]
    pub fn max_streams(self, count: usize) -> Self {
        let (mut state, _) = self.lock();
        state.counters.limits_mut().records = count;
        state.streams.limits_mut().records = count;
        drop(state);
        self
    }

    /// Sets the most events that are kept of one stream. Default 1024; beyond it the oldest ones are
    /// removed.
    #[must_use]
    pub fn max_events(self, count: usize) -> Self {
        self.lock().0.max_events = count;
        self
    }

    /// Sets the most bytes of all events and heads together, where each event counts 64 more.
    /// Default 64 MiB; beyond it the oldest events of the stream that is written to are removed. A
    /// head for which that is not enough is not written.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.lock().0.streams.limits_mut().bytes = bytes;
        self
    }

    /// Returns the state without what has expired, and the time.
    fn lock(&self) -> (MutexGuard<'_, State>, Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        state.counters.expire(now);
        state.streams.expire(now);
        (state, now)
    }
}

impl Default for MemoryEvents {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// Keeps a stream, and the counter of its log.
    fn keep(&mut self, stream: &StreamKey, expires: Instant) {
        self.streams.touch(stream, expires);
        if let Some(counter) = self.counters.get_mut(&stream.log)
            && counter.expires < expires
        {
            counter.expires = expires;
            self.counters.touch(&stream.log, expires);
        }
    }

    fn stream_mut(&mut self, stream: &StreamKey) -> Result<&mut Stream, StoreError> {
        self.streams.get_mut(stream).ok_or(StoreError::Missing)
    }

    /// Counts the bytes of a stream. Removes its oldest events if there is no room for them.
    fn fit(&mut self, stream: &StreamKey) -> Result<(), StoreError> {
        loop {
            let bytes = self.stream_mut(stream)?.bytes();
            if self.streams.resize(stream, bytes).is_ok() {
                return Ok(());
            }
            if !self.stream_mut(stream)?.remove_oldest() {
                return Err(StoreError::Full);
            }
        }
    }
}

impl Stream {
    fn bytes(&self) -> usize {
        self.head.len() + self.event_bytes
    }

    fn push(&mut self, event: StoredEvent, max_events: usize) {
        self.newest = event.sequence.get();
        self.event_bytes += event.record.len() + EVENT_BYTES;
        self.events.push_back(event);
        if self.events.len() > max_events {
            self.remove_oldest();
        }
    }

    /// Removes the oldest event. Returns `false` if there is none.
    fn remove_oldest(&mut self) -> bool {
        let oldest = self.events.front().map(|event| event.sequence.get());
        oldest.map(|oldest| self.trim(oldest)).is_some()
    }

    fn trim(&mut self, through: u64) {
        self.removed_through = self.removed_through.max(through);
        let through = self.removed_through;
        let is_gone = |event: &StoredEvent| event.sequence.get() <= through;
        while self.events.front().is_some_and(is_gone) {
            let removed = self.events.pop_front();
            let bytes = removed.map_or(0, |event| event.record.len() + EVENT_BYTES);
            self.event_bytes -= bytes;
        }
    }
}

impl EventStore for MemoryEvents {
    async fn create_stream(&self, log: &StoreKey, ttl: Duration) -> Result<StreamId, StoreError> {
        let (mut state, now) = self.lock();
        let expires = now + ttl;
        let counter = state.counters.get(log).copied();
        let counter = Counter {
            last: counter.map_or(0, |counter| counter.last) + 1,
            expires: counter.map_or(expires, |counter| counter.expires.max(expires)),
        };
        // The counter first: a number that no stream has is harmless.
        let log_expires = counter.expires;
        state
            .counters
            .insert(log.clone(), counter, 0, log_expires)?;
        let id = StreamId::new(counter.last);
        let key = StreamKey::new(log.clone(), id);
        state.streams.insert(key, Stream::default(), 0, expires)?;
        Ok(id)
    }

    async fn write_head(
        &self,
        stream: &StreamKey,
        head: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let (mut state, now) = self.lock();
        let old = std::mem::replace(&mut state.stream_mut(stream)?.head, head);
        if let Err(error) = state.fit(stream) {
            state.stream_mut(stream)?.head = old;
            return Err(error);
        }
        state.keep(stream, now + ttl);
        Ok(())
    }

    async fn append(
        &self,
        stream: &StreamKey,
        event: StoredEvent,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let (mut state, now) = self.lock();
        let max_events = state.max_events;
        let found = state.stream_mut(stream)?;
        let sequence = event.sequence.get();
        if sequence <= found.newest.max(found.removed_through) {
            return Err(StoreError::Conflict);
        }
        found.push(event, max_events);
        state.keep(stream, now + ttl);
        state.fit(stream)
    }

    async fn read(
        &self,
        stream: &StreamKey,
        after: u64,
        limit: usize,
    ) -> Result<Option<StoredEvents>, StoreError> {
        let (state, _) = self.lock();
        Ok(state.streams.get(stream).map(|found| {
            let start = found
                .events
                .partition_point(|event| event.sequence.get() <= after);
            let events = found.events.iter().skip(start).take(limit);
            let events = events.cloned().collect();
            StoredEvents::new(found.head.clone(), found.removed_through, events)
        }))
    }

    async fn trim(&self, stream: &StreamKey, through: u64) -> Result<(), StoreError> {
        let (mut state, _) = self.lock();
        state.stream_mut(stream)?.trim(through);
        state.fit(stream)
    }

    async fn remove_stream(&self, stream: &StreamKey) -> Result<bool, StoreError> {
        Ok(self.lock().0.streams.remove(stream).is_some())
    }

    async fn remove_log(&self, log: &StoreKey) -> Result<(), StoreError> {
        let (mut state, _) = self.lock();
        let number = |number| StreamKey::new(log.clone(), StreamId::new(number));
        let streams = state.streams.range(number(0)..=number(u64::MAX));
        let streams: Vec<_> = streams.map(|(key, _)| key.clone()).collect();
        for stream in &streams {
            state.streams.remove(stream);
        }
        state.counters.remove(log);
        Ok(())
    }
}
