//! The table of our own calls: their ids and deadlines, and the lookup of responses.
//!
//! It classifies every id that a peer may name: a pending call, one that was cancelled or timed
//! out, one that has ended, or an id that was never issued. It doesn't write or read messages.
//!
//! - `ids`: the ids of calls. `tombstones`: ids of cancelled calls, whose late responses are known.

mod ids;
mod tombstones;

use std::time::Duration;

use bowline_types::{Number, RequestId};

use crate::defect::{self, Defect};
use crate::monotonic_table::{Deadlines, MonotonicTable};
use crate::time::Instant;
use tombstones::Tombstones;

pub use ids::{CallId, IdCounter};
pub(crate) use tombstones::GivenUp;

/// The limits of a table of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    pub(crate) pending: usize,
    pub(crate) tombstones: usize,
    pub(crate) tombstone_lifetime: Duration,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The longest time without a response, and without progress if that counts.
    pub idle: Duration,
    /// The longest time in total.
    pub total: Duration,
    /// `true` if progress begins the idle time anew. Only a value that is higher than any before
    /// does: one that repeats itself shows that the peer is alive, not that the call goes on.
    pub progress_counts: bool,
}

impl Timeouts {
    /// No timeouts.
    pub const UNLIMITED: Self = Self::new(Duration::MAX, Duration::MAX);

    /// Creates an idle time and a total; progress doesn't count.
    pub const fn new(idle: Duration, total: Duration) -> Self {
        Self {
            idle,
            total,
            progress_counts: false,
        }
    }
}

/// The times at which a call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) started: Instant,
    /// The start of the idle time: without a response and without progress.
    pub(crate) idle: Instant,
}

/// A pending call.
#[derive(Debug)]
pub(crate) struct Call<T> {
    /// Data of the owner of the table.
    pub(crate) tag: T,
    pub(crate) started: Instant,
    timeouts: Timeouts,
    idle: Idle,
    total: Instant,
    /// The highest progress that was reported.
    progress: Option<Number>,
}

/// The idle deadline, which stands still while the peer waits for us.
#[derive(Clone, Copy, Debug)]
enum Idle {
    Running {
        until: Instant,
    },
    /// This number of our handlers run for the call; this idle time is left.
    Paused {
        handlers: u32,
        left: Duration,
    },
}

impl<T> Call<T> {
    fn deadline(&self) -> Instant {
        match self.idle {
            Idle::Running { until } => until.min(self.total),
            Idle::Paused { .. } => self.total,
        }
    }
}

/// The result of looking up an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A pending call.
    Pending(CallId),
    /// A call that was cancelled or timed out.
    GivenUp,
    /// A call that has ended.
    Ended,
    /// An id that was never issued.
    Unknown,
}

/// The pending calls, by id, with a tag of the owner's choice.
#[derive(Debug)]
pub(crate) struct Calls<T> {
    limits: CallLimits,
    pending: MonotonicTable<CallId, Call<T>>,
    deadlines: Deadlines<(Instant, CallId)>,
    tombstones: Tombstones,
}

impl<T> Calls<T> {
    /// Creates a table that remembers the cancelled calls of an earlier one.
    pub(crate) fn new(limits: CallLimits, given_up: GivenUp) -> Self {
        let lifetime = limits.tombstone_lifetime;
        Self {
            limits,
            pending: MonotonicTable::new(),
            deadlines: Deadlines::new(),
            tombstones: Tombstones::new(limits.tombstones, lifetime, given_up),
        }
    }

    /// Returns the cancelled calls that are remembered.
    pub(crate) fn into_given_up(self) -> GivenUp {
        self.tombstones.into_given_up()
    }

    /// Releases memory that is only kept for reuse.
    pub(crate) fn shrink_to_fit(&mut self) {
        if self.pending.is_empty() {
            self.pending = MonotonicTable::new();
            self.deadlines = Deadlines::new();
        }
    }

    /// Returns `true` if one more call fits, beside `uncounted` ones.
    pub(crate) fn has_room(&self, uncounted: usize) -> bool {
        let most = self.limits.pending.saturating_add(uncounted);
        self.pending.len() < most || defect::is(Defect::UnboundedCalls)
    }

    /// Inserts a call that begins now.
    pub(crate) fn insert(&mut self, now: Instant, id: CallId, timeouts: Timeouts, tag: T) {
        let since = Since {
            started: now,
            idle: now,
        };
        self.insert_since(since, id, timeouts, tag);
    }

    /// Inserts a call that began earlier.
    pub(crate) fn insert_since(&mut self, since: Since, id: CallId, timeouts: Timeouts, tag: T) {
        let Since { started, idle } = since;
        let call = Call {
            tag,
            started,
            timeouts,
            idle: Idle::Running {
                until: idle + timeouts.idle,
            },
            total: started + timeouts.total,
            progress: None,
        };
        self.deadlines.insert((call.deadline(), id));
        self.pending.insert(id, call);
    }

    /// Removes a call that was answered.
    pub(crate) fn complete(&mut self, id: CallId) -> Option<Call<T>> {
        let call = self.pending.remove(id)?;
        if !defect::is(Defect::LeakedTimer) {
            self.deadlines.remove((call.deadline(), id));
        }
        Some(call)
    }

