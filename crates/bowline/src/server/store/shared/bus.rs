//! Any bus, with a deadline on each operation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::super::bus::{Bus, BusSubscription, Delivery};
use super::super::error::StoreError;
use super::super::key::StoreKey;
use super::{Operation, within};

/// Any [`Bus`], with a deadline on each operation. Waiting for a message has none.
///
/// An operation that takes longer than the deadline fails with [`StoreError::Timeout`], and its
/// future is dropped; one that panics fails with [`StoreError::Unavailable`]. Both are logged.
/// Cloning it is cheap.
#[derive(Clone)]
pub struct SharedBus {
    bus: Arc<dyn AnyBus>,
    deadline: Duration,
}

impl SharedBus {
    /// Makes one type of any bus, with the deadline of each operation.
    pub fn new(bus: impl Bus, deadline: Duration) -> Self {
        let bus = Arc::new(bus);
        Self { bus, deadline }
    }
}

impl Bus for SharedBus {
    type Subscription = SharedSubscription;

    async fn publish(&self, topic: &StoreKey, message: Bytes) -> Result<(), StoreError> {
        let work = self.bus.publish(topic, message);
        within(self.deadline, "Bus::publish", work).await
    }

    async fn subscribe(&self, topic: &StoreKey) -> Result<SharedSubscription, StoreError> {
        let work = self.bus.subscribe(topic);
        within(self.deadline, "Bus::subscribe", work).await
    }
}

impl<B: Bus> Bus for Arc<B> {
    type Subscription = B::Subscription;

    async fn publish(&self, topic: &StoreKey, message: Bytes) -> Result<(), StoreError> {
        B::publish(self, topic, message).await
    }

    async fn subscribe(&self, topic: &StoreKey) -> Result<B::Subscription, StoreError> {
        B::subscribe(self, topic).await
    }
}

impl fmt::Debug for SharedBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBus")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A subscription to a topic of a [`SharedBus`].
pub struct SharedSubscription(Box<dyn AnySubscription>);

impl BusSubscription for SharedSubscription {
    async fn next(&mut self) -> Result<Delivery, StoreError> {
        self.0.next().await
    }
}

impl fmt::Debug for SharedSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSubscription").finish_non_exhaustive()
    }
}

/// A bus whose type is forgotten.
trait AnyBus: Send + Sync {
    fn publish<'a>(&'a self, topic: &'a StoreKey, message: Bytes) -> Operation<'a, ()>;
    fn subscribe<'a>(&'a self, topic: &'a StoreKey) -> Operation<'a, SharedSubscription>;
}

impl<B: Bus> AnyBus for B {
    fn publish<'a>(&'a self, topic: &'a StoreKey, message: Bytes) -> Operation<'a, ()> {
        Box::pin(async move { B::publish(self, topic, message).await })
    }

    fn subscribe<'a>(&'a self, topic: &'a StoreKey) -> Operation<'a, SharedSubscription> {
        Box::pin(async move {
            let subscription = B::subscribe(self, topic).await?;
            Ok(SharedSubscription(Box::new(subscription)))
        })
    }
}

/// A subscription whose type is forgotten.
trait AnySubscription: Send {
    fn next(&mut self) -> Operation<'_, Delivery>;
}

impl<S: BusSubscription> AnySubscription for S {
    fn next(&mut self) -> Operation<'_, Delivery> {
        Box::pin(S::next(self))
    }
}
