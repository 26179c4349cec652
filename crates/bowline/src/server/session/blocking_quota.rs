//! A session's share of the threads for handlers that block.
//!
//! The threads are those of the process, so one client must not have them all: what of it
//! would be more than its share waits here, in the order in which it came.

use std::collections::BTreeMap;

use super::SessionShared;
use crate::server::blocking_threads::Job;

/// The place of a job among those of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct JobId(u64);

/// Who of a session may have a thread, and who waits for one. The limits on requests and
/// tasks bound what waits.
///
/// A turn ends when the thread has returned and its result was taken. If the thread alone
/// ended it, all results would be made before the first is answered.
#[derive(Debug)]
pub(super) struct BlockingQuota {
    max_running: usize,
    running: BTreeMap<JobId, RunningJob>,
    waiting: BTreeMap<JobId, Job>,
    last_id: JobId,
    /// The client is gone: nobody has to read answers before others are given.
    is_client_gone: bool,
}

/// What a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunningJob {
    /// The thread, or one of those of other sessions that it needs, and whoever wants the
    /// result.
    Wanted,
    /// Nobody wants the result.
    Unwanted,
    /// The thread has returned.
    Returned,
}

impl BlockingQuota {
    pub(super) fn new(max_running: usize) -> Self {
        Self {
            max_running,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            last_id: JobId(0),
            is_client_gone: false,
        }
    }

    /// The first that waits, if it may begin: whether there is room for answers is told.
    pub(super) fn start_next(&mut self, has_room: bool) -> Option<Job> {
        if self.running.len() >= self.max_running || !(has_room || self.is_client_gone) {
            return None;
        }
        let (id, job) = self.waiting.pop_first()?;
        self.running.insert(id, RunningJob::Wanted);
        Some(job)
    }

    /// The client is gone. Those that may begin now; the others do so when these return.
    pub(super) fn on_client_gone(&mut self) -> Vec<Job> {
        self.is_client_gone = true;
        std::iter::from_fn(|| self.start_next(true)).collect()
    }

    /// One of two parts of a turn is over: the other one is left, or none.
    fn end_part(&mut self, id: JobId, remaining: RunningJob) {
        match self.running.get_mut(&id) {
            Some(running @ RunningJob::Wanted) => *running = remaining,
            Some(running) if *running != remaining => {
                self.running.remove(&id);
            }
            _ => {}
        }
    }
}

impl SessionShared {
    /// Lets a job wait for its turn. Who may begin now, which is the job itself if no other
    /// one waits.
    pub(in super::super) fn enqueue_job(
        &self,
        make: impl FnOnce(JobId) -> Job,
    ) -> (JobId, Option<Job>) {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        let quota = &mut core.blocking_quota;
        quota.last_id.0 += 1;
        let id = quota.last_id;
        quota.waiting.insert(id, make(id));
        (id, quota.start_next(has_room))
    }

    /// Takes a job's turn away until answers have left, if they have to. Otherwise it may be
    /// done.
    pub(in super::super) fn park_if_no_room(&self, job: Job) -> Option<Job> {
        let mut core = self.lock();
        let is_wanted = core.blocking_quota.running.get(&job.id()) == Some(&RunningJob::Wanted);
        let must_wait = !(core.blocking_quota.is_client_gone || core.session.takes_answers());
        if !(must_wait && is_wanted) || job.is_cancelled() {
            return Some(job);
        }
        core.blocking_quota.running.remove(&job.id());
        core.blocking_quota.waiting.insert(job.id(), job);
        None
    }

    /// A job is done, or can't be. Who may begin in its place.
    pub(in super::super) fn finish_job(&self, id: JobId) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        core.blocking_quota.end_part(id, RunningJob::Returned);
        core.blocking_quota.start_next(has_room)
    }

    /// The result of a job was taken, or is not wanted any more: one that waits never begins.
    /// Who may begin in its place.
    pub(in super::super) fn release_job(&self, id: JobId) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.takes_answers();
        let withdrawn = core.blocking_quota.waiting.remove(&id);
        core.blocking_quota.end_part(id, RunningJob::Unwanted);
        let next = core.blocking_quota.start_next(has_room);
        drop(core);
        // It leaves its place, which needs the lock.
        drop(withdrawn);
        next
    }
}
