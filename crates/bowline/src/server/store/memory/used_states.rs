//! States that may be used once, in memory.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::super::error::StoreError;
use super::super::key::StoreKey;
use super::super::used_states::UsedStateStore;
use super::records::{RecordLimits, Records};
use crate::clock::Clock;

/// A [`UsedStateStore`] in memory: for tests, and for several servers of one process.
#[derive(Debug)]
pub struct MemoryUsedStates {
    clock: Clock,
    used: Mutex<Records<StoreKey, ()>>,
}

impl MemoryUsedStates {
    /// Creates an empty store.
    pub fn new() -> Self {
        let limits = RecordLimits {
            records: 100_000,
            bytes: usize::MAX,
        };
        Self {
            clock: Clock::start(),
            used: Mutex::new(Records::new(limits)),
        }
    }

    /// Sets the most states. Default 100,000, which take 20 MiB; beyond it none is accepted.
    #[must_use]
    pub fn max_states(mut self, count: usize) -> Self {
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        used.limits_mut().records = count;
        self
    }
}

impl Default for MemoryUsedStates {
    fn default() -> Self {
        Self::new()
    }
}

impl UsedStateStore for MemoryUsedStates {
    async fn consume(&self, state: &StoreKey, ttl: Duration) -> Result<bool, StoreError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        used.expire(now);
        if used.get(state).is_some() {
            return Ok(false);
        }
        used.insert(state.clone(), (), 0, now + ttl)?;
        Ok(true)
    }
}
