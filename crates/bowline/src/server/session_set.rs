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

    /// Adds a session, for as long as the returned value exists. On a server that has ended it is
    /// ended at once: under the lock either this sees the end of the server, or the end sees the
    /// session.
    pub(super) fn add(&self, session: &Arc<SessionShared>) -> Membership {
        let notified = self.notified.add(session);
        let own = self.own();
        let in_server = own.sessions.add(session);
        let mode = own.mode;
        drop(own);
        if let Some(mode) = mode {
            session.end(mode);
        }
        Membership {
            _notified: notified,
            _in_server: in_server,
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
pub(super) struct Sessions(Arc<Mutex<SessionList>>);

#[derive(Debug, Default)]
struct SessionList {
    places: Vec<Option<Weak<SessionShared>>>,
    /// The places that are free.
    free: Vec<usize>,
}

/// Keeps a session in the lists of its server. The session owns it: a weak reference that stays
/// behind would keep the memory of a session that has ended, which is 2 KiB.
#[derive(Debug)]
pub(super) struct Membership {
    _notified: ListPlace,
    _in_server: ListPlace,
}

/// A place in a list, which becomes free with this value.
#[derive(Debug)]
struct ListPlace {
    list: Sessions,
    number: usize,
}

impl Drop for ListPlace {
    fn drop(&mut self) {
        self.list.lock().remove(self.number);
    }
}

/// More free places than this are given back when no session is left.
const KEPT_PLACES: usize = 1024;

impl SessionList {
    fn insert(&mut self, session: Weak<SessionShared>) -> usize {
        if let Some(number) = self.free.pop() {
            self.places[number] = Some(session);
            return number;
        }
        self.places.push(Some(session));
        self.places.len() - 1
    }

    fn remove(&mut self, number: usize) {
        self.places[number] = None;
        self.free.push(number);
        if self.free.len() == self.places.len() && self.places.len() > KEPT_PLACES {
            *self = Self::default();
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl Sessions {
    fn add(&self, session: &Arc<SessionShared>) -> ListPlace {
        let number = self.lock().insert(Arc::downgrade(session));
        ListPlace {
            list: self.clone(),
            number,
        }
    }

    /// Returns the sessions that have not ended.
    fn all(&self) -> Vec<Arc<SessionShared>> {
        let list = self.lock();
        let kept = list.places.iter().flatten();
        kept.filter_map(Weak::upgrade).collect()
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

    fn lock(&self) -> MutexGuard<'_, SessionList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;
    use crate::server::server_core::Origin;

    #[test]
    fn a_session_that_is_gone_leaves_nothing_in_the_lists() {
        let server = Server::new("test", "1").build().unwrap();
        let core = server.core();
        let notified = core.sessions.notified.clone();
        let own = core.sessions.own().sessions.clone();
        let lengths = || [&notified, &own].map(|list| list.lock().len());
        let open = || SessionShared::new(Arc::clone(core), Origin::Listener);
        let kept = open();
        for _ in 0..2 * KEPT_PLACES {
            drop(open());
        }
        assert_eq!(lengths(), [1, 1]);
        assert!(Arc::ptr_eq(&own.all()[0], &kept));
        let many: Vec<_> = (0..2 * KEPT_PLACES).map(|_| open()).collect();
        drop(kept);
        assert_eq!(lengths(), [many.len(); 2]);
        assert_eq!(own.all().len(), many.len());
        drop(many);
        assert_eq!(lengths(), [0, 0]);
        assert_eq!(own.lock().places.capacity(), 0, "it is given back");
    }
}
