//! The claims of this node to sessions that are in a store.

use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::SessionId;

use super::super::session_document::SessionDocument;
use super::super::stored_sessions::StoredSessions;
use super::{Entry, EntryState, SessionMap};
use crate::server::store::{Fence, Stamp, StoreError};

/// How often a claim is checked while a session has open streams: so long may another node and this
/// one deliver messages of the same session.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How many sessions are checked and written at once. The rest follows with the next look.
const BATCH: usize = 256;

/// The claim to a session.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Claim {
    pub(in super::super) stamp: Stamp,
    checked: Instant,
    /// `true` from each use until the record of the idle session is in the store.
    is_unwritten: bool,
    /// `true` if a change of the settings could not be written.
    pub(in super::super) is_unsaved: bool,
}

/// What a look at the sessions has found to be done in the store.
#[derive(Debug, Default)]
pub(super) struct StoreWork {
    renewals: Vec<(SessionId, Fence, bool)>,
    writes: Vec<(SessionId, Stamp, SessionDocument)>,
}

impl Claim {
    pub(super) fn new(stamp: Stamp, now: Instant) -> Self {
        Self {
            stamp,
            checked: now,
            is_unwritten: true,
            is_unsaved: false,
        }
    }

    /// Notes that the session is used: its record is not the one in the store any more.
    pub(super) fn note_use(&mut self) {
        self.is_unwritten = true;
    }
}

impl StoreWork {
    pub(super) fn is_empty(&self) -> bool {
        self.renewals.is_empty() && self.writes.is_empty()
    }

    /// Notes what has to be done for a session. Returns when to look again.
    pub(super) fn note(&mut self, id: &SessionId, entry: &mut Entry, now: Instant) -> Duration {
        let is_leased = entry.is_leased();
        let (is_ready, principal) = (entry.is_ready(), entry.principal.clone());
        let Some(claim) = &mut entry.claim else {
            return Duration::MAX;
        };
        match &entry.state {
            EntryState::Live { .. } => {
                if !is_leased {
                    return Duration::MAX;
                }
                let left = CHECK_INTERVAL.saturating_sub(now.since(claim.checked));
                if left.is_zero() && self.renewals.len() < BATCH {
                    claim.checked = now;
                    let renewal = (id.clone(), claim.stamp.fence, is_ready);
                    self.renewals.push(renewal);
                    return CHECK_INTERVAL;
                }
                left
            }
            EntryState::Idle(idle) if claim.is_unwritten && self.writes.len() < BATCH => {
                let document = SessionDocument {
                    record: idle.record.clone(),
                    client: idle.client.clone(),
                    principal,
                };
                self.writes.push((id.clone(), claim.stamp, document));
                // It may fail.
                CHECK_INTERVAL
            }
            EntryState::Idle(_) if claim.is_unwritten => Duration::ZERO,
            EntryState::Idle(_) | EntryState::Ended => Duration::MAX,
        }
    }
}

impl Entry {
    /// Ends the stream of a GET. Requests that run go on.
    pub(super) fn retire(self) {
        if let EntryState::Live { shared, .. } = self.state {
            shared.end_server_stream();
        }
    }
}

impl SessionMap {
    /// Returns the store, where there is one.
    pub(in super::super) fn stored(&self) -> Option<&StoredSessions> {
        self.stored.as_ref()
    }

    /// Returns the claim of this node to a session, and whether its client is ready.
    pub(in super::super) fn claim(&self, id: &SessionId) -> Option<(Claim, bool)> {
        let state = self.lock();
        let entry = state.sessions.get(id)?;
        Some((entry.claim?, entry.is_ready()))
    }

    /// Notes that a change of the settings could not be written: the next request tries again.
    pub(in super::super) fn note_unsaved(&self, id: &SessionId) {
        let mut state = self.lock();
        let entry = state.sessions.get_mut(id);
        if let Some(claim) = entry.and_then(|entry| entry.claim.as_mut()) {
            claim.is_unsaved = true;
        }
    }

    /// Notes that a session was written. Does nothing if it is another one meanwhile.
    pub(in super::super) fn note_written(&self, id: &SessionId, stamp: Stamp) {
        let mut state = self.lock();
        if let Some(entry) = state.sessions.get_mut(id)
            && let Some(claim) = &mut entry.claim
            && claim.stamp.fence == stamp.fence
            && claim.stamp.version < stamp.version
        {
            claim.stamp = stamp;
            claim.is_unsaved = false;
            claim.is_unwritten = matches!(entry.state, EntryState::Live { .. });
        }
    }

    /// Forgets a session that another node has claimed. Requests that run here go on.
    pub(in super::super) fn retire(&self, id: &SessionId, fence: Fence) {
        let mut state = self.lock();
        let is_same = |entry: &Entry| entry.claim.is_some_and(|claim| claim.stamp.fence == fence);
        if !state.sessions.get(id).is_some_and(is_same) {
            return;
        }
        let retired = state.sessions.remove(id);
        drop(state);
        if let Some(retired) = retired {
            retired.retire();
        }
    }

    /// Does in the store what a look at the sessions has found. Ends at the first outage: the rest
    /// is found again.
    pub(super) async fn run_store_work(&self, work: StoreWork) {
        let Some(stored) = &self.stored else {
            return;
        };
        for (id, fence, is_ready) in work.renewals {
            match stored.renew(&id, fence, is_ready).await {
                Ok(()) => {}
                Err(error) if error.is_outage() => return log_outage(&error),
                Err(_) => self.retire(&id, fence),
            }
        }
        for (id, stamp, document) in work.writes {
            match stored.write(&id, stamp, &document).await {
                Ok(stamp) => self.note_written(&id, stamp),
                Err(error) if error.is_outage() => return log_outage(&error),
                Err(StoreError::Conflict) => {}
                Err(_) => self.retire(&id, stamp.fence),
            }
        }
    }
}

fn log_outage(error: &StoreError) {
    tracing::warn!(%error, "the session store can't be used");
}
