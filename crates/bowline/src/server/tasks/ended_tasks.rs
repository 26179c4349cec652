//! Tasks that have ended, within limits: the oldest is evicted first.
//!
//! It knows which tasks are kept and how many bytes their results have. Finding a task by its id is
//! the store's part.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::TaskConfig;
use super::entry::{Owner, TaskEntry};

/// One client may have this fraction of the bytes (a quarter).
pub(super) const CLIENT_SHARE: usize = 4;

/// Tasks that have ended, from the one that ended first on.
#[derive(Debug, Default)]
pub(super) struct EndedTasks {
    kept: VecDeque<Ended>,
    /// Bytes of their results.
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    entry: Arc<TaskEntry>,
    bytes: usize,
    /// Dropped with the entry, which completes its [`EvictionSignal`].
    _kept: oneshot::Sender<()>,
}

/// Completes when a task is no longer kept.
pub(super) type EvictionSignal = oneshot::Receiver<()>;

impl EndedTasks {
    /// Returns `true` if a result can be kept, after older ones are evicted. A result larger than a
    /// client's share may use the room that is left, and evicts no result of others.
    pub(super) fn can_keep(&self, config: &TaskConfig, owner: &Owner, bytes: usize) -> bool {
        let others = if bytes <= config.max_result_bytes / CLIENT_SHARE {
            0
        } else {
            self.bytes - self.usage_of(owner).1
        };
        others.saturating_add(bytes) <= config.max_result_bytes
    }

    /// Keeps a task whose result has so many bytes. Returns the tasks that were evicted for it.
    pub(super) fn keep(
        &mut self,
        config: &TaskConfig,
        entry: &Arc<TaskEntry>,
        bytes: usize,
    ) -> (EvictionSignal, Vec<Arc<TaskEntry>>) {
        let mut evicted = Vec::new();
        while let Some(place) = self.next_to_evict(config, &entry.owner, bytes) {
            let Some(ended) = self.remove_at(place) else {
                break;
            };
            evicted.push(ended);
        }
        let (kept, is_gone) = oneshot::channel();
        self.bytes += bytes;
        self.kept.push_back(Ended {
            entry: Arc::clone(entry),
            bytes,
            _kept: kept,
        });
        (is_gone, evicted)
    }

    /// Returns the place of the task to evict for another one of a client: first of its own, then
    /// of all.
    fn next_to_evict(&self, config: &TaskConfig, owner: &Owner, bytes: usize) -> Option<usize> {
        let (count, held) = self.usage_of(owner);
        let share = config.max_result_bytes / CLIENT_SHARE;
        if count >= config.max_ended_per_client.max(1) || (held > 0 && held + bytes > share) {
            return self
                .kept
                .iter()
                .position(|ended| ended.entry.owner.is_same_client(owner));
        }
        let is_full = self.kept.len() >= config.max_ended.max(1)
            || self.bytes + bytes > config.max_result_bytes;
        (is_full && !self.kept.is_empty()).then_some(0)
    }

    /// Returns how many ended tasks a client has, and the bytes of their results.
    fn usage_of(&self, owner: &Owner) -> (usize, usize) {
        let own = self
            .kept
            .iter()
            .filter(|ended| ended.entry.owner.is_same_client(owner));
        own.fold((0, 0), |(count, bytes), ended| {
            (count + 1, bytes + ended.bytes)
        })
    }

    /// Drops the bytes of a task that is kept without its result.
    pub(super) fn drop_result(&mut self, entry: &Arc<TaskEntry>) {
        let mut kept = self.kept.iter_mut();
        if let Some(ended) = kept.find(|ended| Arc::ptr_eq(&ended.entry, entry)) {
            self.bytes -= std::mem::take(&mut ended.bytes);
        }
    }

    pub(super) fn remove(&mut self, entry: &Arc<TaskEntry>) {
        let mut kept = self.kept.iter();
        if let Some(place) = kept.position(|ended| Arc::ptr_eq(&ended.entry, entry)) {
            self.remove_at(place);
        }
    }

    fn remove_at(&mut self, place: usize) -> Option<Arc<TaskEntry>> {
        let ended = self.kept.remove(place)?;
        self.bytes -= ended.bytes;
        Some(ended.entry)
    }
}
