//! Drives the session of one client on one stream.
//!
//! Reads bytes into the core, queues the core's events for `dispatch_inbound`, and writes what the
//! core transmits. Which task runs it is decided in `driver_slot`; `session_shutdown` ends the
//! session in phases.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bowline_proto::server::{RequestContext, SessionEvent};
use bowline_proto::{CloseReason, Instant, Payload, RequestKey};
use bowline_types::Revision;
use bowline_types::common::Implementation;

use super::dispatch_inbound::{InboundMessage, InboundNotification};
use super::session_shutdown::Shutdown;
use super::{CANCEL_GRACE, SessionCore, SessionShared, ShutdownReason};
use crate::clock::Alarm;
use crate::io::Io;
use crate::log_names::entered;
use crate::read_grace::ReadGrace;
use crate::server::blocking_threads::Job;
use crate::server::context::Context;
use crate::server::resource_subscriptions::HandlerSubscription;
use crate::server::service::MethodName;
use crate::server::telemetry::Notice;
use crate::transport::Stream;

/// How long the last responses may take to be written, and how much longer than their grace
/// handlers may take on a busy machine.
pub(super) const FLUSH_TIME: Duration = Duration::from_millis(50);

/// How many waiting handlers are resumed at once when responses have been written.
const MAX_RESUMED_AT_ONCE: usize = 8;

/// Drives a session.
pub(super) struct Driver {
    pub(super) shared: Arc<SessionShared>,
    pub(super) io: Option<Io>,
    pub(super) alarm: Alarm,
    read_grace: ReadGrace,
    pub(super) shutdown: Option<Shutdown>,
    pub(super) inbound: VecDeque<InboundMessage>,
    /// Notifications that arrived while handlers wait for the client to read. They are delivered
    /// before these handlers are resumed, so that a client that doesn't read can't make the server
    /// keep its notifications.
    pub(super) urgent_notifications: VecDeque<InboundNotification>,
    pub(super) to_cancel: Vec<Context>,
    /// Handlers to notify that the session ends. They can still respond.
    pub(super) to_notify_of_shutdown: Vec<Context>,
    /// Queued requests that were cancelled: their handlers are never started.
    pub(super) withdrawn_requests: BTreeSet<RequestKey>,
    pub(super) wakers: Vec<Waker>,
    pub(super) jobs_to_start: Vec<Job>,
    /// Subscriptions that have ended and whose handler is to be called.
    pub(super) ended_subscriptions: Vec<Vec<HandlerSubscription>>,
    /// `true` while the client reads, so that more handlers may respond.
    pub(super) has_room: bool,
    /// The time when the clock was last read: once for each handler, since reading it costs as much
    /// as running a small handler.
    pub(super) now: Instant,
    /// `true` while a callback of the server runs. Messages that arrive meanwhile wait until it
    /// returns.
    pub(super) is_in_callback: bool,
    pub(super) closed: Option<ClosedSession>,
    pub(super) is_at_end: bool,
    /// `true` once the log has the client's name.
    is_client_logged: bool,
    /// Log events to emit without the lock.
    pub(super) notices: Vec<Notice>,
}

/// A session that is closed.
pub(super) struct ClosedSession {
    pub(super) reason: CloseReason,
    /// Until when the driver waits for handlers that clean up.
    until: Instant,
    pub(super) is_idle: bool,
}

impl Driver {
    pub(super) fn new(shared: Arc<SessionShared>, stream: Stream) -> Self {
        let alarm = Alarm::new(shared.clock);
        Self {
            shared,
            io: Some(Io::new(stream)),
            alarm,
            read_grace: ReadGrace::default(),
            shutdown: None,
            inbound: VecDeque::new(),
            urgent_notifications: VecDeque::new(),
            to_cancel: Vec::new(),
            to_notify_of_shutdown: Vec::new(),
            withdrawn_requests: BTreeSet::new(),
            wakers: Vec::new(),
            jobs_to_start: Vec::new(),
            ended_subscriptions: Vec::new(),
            has_room: true,
            now: Instant::START,
            is_in_callback: false,
            closed: None,
            is_at_end: false,
            is_client_logged: false,
            notices: Vec::new(),
        }
    }

