//! One wake-up of a driver: passes of reading, running handlers and writing.

use std::sync::Arc;
use std::task::Context as TaskContext;

use bowline_proto::{CloseReason, Instant};

use super::dispatch_inbound::Invocation;
use super::driver::Driver;

/// The most passes in one wake-up, so that one session doesn't hold a worker for long.
const MAX_PASSES: usize = 32;

/// The next step of the task that runs the driver.
pub(super) enum NextStep {
    /// Run an invocation, which starts at this time.
    Run(Invocation, Instant),
    /// Wait until the driver is woken.
    Wait,
    /// The session is over: end the task.
    Close(CloseReason),
}

/// The progress of one wake-up.
#[derive(Default)]
pub(super) struct Wakeup {
    passes: usize,
    /// A pass has begun, and its responses are not written yet.
    is_in_pass: bool,
    has_worked: bool,
    /// Handlers have run since the last write.
    has_run: bool,
    /// Tasks may have been woken on this thread, to run when this one returns.
    pub(super) has_woken: bool,
}

impl Driver {
    /// Works until there is something to run, which is done without the lock of the slot, or until
    /// there is nothing to do.
    pub(super) fn run_passes(&mut self, wakeup: &mut Wakeup, cx: &mut TaskContext<'_>) -> NextStep {
        if wakeup.passes == 0 && !wakeup.has_run {
            self.check_room();
        }
        loop {
            if self.has_invocation() {
                if wakeup.has_woken && self.shared.replacement_context.get().is_some() {
                    // If the handler blocked, no other worker could take the task that was woken
                    // last on this thread.
                    cx.waker().wake_by_ref();
                    return NextStep::Wait;
                }
                wakeup.has_run = true;
                if let Some(invocation) = self.next_invocation() {
                    return NextStep::Run(invocation, self.now);
                }
            }
            if std::mem::take(&mut wakeup.is_in_pass) && !self.end_pass(wakeup, cx) {
                if let Some(closed) = self.closed.take_if(|closed| closed.is_idle) {
                    return NextStep::Close(closed.reason);
                }
                if self.alarm.poll(cx).is_pending() {
                    return NextStep::Wait;
                }
            }
            if wakeup.passes == MAX_PASSES {
                cx.waker().wake_by_ref();
                return NextStep::Wait;
            }
            wakeup.passes += 1;
            wakeup.is_in_pass = true;
            self.now = self.shared.now();
            wakeup.has_worked = self.poll_core(self.now, cx);
            wakeup.has_woken |= self.wake_deferred();
        }
    }

    /// Checks whether there is room for responses: handlers may be left from the last wake-up, and
    /// others may have responded since.
    fn check_room(&mut self) {
        if self.inbound.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        core.driver = None;
        self.has_room = core.session.has_room_for_response();
    }

    /// Writes the responses of handlers. Returns `true` if there was something to do in this
    /// pass.
    fn end_pass(&mut self, wakeup: &mut Wakeup, cx: &mut TaskContext<'_>) -> bool {
        let now = self.now;
        if std::mem::take(&mut wakeup.has_run) {
            wakeup.has_worked = true;
            // Most handlers have responded: their responses are written together.
            let shared = Arc::clone(&self.shared);
            self.queue_transmits(&mut shared.lock(), now);
        }
        if let Some(io) = &mut self.io {
            let has_written = io.poll_write(cx);
            wakeup.has_worked |= has_written;
            wakeup.has_woken |= has_written;
            if let Some(reason) = io.broken(now) {
                let reason = reason.to_owned();
                self.io = None;
                self.shared.lock().session.handle_lost(now, &reason);
                wakeup.has_worked = true;
            }
        }
        wakeup.has_worked
    }
}
