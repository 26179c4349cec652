//! Task stores with a defect.

use std::time::Duration;

use bowline::server::store::{
    MemoryTasks, StoreError, StoreKey, StoredTask, TaskPosition, TaskStore, Version,
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
    ListsByKey,
    ListsAllOwners,
    IgnoresPosition,
    IgnoresLimit,
    NeverExpires,
    ExpiresEarly,
    ReplaceCreates,
    RemovesNothing,
}

use Defect::*;

const ORDER: &str = "tasks: a list has the tasks of its owner, in their order";

const DEFECTS: [(Defect, &str); 11] = [
    (CreateOverwrites, "tasks: create if absent"),
    (IgnoresVersion, "tasks: compare-and-set"),
    (ReplaceCreates, "tasks: compare-and-set"),
    (ChecksThenWrites, "tasks: one of many writers wins"),
    (ListsByKey, ORDER),
    (ListsAllOwners, ORDER),
    (IgnoresPosition, ORDER),
    (IgnoresLimit, ORDER),
    (NeverExpires, "tasks: TTL"),
    (ExpiresEarly, "tasks: TTL"),
    (RemovesNothing, "tasks: what was removed stays away"),
];

struct Defective(MemoryTasks, Defect);

impl Defective {
    fn ttl(&self, ttl: Duration) -> Duration {
        match self.1 {
            NeverExpires => DAY,
            ExpiresEarly => ttl / 4,
            _ => ttl,
        }
    }

    async fn current(&self, task: &StoreKey) -> Option<Version> {
        let stored = self
            .0
            .load(task)
            .await
            .expect("the store in memory answers");
        stored.map(|stored| stored.version)
    }

    /// Returns the owner under which a task is kept.
    fn owner(&self, owner: &StoreKey) -> StoreKey {
        if self.1 == ListsAllOwners {
            return StoreKey::new("everybody").expect("a key");
        }
        owner.clone()
    }
}

impl TaskStore for Defective {
    async fn create(
        &self,
        owner: &StoreKey,
        task: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Version, StoreError> {
        if self.1 == CreateOverwrites {
            self.0.remove(task).await?;
        }
        let owner = self.owner(owner);
        self.0.create(&owner, task, record, self.ttl(ttl)).await
    }

    async fn load(&self, task: &StoreKey) -> Result<Option<StoredTask>, StoreError> {
        self.0.load(task).await
    }

    async fn replace(
        &self,
        task: &StoreKey,
        mut expected: Version,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Version, StoreError> {
        match (self.1, self.current(task).await) {
            (IgnoresVersion, Some(current)) => expected = current,
            (ChecksThenWrites, Some(current)) if current == expected => {
                yield_now().await;
                expected = self.current(task).await.unwrap_or(current);
            }
            (ReplaceCreates, None) => return self.0.create(task, task, record, ttl).await,
            _ => {}
        }
        self.0.replace(task, expected, record, self.ttl(ttl)).await
    }

    async fn list(
        &self,
        owner: &StoreKey,
        mut after: Option<TaskPosition>,
        mut limit: usize,
    ) -> Result<Vec<StoredTask>, StoreError> {
        match self.1 {
            IgnoresPosition => after = None,
            IgnoresLimit => limit = usize::MAX,
            _ => {}
        }
        let mut listed = self.0.list(&self.owner(owner), after, limit).await?;
        if self.1 == ListsByKey {
            listed.sort_by(|a, b| a.task.cmp(&b.task));
        }
        Ok(listed)
    }

    async fn remove(&self, task: &StoreKey) -> Result<bool, StoreError> {
        if self.1 == RemovesNothing {
            return Ok(self.current(task).await.is_some());
        }
        self.0.remove(task).await
    }
}

#[tokio::test(start_paused = true)]
async fn each_defect_is_found() {
    for (defect, rule) in DEFECTS {
        let open = || Defective(MemoryTasks::new(), defect);
        let outcome = store_contract::tasks(&Harness(open)).await;
        assert_broken(outcome, &format!("{defect:?}"), rule);
    }
}
