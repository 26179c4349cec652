//! Idle sessions in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::Instant;
use bytes::Bytes;

use super::super::error::StoreError;
use super::super::key::StoreKey;
use super::super::sessions::SessionStore;
use super::super::stamp::{Fence, Stamp, StoredRecord, Version};
use super::records::{RecordLimits, Records};
use crate::clock::Clock;

/// A [`SessionStore`] in memory: for tests, and for several servers of one process.
#[derive(Debug)]
pub struct MemorySessions {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    records: Records<StoreKey, StoredRecord>,
    /// Of the whole store: a record that is created again has other stamps.
    last_version: u64,
    last_fence: u64,
}

impl MemorySessions {
    /// Creates an empty store.
    pub fn new() -> Self {
        let limits = RecordLimits {
            records: 10_000,
            bytes: 64 * 1024 * 1024,
        };
        Self {
            clock: Clock::start(),
            state: Mutex::new(State {
                records: Records::new(limits),
                last_version: 0,
                last_fence: 0,
            }),
        }
    }

    /// Sets the most sessions. Default 10,000; beyond it none is created.
    #[must_use]
    pub fn max_sessions(self, count: usize) -> Self {
        self.lock().0.records.limits_mut().records = count;
        self
    }

    /// Sets the most bytes of all records together. Default 64 MiB; beyond it none is written.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.lock().0.records.limits_mut().bytes = bytes;
        self
    }

    /// Returns the state without what has expired, and the time.
    fn lock(&self) -> (MutexGuard<'_, State>, Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        state.records.expire(now);
        (state, now)
    }
}

impl Default for MemorySessions {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn next_version(&mut self) -> Version {
        self.last_version += 1;
        Version::new(self.last_version)
    }

    fn next_fence(&mut self) -> Fence {
        self.last_fence += 1;
        Fence::new(self.last_fence)
    }

    fn write(
        &mut self,
        session: &StoreKey,
        fence: Fence,
        record: Bytes,
        expires: Instant,
    ) -> Result<Stamp, StoreError> {
        let version = self.next_version();
        let stamp = Stamp { version, fence };
        let bytes = record.len();
        let stored = StoredRecord { record, stamp };
        self.records
            .insert(session.clone(), stored, bytes, expires)?;
        Ok(stamp)
    }
}

impl SessionStore for MemorySessions {
    async fn create(
        &self,
        session: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        let (mut state, now) = self.lock();
        if state.records.get(session).is_some() {
            return Err(StoreError::Conflict);
        }
        let fence = state.next_fence();
        state.write(session, fence, record, now + ttl)
    }

    async fn load(&self, session: &StoreKey) -> Result<Option<StoredRecord>, StoreError> {
        Ok(self.lock().0.records.get(session).cloned())
    }

    async fn claim(
        &self,
        session: &StoreKey,
        ttl: Duration,
    ) -> Result<Option<StoredRecord>, StoreError> {
        let (mut state, now) = self.lock();
        let (version, fence) = (state.next_version(), state.next_fence());
        state.records.touch(session, now + ttl);
        let Some(stored) = state.records.get_mut(session) else {
            return Ok(None);
        };
        stored.stamp = Stamp { version, fence };
        Ok(Some(stored.clone()))
    }

    async fn replace(
        &self,
        session: &StoreKey,
        expected: Stamp,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        let (mut state, now) = self.lock();
        let stored = state.records.get(session).ok_or(StoreError::Missing)?;
        if stored.stamp.fence != expected.fence {
            return Err(StoreError::Fenced);
        }
        if stored.stamp.version != expected.version {
            return Err(StoreError::Conflict);
        }
        state.write(session, expected.fence, record, now + ttl)
    }

    async fn touch(
        &self,
        session: &StoreKey,
        fence: Fence,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let (mut state, now) = self.lock();
        let stored = state.records.get(session).ok_or(StoreError::Missing)?;
        if stored.stamp.fence != fence {
            return Err(StoreError::Fenced);
        }
        state.records.touch(session, now + ttl);
        Ok(())
    }

    async fn remove(&self, session: &StoreKey) -> Result<bool, StoreError> {
        Ok(self.lock().0.records.remove(session).is_some())
    }
}
