//! Event stores with a defect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline::server::store::{
    EventStore, MemoryEvents, StoreError, StoreKey, StoredEvent, StoredEvents, StreamId, StreamKey,
};
use bowline::testing::store_contract;
use bytes::Bytes;
use tokio::task::yield_now;

use super::{DAY, Harness, assert_broken};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    CountsByStreams,
    AcceptsOldSequences,
    ReadsFromId,
    IgnoresLimit,
    ReadsNewestFirst,
    ForgetsHead,
    CreatesOnAppend,
    RemovesBeforeRaising,
    LowersRemovedThrough,
    TrimsSilently,
    NeverExpires,
    ExpiresEarly,
    AppendDoesNotRenew,
    KeepsRemovedStreams,
    KeepsRemovedLogs,
}

use Defect::*;

const NUMBERS: &str = "events: each stream of a log has a number of its own";
const READ: &str = "events: a read has the events after an id, in order";
const REMOVAL: &str = "events: what was removed stays away";

const DEFECTS: [(Defect, &str); 15] = [
    (CountsByStreams, NUMBERS),
    (KeepsRemovedStreams, REMOVAL),
    (AcceptsOldSequences, "events: sequences rise"),
    (ReadsFromId, READ),
    (IgnoresLimit, READ),
    (ReadsNewestFirst, READ),
    (ForgetsHead, "events: a stream has a head"),
    (CreatesOnAppend, "events: a stream has a head"),
    (TrimsSilently, "events: trimming"),
    (LowersRemovedThrough, "events: trimming"),
    (
        RemovesBeforeRaising,
        "events: removed_through is raised before events are removed",
    ),
    (NeverExpires, "events: TTL"),
    (ExpiresEarly, "events: TTL"),
    (AppendDoesNotRenew, "events: TTL"),
    (KeepsRemovedLogs, REMOVAL),
];

struct Defective {
    store: MemoryEvents,
    defect: Defect,
    /// Events through this one are not returned.
    hidden: AtomicU64,
    trimmed: AtomicU64,
}

impl Defective {
    fn ttl(&self, ttl: Duration) -> Duration {
        match self.defect {
            NeverExpires => DAY,
            ExpiresEarly => ttl / 4,
            _ => ttl,
        }
    }
}

impl EventStore for Defective {
    async fn create_stream(&self, log: &StoreKey, ttl: Duration) -> Result<StreamId, StoreError> {
        if self.defect == CountsByStreams {
            // As the number of streams that there are, which falls when one is removed.
            let first = StreamKey::new(log.clone(), StreamId::new(1));
            if self.store.read(&first, 0, 1).await?.is_none() {
                self.store.remove_log(log).await?;
            }
        }
        self.store.create_stream(log, self.ttl(ttl)).await
    }

    async fn write_head(
        &self,
        stream: &StreamKey,
        head: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        self.store.write_head(stream, head, self.ttl(ttl)).await
    }

    async fn append(
        &self,
        stream: &StreamKey,
        event: StoredEvent,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let ttl = match self.defect {
            AppendDoesNotRenew => ttl / 2,
            _ => self.ttl(ttl),
        };
        match (self.defect, self.store.append(stream, event, ttl).await) {
            (AcceptsOldSequences, Err(StoreError::Conflict)) => Ok(()),
            (CreatesOnAppend, Err(StoreError::Missing)) => {
                self.store.create_stream(&stream.log, ttl).await.map(drop)
            }
            (_, appended) => appended,
        }
    }

    async fn read(
        &self,
        stream: &StreamKey,
        after: u64,
        limit: usize,
    ) -> Result<Option<StoredEvents>, StoreError> {
        let (after, limit) = match self.defect {
            ReadsFromId => (after.saturating_sub(1), limit),
            IgnoresLimit => (after, usize::MAX),
            _ => (after, limit),
        };
        let Some(mut read) = self.store.read(stream, after, limit).await? else {
            return Ok(None);
        };
        match self.defect {
            ReadsNewestFirst => read.events.reverse(),
            ForgetsHead => read.head = Bytes::new(),
            TrimsSilently => read.removed_through = 0,
            LowersRemovedThrough => read.removed_through = self.trimmed.load(Ordering::SeqCst),
            _ => {}
        }
        let hidden = self.hidden.load(Ordering::SeqCst);
        read.events.retain(|event| event.sequence.get() > hidden);
        Ok(Some(read))
    }

    async fn trim(&self, stream: &StreamKey, through: u64) -> Result<(), StoreError> {
        if self.defect == RemovesBeforeRaising && through <= 100 {
            let hidden = self.hidden.swap(through, Ordering::SeqCst);
            yield_now().await;
            if hidden > through {
                self.hidden.store(hidden, Ordering::SeqCst);
            }
        }
        self.trimmed.store(through, Ordering::SeqCst);
        self.store.trim(stream, through).await
    }

    async fn remove_stream(&self, stream: &StreamKey) -> Result<bool, StoreError> {
        if self.defect == KeepsRemovedStreams {
            return Ok(self.store.read(stream, 0, 1).await?.is_some());
        }
        self.store.remove_stream(stream).await
    }

    async fn remove_log(&self, log: &StoreKey) -> Result<(), StoreError> {
        if self.defect == KeepsRemovedLogs {
            return Ok(());
        }
        self.store.remove_log(log).await
    }
}

#[tokio::test(start_paused = true)]
async fn each_defect_is_found() {
    for (defect, rule) in DEFECTS {
        let open = || Defective {
            store: MemoryEvents::new(),
            defect,
            hidden: AtomicU64::new(0),
            trimmed: AtomicU64::new(0),
        };
        let outcome = store_contract::events(&Harness(open)).await;
        assert_broken(outcome, &format!("{defect:?}"), rule);
    }
}
