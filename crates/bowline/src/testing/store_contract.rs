//! Tests that any store can run: what the traits of `server::store` promise.
//!
//! A store that passes can serve several nodes. The suite needs an empty store for each rule, and a
//! way to let time pass for the clock of the store: a [`StoreHarness`]. It never sleeps itself.
//! The stores in memory pass it on a paused clock:
//!
//! ```
//! use std::time::Duration;
//! use bowline::server::store::MemorySessions;
//! use bowline::testing::store_contract::{self, StoreHarness};
//!
//! struct Memory;
//!
//! impl StoreHarness for Memory {
//!     type Store = MemorySessions;
//!
//!     async fn open(&self) -> MemorySessions {
//!         MemorySessions::new()
//!     }
//!
//!     async fn advance(&self, time: Duration) {
//!         tokio::time::advance(time).await;
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread()
//! #     .enable_all()
//! #     .start_paused(true)
//! #     .build()?;
//! // In a test: #[tokio::test(start_paused = true)]
//! # runtime.block_on(async {
//! store_contract::sessions(&Memory).await?;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! The suite keeps at most 101 records, and 101 events or streams of one log: a store that removes
//! events by a limit must keep that many.
//!
//! Files: one for each trait; `rule` is a rule and what breaks it.

mod bus;
mod events;
mod rule;
mod sessions;
mod tasks;
mod used_states;

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::server::store::StoreKey;

pub use bus::bus;
pub use events::events;
pub use rule::BrokenRule;
pub use sessions::sessions;
pub use tasks::tasks;
pub use used_states::used_states;

/// Opens the store under test, and controls its clock.
pub trait StoreHarness: Send + Sync {
    /// The store under test.
    type Store: Send + Sync + 'static;

    /// Opens an empty store. One that can't be emptied may put a prefix of its own before all keys.
    fn open(&self) -> impl Future<Output = Self::Store> + Send;

    /// Lets this time pass for the clock of the store, and for what it measures a TTL with.
    fn advance(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Returns the TTL of the records of the suite. Default 60 s; a store whose clock can't be
    /// moved, so that [`advance`](Self::advance) sleeps, has a shorter one. It must be longer than
    /// the 100 operations of one rule take together.
    fn ttl(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// How many writers compete.
const WRITERS: u16 = 100;

/// Returns a key of the suite.
fn key(name: &str) -> StoreKey {
    StoreKey::digest("contract", name)
}

/// Runs one operation for each writer, all at the same time. Returns what came of them.
async fn compete<T, F>(mut operation: impl FnMut(u16) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut writers: JoinSet<T> = (0..WRITERS).map(&mut operation).collect();
    let mut outcomes = Vec::new();
    while let Some(outcome) = writers.join_next().await {
        // A writer that panicked is missing, which is counted.
        outcomes.extend(outcome);
    }
    outcomes
}