    /// Removes a call without a response. A late response will be recognized.
    pub(crate) fn give_up(&mut self, now: Instant, id: CallId) -> Option<Call<T>> {
        let call = self.complete(id)?;
        self.tombstones.insert(now, id);
        Some(call)
    }

    /// Returns the call that is overdue for longest at `now`.
    pub(crate) fn overdue(&self, now: Instant) -> Option<CallId> {
        let (deadline, id) = self.deadlines.first()?;
        (deadline <= now).then_some(id)
    }

    /// Handles progress of a call. Returns `true` if it has risen: only then the idle time begins
    /// anew, if progress counts.
    ///
    /// Spec, basic/utilities/progress: the value must increase. A peer that repeats the same
    /// one, or none at all, shows that it is alive and not that the call goes on.
    pub(crate) fn progress(&mut self, now: Instant, id: CallId, value: Option<Number>) -> bool {
        let Some(value) = value else {
            return false;
        };
        let mut has_risen = false;
        self.change(id, |call| {
            has_risen = call.progress.is_none_or(|before| is_above(value, before));
            if !has_risen {
                return;
            }
            call.progress = Some(value);
            if call.timeouts.progress_counts {
                match &mut call.idle {
                    Idle::Running { until } => *until = now + call.timeouts.idle,
                    Idle::Paused { left, .. } => *left = call.timeouts.idle,
                }
            }
        });
        has_risen
    }

    /// Removes the timeouts of a call. Returns `true` if there is such a call.
    pub(crate) fn lift_timeouts(&mut self, id: CallId) -> bool {
        self.change(id, |call| {
            call.timeouts = Timeouts::UNLIMITED;
            call.idle = Idle::Running {
                until: Instant::NEVER,
            };
            call.total = Instant::NEVER;
        })
    }

    /// Pauses the idle time while one of our handlers works for the call.
    pub(crate) fn pause(&mut self, now: Instant, id: CallId) -> bool {
        self.change(id, |call| {
            call.idle = match call.idle {
                Idle::Running { until } => Idle::Paused {
                    handlers: 1,
                    left: until.since(now),
                },
                Idle::Paused { handlers, left } => Idle::Paused {
                    handlers: handlers.saturating_add(1),
                    left,
                },
            };
        })
    }

    /// Ends the pause of one of our handlers.
    pub(crate) fn resume(&mut self, now: Instant, id: CallId) -> bool {
        self.change(id, |call| {
            call.idle = match call.idle {
                Idle::Paused {
                    handlers: 0 | 1,
                    left,
                } => Idle::Running { until: now + left },
                Idle::Paused { handlers, left } => Idle::Paused {
                    handlers: handlers - 1,
                    left,
                },
                running @ Idle::Running { .. } => running,
            };
        })
    }

    /// Looks up the id of a response.
    pub(crate) fn find(&mut self, now: Instant, id: &RequestId, counter: &IdCounter) -> Found {
        let Some(id) = CallId::named(id).filter(|id| counter.has_issued(*id)) else {
            return Found::Unknown;
        };
        if self.pending.contains(id) {
            Found::Pending(id)
        } else if self.tombstones.contains(now, id) {
            Found::GivenUp
        } else {
            Found::Ended
        }
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Call<T>> {
        self.pending.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: CallId) -> Option<&mut T> {
        self.pending.get_mut(id).map(|call| &mut call.tag)
    }

    /// Returns the oldest pending call whose tag matches.
    pub(crate) fn find_first(&self, matches: impl Fn(&T) -> bool) -> Option<CallId> {
        let mut pending = self.pending.iter();
        let found = pending.find(|(_, call)| matches(&call.tag));
        found.map(|(id, _)| id)
    }

    /// Removes all calls, oldest first, without responses. Late responses will be recognized.
    pub(crate) fn give_up_all(&mut self, now: Instant) -> MonotonicTable<CallId, Call<T>> {
        self.deadlines.clear();
        let pending = std::mem::take(&mut self.pending);
        for id in pending.keys() {
            self.tombstones.insert(now, id);
        }
        pending
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn tombstones(&self) -> usize {
        self.tombstones.len()
    }

    /// Forgets tombstones that have expired.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.tombstones.sweep(now);
    }

    /// Returns when the next deadline is.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| deadline)
    }

    /// Returns when tombstones are to be swept.
    pub(crate) fn next_sweep(&self) -> Option<Instant> {
        self.tombstones.next_sweep()
    }

    /// Changes a call, and its place among the deadlines with it.
    fn change(&mut self, id: CallId, change: impl FnOnce(&mut Call<T>)) -> bool {
        let Some(call) = self.pending.get_mut(id) else {
            return false;
        };
        let before = call.deadline();
        change(call);
        let after = call.deadline();
        if after != before {
            self.deadlines.remove((before, id));
            self.deadlines.insert((after, id));
        }
        true
    }
}

/// Compares integers exactly: doubles can't distinguish large ones.
fn is_above(value: Number, other: Number) -> bool {
    match (value.as_i64(), other.as_i64()) {
        (Some(value), Some(other)) => value > other,
        (_, _) => value.as_f64() > other.as_f64(),
    }
}

#[cfg(test)]
mod tests;
