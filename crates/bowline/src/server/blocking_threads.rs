//! The threads of the process for blocking handlers.
//!
//! They are never joined: a handler may never return, and neither a runtime that is dropped nor a
//! process that ends should wait for it, as they do for tokio's. Which job of a session may have a
//! thread is decided in `session/blocking_quota`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::context::Context;
use super::session::{JobId, SessionShared};
use crate::log_names::entered;
use crate::panics::caught;

/// The most threads of this process: as many as tokio has for the same purpose.
const MAX_THREADS: usize = 512;

/// The most threads of one session, unless the server sets another limit: no client has all of
/// them.
pub(super) const DEFAULT_SESSION_SHARE: usize = MAX_THREADS / 8;

/// How long an idle thread waits for another job.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Work to be done on a thread, for a request.
pub(super) struct Job {
    context: Context,
    id: JobId,
    work: Box<dyn FnOnce() + Send>,
}

impl Job {
    /// Submits work, to be done when the session's quota allows it and a thread is free. Where no
    /// thread can be spawned it is dropped.
    pub(super) fn submit(context: &Context, work: impl FnOnce() + Send + 'static) -> SubmittedJob {
        let session = &context.inner().session;
        let (id, next) = session.enqueue_job(|id| Self {
            context: context.clone(),
            id,
            work: Box::new(work),
        });
        if let Some(job) = next {
            job.start();
        }
        let session = Arc::clone(session);
        SubmittedJob { session, id }
    }

    pub(super) fn id(&self) -> JobId {
        self.id
    }

    /// Returns `true` if its request was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Queues it for a thread: its session's quota allows it.
    pub(super) fn start(self) {
        let mut dropped = enqueue(self);
        while let Some(job) = dropped.pop_front() {
            let (session, id) = (Arc::clone(&job.context.inner().session), job.id);
            drop(job);
            // There is no thread for the next job either.
            dropped.extend(session.finish_job(id));
        }
    }

    /// Runs the job, unless its client doesn't read earlier responses: then it waits in the
    /// session's queue, and keeps no thread.
    fn run(self) {
        let (session, id) = (Arc::clone(&self.context.inner().session), self.id);
        let Some(job) = session.park_if_no_room(self) else {
            return;
        };
        let _entered = entered(job.context.span());
        if let Err(panicked) = caught(job.work) {
            tracing::error!(
                panic = panicked.0,
                "blocking handler panicked on its thread"
            );
        }
        if let Some(next) = session.finish_job(id) {
            next.start();
        }
    }
}

/// A submitted job. Drop this when its result was taken or is not wanted: then a waiting job never
/// starts.
pub(super) struct SubmittedJob {
    session: Arc<SessionShared>,
    id: JobId,
}

impl Drop for SubmittedJob {
    fn drop(&mut self) {
        if let Some(next) = self.session.release_job(self.id) {
            next.start();
        }
    }
}

/// Queues a job. Returns the jobs to drop, if there is no thread.
fn enqueue(job: Job) -> VecDeque<Job> {
    let span = job.context.span().clone();
    let mut pool = lock();
    pool.queue.push_back(job);
    if pool.queue.len() <= pool.idle || pool.threads >= MAX_THREADS {
        drop(pool);
        HAS_WORK.notify_one();
        return VecDeque::new();
    }
    pool.threads += 1;
    drop(pool);
    let thread = thread::Builder::new().name("bowline-blocking".into());
    let Err(error) = thread.spawn(run_thread) else {
        return VecDeque::new();
    };
    tracing::error!(parent: &span, %error, "the thread of a blocking handler can't be started");
    let mut pool = lock();
    pool.threads -= 1;
    // Other threads run the job, if there are some.
    match pool.threads {
        0 => std::mem::take(&mut pool.queue),
        1.. => VecDeque::new(),
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    queue: VecDeque::new(),
    threads: 0,
    idle: 0,
});
static HAS_WORK: Condvar = Condvar::new();

struct Pool {
    queue: VecDeque<Job>,
    threads: usize,
    /// Threads that wait for a job.
    idle: usize,
}

fn lock() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The main loop of a thread. Jobs catch their panics.
fn run_thread() {
    let mut pool = lock();
    loop {
        if let Some(job) = pool.queue.pop_front() {
            drop(pool);
            job.run();
            pool = lock();
            continue;
        }
        pool.idle += 1;
        let waited = HAS_WORK.wait_timeout(pool, IDLE_TIMEOUT);
        let (awake, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        pool = awake;
        pool.idle -= 1;
        if timeout.timed_out() && pool.queue.is_empty() {
            pool.threads -= 1;
            return;
        }
    }
}
