//! Sessions in the store that several nodes share.
//!
//! Each session is stored when it begins, when its settings change, and when it is reduced to its
//! record. The node whose fence is the largest delivers the messages that belong to no request (the
//! stream of a GET). A plain request takes nothing away from that node: any other one serves it
//! from the record. A change of the settings does, since that node would not know of it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use bowline_proto::server::{SessionId, SessionRecord};
use bytes::Bytes;

use super::session_document::SessionDocument;
use super::sessions::HANDSHAKE_TIME;
use crate::server::principal::Principal;
use crate::server::session::SessionShared;
use crate::server::store::{
    Fence, SessionStore as _, SharedSessionStore, Stamp, StoreError, StoreKey, StoredRecord,
};

/// How often a write is repeated that another one of this node has overtaken.
const ATTEMPTS: usize = 3;

/// The sessions of all nodes.
#[derive(Debug)]
pub(super) struct StoredSessions {
    store: SharedSessionStore,
    idle_timeout: Duration,
}

/// A session as it was loaded.
#[derive(Debug)]
pub(super) struct LoadedSession {
    pub(super) document: SessionDocument,
    pub(super) stamp: Stamp,
    /// The bytes, with which a later state is compared.
    pub(super) bytes: Bytes,
}

impl StoredSessions {
    pub(super) fn new(store: SharedSessionStore, idle_timeout: Duration) -> Self {
        Self {
            store,
            idle_timeout,
        }
    }

    /// Stores a session that has just begun.
    pub(super) async fn create(
        &self,
        id: &SessionId,
        document: &SessionDocument,
    ) -> Result<Stamp, StoreError> {
        let (bytes, ttl) = (encoded(document)?, self.ttl(document.record.is_ready()));
        self.store.create(&key(id), bytes, ttl).await
    }

    /// Loads the session of a principal. One of another principal doesn't exist for it (SE-22), and
    /// neither does one that can't be decoded.
    pub(super) async fn load(
        &self,
        id: &SessionId,
        principal: Option<&Principal>,
    ) -> Result<Option<LoadedSession>, StoreError> {
        let stored = self.store.load(&key(id)).await?;
        Ok(stored.and_then(|stored| decoded(stored, principal)))
    }

    /// Claims a session that was loaded, so that this node delivers its messages.
    pub(super) async fn claim(
        &self,
        id: &SessionId,
        loaded: &LoadedSession,
    ) -> Result<Option<LoadedSession>, StoreError> {
        let ttl = self.ttl(loaded.document.record.is_ready());
        let stored = self.store.claim(&key(id), ttl).await?;
        let principal = loaded.document.principal.as_ref();
        Ok(stored.and_then(|stored| decoded(stored, principal)))
    }

    /// Keeps a session that is used, if no other node has claimed it.
    pub(super) async fn renew(
        &self,
        id: &SessionId,
        fence: Fence,
        is_ready: bool,
    ) -> Result<(), StoreError> {
        self.store.touch(&key(id), fence, self.ttl(is_ready)).await
    }

    /// Writes a session that this node has claimed.
    pub(super) async fn write(
        &self,
        id: &SessionId,
        mut stamp: Stamp,
        document: &SessionDocument,
    ) -> Result<Stamp, StoreError> {
        let (bytes, ttl) = (encoded(document)?, self.ttl(document.record.is_ready()));
        let key = key(id);
        for _ in 0..ATTEMPTS {
            let written = self.store.replace(&key, stamp, bytes.clone(), ttl).await;
            if written != Err(StoreError::Conflict) {
                return written;
            }
            // Others claim a session before they write: with this fence it was another write of
            // this node.
            let current = self.store.load(&key).await?.ok_or(StoreError::Missing)?;
            if current.stamp.fence != stamp.fence {
                return Err(StoreError::Fenced);
            }
            stamp = current.stamp;
        }
        Err(StoreError::Conflict)
    }

    /// Writes a session that was loaded and then changed: takes it from the node that has claimed
    /// it, if it is still as it was loaded.
    pub(super) async fn change(
        &self,
        id: &SessionId,
        loaded: &Bytes,
        document: &SessionDocument,
    ) -> Result<(), StoreError> {
        let (bytes, ttl) = (encoded(document)?, self.ttl(document.record.is_ready()));
        let key = key(id);
        let claimed = self.store.claim(&key, ttl).await?;
        let claimed = claimed.ok_or(StoreError::Missing)?;
        if claimed.record != *loaded {
            return Err(StoreError::Conflict);
        }
        let written = self.store.replace(&key, claimed.stamp, bytes, ttl).await;
        written.map(drop)
    }

    /// Removes a session, whichever node has claimed it.
    pub(super) async fn remove(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.store.remove(&key(id)).await
    }

    fn ttl(&self, is_ready: bool) -> Duration {
        if is_ready {
            self.idle_timeout
        } else {
            self.idle_timeout.min(HANDSHAKE_TIME)
        }
    }
}

/// Returns the document of a live session. `None` if it ends.
pub(super) fn document_of(session: &SessionShared) -> Option<SessionDocument> {
    Some(SessionDocument {
        record: session.record()?,
        client: session.client_of_session(),
        principal: session.principal.clone(),
    })
}

/// Returns the record of a loaded session, for a session of this node: its requests to the client
/// have ids that no other node uses.
pub(super) fn renumbered(record: SessionRecord) -> SessionRecord {
    record.with_first_call(RandomState::new().hash_one(0) >> 12)
}

/// The id is a secret: it is not in the key.
fn key(id: &SessionId) -> StoreKey {
    StoreKey::digest("session", id.as_str())
}

fn encoded(document: &SessionDocument) -> Result<Bytes, StoreError> {
    let encoded = document.encode().map_err(StoreError::corrupt)?;
    Ok(encoded.into())
}

fn decoded(stored: StoredRecord, principal: Option<&Principal>) -> Option<LoadedSession> {
    match SessionDocument::decode(&stored.record) {
        Ok(document) if document.principal.as_ref() == principal => Some(LoadedSession {
            document,
            stamp: stored.stamp,
            bytes: stored.record,
        }),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "a stored session can't be used");
            None
        }
    }
}
