//! Tasks that have ended, within limits: the oldest one goes first.
//!
//! It knows which are kept and what they weigh, not what they are: finding one is the store's.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::TaskConfig;
use super::entry::{Entry, Owner};

/// What part of the bytes one client may have.
pub(super) const SHARE: usize = 4;

/// Tasks that have ended, from the one that ended first on.
#[derive(Debug, Default)]
pub(super) struct EndedTasks {
    kept: VecDeque<Ended>,
    /// Bytes of their results.
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    entry: Arc<Entry>,
    bytes: usize,
    /// Goes with it, so that nobody waits for the time of one that is gone.
    _kept: oneshot::Sender<()>,
}

/// Ends when a task is no longer kept.
pub(super) type Gone = oneshot::Receiver<()>;

impl EndedTasks {
    /// Whether a result can be kept, once older ones have gone. One that is more than a client's
    /// share takes the room that is left, and none of the others'.
    pub(super) fn can_keep(&self, config: &TaskConfig, owner: &Owner, bytes: usize) -> bool {
        let others = match bytes <= config.max_result_bytes / SHARE {
            true => 0,
            false => self.bytes - self.of(owner).1,
        };
        others.saturating_add(bytes) <= config.max_result_bytes
    }

    /// Keeps one whose result weighs so much. Those that had to go for it are given back.
    pub(super) fn keep(
        &mut self,
        config: &TaskConfig,
        entry: &Arc<Entry>,
        bytes: usize,
    ) -> (Gone, Vec<Arc<Entry>>) {
        let mut gone = Vec::new();
        while let Some(place) = self.too_many(config, &entry.owner, bytes) {
            let Some(ended) = self.take(place) else {
                break;
            };
            gone.push(ended);
        }
        let (kept, is_gone) = oneshot::channel();
        self.bytes += bytes;
        self.kept.push_back(Ended {
            entry: Arc::clone(entry),
            bytes,
            _kept: kept,
        });
        (is_gone, gone)
    }

    /// Which one has to go for another one of a client: first of its own, then of all.
    fn too_many(&self, config: &TaskConfig, owner: &Owner, bytes: usize) -> Option<usize> {
        let (count, held) = self.of(owner);
        let share = config.max_result_bytes / SHARE;
        if count >= config.max_ended_per_client.max(1) || (held > 0 && held + bytes > share) {
            return self.kept.iter().position(|it| it.entry.owner.is(owner));
        }
        let is_full = self.kept.len() >= config.max_ended.max(1)
            || self.bytes + bytes > config.max_result_bytes;
        (is_full && !self.kept.is_empty()).then_some(0)
    }

    /// How many a client has, and their bytes.
    fn of(&self, owner: &Owner) -> (usize, usize) {
        let own = self.kept.iter().filter(|it| it.entry.owner.is(owner));
        own.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.bytes))
    }

    /// One is kept without its result.
    pub(super) fn lighten(&mut self, entry: &Arc<Entry>) {
        let mut kept = self.kept.iter_mut();
        if let Some(ended) = kept.find(|it| Arc::ptr_eq(&it.entry, entry)) {
            self.bytes -= std::mem::take(&mut ended.bytes);
        }
    }

    pub(super) fn remove(&mut self, entry: &Arc<Entry>) {
        let mut kept = self.kept.iter();
        if let Some(place) = kept.position(|it| Arc::ptr_eq(&it.entry, entry)) {
            self.take(place);
        }
    }

    fn take(&mut self, place: usize) -> Option<Arc<Entry>> {
        let ended = self.kept.remove(place)?;
        self.bytes -= ended.bytes;
        Some(ended.entry)
    }
}
