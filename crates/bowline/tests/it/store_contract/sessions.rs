//! Session stores with a defect.

use std::time::Duration;

use bowline::server::store::{
    Fence, MemorySessions, SessionStore, Stamp, StoreError, StoreKey, StoredRecord,
};
use bowline::testing::store_contract;
use bytes::Bytes;
use tokio::task::yield_now;

use super::{DAY, Harness, assert_broken};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    CreateOverwrites,
    IgnoresVersion,
    ChecksThenWrites,
    IgnoresFence,
    TouchIgnoresFence,
    LoadClaims,
    ClaimKeepsFence,
    NeverExpires,
    ExpiresEarly,
    LoadRenews,
    TouchDoesNotRenew,
    ReplaceCreates,
    RemovesNothing,
    Truncates,
}

use Defect::*;

const DEFECTS: [(Defect, &str); 14] = [
    (CreateOverwrites, "sessions: create if absent"),
    (Truncates, "sessions: create if absent"),
    (IgnoresVersion, "sessions: compare-and-set"),
    (ReplaceCreates, "sessions: compare-and-set"),
    (ChecksThenWrites, "sessions: one of many writers wins"),
    (IgnoresFence, "sessions: fencing"),
    (TouchIgnoresFence, "sessions: fencing"),
    (LoadClaims, "sessions: create if absent"),
    (ClaimKeepsFence, "sessions: fencing"),
    (NeverExpires, "sessions: TTL"),
    (ExpiresEarly, "sessions: TTL"),
    (LoadRenews, "sessions: TTL"),
    (TouchDoesNotRenew, "sessions: TTL is renewed"),
    (RemovesNothing, "sessions: what was removed stays away"),
];

struct Defective(MemorySessions, Defect);

impl Defective {
    fn ttl(&self, ttl: Duration) -> Duration {
        match self.1 {
            NeverExpires => DAY,
            ExpiresEarly => ttl / 4,
            _ => ttl,
        }
    }

    async fn current(&self, session: &StoreKey) -> Option<Stamp> {
        let stored = self
            .0
            .load(session)
            .await
            .expect("the store in memory answers");
        stored.map(|stored| stored.stamp)
    }
}

impl SessionStore for Defective {
    async fn create(
        &self,
        session: &StoreKey,
        mut record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        match self.1 {
            CreateOverwrites => drop(self.0.remove(session).await?),
            // As a store does that takes bytes for text.
            Truncates => record.truncate(128),
            _ => {}
        }
        self.0.create(session, record, self.ttl(ttl)).await
    }

    async fn load(&self, session: &StoreKey) -> Result<Option<StoredRecord>, StoreError> {
        let current = self.current(session).await;
        match (self.1, current) {
            (LoadClaims, Some(_)) => return self.0.claim(session, DAY).await,
            (LoadRenews, Some(stamp)) => {
                let ttl = Duration::from_secs(60);
                self.0.touch(session, stamp.fence, ttl).await?;
            }
            _ => {}
        }
        self.0.load(session).await
    }

    async fn claim(
        &self,
        session: &StoreKey,
        ttl: Duration,
    ) -> Result<Option<StoredRecord>, StoreError> {
        if self.1 == ClaimKeepsFence {
            return self.0.load(session).await;
        }
        self.0.claim(session, self.ttl(ttl)).await
    }

    async fn replace(
        &self,
        session: &StoreKey,
        mut expected: Stamp,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        let current = self.current(session).await;
        match (self.1, current) {
            (IgnoresVersion, Some(current)) => expected.version = current.version,
            (IgnoresFence, Some(current)) if current.fence != expected.fence => {
                expected = current;
            }
            (ChecksThenWrites, Some(current)) if current == expected => {
                yield_now().await;
                expected = self.current(session).await.unwrap_or(current);
            }
            (ReplaceCreates, None) => return self.create(session, record, ttl).await,
            _ => {}
        }
        self.0
            .replace(session, expected, record, self.ttl(ttl))
            .await
    }

    async fn touch(
        &self,
        session: &StoreKey,
        mut fence: Fence,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        match (self.1, self.current(session).await) {
            (TouchIgnoresFence, Some(current)) => fence = current.fence,
            (TouchDoesNotRenew, Some(current)) if current.fence == fence => return Ok(()),
            _ => {}
        }
        self.0.touch(session, fence, self.ttl(ttl)).await
    }

    async fn remove(&self, session: &StoreKey) -> Result<bool, StoreError> {
        if self.1 == RemovesNothing {
            return Ok(self.current(session).await.is_some());
        }
        self.0.remove(session).await
    }
}

#[tokio::test(start_paused = true)]
async fn each_defect_is_found() {
    for (defect, rule) in DEFECTS {
        let open = || Defective(MemorySessions::new(), defect);
        let outcome = store_contract::sessions(&Harness(open)).await;
        assert_broken(outcome, &format!("{defect:?}"), rule);
    }
}
