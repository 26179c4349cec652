//! The sessions of the handshake era over HTTP.
//!
//! A session is live while it is used: then it has a [`SessionShared`]. Soon after, if nothing is
//! open in it, it is only its record in this map. One that is not used for long expires. Where
//! several nodes share a store, `claims` has what this node may do with each session.

mod claims;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::SessionId;
use tokio::time::sleep;

use super::config::HttpConfig;
use super::stored_sessions::StoredSessions;
use crate::clock::Clock;
use crate::server::principal::Principal;
use crate::server::session::{SessionRemains, SessionShared};
use crate::server::session_set::ShutdownMode;
use crate::server::store::Stamp;
use claims::{Claim, StoreWork};

/// How long a session stays live after its last use, so that one that is used again and again
/// isn't rebuilt each time.
const LIVE_TIME: Duration = Duration::from_secs(1);

/// How long a session may stay without `notifications/initialized` and without another request.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(60);

/// The longest pause between two looks at the sessions.
const MAX_SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The sessions of one server.
#[derive(Debug)]
pub(super) struct SessionMap {
    clock: Clock,
    max_sessions: usize,
    idle_timeout: Duration,
    stored: Option<StoredSessions>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, Entry>,
    /// `true` while a task looks for sessions that expire.
    has_sweeper: bool,
    /// The last time that room was looked for, and when the next session may expire.
    full: Option<(Instant, Instant)>,
}

#[derive(Debug)]
struct Entry {
    principal: Option<Principal>,
    /// When it was last used, while nothing uses it.
    last_used: Instant,
    state: EntryState,
    /// Set where the session is in a store.
    claim: Option<Claim>,
}

#[derive(Debug)]
enum EntryState {
    Live {
        shared: Arc<SessionShared>,
        /// Requests and streams that use it.
        leases: usize,
    },
    Idle(Box<SessionRemains>),
    /// It was closed, by the core or by its client.
    Ended,
}

/// Keeps a session live.
#[derive(Debug)]
pub(super) struct SessionLease {
    sessions: Arc<SessionMap>,
    id: SessionId,
    shared: Arc<SessionShared>,
}

/// There are as many sessions as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManySessions {
    /// When the next one may expire.
    pub(super) retry_after: Duration,
}

impl TooManySessions {
    fn until(now: Instant, next: Instant) -> Self {
        let retry_after = next.since(now);
        Self {
            retry_after: retry_after.clamp(Duration::from_secs(1), MAX_SWEEP_INTERVAL),
        }
    }
}

