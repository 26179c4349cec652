//! The sessions of a server, and how they end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bowline_proto::server::Change;
use tokio::sync::watch;

use super::session::SessionShared;

/// The sessions of one server, and its shutdown.
#[derive(Debug)]
pub(super) struct SessionSet {
    own: Mutex<OwnSessions>,
    /// `true` when no client is accepted any more.
    is_ending: watch::Sender<bool>,
    /// All sessions that are notified of changes: also those of servers that share the features.
    notified: Sessions,
}

#[derive(Debug, Default)]
struct OwnSessions {
    sessions: Sessions,
    mode: Option<ShutdownMode>,
}

/// How a server ends its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShutdownMode {
    /// Requests that are being served are finished.
    Graceful,
    /// Immediately.
    Immediate,
}

impl SessionSet {
    /// Creates the set of a server without sessions, which shares `notified`.
    pub(super) fn new(notified: Sessions) -> Self {
        Self {
            own: Mutex::default(),
            is_ending: watch::Sender::new(false),
            notified,
        }
    }

    /// Adds a session. On a server that has ended it is ended at once: under the lock either this
    /// sees the end of the server, or the end sees the session.
    pub(super) fn add(&self, session: &Arc<SessionShared>) {
        self.notified.add(session);
        let own = self.own();
        own.sessions.add(session);
        let mode = own.mode;
        drop(own);
        if let Some(mode) = mode {
            session.end(mode);
        }
    }

    /// Ends all sessions of this server, and those that begin later.
    pub(super) fn end(&self, mode: ShutdownMode) {
        let mut own = self.own();
        own.mode = own.mode.max(Some(mode));
        let sessions = own.sessions.all();
        drop(own);
        self.is_ending.send_replace(true);
        for session in sessions {
            session.end(mode);
        }
    }

    /// Returns `true` if no client is accepted any more.
    #[cfg(feature = "http-server")]
    pub(super) fn has_ended(&self) -> bool {
        *self.is_ending.borrow()
    }

    /// Returns a receiver of the end of the server, for accepting clients.
    pub(super) fn end_signal(&self) -> watch::Receiver<bool> {
        self.is_ending.subscribe()
    }

    fn own(&self) -> MutexGuard<'_, OwnSessions> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Weak references to sessions. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Arc<Mutex<Vec<Weak<SessionShared>>>>);

impl Sessions {
    fn add(&self, session: &Arc<SessionShared>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == sessions.capacity() {
            // Amortized: the list is pruned only when it would grow.
            sessions.retain(|session| session.strong_count() > 0);
            let room = sessions.len();
            sessions.reserve(room);
        }
        sessions.push(Arc::downgrade(session));
    }

    /// Returns the sessions that have not ended.
    fn all(&self) -> Vec<Arc<SessionShared>> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Queues a change notification in all sessions.
    pub(super) fn notify_change(&self, change: Change<'_>) {
        for session in self.all() {
            session.on_change(change);
        }
    }

    /// Completes a URL elicitation in the session that asked for it. Returns `true` if there was
    /// one.
    pub(super) fn complete_url_elicitation(&self, id: &str) -> bool {
        self.all()
            .iter()
            .any(|session| session.complete_url_elicitation(id))
    }
}
