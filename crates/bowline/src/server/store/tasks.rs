//! The store of tasks.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use super::error::StoreError;
use super::key::StoreKey;
use super::stamp::Version;

/// The place of a task among those of its owner, in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskPosition(u64);

impl TaskPosition {
    /// Creates the position of this number: for a store.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTask {
    /// Its key.
    pub task: StoreKey,
    /// Its place on the list of its owner.
    pub position: TaskPosition,
    /// The bytes, as they were written.
    pub record: Bytes,
    /// With what it can be replaced.
    pub version: Version,
}

impl StoredTask {
    /// Creates a stored task: for a store.
    pub const fn new(
        task: StoreKey,
        position: TaskPosition,
        record: Bytes,
        version: Version,
    ) -> Self {
        Self {
            task,
            position,
            record,
            version,
        }
    }
}

/// Keeps tasks, so that any node can return their state and result.
///
/// Any node may change a task, by compare-and-set: the node that runs its handler reports its state
/// and its result, another one cancels it for the client. Who is refused reads it again.
pub trait TaskStore: Send + Sync + 'static {
    /// Creates a task of an owner, if there is none with its key, after all other tasks of the
    /// owner.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if there is one, [`StoreError::Full`] if there are too many.
    fn create(
        &self,
        owner: &StoreKey,
        task: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> impl Future<Output = Result<Version, StoreError>> + Send;

    /// Returns a task, or `None` if there is none. Its TTL goes on.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn load(
        &self,
        task: &StoreKey,
    ) -> impl Future<Output = Result<Option<StoredTask>, StoreError>> + Send;

    /// Replaces a task that still has this version, and keeps it for `ttl` from now on. A task that
    /// was removed is not created again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is none, [`StoreError::Conflict`] if its version is another
    /// one.
    fn replace(
        &self,
        task: &StoreKey,
        expected: Version,
        record: Bytes,
        ttl: Duration,
    ) -> impl Future<Output = Result<Version, StoreError>> + Send;

    /// Returns at most `limit` tasks of an owner after this position, in the order of their
    /// creation.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn list(
        &self,
        owner: &StoreKey,
        after: Option<TaskPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredTask>, StoreError>> + Send;

    /// Removes a task. Returns `true` if there was one.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn remove(&self, task: &StoreKey) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