impl SessionMap {
    pub(super) fn new(clock: Clock, config: &HttpConfig) -> Arc<Self> {
        Arc::new(Self {
            clock,
            max_sessions: config.max_sessions,
            idle_timeout: config.session_idle_timeout,
            stored: config.stored_sessions(),
            state: Mutex::default(),
        })
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Checks that there is room for one more session.
    pub(super) fn check_room(self: &Arc<Self>) -> Result<(), TooManySessions> {
        let now = self.clock.now();
        {
            let state = self.lock();
            if state.sessions.len() < self.max_sessions {
                return Ok(());
            }
            // A look at all sessions costs far more than a refusal may.
            if let Some((looked, next)) = state.full
                && now.since(looked) < LIVE_TIME
            {
                return Err(TooManySessions::until(now, next));
            }
        }
        // Some may have expired since the sweeper has looked. It goes on until it sees that there
        // are none.
        let (work, _) = self.sweep();
        if !work.is_empty() {
            let sessions = Arc::clone(self);
            tokio::spawn(async move { sessions.run_store_work(work).await });
        }
        let mut state = self.lock();
        if state.sessions.len() < self.max_sessions {
            return Ok(());
        }
        let unused = state.sessions.values().filter(|entry| !entry.is_leased());
        let next = unused.map(|entry| self.expires_at(entry)).min();
        let next = next.unwrap_or(now + MAX_SWEEP_INTERVAL);
        state.full = Some((now, next));
        Err(TooManySessions::until(now, next))
    }

    /// Adds a session that has just begun, or that this node has claimed with that stamp.
    pub(super) fn insert(
        self: &Arc<Self>,
        id: SessionId,
        shared: &Arc<SessionShared>,
        stamp: Option<Stamp>,
    ) -> Result<SessionLease, TooManySessions> {
        let now = self.clock.now();
        let mut state = self.lock();
        if state.sessions.len() >= self.max_sessions {
            return Err(TooManySessions {
                retry_after: Duration::from_secs(1),
            });
        }
        let entry = Entry {
            principal: shared.principal.clone(),
            last_used: now,
            state: EntryState::Live {
                shared: Arc::clone(shared),
                leases: 1,
            },
            claim: stamp.map(|stamp| Claim::new(stamp, now)),
        };
        let replaced = state.sessions.insert(id.clone(), entry);
        if !state.has_sweeper {
            state.has_sweeper = true;
            tokio::spawn(sweep_until_empty(Arc::clone(self)));
        }
        drop(state);
        if let Some(replaced) = replaced {
            // This node has claimed it twice at the same time: the stream is that of the last.
            replaced.retire();
        }
        Ok(SessionLease {
            sessions: Arc::clone(self),
            id,
            shared: Arc::clone(shared),
        })
    }

    /// Returns a session for a request of a principal. One of another principal doesn't exist for
    /// it (SE-22). `resume` makes an idle session live.
    pub(super) fn lease(
        self: &Arc<Self>,
        id: &SessionId,
        principal: Option<&Principal>,
        resume: impl FnOnce(SessionRemains) -> Arc<SessionShared>,
    ) -> Option<SessionLease> {
        let now = self.clock.now();
        let mut state = self.lock();
        let entry = state.sessions.get_mut(id)?;
        if entry.principal.as_ref() != principal {
            return None;
        }
        if !entry.is_leased() && self.expires_at(entry) <= now && !entry.is_busy() {
            let expired = state.sessions.remove(id);
            drop(state);
            if let Some(expired) = expired {
                expired.state.end();
            }
            return None;
        }
        let shared = entry.lease(resume)?;
        Some(SessionLease {
            sessions: Arc::clone(self),
            id: id.clone(),
            shared,
        })
    }

    /// Ends a session at the wish of its client. Returns `true` if there was one.
    pub(super) fn remove(&self, id: &SessionId, principal: Option<&Principal>) -> bool {
        let mut state = self.lock();
        let is_own = |entry: &&Entry| entry.principal.as_ref() == principal;
        if state.sessions.get(id).filter(is_own).is_none() {
            return false;
        }
        let removed = state.sessions.remove(id);
        drop(state);
        if let Some(removed) = removed {
            removed.state.end();
        }
        true
    }

    /// Removes sessions that have expired or ended, and reduces those that nothing uses to their
    /// records. Returns what has to be done in the store, and when to look again, or `None` if there
    /// are no sessions.
    fn sweep(&self) -> (StoreWork, Option<Duration>) {
        let now = self.clock.now();
        let mut next = MAX_SWEEP_INTERVAL;
        let mut expired = Vec::new();
        let mut work = StoreWork::default();
        let mut state = self.lock();
        state.sessions.retain(|id, entry| {
            if entry.is_leased() {
                next = next.min(work.note(id, entry, now));
                return true;
            }
            if entry.is_busy() {
                // A response has yet to be fetched when its call ends.
                entry.last_used = now;
            }
            entry.try_idle(now);
            let left = self.expires_at(entry).since(now);
            if entry.has_ended() || left.is_zero() {
                expired.push(std::mem::replace(&mut entry.state, EntryState::Ended));
                return false;
            }
            next = next.min(if entry.is_live() { LIVE_TIME } else { left });
            next = next.min(work.note(id, entry, now));
            true
        });
        let is_empty = state.sessions.is_empty();
        if is_empty {
            // The memory of many sessions is given back.
            state.sessions = HashMap::new();
        }
        drop(state);
        // Without the lock: handlers are cancelled, and values of the user may be dropped.
        for session in expired {
            session.end();
        }
        (work, (!is_empty).then_some(next.max(LIVE_TIME)))
    }

    /// Lets the sweeper end if there are no sessions. Returns `true` if it may. Only the sweeper calls
    /// it, so that there is never a second one.
    fn stop_sweeper(&self) -> bool {
        let mut state = self.lock();
        state.has_sweeper = !state.sessions.is_empty();
        !state.has_sweeper
    }

    fn expires_at(&self, entry: &Entry) -> Instant {
        let timeout = if entry.is_ready() {
            self.idle_timeout
        } else {
            self.idle_timeout.min(HANDSHAKE_TIME)
        };
        entry.last_used + timeout
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_leased(&self) -> bool {
        matches!(self.state, EntryState::Live { leases: 1.., .. })
    }

    fn is_live(&self) -> bool {
        matches!(self.state, EntryState::Live { .. })
    }

    /// Returns `true` if a handler goes on in it, or waits for its client.
    fn is_busy(&self) -> bool {
        match &self.state {
            EntryState::Live { shared, .. } => !shared.is_closed() && shared.is_busy(),
            EntryState::Idle(_) | EntryState::Ended => false,
        }
    }

    fn has_ended(&self) -> bool {
        match &self.state {
            EntryState::Live { shared, .. } => shared.is_closed(),
            EntryState::Idle(_) => false,
            EntryState::Ended => true,
        }
    }

    /// Returns `true` once the client has finished the handshake.
    fn is_ready(&self) -> bool {
        match &self.state {
            EntryState::Live { shared, .. } => shared.is_ready(),
            EntryState::Idle(idle) => idle.record.is_ready(),
            EntryState::Ended => false,
        }
    }

    /// Makes the session live, and counts one more use.
    fn lease(
        &mut self,
        resume: impl FnOnce(SessionRemains) -> Arc<SessionShared>,
    ) -> Option<Arc<SessionShared>> {
        if self.has_ended() {
            return None;
        }
        if let Some(claim) = &mut self.claim {
            claim.note_use();
        }
        self.state = match std::mem::replace(&mut self.state, EntryState::Ended) {
            EntryState::Live { shared, leases } => EntryState::Live {
                shared,
                leases: leases + 1,
            },
            EntryState::Idle(idle) => EntryState::Live {
                shared: resume(*idle),
                leases: 1,
            },
            EntryState::Ended => return None,
        };
        match &self.state {
            EntryState::Live { shared, .. } => Some(Arc::clone(shared)),
            EntryState::Idle(_) | EntryState::Ended => None,
        }
    }

    /// Reduces the session to its record, if nothing has used it for a moment and nothing is open in
    /// it.
    fn try_idle(&mut self, now: Instant) {
        let EntryState::Live { shared, leases: 0 } = &self.state else {
            return;
        };
        // Contexts of tasks and of handlers refer to the session.
        let is_used = now.since(self.last_used) < LIVE_TIME || Arc::strong_count(shared) > 1;
        if is_used || !shared.is_idle() {
            return;
        }
        let EntryState::Live { shared, leases } =
            std::mem::replace(&mut self.state, EntryState::Ended)
        else {
            return;
        };
        self.state = match SessionShared::into_record(shared) {
            Ok(remains) => EntryState::Idle(Box::new(remains)),
            // A change is being sent to it just now.
            Err(Some(shared)) => EntryState::Live { shared, leases },
            Err(None) => EntryState::Ended,
        };
    }
}

impl EntryState {
    fn end(self) {
        if let Self::Live { shared, .. } = self {
            shared.end(ShutdownMode::Immediate);
        }
    }
}

impl SessionLease {
    pub(super) fn session(&self) -> &Arc<SessionShared> {
        &self.shared
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        let now = self.sessions.clock.now();
        let mut state = self.sessions.lock();
        // It may have been removed meanwhile, and even another one added.
        if let Some(entry) = state.sessions.get_mut(&self.id)
            && let EntryState::Live { shared, leases } = &mut entry.state
            && Arc::ptr_eq(shared, &self.shared)
        {
            *leases = leases.saturating_sub(1);
            entry.last_used = now;
        }
    }
}

/// Looks for sessions that nothing uses, while there are sessions.
async fn sweep_until_empty(sessions: Arc<SessionMap>) {
    let mut pause = LIVE_TIME;
    loop {
        sleep(pause).await;
        let (work, next) = sessions.sweep();
        sessions.run_store_work(work).await;
        match next {
            Some(next) => pause = next,
            None if sessions.stop_sweeper() => return,
            None => pause = LIVE_TIME,
        }
    }
}
