//! Calls of the user, across connections.
//!
//! A call has one key and may have several ids: it is sent again when the server certainly has
//! not seen it, when it is idempotent, and once for every round of input. Its entry holds its
//! message, which is shared and never copied.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::calls::{CallId, Timeouts};
use crate::commands::CallRequest;
use crate::monotonic_table::{Deadlines, MonotonicTable};
use crate::outcome::Sent;
use crate::time::Instant;

use super::session_adapter::AdaptToSession;
use super::subscriptions::SubscriptionKey;

/// A call of the user. Keys are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(u64);

impl CallKey {
    /// Returns the key as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A call, with the rules for waiting and for repeating it.
#[derive(Clone, Debug)]
pub struct LinkCall {
    pub(super) request: CallRequest,
    pub(super) wait_for_ready: bool,
    pub(super) is_idempotent: bool,
    pub(super) tool: Option<Box<str>>,
    pub(super) is_raw: bool,
    pub(super) adapter: Option<Arc<dyn AdaptToSession>>,
}

impl LinkCall {
    /// Creates a call that is made now or not at all.
    pub fn new(request: CallRequest) -> Self {
        Self {
            request,
            wait_for_ready: false,
            is_idempotent: false,
            tool: None,
            is_raw: false,
            adapter: None,
        }
    }

    /// Waits for a connection, within the call's own time. A call that was certainly not
    /// seen by the server is then made again after a loss.
    #[must_use]
    pub fn wait_for_ready(mut self) -> Self {
        self.wait_for_ready = true;
        self
    }

    /// Marks the call as idempotent: it only reads, or repeating it changes nothing. Together with
    /// [`wait_for_ready`](Self::wait_for_ready) it is sent again after any loss.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Returns `true` if the call is idempotent.
    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    /// Completes the call with any result, whatever its type: also with one that asks for input.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.is_raw = true;
        self
    }

    /// Sets the tool of the call. Calls of tools that the server declares stateful keep their
    /// order.
    #[must_use]
    pub fn tool(mut self, name: impl Into<Box<str>>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Sets the adapter that encodes the call for the session in which it is sent. It is invoked
    /// once for each session in which the call is offered to the connection.
    #[must_use]
    pub fn with_adapter(mut self, adapter: Arc<dyn AdaptToSession>) -> Self {
        self.adapter = Some(adapter);
        self
    }
}

/// The owner of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    Subscription(SubscriptionKey),
}

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallPhase {
    /// The call waits for a connection, for room, or for its place in the order.
    Waiting,
    /// The connection took the call and issued this id.
    Issued(CallId),
    /// The server waits for our input.
    AwaitingInput,
}

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct CallEntry {
    pub(super) call: LinkCall,
    pub(super) owner: Owner,
    pub(super) phase: CallPhase,
    pub(super) started: Instant,
    /// Since when there has been no response and no progress.
    pub(super) idle_since: Instant,
    /// The number of our handlers that run for this call; its time stands still since
    /// `paused_at`.
    handlers: u32,
    paused_at: Instant,
    /// The session in which it was made last.
    pub(super) session: u64,
    /// The session that the call was last adapted to.
    pub(super) adapted_session: u64,
    /// Set when no other call of a stateful tool may be sent before this one has ended.
    pub(super) has_order_slot: bool,
    pub(super) retries: u32,
    pub(super) rounds: u32,
    /// `No` if the server can't have seen the call in an earlier attempt or round.
    pub(super) sent: Sent,
    /// Set when the call was refused because the session had expired. It may be sent again once.
    pub(super) is_expired: bool,
    /// The `requestState` that goes back to the server with our input.
    pub(super) request_state: Option<Bytes>,
    pub(super) timeouts: Timeouts,
    deadline: Option<Instant>,
}

impl CallEntry {
    /// Returns `true` if the call may wait for another session.
    pub(super) fn may_wait(&self) -> bool {
        self.call.wait_for_ready || self.rounds > 0
    }

    /// Returns `true` if the deadline has passed, while the link watches it.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Restarts the idle time, if progress counts for this call.
    pub(super) fn on_progress(&mut self, now: Instant) {
        if self.timeouts.progress_counts {
            self.idle_since = now;
        }
    }

    /// Stops the time while one of our handlers runs, for another attempt as well.
    pub(super) fn pause(&mut self, now: Instant) {
        if self.handlers == 0 {
            self.paused_at = now;
        }
        self.handlers = self.handlers.saturating_add(1);
    }

    /// Ends the pause of one of our handlers.
    pub(super) fn resume(&mut self, now: Instant) {
        match self.handlers {
            0 => {}
            1 => self.resume_all(now),
            handlers => self.handlers = handlers - 1,
        }
    }

    /// Ends the pauses of all our handlers.
    pub(super) fn resume_all(&mut self, now: Instant) {
        if std::mem::take(&mut self.handlers) > 0 {
            self.idle_since = self.idle_since + now.since(self.paused_at);
        }
    }
}

/// The table of the calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct CallTable {
    calls: MonotonicTable<CallKey, CallEntry>,
    by_id: MonotonicTable<CallId, CallKey>,
    /// The deadlines of the calls that the connection doesn't have.
    deadlines: Deadlines<(Instant, CallKey)>,
    waiting: BTreeSet<CallKey>,
    /// The number of calls with an order slot: more than one only when their tools were declared
    /// stateful meanwhile.
    order_slots: usize,
    next: u64,
}

