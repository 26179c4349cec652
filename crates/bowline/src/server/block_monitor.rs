//! Watches handlers that block a thread of a multi-thread runtime.
//!
//! A handler is polled on the task that drives its connection, or on a task of its own. A poll
//! that doesn't return keeps its thread, and on that thread all that tokio would run there next:
//! no other worker takes a task that such a thread woke last, and none may be there that waits for
//! I/O. Nothing within the runtime can be relied on to notice that. So one thread of this process
//! looks every few milliseconds at what is being polled, and asks another worker to take over.
//!
//! Each thread that polls handlers keeps a list of these polls, which is a stack, since a handler may
//! serve another connection. The monitor looks at the lists of all threads, and parks
//! while nothing is polled.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::context::Context;
use super::service::MethodName;
use super::session::SessionShared;
use super::telemetry::{handler_is_blocking, notification_handler_is_blocking};
use crate::log_names::entered;
use crate::panics::caught;

/// How often the monitor looks.
const TICK: Duration = Duration::from_millis(4);

/// How long a poll lasts until it blocks, from the first look at it.
const BLOCK_THRESHOLD: Duration = Duration::from_millis(4);

/// How long a poll blocks until it is reported while it lasts.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Ticks without a poll after which the monitor parks. Unparking it costs a system call.
const IDLE_TICKS: u32 = 25;

/// What is polled.
#[derive(Clone, Debug)]
pub(super) enum Polled {
    /// A handler, on the task that drives its connection.
    InPlace(Context),
    /// A handler, on a task of its own.
    OwnTask(Context),
    /// A callback of the server, on the task that drives the connection.
    Callback(Arc<SessionShared>, MethodName),
}

impl Polled {
    pub(super) fn session(&self) -> &Arc<SessionShared> {
        match self {
            Self::InPlace(context) | Self::OwnTask(context) => &context.inner().session,
            Self::Callback(session, _) => session,
        }
    }

    /// Reports it while it blocks.
    fn report(&self, since: Instant) {
        let blocked = since.elapsed();
        match self {
            Self::InPlace(context) | Self::OwnTask(context) => {
                let _entered = entered(context.span());
                handler_is_blocking(context, blocked);
            }
            Self::Callback(session, method) => {
                let _entered = entered(&session.span);
                notification_handler_is_blocking(method, blocked);
            }
        }
    }
}

/// A poll that blocks.
#[derive(Clone, Debug)]
pub(super) struct BlockedPoll {
    pub(super) polled: Polled,
    is_done: Arc<AtomicBool>,
}

impl BlockedPoll {
    /// Returns `true` if the poll has returned. The response of the handler may not have
    /// reached the session yet.
    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }
}

