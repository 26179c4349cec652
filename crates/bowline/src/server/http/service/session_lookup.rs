//! The session of a request: one of this node, or one from the store that several nodes share.

use std::sync::Arc;

use bowline_proto::server::{Refusal, RequestSession, SessionId, SessionRecord};
use bytes::Bytes;

use super::super::refusal::HttpRefusal;
use super::super::responses::{store_unavailable, too_many_sessions};
use super::super::session_document::SessionDocument;
use super::super::sessions::SessionLease;
use super::super::stored_sessions::{LoadedSession, StoredSessions, document_of, renumbered};
use super::Inner;
use crate::server::principal::Principal;
use crate::server::session::{LogSettings, SessionRemains, SessionShared};
use crate::server::store::StoreError;

/// A session for a request.
pub(super) struct FoundSession {
    pub(super) session: Arc<SessionShared>,
    pub(super) lease: Option<SessionLease>,
    /// Set where the session is in a store.
    pub(super) saved: Option<SavedSession>,
}

/// What the store has of a session, before a request.
pub(super) struct SavedSession {
    id: SessionId,
    session: Arc<SessionShared>,
    before: SessionRecord,
    /// What was loaded. `None` if this node has claimed the session.
    loaded: Option<Bytes>,
    /// `true` if an earlier change is not in the store.
    is_unsaved: bool,
}

/// What a session is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionUse {
    /// A message of the client.
    Message,
    /// The stream of a GET, which only one node has.
    Stream,
}

impl Inner {
    /// Finds the session of a request, or returns `None` if there is no such session. On a server
    /// without sessions it is one of its own.
    ///
    /// # Errors
    ///
    /// 503 if the store can't be used, since then it is unknown if there is one.
    pub(super) async fn find_session(
        &self,
        target: &RequestSession,
        principal: Option<&Principal>,
        usage: SessionUse,
    ) -> Result<Option<FoundSession>, HttpRefusal> {
        let Some(id) = &target.id else {
            let remains = SessionRemains::of(SessionRecord::new(target.revision), None);
            return Ok(Some(FoundSession {
                session: self.resume(remains, principal, None),
                lease: None,
                saved: None,
            }));
        };
        let resume = |remains| self.resume(remains, principal, self.log.as_ref());
        let Some(stored) = self.sessions.stored() else {
            let lease = self.sessions.lease(id, principal, resume);
            return Ok(lease.map(|lease| FoundSession::leased(lease, None)));
        };
        if let Some((claim, is_ready)) = self.sessions.claim(id) {
            let fence = claim.stamp.fence;
            match stored.renew(id, fence, is_ready).await {
                Ok(()) => {
                    if let Some(lease) = self.sessions.lease(id, principal, resume) {
                        let stored = Some((id, claim.is_unsaved));
                        return Ok(Some(FoundSession::leased(lease, stored)));
                    }
                }
                Err(StoreError::Fenced | StoreError::Missing) => {
                    self.sessions.retire(id, fence);
                }
                Err(error) => return Err(outage(&error)),
            }
        }
        let loaded = stored.load(id, principal).await;
        let Some(loaded) = loaded.map_err(|error| outage(&error))? else {
            return Ok(None);
        };
        match usage {
            SessionUse::Message => self.borrow(stored, id, loaded).await.map(Some),
            SessionUse::Stream => self.take_over(stored, id, loaded).await,
        }
    }

    /// Serves a request from the record of a session, which stays with the node that has claimed it.
    async fn borrow(
        &self,
        stored: &StoredSessions,
        id: &SessionId,
        loaded: LoadedSession,
    ) -> Result<FoundSession, HttpRefusal> {
        let LoadedSession {
            document,
            stamp,
            bytes,
        } = loaded;
        let is_ready = document.record.is_ready();
        match stored.renew(id, stamp.fence, is_ready).await {
            // It was claimed just now, or ended: this request came before that.
            Ok(()) | Err(StoreError::Fenced | StoreError::Missing) => {}
            Err(error) => return Err(outage(&error)),
        }
        let before = document.record.clone();
        // Its event log is on the node that has claimed it.
        let session = self.resume_stored(document, None);
        let saved = SavedSession {
            id: id.clone(),
            session: Arc::clone(&session),
            before,
            loaded: Some(bytes),
            is_unsaved: false,
        };
        Ok(FoundSession {
            session,
            lease: None,
            saved: Some(saved),
        })
    }

    /// Claims a session: this node delivers its messages from now on.
    async fn take_over(
        &self,
        stored: &StoredSessions,
        id: &SessionId,
        loaded: LoadedSession,
    ) -> Result<Option<FoundSession>, HttpRefusal> {
        let claimed = stored.claim(id, &loaded).await;
        let Some(claimed) = claimed.map_err(|error| outage(&error))? else {
            return Ok(None);
        };
        let session = self.resume_stored(claimed.document, self.log.as_ref());
        let stamp = Some(claimed.stamp);
        match self.sessions.insert(id.clone(), &session, stamp) {
            Ok(lease) => Ok(Some(FoundSession::leased(lease, Some((id, false))))),
            Err(too_many) => Err(too_many_sessions(too_many)),
        }
    }