impl CallTable {
    /// Releases memory that is only kept for reuse.
    pub(super) fn shrink_to_fit(&mut self) {
        if self.calls.is_empty() {
            self.calls = MonotonicTable::new();
            self.by_id = MonotonicTable::new();
            self.deadlines = Deadlines::new();
            self.waiting = BTreeSet::new();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Inserts a call, which must be issued at once or be put among those that
    /// [wait](Self::set_phase).
    pub(super) fn insert(
        &mut self,
        now: Instant,
        call: LinkCall,
        owner: Owner,
        timeouts: Timeouts,
    ) -> CallKey {
        self.next += 1;
        let key = CallKey(self.next);
        let entry = CallEntry {
            call,
            owner,
            phase: CallPhase::Waiting,
            started: now,
            idle_since: now,
            handlers: 0,
            paused_at: now,
            session: 0,
            adapted_session: 0,
            has_order_slot: false,
            retries: 0,
            rounds: 0,
            sent: Sent::No,
            is_expired: false,
            request_state: None,
            timeouts,
            deadline: None,
        };
        self.calls.insert(key, entry);
        key
    }

    /// Puts a new call among those that wait, unless it was issued at once. Most calls are, and
    /// never wait.
    pub(super) fn wait_unless_issued(&mut self, key: CallKey) {
        let phase = self.calls.get(key).map(|entry| entry.phase);
        if phase == Some(CallPhase::Waiting) {
            self.set_phase(key, CallPhase::Waiting);
        }
    }

    pub(super) fn get(&self, key: CallKey) -> Option<&CallEntry> {
        self.calls.get(key)
    }

    pub(super) fn get_mut(&mut self, key: CallKey) -> Option<&mut CallEntry> {
        self.calls.get_mut(key)
    }

    pub(super) fn by_id(&self, id: CallId) -> Option<CallKey> {
        self.by_id.get(id).copied()
    }

    /// Removes a call.
    pub(super) fn remove(&mut self, key: CallKey) -> Option<CallEntry> {
        self.set_order_slot(key, false);
        let entry = self.calls.remove(key)?;
        self.leave_phase(key, entry.phase, entry.deadline);
        Some(entry)
    }

    /// Moves a call to another phase, and its deadline with it: while the connection has the call
    /// it watches the time, and while the server waits for input only the total time counts.
    pub(super) fn set_phase(&mut self, key: CallKey, phase: CallPhase) {
        let Some(entry) = self.calls.get_mut(key) else {
            return;
        };
        let (before, old_deadline) = (entry.phase, entry.deadline);
        let total = entry.started + entry.timeouts.total;
        let deadline = match phase {
            CallPhase::Waiting => Some(total.min(entry.idle_since + entry.timeouts.idle)),
            CallPhase::AwaitingInput => Some(total),
            CallPhase::Issued(_) => None,
        };
        entry.phase = phase;
        entry.deadline = deadline;
        self.leave_phase(key, before, old_deadline);
        if let Some(at) = deadline {
            self.deadlines.insert((at, key));
        }
        match phase {
            CallPhase::Waiting => {
                self.waiting.insert(key);
            }
            CallPhase::Issued(id) => {
                self.by_id.insert(id, key);
            }
            CallPhase::AwaitingInput => {}
        }
    }

    /// Assigns an order slot to a call, or frees it.
    pub(super) fn set_order_slot(&mut self, key: CallKey, has_order_slot: bool) {
        if let Some(entry) = self.calls.get_mut(key) {
            let had_order_slot = std::mem::replace(&mut entry.has_order_slot, has_order_slot);
            self.order_slots =
                self.order_slots + usize::from(has_order_slot) - usize::from(had_order_slot);
        }
    }

    /// Returns `true` if a call has an order slot.
    pub(super) fn is_order_slot_taken(&self) -> bool {
        self.order_slots > 0
    }

    fn leave_phase(&mut self, key: CallKey, phase: CallPhase, deadline: Option<Instant>) {
        match phase {
            CallPhase::Waiting => {
                self.waiting.remove(&key);
            }
            CallPhase::Issued(id) => {
                self.by_id.remove(id);
            }
            CallPhase::AwaitingInput => {}
        }
        if let Some(at) = deadline {
            self.deadlines.remove((at, key));
        }
    }

    /// Returns an overdue call whose deadline the link watches.
    pub(super) fn overdue(&self, now: Instant) -> Option<CallKey> {
        let (deadline, key) = self.deadlines.first()?;
        (deadline <= now).then_some(key)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| deadline)
    }

    /// Returns the oldest waiting call after `last`.
    pub(super) fn waiting_after(&self, last: Option<CallKey>) -> Option<CallKey> {
        let next = CallKey(last.map_or(0, |last| last.0 + 1));
        self.waiting.range(next..).next().copied()
    }

    /// Returns the waiting calls that are older than `key`.
    pub(super) fn waiting_before(&self, key: CallKey) -> impl Iterator<Item = &CallEntry> {
        let earlier = self.waiting.range(..key);
        earlier.filter_map(|key| self.calls.get(*key))
    }

    /// Returns `true` if the connection has a call of the user.
    pub(super) fn has_issued_calls(&self) -> bool {
        let made = self.by_id.iter();
        let mut made = made.filter_map(|(_, key)| self.calls.get(*key));
        made.any(|entry| entry.owner == Owner::User)
    }

    /// Returns all calls, oldest first.
    pub(super) fn keys(&self) -> Vec<CallKey> {
        self.calls.keys().collect()
    }
}
