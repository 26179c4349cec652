//! The place of a session's driver between the tasks that run it.
//!
//! The task that serves the connection runs it. While that task polls a handler in place, the
//! driver is in its slot, and on a multi-thread runtime a replacement may take it over when the
//! poll blocks: see `block_monitor`. The replaced task finishes its handler, responds through the
//! shared core, and then waits for the end of the session. The replacement goes on until then, unless it
//! is replaced itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::CloseReason;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::dispatch_inbound::InvocationOutcome;
use super::driver::Driver;
use super::handler_run::HandlerRun;
use super::wakeup::{NextStep, Wakeup};
use super::{SessionShared, block_monitor};
use crate::log_names::entered;
use crate::panics::caught;
use crate::server::block_monitor::{BlockedPoll, Polled, Watch};

/// Serves one client. Completes with the reason when the session is over. Dropping it ends the
/// session, whichever task runs the driver.
pub(in super::super) struct ServeSession {
    slot: Arc<DriverSlot>,
}

/// The driver of a session, and the number of the task that runs it.
struct DriverSlot {
    shared: Arc<SessionShared>,
    state: Mutex<State>,
}

struct State {
    /// `None` when the session is over.
    driver: Option<Driver>,
    /// The number of the task that runs the driver: 0 for the serving task, and one more for each
    /// replacement.
    task: u64,
    reason: Option<CloseReason>,
    /// Wakes the serving task, when it was replaced.
    serve_waker: Option<Waker>,
}

/// What is needed to replace the task that runs the driver.
#[derive(Debug)]
pub(super) struct ReplacementContext {
    runtime: Handle,
    slot: Weak<DriverSlot>,
}

#[cfg(feature = "http-server")]
impl ReplacementContext {
    /// Creates the context of a session without a driver: a poll that blocks is logged, and a worker
    /// is woken.
    pub(super) fn without_driver(runtime: Handle) -> Self {
        Self {
            runtime,
            slot: Weak::new(),
        }
    }
}

/// The result of polling the driver.
enum DriverPoll {
    Pending,
    /// The session is over, or another task runs the driver.
    Done,
}

impl ServeSession {
    pub(super) fn new(driver: Driver) -> Self {
        let shared = Arc::clone(&driver.shared);
        let slot = Arc::new(DriverSlot {
            shared: Arc::clone(&shared),
            state: Mutex::new(State {
                driver: Some(driver),
                task: 0,
                reason: None,
                serve_waker: None,
            }),
        });
        let runtime = Handle::current();
        let has_workers = runtime.runtime_flavor() != RuntimeFlavor::CurrentThread;
        if has_workers && block_monitor::start() {
            let slot = Arc::downgrade(&slot);
            // It can't be set yet: a session is served once.
            let _ = shared
                .replacement_context
                .set(ReplacementContext { runtime, slot });
        }
        Self { slot }
    }
}

