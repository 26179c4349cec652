//! Stores of used states with a defect.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use bowline::server::store::{MemoryUsedStates, StoreError, StoreKey, UsedStateStore};
use bowline::testing::store_contract;
use tokio::task::yield_now;

use super::{DAY, Harness, assert_broken};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    ChecksThenMarks,
    AcceptsAll,
    AcceptsOne,
    NeverForgets,
    ForgetsEarly,
}

use Defect::*;

const ONCE: &str = "used states: a state is used once";
const TTL: &str = "used states: TTL";

const DEFECTS: [(Defect, &str); 5] = [
    (ChecksThenMarks, ONCE),
    (AcceptsAll, ONCE),
    (AcceptsOne, ONCE),
    (NeverForgets, TTL),
    (ForgetsEarly, TTL),
];

struct Defective {
    store: MemoryUsedStates,
    marks: Mutex<BTreeSet<StoreKey>>,
    defect: Defect,
}

impl UsedStateStore for Defective {
    async fn consume(&self, state: &StoreKey, ttl: Duration) -> Result<bool, StoreError> {
        let marks = || self.marks.lock().expect("no thread panicked");
        match self.defect {
            ChecksThenMarks => {
                let is_used = marks().contains(state);
                yield_now().await;
                marks().insert(state.clone());
                Ok(!is_used)
            }
            AcceptsAll => Ok(true),
            AcceptsOne => {
                let one = StoreKey::new("one").expect("a key");
                self.store.consume(&one, ttl).await
            }
            NeverForgets => self.store.consume(state, DAY).await,
            ForgetsEarly => self.store.consume(state, ttl / 2).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_defect_is_found() {
    for (defect, rule) in DEFECTS {
        let open = || Defective {
            store: MemoryUsedStates::new(),
            marks: Mutex::default(),
            defect,
        };
        let outcome = store_contract::used_states(&Harness(open)).await;
        assert_broken(outcome, &format!("{defect:?}"), rule);
    }
}
