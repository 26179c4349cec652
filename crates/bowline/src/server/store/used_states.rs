//! The store of states that may be used once.

use std::future::Future;
use std::time::Duration;

use super::error::StoreError;
use super::key::StoreKey;

/// Remembers which request states were used, so that none is accepted twice by any node.
pub trait UsedStateStore: Send + Sync + 'static {
    /// Marks a state as used, and remembers it for `ttl`, until which it expires anyway. Returns `true`
    /// if it was not used before: of any number of callers exactly one gets `true`.
    ///
    /// A store must not forget a state before its TTL is over: rather it refuses further ones.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if it can't be remembered. Then it is not used.
    fn consume(
        &self,
        state: &StoreKey,
        ttl: Duration,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
