//! Buses with a defect.

use std::sync::{Arc, Mutex};

use bowline::server::store::{
    Bus, BusSubscription, Delivery, MemoryBus, MemorySubscription, StoreError, StoreKey,
};
use bowline::testing::store_contract;
use bytes::Bytes;
use tokio::task::yield_now;

use super::{Harness, assert_broken};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    Reorders,
    OneSubscriberGets,
    OneTopic,
    EndsWithASubscriber,
    DropsSilently,
    LosesWhenCancelled,
    RepeatsLast,
}

use Defect::*;

const ORDER: &str = "bus: all subscribers get all messages in order";

const DEFECTS: [(Defect, &str); 7] = [
    (Reorders, ORDER),
    (OneSubscriberGets, ORDER),
    (OneTopic, "bus: a topic has its own messages"),
    (
        EndsWithASubscriber,
        "bus: a subscription has what is published while it is open",
    ),
    (LosesWhenCancelled, "bus: waiting can be cancelled"),
    (
        DropsSilently,
        "bus: a slow subscriber learns what it has missed",
    ),
    (RepeatsLast, ORDER),
];

struct Defective {
    bus: MemoryBus,
    defect: Defect,
    held_back: Mutex<Option<Bytes>>,
    /// Cleared when a subscription ends.
    is_open: Arc<Mutex<bool>>,
    subscribed: Mutex<u64>,
}

impl Defective {
    fn topic(&self, topic: &StoreKey) -> StoreKey {
        if self.defect == OneTopic {
            return StoreKey::new("one").expect("a key");
        }
        topic.clone()
    }
}

impl Bus for Defective {
    type Subscription = DefectiveSubscription;

    async fn publish(&self, topic: &StoreKey, message: Bytes) -> Result<(), StoreError> {
        let topic = self.topic(topic);
        if self.defect == EndsWithASubscriber && !*self.is_open.lock().expect("no panic") {
            return Ok(());
        }
        if self.defect == Reorders {
            // The first of two comes after the second.
            let held_back = self.held_back.lock().expect("no panic").take();
            let Some(first) = held_back else {
                *self.held_back.lock().expect("no panic") = Some(message);
                return Ok(());
            };
            self.bus.publish(&topic, message).await?;
            return self.bus.publish(&topic, first).await;
        }
        self.bus.publish(&topic, message).await
    }

    async fn subscribe(&self, topic: &StoreKey) -> Result<DefectiveSubscription, StoreError> {
        let mut topic = self.topic(topic);
        let number = {
            let mut subscribed = self.subscribed.lock().expect("no panic");
            *subscribed += 1;
            *subscribed
        };
        if self.defect == OneSubscriberGets && number > 1 {
            topic = StoreKey::new("nothing").expect("a key");
        }
        Ok(DefectiveSubscription {
            subscription: self.bus.subscribe(&topic).await?,
            defect: self.defect,
            last: None,
            is_open: Arc::clone(&self.is_open),
        })
    }
}

struct DefectiveSubscription {
    subscription: MemorySubscription,
    defect: Defect,
    last: Option<Delivery>,
    is_open: Arc<Mutex<bool>>,
}

impl BusSubscription for DefectiveSubscription {
    async fn next(&mut self) -> Result<Delivery, StoreError> {
        if self.defect == RepeatsLast
            && let Some(last) = self.last.take()
        {
            return Ok(last);
        }
        loop {
            let delivery = self.subscription.next().await?;
            match self.defect {
                DropsSilently if delivery == Delivery::Lagged => continue,
                LosesWhenCancelled => yield_now().await,
                RepeatsLast => self.last = Some(delivery.clone()),
                _ => {}
            }
            return Ok(delivery);
        }
    }
}

impl Drop for DefectiveSubscription {
    fn drop(&mut self) {
        *self.is_open.lock().expect("no panic") = false;
    }
}

#[tokio::test(start_paused = true)]
async fn each_defect_is_found() {
    for (defect, rule) in DEFECTS {
        let open = || Defective {
            bus: MemoryBus::new(),
            defect,
            held_back: Mutex::default(),
            is_open: Arc::new(Mutex::new(true)),
            subscribed: Mutex::default(),
        };
        let outcome = store_contract::bus(&Harness(open)).await;
        assert_broken(outcome, &format!("{defect:?}"), rule);
    }
}
