//! The table of our own calls: their ids, their deadlines, and what an answer finds.
//!
//! It decides, for every id that a peer may name, what that id is to us: a call that
//! waits, one that was given up, one that has long ended, or none that we ever made. It
//! doesn't write or read messages.

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

/// What a table of calls allows.
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
    /// Without an answer, and without progress where that counts.
    pub idle: Duration,
    /// Altogether.
    pub total: Duration,
    /// Whether progress begins the idle time anew. Only a value that is higher than any before
    /// does: one that repeats itself shows that the peer is alive, not that the call goes on.
    pub progress_counts: bool,
}

impl Timeouts {
    /// No end.
    pub const UNLIMITED: Self = Self::new(Duration::MAX, Duration::MAX);

    /// An idle time and a total; progress doesn't count.
    pub const fn new(idle: Duration, total: Duration) -> Self {
        Self {
            idle,
            total,
            progress_counts: false,
        }
    }
}

/// Since when a call is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) started: Instant,
    /// Since when there has been no answer and no progress.
    pub(crate) idle: Instant,
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct Call<T> {
    /// What the owner of the table wants to know of it.
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
    /// So many handlers of ours run for this call; so much time is left.
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

/// What an id is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A call that waits.
    Pending(CallId),
    /// A call that was given up a while ago.
    GivenUp,
    /// A call that ended and was forgotten.
    Ended,
    /// Nothing that we ever made.
    Unknown,
}

/// The calls that wait, by id, with a tag of the owner's choice.
#[derive(Debug)]
pub(crate) struct Calls<T> {
    limits: CallLimits,
    pending: MonotonicTable<CallId, Call<T>>,
    deadlines: Deadlines<(Instant, CallId)>,
    tombstones: Tombstones,
}

impl<T> Calls<T> {
    /// A table that remembers the calls that an earlier one gave up.
    pub(crate) fn new(limits: CallLimits, given_up: GivenUp) -> Self {
        let lifetime = limits.tombstone_lifetime;
        Self {
            limits,
            pending: MonotonicTable::new(),
            deadlines: Deadlines::new(),
            tombstones: Tombstones::new(limits.tombstones, lifetime, given_up),
        }
    }

    /// The calls that were given up and are remembered.
    pub(crate) fn into_given_up(self) -> GivenUp {
        self.tombstones.into_given_up()
    }

    /// Gives back what is only kept to be used again.
    pub(crate) fn shrink(&mut self) {
        if self.pending.is_empty() {
            self.pending = MonotonicTable::new();
            self.deadlines = Deadlines::new();
        }
    }

    /// Whether one more call fits, beside so many that don't count.
    pub(crate) fn has_room(&self, uncounted: usize) -> bool {
        let most = self.limits.pending.saturating_add(uncounted);
        self.pending.len() < most || defect::is(Defect::UnboundedCalls)
    }

    /// Puts a call in, which begins now.
    pub(crate) fn insert(&mut self, now: Instant, id: CallId, timeouts: Timeouts, tag: T) {
        let since = Since {
            started: now,
            idle: now,
        };
        self.insert_since(since, id, timeouts, tag);
    }

    /// Puts a call in that began earlier.
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

    /// Takes a call out that has its answer.
    pub(crate) fn answer(&mut self, id: CallId) -> Option<Call<T>> {
        let call = self.pending.remove(id)?;
        if !defect::is(Defect::LeakedTimer) {
            self.deadlines.remove((call.deadline(), id));
        }
        Some(call)
    }

    /// Takes a call out that will not have its answer. A late one will be known.
    pub(crate) fn give_up(&mut self, now: Instant, id: CallId) -> Option<Call<T>> {
        let call = self.answer(id)?;
        self.tombstones.insert(now, id);
        Some(call)
    }

    /// A call whose time is over at `now`; the one that is over longest comes first.
    pub(crate) fn overdue(&self, now: Instant) -> Option<CallId> {
        let (deadline, id) = self.deadlines.first()?;
        (deadline <= now).then_some(id)
    }

    /// Progress was reported for a call. Returns `true` if it has risen: only then the idle
    /// time begins anew, where progress counts.
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

    /// Takes the end of its time from a call. Whether there is such a call.
    pub(crate) fn lift_timeouts(&mut self, id: CallId) -> bool {
        self.change(id, |call| {
            call.timeouts = Timeouts::UNLIMITED;
            call.idle = Idle::Running {
                until: Instant::NEVER,
            };
            call.total = Instant::NEVER;
        })
    }

    /// A handler of ours begins to work for a call: the peer waits for us.
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

    /// A handler of ours is done.
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

    /// What the id of an answer is to us.
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

    /// The oldest call that waits and is such a one.
    pub(crate) fn find_first(&self, is_such: impl Fn(&T) -> bool) -> Option<CallId> {
        let mut pending = self.pending.iter();
        let such = pending.find(|(_, call)| is_such(&call.tag));
        such.map(|(id, _)| id)
    }

    /// Takes all calls out, oldest first, which will not have their answers. Late ones will
    /// be known.
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

    /// When the next deadline is.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| deadline)
    }

    /// When tombstones are to be swept.
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

/// Integers are compared exactly: a double does not tell large ones apart.
fn is_above(value: Number, other: Number) -> bool {
    match (value.as_i64(), other.as_i64()) {
        (Some(value), Some(other)) => value > other,
        (_, _) => value.as_f64() > other.as_f64(),
    }
}

#[cfg(test)]
mod tests;
