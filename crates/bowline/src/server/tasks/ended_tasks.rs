//! Tasks that have ended, within limits: the oldest one goes first.
//!
//! It knows which are kept and what they weigh, not what they are: finding one is the store's.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::TaskConfig;
use super::entry::{Owner, TaskEntry};

/// What part of the bytes one client may have.
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
    /// Goes with it, so that nobody waits for the time of one that is gone.
    _kept: oneshot::Sender<()>,
}

/// Ends when a task is no longer kept.
pub(super) type EvictionSignal = oneshot::Receiver<()>;

impl EndedTasks {
    /// Whether a result can be kept, once older ones have gone. One that is more than a client's
    /// share takes the room that is left, and none of the others'.
    pub(super) fn can_keep(&self, config: &TaskConfig, owner: &Owner, bytes: usize) -> bool {
        let others = if bytes <= config.max_result_bytes / CLIENT_SHARE {
            0
        } else {
            self.bytes - self.usage_of(owner).1
        };
        others.saturating_add(bytes) <= config.max_result_bytes
    }

    /// Keeps one whose result weighs so much. Those that had to go for it are given back.
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

    /// Which one has to go for another one of a client: first of its own, then of all.
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

    /// How many a client has, and their bytes.
    fn usage_of(&self, owner: &Owner) -> (usize, usize) {
        let own = self
            .kept
            .iter()
            .filter(|ended| ended.entry.owner.is_same_client(owner));
        own.fold((0, 0), |(count, bytes), ended| {
            (count + 1, bytes + ended.bytes)
        })
    }

    /// One is kept without its result.
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