impl Future for ServeSession {
    type Output = CloseReason;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<CloseReason> {
        if let DriverPoll::Pending = self.slot.run(0, cx) {
            return Poll::Pending;
        }
        let mut state = self.slot.lock();
        match state.reason.clone() {
            Some(reason) => Poll::Ready(reason),
            None => {
                state.serve_waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for ServeSession {
    fn drop(&mut self) {
        self.slot.end(CloseReason::Local);
    }
}

impl DriverSlot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the driver as the task of this number. A panic ends the session.
    fn run(&self, task: u64, cx: &mut TaskContext<'_>) -> DriverPoll {
        let _entered = entered(&self.shared.span);
        match caught(|| self.drive(task, cx)) {
            Ok(driven) => driven,
            Err(panicked) => {
                tracing::error!(panic = panicked.0, "session driver panicked");
                self.end(CloseReason::Local);
                DriverPoll::Done
            }
        }
    }

    fn drive(&self, task: u64, cx: &mut TaskContext<'_>) -> DriverPoll {
        let mut wakeup = Wakeup::default();
        let mut state = self.lock();
        loop {
            if state.task != task {
                return DriverPoll::Done;
            }
            let Some(driver) = &mut state.driver else {
                return DriverPoll::Done;
            };
            let (invocation, now) = match driver.run_passes(&mut wakeup, cx) {
                NextStep::Run(invocation, now) => (invocation, now),
                NextStep::Wait => return DriverPoll::Pending,
                NextStep::Close(reason) => {
                    drop(state);
                    self.end(reason);
                    return DriverPoll::Done;
                }
            };
            drop(state);
            state = match invocation.run(&self.shared, now, cx) {
                InvocationOutcome::Responded { at, has_room } => {
                    let mut state = self.lock();
                    // A task that has replaced this one may have newer values.
                    if state.task == task
                        && let Some(driver) = &mut state.driver
                    {
                        driver.on_responded(at, has_room);
                    }
                    state
                }
                InvocationOutcome::Pending(run) => {
                    self.spawn_handler(run);
                    wakeup.has_woken = true;
                    self.lock()
                }
                InvocationOutcome::CallbackReturned => self.on_callback_returned(task),
            };
        }
    }

    /// Lets a handler continue in a task of its own.
    fn spawn_handler(&self, run: HandlerRun) {
        match &mut self.lock().driver {
            Some(driver) => driver.on_pending(run.context()),
            None => run.context().cancel(),
        }
        tokio::spawn(run);
    }

    /// Notes that a callback which the task of this number has run has returned: messages that
    /// arrived after it may be dispatched.
    fn on_callback_returned(&self, task: u64) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if let Some(driver) = &mut state.driver {
            driver.on_callback_returned();
        }
        if state.task != task {
            self.shared.with_core(|_| ());
        }
        state
    }

    /// Takes the driver over from a task that a poll holds up. Returns the number of the new task,
    /// or `None` if there is no reason to: the poll has returned, or holds up nothing.
    fn take_over(&self, poll: &BlockedPoll) -> Option<u64> {
        let mut state = self.lock();
        let Some(driver) = &mut state.driver else {
            // Nothing but this can cancel a handler that was begun just before the end.
            if let Polled::InPlace(context) = &poll.polled {
                context.cancel();
            }
            return None;
        };
        let mut core = self.shared.lock();
        // Under the lock of the core: the handler has not responded yet, and will be forgotten when
        // it does.
        if poll.is_done() {
            return None;
        }
        let in_place = match &poll.polled {
            Polled::InPlace(context) => Some((context, core.track_running(context))),
            // A driver that sleeps is not held up.
            Polled::OwnTask(_) if core.driver.is_some() => return None,
            Polled::OwnTask(_) | Polled::Callback(..) => None,
        };
        let replaced = core.driver.take();
        drop(core);
        if let Some((context, is_open)) = in_place {
            driver.deliver_missed_end(context, is_open);
        }
        state.task += 1;
        let task = state.task;
        drop(state);
        if let Some(replaced) = replaced {
            replaced.wake();
        }
        Some(task)
    }

    /// The session is over.
    fn end(&self, reason: CloseReason) {
        let mut state = self.lock();
        let Some(driver) = state.driver.take() else {
            return;
        };
        state.reason = Some(reason);
        let serve_waker = state.serve_waker.take();
        drop(state);
        drop(driver);
        if let Some(serve_waker) = serve_waker {
            serve_waker.wake();
        }
    }
}

impl std::fmt::Debug for DriverSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriverSlot").finish_non_exhaustive()
    }
}

impl SessionShared {
    /// Watches a poll of this session, on a runtime where another worker can take over.
    pub(in super::super) fn watch(&self, polled: impl FnOnce() -> Polled) -> Option<Watch> {
        self.replacement_context
            .get()
            .map(|_| Watch::begin(polled()))
    }

    /// Has another worker run the driver in place of a poll that blocks. Where the session is over,
    /// a worker is only woken: others may need one that waits for I/O.
    pub(in super::super) fn replace_driver(&self, poll: BlockedPoll) {
        let Some(ReplacementContext { runtime, slot }) = self.replacement_context.get() else {
            return;
        };
        let replacement = slot.upgrade().map(|slot| Replacement {
            slot,
            poll: Some(poll),
            task: 0,
        });
        runtime.spawn(async move {
            if let Some(replacement) = replacement {
                replacement.await;
            }
        });
    }
}

/// A task that runs the driver in place of another one.
struct Replacement {
    slot: Arc<DriverSlot>,
    /// The poll that blocks, until the driver was taken over.
    poll: Option<BlockedPoll>,
    task: u64,
}

impl Future for Replacement {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        if let Some(poll) = &self.poll {
            let Some(task) = self.slot.take_over(poll) else {
                return Poll::Ready(());
            };
            self.task = task;
            self.poll = None;
        }
        match self.slot.run(self.task, cx) {
            DriverPoll::Pending => Poll::Pending,
            DriverPoll::Done => Poll::Ready(()),
        }
    }
}

impl Drop for Replacement {
    /// Ends the session if the runtime ends: nothing else would run the driver.
    fn drop(&mut self) {
        if self.task != 0 && self.slot.lock().task == self.task {
            self.slot.end(CloseReason::Local);
        }
    }
}
