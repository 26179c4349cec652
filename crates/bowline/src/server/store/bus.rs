//! Messages between nodes.

use std::future::Future;

use bytes::Bytes;

use super::error::StoreError;
use super::key::StoreKey;

/// Delivers messages to the nodes that are subscribed to a topic at that time.
///
/// Nothing is kept: a node that was not subscribed, or was too slow, has missed a message. What must
/// not be lost stands in a store, and the message says that there is something to read.
pub trait Bus: Send + Sync + 'static {
    /// A subscription to one topic. Dropping it ends it.
    type Subscription: BusSubscription;

    /// Sends a message to all subscribers of a topic.
    ///
    /// # Errors
    ///
    /// If the bus can't be reached. No subscriber at all is no error.
    fn publish(
        &self,
        topic: &StoreKey,
        message: Bytes,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Subscribes to a topic. Each message that is published after this has returned is delivered,
    /// or reported as missed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if there are too many subscriptions.
    fn subscribe(
        &self,
        topic: &StoreKey,
    ) -> impl Future<Output = Result<Self::Subscription, StoreError>> + Send;
}

/// A subscription to a topic of a [`Bus`].
pub trait BusSubscription: Send + 'static {
    /// Waits for the next message. Messages of one publisher arrive in their order. Cancel safe: no
    /// message is lost with a future that is dropped.
    ///
    /// # Errors
    ///
    /// If the bus is lost for good. A connection that breaks and is opened again is a
    /// [`Delivery::Lagged`].
    fn next(&mut self) -> impl Future<Output = Result<Delivery, StoreError>> + Send;
}

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// A message.
    Message(Bytes),
    /// Messages were missed here: the subscriber was too slow, or the connection was lost. It reads
    /// the store again. Later messages follow.
    Lagged,
}
