use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::server::store::{
    Bus as _, MemoryBus, MemoryUsedStates, SharedBus, SharedUsedStateStore, StoreError, StoreKey,
    UsedStateStore,
};

/// A store that never answers, or panics.
#[derive(Clone, Copy)]
enum Faulty {
    Silent,
    Panicking,
    PanickingAtOnce,
}

impl UsedStateStore for Faulty {
    fn consume(
        &self,
        _: &StoreKey,
        _: Duration,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send {
        let fault = *self;
        assert!(!matches!(fault, Self::PanickingAtOnce), "at once");
        async move {
            match fault {
                Self::Silent => pending().await,
                _ => panic!("later"),
            }
        }
    }
}

const DEADLINE: Duration = Duration::from_secs(2);

fn key() -> StoreKey {
    StoreKey::new("a").unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_operation_ends_at_its_deadline() {
    let store = SharedUsedStateStore::new(Faulty::Silent, DEADLINE);
    let started = tokio::time::Instant::now();
    let outcome = store.consume(&key(), DEADLINE).await;
    assert_eq!(outcome, Err(StoreError::Timeout));
    let took = started.elapsed();
    assert!(took >= DEADLINE && took < DEADLINE * 2, "{took:?}");
}

#[tokio::test]
async fn a_panic_of_a_store_is_an_error() {
    for fault in [Faulty::Panicking, Faulty::PanickingAtOnce] {
        let store = SharedUsedStateStore::new(fault, DEADLINE);
        let outcome = store.consume(&key(), DEADLINE).await;
        let expected = StoreError::unavailable("the store panicked");
        assert_eq!(outcome, Err(expected));
    }
}

#[tokio::test]
async fn clones_and_arcs_are_one_store() {
    let memory = Arc::new(MemoryUsedStates::new());
    let first = SharedUsedStateStore::new(Arc::clone(&memory), DEADLINE);
    let second = first.clone();
    assert_eq!(first.consume(&key(), DEADLINE).await, Ok(true));
    assert_eq!(second.consume(&key(), DEADLINE).await, Ok(false));
    assert_eq!(memory.consume(&key(), DEADLINE).await, Ok(false));
    let bus = SharedBus::new(MemoryBus::new(), DEADLINE);
    assert_eq!(bus.publish(&key(), Bytes::new()).await, Ok(()));
}