    /// Goes on with a session of this node, or of a store.
    fn resume(
        &self,
        remains: SessionRemains,
        principal: Option<&Principal>,
        log: Option<&Arc<LogSettings>>,
    ) -> Arc<SessionShared> {
        self.begin(
            self.session_config(),
            principal.cloned(),
            Some(remains),
            log,
        )
    }

    fn resume_stored(
        &self,
        document: SessionDocument,
        log: Option<&Arc<LogSettings>>,
    ) -> Arc<SessionShared> {
        let SessionDocument {
            record,
            client,
            principal,
        } = document;
        let remains = SessionRemains::of(renumbered(record), client);
        self.resume(remains, principal.as_ref(), log)
    }

    /// Adds a session that has just begun, in the store first: once its client has the id, any node
    /// can serve it.
    ///
    /// # Errors
    ///
    /// 503 if the store can't be used, or if there are too many sessions.
    pub(super) async fn add_session(
        &self,
        id: &SessionId,
        session: &Arc<SessionShared>,
    ) -> Result<(), HttpRefusal> {
        let mut stamp = None;
        if let (Some(stored), Some(document)) = (self.sessions.stored(), document_of(session)) {
            let created = stored.create(id, &document).await;
            stamp = Some(created.map_err(|error| outage(&error))?);
        }
        let Err(too_many) = self.sessions.insert(id.clone(), session, stamp) else {
            return Ok(());
        };
        if let Some(stored) = self.sessions.stored()
            && let Err(error) = stored.remove(id).await
        {
            // It expires.
            tracing::debug!(%error, "the record of a refused session stays in the store until it expires");
        }
        Err(too_many_sessions(too_many))
    }

    /// Writes what a request has changed of the settings of its session, before it is answered.
    ///
    /// # Errors
    ///
    /// 503 if the change is not stored, and 404 if the session was ended meanwhile.
    pub(super) async fn save_changes(
        &self,
        saved: Option<SavedSession>,
    ) -> Result<(), HttpRefusal> {
        let (Some(saved), Some(stored)) = (saved, self.sessions.stored()) else {
            return Ok(());
        };
        let Some(document) = document_of(&saved.session) else {
            return Ok(());
        };
        if document.record.has_same_settings(&saved.before) && !saved.is_unsaved {
            return Ok(());
        }
        let id = &saved.id;
        let written = match (&saved.loaded, self.sessions.claim(id)) {
            (Some(loaded), _) => stored.change(id, loaded, &document).await,
            (None, Some((claim, _))) => match stored.write(id, claim.stamp, &document).await {
                Ok(stamp) => {
                    self.sessions.note_written(id, stamp);
                    Ok(())
                }
                Err(error) => {
                    if error.is_outage() {
                        self.sessions.note_unsaved(id);
                    } else {
                        self.sessions.retire(id, claim.stamp.fence);
                    }
                    Err(error)
                }
            },
            (None, None) => Err(StoreError::Fenced),
        };
        match written {
            Ok(()) => Ok(()),
            Err(StoreError::Missing) => Err(Refusal::unknown_session(None).into()),
            Err(error) => Err(outage(&error)),
        }
    }

    /// Ends a session at the wish of its client. Returns `true` if there was one.
    ///
    /// # Errors
    ///
    /// 503 if the store can't be used: then nothing has ended.
    pub(super) async fn end_session(
        &self,
        id: &SessionId,
        principal: Option<&Principal>,
    ) -> Result<bool, HttpRefusal> {
        let Some(stored) = self.sessions.stored() else {
            return Ok(self.sessions.remove(id, principal));
        };
        let loaded = stored.load(id, principal).await;
        let was_stored = loaded.map_err(|error| outage(&error))?.is_some();
        if was_stored {
            let removed = stored.remove(id).await;
            removed.map_err(|error| outage(&error))?;
        }
        self.sessions.remove(id, principal);
        Ok(was_stored)
    }
}

impl FoundSession {
    /// `stored` is the id of a session in the store, and `true` if an earlier change of it is not.
    fn leased(lease: SessionLease, stored: Option<(&SessionId, bool)>) -> Self {
        let session = Arc::clone(lease.session());
        let saved = stored.and_then(|(id, is_unsaved)| {
            Some(SavedSession {
                id: id.clone(),
                session: Arc::clone(&session),
                before: session.record()?,
                loaded: None,
                is_unsaved,
            })
        });
        Self {
            session,
            lease: Some(lease),
            saved,
        }
    }
}

/// Logs why a store can't be used, and returns the refusal of the request.
fn outage(error: &StoreError) -> HttpRefusal {
    tracing::warn!(%error, "the session store can't be used");
    store_unavailable()
}
