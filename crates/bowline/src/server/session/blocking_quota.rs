//! A session's share of the threads for handlers that block.
//!
//! The threads are those of the process (`blocking_threads`), so one client must not have all of
//! them: jobs beyond the session's share wait here, first in, first out.

use std::collections::BTreeMap;

use super::SessionShared;
use crate::server::blocking_threads::Job;

/// The number of a job among those of its session, in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct JobId(u64);

/// The jobs of a session that have a thread, and those that wait for one. The limits on requests
/// and tasks bound how many wait.
///
/// A job counts as running until its thread has returned and its result was taken. If the thread
/// alone ended it, all results would be computed before the first one is sent.
#[derive(Debug)]
pub(super) struct BlockingQuota {
    max_running: usize,
    running: BTreeMap<JobId, RunningJob>,
    waiting: BTreeMap<JobId, Job>,
    last_id: JobId,
    /// Set when the client is gone: jobs no longer wait for room for responses.
    is_client_gone: bool,
}

/// What a running job still waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunningJob {
    /// The thread (or one of other sessions that it needs), and the result is wanted.
    Wanted,
    /// The thread; the result is not wanted any more.
    Unwanted,
    /// The thread has returned; its result was not taken yet.
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

    /// Starts the first waiting job if the quota and the room for responses allow it.
    pub(super) fn start_next(&mut self, has_room: bool) -> Option<Job> {
        if self.running.len() >= self.max_running || !(has_room || self.is_client_gone) {
            return None;
        }
        let (id, job) = self.waiting.pop_first()?;
        self.running.insert(id, RunningJob::Wanted);
        Some(job)
    }

    /// Returns the jobs that may start now that the client is gone. The others start when these
    /// return.
    pub(super) fn on_client_gone(&mut self) -> Vec<Job> {
        self.is_client_gone = true;
        std::iter::from_fn(|| self.start_next(true)).collect()
    }

    /// Ends one of the two conditions of a running job. `remaining` is the other one; the job is
    /// over when it has ended too.
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
    /// Adds a job. Returns its number and the job that may start now, which is this one if no other
    /// one waits.
    pub(in super::super) fn enqueue_job(
        &self,
        make: impl FnOnce(JobId) -> Job,
    ) -> (JobId, Option<Job>) {
        let mut core = self.lock();
        let has_room = core.session.has_room_for_response();
        let quota = &mut core.blocking_quota;
        quota.last_id.0 += 1;
        let id = quota.last_id;
        quota.waiting.insert(id, make(id));
        (id, quota.start_next(has_room))
    }

    /// Puts a job back into the queue while there is no room for responses. Otherwise returns it,
    /// to be run.
    pub(in super::super) fn park_if_no_room(&self, job: Job) -> Option<Job> {
        let mut core = self.lock();
        let is_wanted = core.blocking_quota.running.get(&job.id()) == Some(&RunningJob::Wanted);
        let must_wait =
            !(core.blocking_quota.is_client_gone || core.session.has_room_for_response());
        if !(must_wait && is_wanted) || job.is_cancelled() {
            return Some(job);
        }
        core.blocking_quota.running.remove(&job.id());
        core.blocking_quota.waiting.insert(job.id(), job);
        None
    }

    /// Notes that a job's thread has returned, or could not be started. Returns the job that may
    /// start in its place.
    pub(in super::super) fn finish_job(&self, id: JobId) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.has_room_for_response();
        core.blocking_quota.end_part(id, RunningJob::Returned);
        core.blocking_quota.start_next(has_room)
    }

    /// Notes that a job's result was taken or is not wanted any more: a job that still waits never
    /// starts. Returns the job that may start in its place.
    pub(in super::super) fn release_job(&self, id: JobId) -> Option<Job> {
        let mut core = self.lock();
        let has_room = core.session.has_room_for_response();
        let withdrawn = core.blocking_quota.waiting.remove(&id);
        core.blocking_quota.end_part(id, RunningJob::Unwanted);
        let next = core.blocking_quota.start_next(has_room);
        drop(core);
        // Dropping the job releases its hold on the request, which needs the lock.
        drop(withdrawn);
        next
    }
}