/// A poll that the monitor watches until this is dropped.
#[must_use]
#[derive(Debug)]
pub(super) struct Watch {
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl Watch {
    /// Watches what this thread polls from now on. Watches end in the reverse order.
    pub(super) fn begin(polled: Polled) -> Self {
        with_thread(|thread| {
            let mut polls = thread.lock();
            polls.begun = polls.begun.wrapping_add(1);
            polls.stack.push(Poll {
                polled,
                seen: None,
                blocked: None,
                is_reported: false,
            });
        });
        // The monitor looks at all lists between storing this and parking.
        if IS_PARKED.load(Ordering::Relaxed) {
            unpark();
        }
        Self {
            _thread: PhantomData,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let ended = with_thread(|thread| {
            let mut polls = thread.lock();
            let ended = polls.stack.pop();
            if let Some(is_done) = ended.as_ref().and_then(|poll| poll.blocked.as_ref()) {
                is_done.store(true, Ordering::Release);
                let is_blocked = polls.stack.iter().any(|poll| poll.blocked.is_some());
                thread.is_blocked.store(is_blocked, Ordering::Relaxed);
            }
            ended
        });
        // Without the lock, since a user's destructors may run.
        drop(ended);
    }
}

/// Starts the monitor, if it isn't there. Returns `true` if it is.
pub(super) fn start() -> bool {
    let monitor = MONITOR.get_or_init(|| {
        let thread = thread::Builder::new().name("bowline-monitor".into());
        match thread.spawn(monitor) {
            Ok(handle) => Some(handle.thread().clone()),
            Err(error) => {
                tracing::error!(%error, "can't start the thread that detects blocking handlers: they will delay other requests");
                None
            }
        }
    });
    monitor.is_some()
}

/// Wakes the task that drives a connection. On a thread that a handler blocks the task would
/// be woken to run there next, and no other worker could take it: the monitor wakes it instead.
pub(super) fn wake_driver(driver: Waker) {
    let is_blocked = THREAD.try_with(|thread| {
        let thread = thread.get();
        thread.is_some_and(|thread| thread.is_blocked.load(Ordering::Relaxed))
    });
    if !is_blocked.unwrap_or_default() {
        return driver.wake();
    }
    lock(&WAKERS).push(driver);
    unpark();
}

/// What a thread polls.
#[derive(Debug, Default)]
struct PollingThread {
    polls: Mutex<Polls>,
    /// One of its polls blocks.
    is_blocked: AtomicBool,
}

#[derive(Debug, Default)]
struct Polls {
    /// The innermost last.
    stack: Vec<Poll>,
    /// How many there were.
    begun: u64,
    /// How many there were when the monitor looked.
    begun_at_last_scan: u64,
}

#[derive(Debug)]
struct Poll {
    polled: Polled,
    /// When the monitor saw it first.
    seen: Option<Instant>,
    /// It blocks: set when it returns.
    blocked: Option<Arc<AtomicBool>>,
    is_reported: bool,
}

impl PollingThread {
    fn lock(&self) -> MutexGuard<'_, Polls> {
        lock(&self.polls)
    }

    /// Looks at what the thread polls. Returns `true` if it has polled something since the last look.
    fn scan(
        &self,
        now: Instant,
        blocked: &mut Vec<BlockedPoll>,
        reported: &mut Vec<Report>,
    ) -> bool {
        let mut polls = self.lock();
        let begun = polls.begun;
        let is_active = std::mem::replace(&mut polls.begun_at_last_scan, begun) != begun;
        for poll in &mut polls.stack {
            let Some(seen) = poll.seen else {
                poll.seen = Some(now);
                continue;
            };
            if poll.blocked.is_none() && now - seen >= BLOCK_THRESHOLD {
                let is_done = Arc::clone(poll.blocked.insert(Arc::default()));
                self.is_blocked.store(true, Ordering::Relaxed);
                let polled = poll.polled.clone();
                blocked.push(BlockedPoll { polled, is_done });
            }
            if !poll.is_reported && now - seen >= REPORT_AFTER {
                poll.is_reported = true;
                reported.push((poll.polled.clone(), seen));
            }
        }
        is_active || !polls.stack.is_empty()
    }
}

/// What is to be reported, and since when it blocks.
type Report = (Polled, Instant);

thread_local! {
    static THREAD: OnceCell<Arc<PollingThread>> = const { OnceCell::new() };
}

/// Those of all threads. A thread that has ended is left out at the next look.
static THREADS: Mutex<Vec<Weak<PollingThread>>> = Mutex::new(Vec::new());

/// Tasks that the monitor is to wake: one of each connection at most.
static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());

static MONITOR: OnceLock<Option<Thread>> = OnceLock::new();
static IS_PARKED: AtomicBool = AtomicBool::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the list of this thread, unless the thread ends.
fn with_thread<T>(work: impl FnOnce(&PollingThread) -> T) -> Option<T> {
    let worked = THREAD.try_with(|thread| {
        work(thread.get_or_init(|| {
            let thread = Arc::default();
            lock(&THREADS).push(Arc::downgrade(&thread));
            thread
        }))
    });
    worked.ok()
}

fn unpark() {
    IS_PARKED.store(false, Ordering::SeqCst);
    if let Some(Some(monitor)) = MONITOR.get() {
        monitor.unpark();
    }
}

/// What the monitor's thread does.
fn monitor() {
    let mut idle_ticks = 0;
    loop {
        if is_active() {
            idle_ticks = 0;
        } else {
            idle_ticks += 1;
        }
        if idle_ticks < IDLE_TICKS {
            thread::park_timeout(TICK);
            continue;
        }
        IS_PARKED.store(true, Ordering::SeqCst);
        // A poll that began before this was stored is seen, and another one unparks.
        if !is_active() {
            while IS_PARKED.load(Ordering::SeqCst) {
                thread::park();
            }
        }
        IS_PARKED.store(false, Ordering::SeqCst);
        idle_ticks = 0;
    }
}

/// Wakes what is to be woken, and looks at all threads. Returns `true` if there was something.
fn is_active() -> bool {
    let wakers = std::mem::take(&mut *lock(&WAKERS));
    let (mut blocked, mut reported) = (Vec::new(), Vec::new());
    let now = Instant::now();
    let mut is_active = !wakers.is_empty();
    lock(&THREADS).retain(|thread| {
        let Some(thread) = thread.upgrade() else {
            return false;
        };
        is_active |= thread.scan(now, &mut blocked, &mut reported);
        true
    });
    // Wakers, subscribers of the log and destructors are others' code.
    for waker in wakers {
        let _ = caught(|| waker.wake());
    }
    for poll in blocked {
        let _ = caught(|| Arc::clone(poll.polled.session()).replace_driver(poll));
    }
    for (polled, since) in reported {
        let _ = caught(move || polled.report(since));
    }
    is_active
}
