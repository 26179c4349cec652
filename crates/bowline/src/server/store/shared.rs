//! One type for all stores of a trait, with a deadline on each operation.
//!
//! The macro writes, for each trait: a form of it that can be a trait object, the public type, the
//! deadline, and the implementation for a store that several servers share. An argument with `@&` is
//! a reference. `bus` does the same by hand for the bus, whose subscriptions have a type of their own.

mod bus;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::StreamId;
use bytes::Bytes;
use tokio::time::timeout;

use super::error::StoreError;
use super::events::{EventStore, StoredEvent, StoredEvents, StreamKey};
use super::key::StoreKey;
use super::sessions::SessionStore;
use super::stamp::{Fence, Stamp, StoredRecord, Version};
use super::tasks::{StoredTask, TaskPosition, TaskStore};
use super::used_states::UsedStateStore;
use crate::panics::CatchPanic;

pub use bus::{SharedBus, SharedSubscription};

/// An operation of a store that goes on.
type Operation<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

macro_rules! shared_store {
    (
        $(#[$meta:meta])*
        $shared:ident($any:ident): $store:ident {
            $(fn $name:ident($($argument:ident: $(@$ref:tt)? $type:ty),*) -> $output:ty;)*
        }
    ) => {
        $(#[$meta])*
        ///
        /// An operation that takes longer than the deadline fails with [`StoreError::Timeout`], and its
        /// future is dropped; one that panics fails with [`StoreError::Unavailable`]. Both are logged.
        /// Cloning it is cheap.
        #[derive(Clone)]
        pub struct $shared {
            store: Arc<dyn $any>,
            deadline: Duration,
        }

        impl $shared {
            /// Makes one type of any store, with the deadline of each operation.
            pub fn new(store: impl $store, deadline: Duration) -> Self {
                let store = Arc::new(store);
                Self { store, deadline }
            }

            /// The same store, with another deadline.
            #[must_use]
            pub fn deadline(self, deadline: Duration) -> Self {
                Self { deadline, ..self }
            }
        }

        impl $store for $shared {
            $(async fn $name(
                &self,
                $($argument: $($ref)? $type),*
            ) -> Result<$output, StoreError> {
                let operation = concat!(stringify!($store), "::", stringify!($name));
                let work = self.store.$name($($argument),*);
                within(self.deadline, operation, work).await
            })*
        }

        impl<S: $store> $store for Arc<S> {
            $(async fn $name(
                &self,
                $($argument: $($ref)? $type),*
            ) -> Result<$output, StoreError> {
                S::$name(self, $($argument),*).await
            })*
        }

        impl fmt::Debug for $shared {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($shared))
                    .field("deadline", &self.deadline)
                    .finish_non_exhaustive()
            }
        }

        /// A store whose type is forgotten.
        trait $any: Send + Sync {
            $(fn $name<'a>(
                &'a self,
                $($argument: $($ref 'a)? $type),*
            ) -> Operation<'a, $output>;)*
        }

        impl<S: $store> $any for S {
            $(fn $name<'a>(
                &'a self,
                $($argument: $($ref 'a)? $type),*
            ) -> Operation<'a, $output> {
                // Called within the future, which contains its panics.
                Box::pin(async move { S::$name(self, $($argument),*).await })
            })*
        }
    };
}

shared_store! {
    /// Any [`SessionStore`], with a deadline on each operation.
    SharedSessionStore(AnySessionStore): SessionStore {
        fn create(session: @& StoreKey, record: Bytes, ttl: Duration) -> Stamp;
        fn load(session: @& StoreKey) -> Option<StoredRecord>;
        fn claim(session: @& StoreKey, ttl: Duration) -> Option<StoredRecord>;
        fn replace(
            session: @& StoreKey,
            expected: Stamp,
            record: Bytes,
            ttl: Duration
        ) -> Stamp;
        fn touch(session: @& StoreKey, fence: Fence, ttl: Duration) -> ();
        fn remove(session: @& StoreKey) -> bool;
    }
}

shared_store! {
    /// Any [`EventStore`], with a deadline on each operation.
    SharedEventStore(AnyEventStore): EventStore {
        fn create_stream(log: @& StoreKey, ttl: Duration) -> StreamId;
        fn write_head(stream: @& StreamKey, head: Bytes, ttl: Duration) -> ();
        fn append(stream: @& StreamKey, event: StoredEvent, ttl: Duration) -> ();
        fn read(stream: @& StreamKey, after: u64, limit: usize) -> Option<StoredEvents>;
        fn trim(stream: @& StreamKey, through: u64) -> ();
        fn remove_stream(stream: @& StreamKey) -> bool;
        fn remove_log(log: @& StoreKey) -> ();
    }
}

shared_store! {
    /// Any [`TaskStore`], with a deadline on each operation.
    SharedTaskStore(AnyTaskStore): TaskStore {
        fn create(
            owner: @& StoreKey,
            task: @& StoreKey,
            record: Bytes,
            ttl: Duration
        ) -> Version;
        fn load(task: @& StoreKey) -> Option<StoredTask>;
        fn replace(
            task: @& StoreKey,
            expected: Version,
            record: Bytes,
            ttl: Duration
        ) -> Version;
        fn list(
            owner: @& StoreKey,
            after: Option<TaskPosition>,
            limit: usize
        ) -> Vec<StoredTask>;
        fn remove(task: @& StoreKey) -> bool;
    }
}

shared_store! {
    /// Any [`UsedStateStore`], with a deadline on each operation.
    SharedUsedStateStore(AnyUsedStateStore): UsedStateStore {
        fn consume(state: @& StoreKey, ttl: Duration) -> bool;
    }
}

/// Runs an operation until its deadline.
async fn within<T>(
    deadline: Duration,
    operation: &'static str,
    work: Operation<'_, T>,
) -> Result<T, StoreError> {
    match timeout(deadline, CatchPanic::new(work)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panicked)) => {
            tracing::error!(operation, panic = panicked.0, "a store panicked");
            Err(StoreError::unavailable("the store panicked"))
        }
        Err(_) => {
            tracing::warn!(operation, "a store did not answer in time");
            Err(StoreError::Timeout)
        }
    }
}

#[cfg(test)]
mod tests;
