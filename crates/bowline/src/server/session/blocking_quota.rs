//! A session's share of the threads for handlers that block.
//!
//! The threads are those of the process, so one client must not have them all: what of it
//! would be more than its share waits here, in the order in which it came.

use std::collections::BTreeMap;

use super::Shared;
use crate::server::blocking_threads::Job;

/// The place of a job among those of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Ticket(u64);

/// Who of a session may have a thread, and who waits for one. The limits on requests and
/// tasks bound what waits.
///
/// A turn ends when the thread has returned and its result was taken. If the thread alone
/// ended it, all results would be made before the first is answered.
#[derive(Debug)]
pub(super) struct Turns {
    most: usize,
    begun: BTreeMap<Ticket, Begun>,
    waiting: BTreeMap<Ticket, Job>,
    last: Ticket,
    /// The client is gone: nobody has to read answers before others are given.
    is_over: bool,
}

/// What a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// The thread, or one of those of other sessions that it needs, and whoever wants the
    /// result.
    Both,
    /// Nobody wants the result.
    Thread,
    /// The thread has returned.
    Result,
}

impl Turns {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            begun: BTreeMap::new(),
            waiting: BTreeMap::new(),
            last: Ticket(0),
            is_over: false,
        }
    }

    /// The first that waits, if it may begin: whether there is room for answers is told.
    pub(super) fn next(&mut self, has_room: bool) -> Option<Job> {
        if self.begun.len() >= self.most || !(has_room || self.is_over) {
            return None;
        }
        let (ticket, job) = self.waiting.pop_first()?;
        self.begun.insert(ticket, Begun::Both);
        Some(job)
    }

    /// The client is gone. Those that may begin now; the others do so when these return.
    pub(super) fn end(&mut self) -> Vec<Job> {
        self.is_over = true;
        std::iter::from_fn(|| self.next(true)).collect()
    }

    /// One of two parts of a turn is over: the other one is left, or none.
    fn part(&mut self, ticket: Ticket, left: Begun) {
        match self.begun.get_mut(&ticket) {
            Some(begun @ Begun::Both) => *begun = left,
            Some(begun) if *begun != left => {
                self.begun.remove(&ticket);
            }
            _ => {}
        }
    }
}

impl Shared {
    /// Lets a job wait for its turn. Who may begin now, which is the job itself if no other
    /// one waits.
    pub(in super::super) fn line_up(
        &self,
        make: impl FnOnce(Ticket) -> Job,
    ) -> (Ticket, Option<Job>) {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        let turns = &mut core.turns;
        turns.last.0 += 1;
        let ticket = turns.last;
        turns.waiting.insert(ticket, make(ticket));
        (ticket, turns.next(has_room))
    }

    /// Takes a job's turn away until answers have left, if they have to. Otherwise it may be
    /// done.
    pub(in super::super) fn park_if_full(&self, job: Job) -> Option<Job> {
        let mut core = self.lock();
        let is_wanted = core.turns.begun.get(&job.ticket()) == Some(&Begun::Both);
        let must_wait = !(core.turns.is_over || core.session.takes_answers());
        if !(must_wait && is_wanted) || job.is_cancelled() {
            return Some(job);
        }
        core.turns.begun.remove(&job.ticket());
        core.turns.waiting.insert(job.ticket(), job);
        None
    }

    /// A job is done, or can't be. Who may begin in its place.
    pub(in super::super) fn returned(&self, ticket: Ticket) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        core.turns.part(ticket, Begun::Result);
        core.turns.next(has_room)
    }

    /// The result of a job was taken, or is not wanted any more: one that waits never begins.
    /// Who may begin in its place.
    pub(in super::super) fn taken(&self, ticket: Ticket) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        let withdrawn = core.turns.waiting.remove(&ticket);
        core.turns.part(ticket, Begun::Thread);
        let next = core.turns.next(has_room);
        drop(core);
        // It leaves its place, which needs the lock.
        drop(withdrawn);
        next
    }
}
