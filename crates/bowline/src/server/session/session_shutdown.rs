//! The shutdown of a session: finishes requests, within a deadline, and closes the session.
//!
//! A shutdown begins when the server is shut down, or when the client has closed its sending side.
//! `driver` calls it in each pass.

use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::SessionPhase;

use super::driver::{Driver, FLUSH_TIME};
use super::{CANCEL_GRACE, SessionCore, ShutdownReason};
use crate::io::Io;

/// How long a session that is shut down waits for its handlers and its client, and how long a
/// session whose client has left waits for the client to read another part of the last responses.
pub(in super::super) const DEFAULT_SHUTDOWN_DEADLINE: Duration = Duration::from_secs(5);

/// The shutdown of a session that finishes what it can.
#[derive(Clone, Copy)]
pub(super) struct Shutdown {
    phase: ShutdownPhase,
    /// When the next phase begins.
    pub(super) until: Instant,
    /// Bytes that were unwritten at the beginning of the phase.
    unwritten: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShutdownPhase {
    /// Handlers run to their end.
    WaitForHandlers,
    /// Handlers were notified of the shutdown and can still respond.
    HandlersNotified,
    /// Open requests got an error. It is written, and the session closes.
    RequestsRefused,
    /// The client has left, and every request has its response. Responses are written as long as the
    /// client reads.
    Flushing,
}

impl Driver {
    /// Advances the shutdown: closes the session when every response is written, or
    /// when that takes too long. Returns `true` if something changed.
    pub(super) fn advance_shutdown(&mut self, core: &mut SessionCore, now: Instant) -> bool {
        let Some(reason) = core.shutdown_reason else {
            return false;
        };
        if core.session.phase() == SessionPhase::Closed {
            return false;
        }
        let mut shutdown = self.current_shutdown(reason, now);
        let has_ended_listens = core.end_listen_subscriptions(now);
        let unwritten = self.io.as_ref().map_or(0, Io::unwritten);
        let is_written = self.io.as_ref().is_none_or(Io::is_empty);
        let is_answered = match shutdown.phase {
            ShutdownPhase::WaitForHandlers | ShutdownPhase::HandlersNotified => {
                core.session.open_handlers() == 0
            }
            ShutdownPhase::RequestsRefused | ShutdownPhase::Flushing => {
                core.session.open_requests() == 0
            }
        };
        if is_answered && is_written && !has_ended_listens {
            core.session.close(now);
            return true;
        }
        let only_writes =
            is_answered && !has_ended_listens && reason == ShutdownReason::ClientDisconnected;
        if only_writes
            && (shutdown.phase != ShutdownPhase::Flushing || unwritten < shutdown.unwritten)
        {
            shutdown = self.enter_phase(
                ShutdownPhase::Flushing,
                now + DEFAULT_SHUTDOWN_DEADLINE,
                unwritten,
            );
        }
        if now < shutdown.until {
            return has_ended_listens;
        }
        match shutdown.phase {
            ShutdownPhase::WaitForHandlers => self.notify_handlers(core, now),
            ShutdownPhase::HandlersNotified => self.refuse_open_requests(core, now),
            ShutdownPhase::RequestsRefused | ShutdownPhase::Flushing => {
                if unwritten > 0 {
                    tracing::warn!(unwritten, "session ended with unwritten bytes");
                }
                core.session.close(now);
            }
        }
        true
    }

    /// Returns the phase of the shutdown, and begins it if necessary. A shutdown of the server sets
    /// the deadline anew, also where the client has left before.
    fn current_shutdown(&mut self, reason: ShutdownReason, now: Instant) -> Shutdown {
        let deadline = self
            .shared
            .server
            .shutdown_deadline
            .unwrap_or(DEFAULT_SHUTDOWN_DEADLINE);
        match self.shutdown {
            Some(shutdown)
                if shutdown.phase == ShutdownPhase::Flushing
                    && reason == ShutdownReason::Requested =>
            {
                self.enter_phase(ShutdownPhase::RequestsRefused, now + deadline, 0)
            }
            Some(shutdown) => shutdown,
            None => self.enter_phase(
                ShutdownPhase::WaitForHandlers,
                now + deadline.saturating_sub(CANCEL_GRACE),
                0,
            ),
        }
    }

    fn enter_phase(&mut self, phase: ShutdownPhase, until: Instant, unwritten: usize) -> Shutdown {
        *self.shutdown.insert(Shutdown {
            phase,
            until,
            unwritten,
        })
    }

    /// Notifies handlers that the session ends, in time for them to respond.
    fn notify_handlers(&mut self, core: &mut SessionCore, now: Instant) {
        self.enter_phase(ShutdownPhase::HandlersNotified, now + CANCEL_GRACE, 0);
        let running = core.running.values().cloned();
        if !self.is_at_end {
            return self.to_notify_of_shutdown.extend(running);
        }
        // A client that has left may read responses to its requests, but not errors that only its
        // leaving has caused.
        self.to_cancel.extend(running);
        for key in core.running.keys() {
            core.session.abandon_request(*key);
        }
    }

    /// Responds with an error for handlers that have not responded. The errors are taken
    /// at once: however late it is, what the client's buffer has room for is written before the
    /// session ends.
    fn refuse_open_requests(&mut self, core: &mut SessionCore, now: Instant) {
        self.enter_phase(ShutdownPhase::RequestsRefused, now + FLUSH_TIME, 0);
        core.session.refuse_open_requests(now);
        self.queue_transmits(core, now);
    }

    /// Returns `true` if handlers were notified that the session ends.
    pub(super) fn has_notified_handlers(&self) -> bool {
        self.shutdown
            .is_some_and(|shutdown| shutdown.phase != ShutdownPhase::WaitForHandlers)
    }
}
