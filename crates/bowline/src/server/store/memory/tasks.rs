//! Tasks in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::Instant;
use bytes::Bytes;

use super::super::error::StoreError;
use super::super::key::StoreKey;
use super::super::stamp::Version;
use super::super::tasks::{StoredTask, TaskPosition, TaskStore};
use super::records::{RecordLimits, Records};
use crate::clock::Clock;

/// A [`TaskStore`] in memory: for tests, and for several servers of one process.
#[derive(Debug)]
pub struct MemoryTasks {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tasks: Records<StoreKey, OwnedTask>,
    lists: BTreeMap<(StoreKey, TaskPosition), StoreKey>,
    /// The last number that was given out, for versions and positions.
    last: u64,
}

#[derive(Debug)]
struct OwnedTask {
    owner: StoreKey,
    stored: StoredTask,
}

impl MemoryTasks {
    /// Creates an empty store.
    pub fn new() -> Self {
        let limits = RecordLimits {
            records: 10_000,
            bytes: 64 * 1024 * 1024,
        };
        Self {
            clock: Clock::start(),
            state: Mutex::new(State {
                tasks: Records::new(limits),
                lists: BTreeMap::new(),
                last: 0,
            }),
        }
    }

    /// Sets the most tasks. Default 10,000; beyond it none is created.
    #[must_use]
    pub fn max_tasks(self, count: usize) -> Self {
        self.lock().0.tasks.limits_mut().records = count;
        self
    }

    /// Sets the most bytes of all records together. Default 64 MiB; beyond it none is written.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.lock().0.tasks.limits_mut().bytes = bytes;
        self
    }

    /// Returns the state without what has expired, and the time.
    fn lock(&self) -> (MutexGuard<'_, State>, Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        for (_, expired) in state.tasks.expire(now) {
            state.unlist(expired);
        }
        (state, now)
    }
}

impl Default for MemoryTasks {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn unlist(&mut self, task: OwnedTask) {
        self.lists.remove(&(task.owner, task.stored.position));
    }
}

impl TaskStore for MemoryTasks {
    async fn create(
        &self,
        owner: &StoreKey,
        task: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Version, StoreError> {
        let (mut state, now) = self.lock();
        if state.tasks.get(task).is_some() {
            return Err(StoreError::Conflict);
        }
        let (position, version) = (TaskPosition::new(state.next()), Version::new(state.last));
        let bytes = record.len();
        let entry = OwnedTask {
            owner: owner.clone(),
            stored: StoredTask::new(task.clone(), position, record, version),
        };
        state.tasks.insert(task.clone(), entry, bytes, now + ttl)?;
        state.lists.insert((owner.clone(), position), task.clone());
        Ok(version)
    }

    async fn load(&self, task: &StoreKey) -> Result<Option<StoredTask>, StoreError> {
        let (state, _) = self.lock();
        Ok(state.tasks.get(task).map(|entry| entry.stored.clone()))
    }

    async fn replace(
        &self,
        task: &StoreKey,
        expected: Version,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Version, StoreError> {
        let (mut state, now) = self.lock();
        let entry = state.tasks.get(task).ok_or(StoreError::Missing)?;
        if entry.stored.version != expected {
            return Err(StoreError::Conflict);
        }
        state.tasks.resize(task, record.len())?;
        state.tasks.touch(task, now + ttl);
        let version = Version::new(state.next());
        if let Some(entry) = state.tasks.get_mut(task) {
            entry.stored.record = record;
            entry.stored.version = version;
        }
        Ok(version)
    }

    async fn list(
        &self,
        owner: &StoreKey,
        after: Option<TaskPosition>,
        limit: usize,
    ) -> Result<Vec<StoredTask>, StoreError> {
        let (state, _) = self.lock();
        let first = (owner.clone(), after.unwrap_or(TaskPosition::new(0)));
        let last = (owner.clone(), TaskPosition::new(u64::MAX));
        let range = (Bound::Excluded(first), Bound::Included(last));
        let listed = state.lists.range(range).take(limit);
        let found = listed.filter_map(|(_, task)| state.tasks.get(task));
        Ok(found.map(|entry| entry.stored.clone()).collect())
    }

    async fn remove(&self, task: &StoreKey) -> Result<bool, StoreError> {
        let (mut state, _) = self.lock();
        let removed = state.tasks.remove(task);
        Ok(removed.map(|entry| state.unlist(entry)).is_some())
    }
}