    /// Reads a chunk, and lets the core act. Returns `true` if there was something to do.
    pub(super) fn poll_core(&mut self, now: Instant, cx: &mut TaskContext<'_>) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        // The driver is awake: a handler that responds need not wake it.
        core.driver = None;
        let mut has_worked = self.poll_read(&mut core, now, cx);
        let due = core.session.poll_timeout();
        if self.read_grace.is_over(due, now, has_worked, cx) {
            core.session.handle_timeout(now);
            has_worked = true;
        }
        has_worked |= core.send_due_changes(now);
        while let Some(event) = core.session.poll_event() {
            self.handle_event(&mut core, event, now);
            has_worked = true;
        }
        has_worked |= self.queue_transmits(&mut core, now);
        has_worked |= self.resume_waiting_handlers(&mut core);
        has_worked |= self.advance_shutdown(&mut core, now);
        let SessionCore {
            subscriptions,
            listens,
            ..
        } = &mut *core;
        self.ended_subscriptions
            .extend(subscriptions.take_ended(listens));
        if let Some(closed) = &mut self.closed {
            closed.is_idle = core.running.is_empty() || now >= closed.until;
        }
        if !has_worked {
            let listens_until = self.io.as_ref().and_then(Io::listens_until);
            let next = [
                self.read_grace.next(core.session.poll_timeout()),
                core.changes.due(),
                self.shutdown.map(|shutdown| shutdown.until),
                self.closed.as_ref().map(|closed| closed.until),
                listens_until,
            ];
            self.alarm.arm(next.into_iter().flatten().min());
            core.driver = Some(cx.waker().clone());
        }
        has_worked
    }

    fn poll_read(
        &mut self,
        core: &mut SessionCore,
        now: Instant,
        cx: &mut TaskContext<'_>,
    ) -> bool {
        // While a callback runs, no more than one read is queued.
        let is_held_up = self.is_in_callback && self.has_queued();
        let Some(io) = &mut self.io else {
            return false;
        };
        if self.is_at_end || is_held_up || !core.session.wants_read() {
            return false;
        }
        match io.poll_read(core.session.read_buffer(), cx) {
            Poll::Pending => return false,
            Poll::Ready(Ok(1..)) => core.session.handle_read(now),
            Poll::Ready(Ok(0)) => {
                // Requests that were sent before the end of the stream are still served, in case
                // the client reads on.
                self.is_at_end = true;
                core.session.handle_eof(now);
                core.session.shut_down();
                core.shutdown_reason
                    .get_or_insert(ShutdownReason::ClientDisconnected);
            }
            Poll::Ready(Err(error)) => {
                self.is_at_end = true;
                core.session.handle_lost(now, &error.to_string());
            }
        }
        true
    }

    /// Moves what the core transmits to the write queue. Returns `true` if there was something.
    pub(super) fn queue_transmits(&mut self, core: &mut SessionCore, now: Instant) -> bool {
        let Some(io) = &mut self.io else {
            return false;
        };
        let mut has_taken = false;
        while io.has_room()
            && let Some(transmit) = core.session.poll_transmit()
        {
            io.queue(transmit);
            has_taken = true;
        }
        if has_taken {
            core.send_unsent_completions();
        }
        core.session.set_unwritten_bytes(now, io.unwritten());
        has_taken
    }

    /// Resumes handlers when there is room for their responses, a few at a time, since the first
    /// may take all of it. Returns `true` if there were some.
    fn resume_waiting_handlers(&mut self, core: &mut SessionCore) -> bool {
        self.has_room = core.session.has_room_for_response();
        let mut has_opened = false;
        for _ in 0..MAX_RESUMED_AT_ONCE {
            if !self.has_room {
                break;
            }
            let waker = core.waiting_for_room.pop_first().map(|(_, waker)| waker);
            let job = core.blocking_quota.start_next(true);
            has_opened |= waker.is_some() || job.is_some();
            self.wakers.extend(waker);
            self.jobs_to_start.extend(job);
        }
        has_opened
    }

