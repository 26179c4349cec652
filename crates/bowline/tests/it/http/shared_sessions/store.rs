//! A session store in memory that can fail.

use std::future::pending;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bowline::server::store::{
    Fence, MemorySessions, SessionStore, Stamp, StoreError, StoreKey, StoredRecord,
};
use bytes::Bytes;

/// A store that can fail.
#[derive(Default)]
pub(super) struct Store {
    pub(super) sessions: MemorySessions,
    state: AtomicU8,
}

pub(super) const UP: u8 = 0;
pub(super) const DOWN: u8 = 1;
pub(super) const SILENT: u8 = 2;
/// Each record is one of a newer version, or is no record.
pub(super) const NEWER: u8 = 3;
pub(super) const CORRUPT: u8 = 4;
pub(super) const READ_ONLY: u8 = 5;

impl Store {
    pub(super) fn set(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
    }

    async fn check(&self) -> Result<(), StoreError> {
        match self.state.load(Ordering::SeqCst) {
            DOWN => Err(StoreError::unavailable("connection refused")),
            SILENT => pending().await,
            _ => Ok(()),
        }
    }

    async fn check_write(&self) -> Result<(), StoreError> {
        if self.state.load(Ordering::SeqCst) == READ_ONLY {
            return Err(StoreError::unavailable("READONLY"));
        }
        self.check().await
    }

    fn changed(&self, stored: Option<StoredRecord>) -> Option<StoredRecord> {
        let mut stored = stored?;
        stored.record = match self.state.load(Ordering::SeqCst) {
            NEWER => r#"{"v":2,"session":{}}"#.into(),
            CORRUPT => Bytes::from_static(b"\xff{"),
            _ => stored.record,
        };
        Some(stored)
    }
}

impl SessionStore for Store {
    async fn create(
        &self,
        session: &StoreKey,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        self.check().await?;
        self.sessions.create(session, record, ttl).await
    }

    async fn load(&self, session: &StoreKey) -> Result<Option<StoredRecord>, StoreError> {
        self.check().await?;
        Ok(self.changed(self.sessions.load(session).await?))
    }

    async fn claim(
        &self,
        session: &StoreKey,
        ttl: Duration,
    ) -> Result<Option<StoredRecord>, StoreError> {
        self.check_write().await?;
        Ok(self.changed(self.sessions.claim(session, ttl).await?))
    }

    async fn replace(
        &self,
        session: &StoreKey,
        expected: Stamp,
        record: Bytes,
        ttl: Duration,
    ) -> Result<Stamp, StoreError> {
        self.check_write().await?;
        self.sessions.replace(session, expected, record, ttl).await
    }

    async fn touch(
        &self,
        session: &StoreKey,
        fence: Fence,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        self.check().await?;
        self.sessions.touch(session, fence, ttl).await
    }

    async fn remove(&self, session: &StoreKey) -> Result<bool, StoreError> {
        self.check().await?;
        self.sessions.remove(session).await
    }
}
