//! The store of idle sessions.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use super::error::StoreError;
use super::key::StoreKey;
use super::stamp::{Fence, Stamp, StoredRecord};

/// Keeps the records of sessions of the handshake era, so that any node can serve them.
///
/// A node that serves a session has claimed it: it holds the largest [`Fence`]. See the
/// [module](super) for what each operation must be.
pub trait SessionStore: Send + Sync + 'static {
    /// Creates a record, if there is none. The caller has claimed it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if there is one.
    fn create(
        &self,
        session: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> impl Future<Output = Result<Stamp, StoreError>> + Send;

    /// Returns a record without claiming it, or `None` if there is none. Its TTL goes on.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn load(
        &self,
        session: &StoreKey,
    ) -> impl Future<Output = Result<Option<StoredRecord>, StoreError>> + Send;

    /// Claims a record: raises its fence and its version, and keeps it for `ttl` from now on.
    /// Returns `None` if there is none. From then on all other stamps are refused.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn claim(
        &self,
        session: &StoreKey,
        ttl: Duration,
    ) -> impl Future<Output = Result<Option<StoredRecord>, StoreError>> + Send;

    /// Replaces a record, if it still has this stamp, and keeps it for `ttl` from now on. The new
    /// stamp has the same fence. A record that was removed is not created again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is none, [`StoreError::Fenced`] if another node has claimed
    /// it, [`StoreError::Conflict`] if its version is another one; in this order.
    fn replace(
        &self,
        session: &StoreKey,
        expected: Stamp,
        record: Bytes,
        ttl: Duration,
    ) -> impl Future<Output = Result<Stamp, StoreError>> + Send;

    /// Keeps a record for `ttl` from now on, if its fence is still this one. Its version stays.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is none, [`StoreError::Fenced`] if another node has claimed
    /// it.
    fn touch(
        &self,
        session: &StoreKey,
        fence: Fence,
        ttl: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes a record, whichever node has claimed it. Returns `true` if there was one.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    fn remove(&self, session: &StoreKey) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