    fn handle_event(&mut self, core: &mut SessionCore, event: SessionEvent, now: Instant) {
        match event {
            SessionEvent::Initialized(client) => {
                self.log_client(|| Some(client.info.clone()), client.revision);
                core.client = Some(Arc::from(client));
            }
            SessionEvent::Request {
                request,
                method,
                params,
                context,
            } => self.queue_request(core, request, MethodName::Known(method), params, context),
            SessionEvent::UnknownRequest {
                request,
                method,
                params,
                context,
            } => self.queue_request(core, request, MethodName::Unknown(method), params, context),
            SessionEvent::RequestCancelled(key) | SessionEvent::RequestTimedOut(key) => {
                if core.listens.close(key) {
                    core.session.release(now, key);
                } else if let Some(context) = core.running.get(&key) {
                    self.to_cancel.push(context.clone());
                } else {
                    self.withdrawn_requests.insert(key);
                }
            }
            SessionEvent::Ended {
                call,
                outcome,
                sent,
            } => {
                if let Some(question) = core.pending_questions.get_mut(call) {
                    question.outcome = Some((outcome, sent));
                    self.wakers.extend(question.waker.take());
                }
            }
            SessionEvent::Notification { method, params } => {
                self.queue_notification(MethodName::Known(method), params);
            }
            SessionEvent::UnknownNotification { method, params } => {
                self.queue_notification(MethodName::Unknown(method), params);
            }
            SessionEvent::HandshakeTimedOut => {
                tracing::warn!("client has sent nothing within the handshake timeout");
            }
            SessionEvent::Closed(reason) => {
                let ended = end_reason(&reason, core);
                self.notices.push(Notice::Ended { reason: ended });
                // Dropping the stream shows the client that the session is over. Handlers may clean
                // up.
                self.io = None;
                self.closed = Some(ClosedSession {
                    reason,
                    until: now + CANCEL_GRACE + FLUSH_TIME,
                    is_idle: false,
                });
            }
            _ => tracing::trace!("unknown session event ignored"),
        }
    }

    fn queue_request(
        &mut self,
        core: &SessionCore,
        key: RequestKey,
        method: MethodName,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
    ) {
        let revision = match &stateless {
            Some(stateless) => {
                self.log_client(|| stateless.client_info(), stateless.revision);
                Some(stateless.revision)
            }
            None => core.session.revision(),
        };
        self.inbound.push_back(InboundMessage::Request {
            key,
            method,
            params,
            stateless,
            revision: revision.unwrap_or(Revision::LATEST),
        });
    }

    /// Logs the client's name and version, the first time that they are known.
    fn log_client(&mut self, info: impl FnOnce() -> Option<Implementation>, revision: Revision) {
        let was_introduced = std::mem::replace(&mut self.is_client_logged, true);
        if !was_introduced && !self.shared.span.is_disabled() {
            let client = info();
            self.notices.push(Notice::Connected { client, revision });
        }
    }

    fn queue_notification(&mut self, method: MethodName, params: Option<Payload>) {
        if !self.shared.server.handles_notifications() {
            return;
        }
        let notification = InboundNotification { method, params };
        if self.has_room {
            self.inbound
                .push_back(InboundMessage::Notification(notification));
        } else {
            self.urgent_notifications.push_back(notification);
        }
    }
}

impl Drop for Driver {
    /// Cancels every handler of this client.
    fn drop(&mut self) {
        let _entered = entered(&self.shared.span);
        let (running, started, _subscriptions, driver) = {
            let now = self.shared.now();
            let mut core = self.shared.lock();
            core.session.close(now);
            while let Some(event) = core.session.poll_event() {
                if let SessionEvent::Closed(reason) = &event {
                    let reason = end_reason(reason, &core);
                    self.notices.push(Notice::Ended { reason });
                }
                if let SessionEvent::Ended {
                    call,
                    outcome,
                    sent,
                } = event
                    && let Some(question) = core.pending_questions.get_mut(call)
                {
                    question.outcome = Some((outcome, sent));
                    self.wakers.extend(question.waker.take());
                }
            }
            let started = core.blocking_quota.on_client_gone();
            let subscriptions = std::mem::take(&mut core.subscriptions);
            let driver = core.driver.take();
            (
                std::mem::take(&mut core.running),
                started,
                subscriptions,
                driver,
            )
        };
        for notice in self.notices.drain(..) {
            notice.emit(&self.shared.span);
        }
        for context in running.into_values() {
            context.cancel();
        }
        // A task that runs the driver in place of the serving one ends.
        for waker in self.wakers.drain(..).chain(driver) {
            waker.wake();
        }
        // Tasks go on; other jobs see that they are cancelled.
        for job in self.jobs_to_start.drain(..).chain(started) {
            job.start();
        }
    }
}

/// Returns why a session has ended, for the log.
fn end_reason(reason: &CloseReason, core: &SessionCore) -> &'static str {
    match (reason, core.shutdown_reason) {
        (CloseReason::Local, Some(ShutdownReason::ClientDisconnected)) => "client disconnected",
        (CloseReason::Local, Some(ShutdownReason::Requested)) => "server shutdown",
        (reason, _) => reason.name(),
    }
}
