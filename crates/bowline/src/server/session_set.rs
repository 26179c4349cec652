//! The sessions of a server, and how they end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bowline_proto::server::Change;
use tokio::sync::watch;

use super::session::SessionShared;

/// The sessions of one server, and whether they are to end.
#[derive(Debug)]
pub(super) struct SessionSet {
    own: Mutex<OwnSessions>,
    /// Nobody is accepted any more.
    is_ending: watch::Sender<bool>,
    /// All that are told of changes: also those of servers that share the features.
    notified: Sessions,
}

#[derive(Debug, Default)]
struct OwnSessions {
    sessions: Sessions,
    mode: Option<ShutdownMode>,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShutdownMode {
    /// What is being served is finished.
    Graceful,
    /// At once.
    Immediate,
}

impl SessionSet {
    /// A server that has no session yet, and shares these.
    pub(super) fn new(notified: Sessions) -> Self {
        Self {
            own: Mutex::default(),
            is_ending: watch::Sender::new(false),
            notified,
        }
    }

    /// A session begins. On a server that ends it does so at once: whoever ends the server
    /// finds it here, or is found by it.
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

    /// Ends all sessions of this server, and lets no other begin.
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

    /// Whether it ends, for whoever accepts clients.
    pub(super) fn end_signal(&self) -> watch::Receiver<bool> {
        self.is_ending.subscribe()
    }

    fn own(&self) -> MutexGuard<'_, OwnSessions> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions, as long as they last. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Arc<Mutex<Vec<Weak<SessionShared>>>>);

impl Sessions {
    fn add(&self, session: &Arc<SessionShared>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == sessions.capacity() {
            // Seldom enough, however many come and go.
            sessions.retain(|session| session.strong_count() > 0);
            let room = sessions.len();
            sessions.reserve(room);
        }
        sessions.push(Arc::downgrade(session));
    }

    /// All that have not ended.
    fn all(&self) -> Vec<Arc<SessionShared>> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Something has changed that clients may want to know.
    pub(super) fn notify_change(&self, change: Change<'_>) {
        for session in self.all() {
            session.on_change(change);
        }
    }

    /// Somebody is done with a page: whoever asked them to open it is told. Whether one was.
    pub(super) fn complete_url_elicitation(&self, id: &str) -> bool {
        self.all()
            .iter()
            .any(|session| session.complete_url_elicitation(id))
    }
}
