//! The sessions of the transport of 2024-11-05. Each lasts as long as its event stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::server::SessionId;

use crate::server::http::sessions::TooManySessions;
use crate::server::principal::Principal;
use crate::server::session::SessionShared;
use crate::server::session_set::ShutdownMode;

/// When a client should come back while there are as many sessions as there may be. They end when
/// their clients leave.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The sessions of one service.
#[derive(Debug)]
pub(super) struct LegacySessions {
    max_sessions: usize,
    open: Mutex<HashMap<SessionId, Arc<SessionShared>>>,
}

/// An open session. Dropping it ends the session: its client has lost the stream.
#[derive(Debug)]
pub(in crate::server::http) struct LegacySession {
    sessions: Arc<LegacySessions>,
    id: SessionId,
    shared: Arc<SessionShared>,
}

impl LegacySessions {
    pub(super) fn new(max_sessions: usize) -> Arc<Self> {
        Arc::new(Self {
            max_sessions,
            open: Mutex::default(),
        })
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Checks that there is room for one more session.
    pub(super) fn check_room(&self) -> Result<(), TooManySessions> {
        if self.len() < self.max_sessions {
            Ok(())
        } else {
            Err(TooManySessions {
                retry_after: RETRY_AFTER,
            })
        }
    }

    /// Adds a session that has just begun.
    pub(super) fn insert(
        self: &Arc<Self>,
        id: SessionId,
        shared: Arc<SessionShared>,
    ) -> Result<LegacySession, TooManySessions> {
        let mut open = self.lock();
        if open.len() >= self.max_sessions {
            drop(open);
            shared.end(ShutdownMode::Immediate);
            return Err(TooManySessions {
                retry_after: RETRY_AFTER,
            });
        }
        open.insert(id.clone(), Arc::clone(&shared));
        drop(open);
        Ok(LegacySession {
            sessions: Arc::clone(self),
            id,
            shared,
        })
    }

    /// Returns a session for a POST of a principal. One of another principal doesn't exist for it
    /// (SE-22).
    pub(super) fn find(
        &self,
        id: &SessionId,
        principal: Option<&Principal>,
    ) -> Option<Arc<SessionShared>> {
        let open = self.lock();
        let shared = open.get(id)?;
        (shared.principal.as_ref() == principal).then(|| Arc::clone(shared))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<SessionShared>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LegacySession {
    pub(super) fn shared(&self) -> &Arc<SessionShared> {
        &self.shared
    }
}

impl Drop for LegacySession {
    fn drop(&mut self) {
        let removed = self.sessions.lock().remove(&self.id);
        drop(removed);
        self.shared.end(ShutdownMode::Immediate);
    }
}
