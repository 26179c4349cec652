//! The contracts of stores: the stores in memory pass, and a store with any single defect fails.
//!
//! Files: a file for each trait, with its defects.

mod bus;
mod events;
mod sessions;
mod tasks;
mod used_states;

use std::time::Duration;

use bowline::server::store::{
    MemoryBus, MemoryEvents, MemorySessions, MemoryTasks, MemoryUsedStates, SharedBus,
    SharedEventStore, SharedSessionStore, SharedTaskStore, SharedUsedStateStore,
};
use bowline::testing::store_contract::{self, BrokenRule, StoreHarness};

/// Opens stores on the paused clock of the runtime.
struct Harness<F>(F);

impl<S: Send + Sync + 'static, F: Fn() -> S + Send + Sync> StoreHarness for Harness<F> {
    type Store = S;

    async fn open(&self) -> S {
        (self.0)()
    }

    async fn advance(&self, time: Duration) {
        tokio::time::advance(time).await;
    }
}

const DEADLINE: Duration = Duration::from_secs(2);

/// Far longer than any TTL of the suite.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Checks that the suite has found the defect, by the rule that it breaks.
#[track_caller]
fn assert_broken(outcome: Result<(), BrokenRule>, defect: &str, rule: &str) {
    let broken = outcome.expect_err(defect);
    assert_eq!(broken.rule(), rule, "{defect}: {broken}");
}

#[tokio::test(start_paused = true)]
async fn the_stores_in_memory_pass() -> Result<(), BrokenRule> {
    store_contract::sessions(&Harness(MemorySessions::new)).await?;
    store_contract::events(&Harness(MemoryEvents::new)).await?;
    store_contract::tasks(&Harness(MemoryTasks::new)).await?;
    store_contract::used_states(&Harness(MemoryUsedStates::new)).await?;
    store_contract::bus(&Harness(MemoryBus::new)).await
}

#[tokio::test(start_paused = true)]
async fn a_store_behind_a_deadline_passes() -> Result<(), BrokenRule> {
    let sessions = || SharedSessionStore::new(MemorySessions::new(), DEADLINE);
    store_contract::sessions(&Harness(sessions)).await?;
    let events = || SharedEventStore::new(MemoryEvents::new(), DEADLINE);
    store_contract::events(&Harness(events)).await?;
    let tasks = || SharedTaskStore::new(MemoryTasks::new(), DEADLINE);
    store_contract::tasks(&Harness(tasks)).await?;
    let used = || SharedUsedStateStore::new(MemoryUsedStates::new(), DEADLINE);
    store_contract::used_states(&Harness(used)).await?;
    let bus = || SharedBus::new(MemoryBus::new(), DEADLINE);
    store_contract::bus(&Harness(bus)).await
}

/// The smallest stores that the suite allows: it keeps no more than it says.
#[tokio::test(start_paused = true)]
async fn the_suite_keeps_to_its_limits() -> Result<(), BrokenRule> {
    store_contract::sessions(&Harness(|| MemorySessions::new().max_sessions(101))).await?;
    let events = || MemoryEvents::new().max_streams(101).max_events(101);
    store_contract::events(&Harness(events)).await?;
    store_contract::tasks(&Harness(|| MemoryTasks::new().max_tasks(101))).await?;
    let used = || MemoryUsedStates::new().max_states(101);
    store_contract::used_states(&Harness(used)).await
}
