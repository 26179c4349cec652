//! Drives the session of one client on one stream. Which task runs it: see `driver_slot`.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bowline_proto::server::{RequestContext, SessionEvent, SessionPhase};
use bowline_proto::{CloseReason, Instant, Payload, RequestKey};
use bowline_types::Revision;
use bowline_types::common::Implementation;

use super::dispatch_inbound::{Heard, Told};
use super::{Core, Draining, GRACE, Shared};
use crate::clock::Alarm;
use crate::io::Io;
use crate::logged::entered;
use crate::read_grace::ReadGrace;
use crate::server::blocking_threads::Job;
use crate::server::context::Context;
use crate::server::resource_subscriptions::Subscribed;
use crate::server::service::MethodName;
use crate::server::telemetry::Notice;
use crate::transport::Stream;

/// How long a session that is asked to end waits for its handlers and its client, and one
/// whose client has left for the client to take a part of the last answers.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long the last answers may take to be written; what handlers may take longer than
/// their grace, on a busy machine.
const SLACK: Duration = Duration::from_millis(50);

/// Handlers that go on at once when answers have left.
const RESUMED: usize = 8;

/// Drives a session.
pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) io: Option<Io>,
    pub(super) alarm: Alarm,
    read_grace: ReadGrace,
    drain: Option<Drain>,
    pub(super) told: VecDeque<Told>,
    /// Notifications that came while handlers wait for the client to read. They are told
    /// before these go on: whoever doesn't read can't make us keep what it says.
    pub(super) overtaking: VecDeque<Heard>,
    pub(super) cancelled: Vec<Context>,
    /// Handlers that learn that the session ends, and can still answer.
    pub(super) warned: Vec<Context>,
    /// Requests that were told and are not wanted any more: their handlers don't begin.
    pub(super) withdrawn: BTreeSet<RequestKey>,
    pub(super) wakers: Vec<Waker>,
    pub(super) resumed: Vec<Job>,
    /// Subscriptions that are over: their handler is told.
    pub(super) unsubscribed: Vec<Vec<Subscribed>>,
    /// More handlers may answer: what they have answered leaves.
    pub(super) has_room: bool,
    /// When it was last looked at: once for each handler, since that costs as much as a
    /// small one does.
    pub(super) now: Instant,
    /// Handlers that block the tasks which have run this driver before.
    pub(super) blocking: BTreeSet<RequestKey>,
    /// When the next handler begins beside the first of them. Until then it may answer.
    pub(super) begins_at: Option<Instant>,
    /// A callback of the server runs. What came after it waits until it returns.
    pub(super) is_calling_back: bool,
    pub(super) closed: Option<Closed>,
    is_at_end: bool,
    /// The log has the client's name.
    is_introduced: bool,
    /// For the log.
    pub(super) notices: Vec<Notice>,
}

/// The end of a session that finishes what it can.
#[derive(Clone, Copy)]
struct Drain {
    stage: Stage,
    /// When the next stage begins.
    until: Instant,
    /// Bytes that were not written when it was looked at.
    unwritten: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Handlers finish.
    Finishing,
    /// They were told, and can still answer.
    Warned,
    /// Those that have not answered were answered for. It leaves, and the session ends.
    Refused,
    /// The client has left, and everything is answered. It may read on as long as it does.
    Writing,
}

/// A session that is over.
pub(super) struct Closed {
    pub(super) reason: CloseReason,
    /// How long handlers are waited for that tidy up.
    until: Instant,
    pub(super) is_idle: bool,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, stream: Stream) -> Self {
        let alarm = Alarm::new(shared.clock);
        Self {
            shared,
            io: Some(Io::new(stream)),
            alarm,
            read_grace: ReadGrace::default(),
            drain: None,
            told: VecDeque::new(),
            overtaking: VecDeque::new(),
            cancelled: Vec::new(),
            warned: Vec::new(),
            withdrawn: BTreeSet::new(),
            wakers: Vec::new(),
            resumed: Vec::new(),
            unsubscribed: Vec::new(),
            has_room: true,
            now: Instant::START,
            blocking: BTreeSet::new(),
            begins_at: None,
            is_calling_back: false,
            closed: None,
            is_at_end: false,
            is_introduced: false,
            notices: Vec::new(),
        }
    }

    /// Reads a chunk, and lets the core act. Whether there was something to do.
    pub(super) fn poll_core(&mut self, now: Instant, cx: &mut TaskContext<'_>) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        // It is awake: who answers need not wake it.
        core.driver = None;
        let mut has_worked = self.poll_read(&mut core, now, cx);
        let due = core.session.poll_timeout();
        if self.read_grace.is_over(due, now, has_worked, cx) {
            core.session.handle_timeout(now);
            has_worked = true;
        }
        has_worked |= core.tell_changes(now);
        while let Some(event) = core.session.poll_event() {
            self.take_event(&mut core, event, now);
            has_worked = true;
        }
        has_worked |= self.take_transmits(&mut core, now);
        has_worked |= self.open_gate(&mut core);
        has_worked |= self.end_if_drained(&mut core, now);
        let Core {
            following, listens, ..
        } = &mut *core;
        self.unsubscribed.extend(following.take_ended(listens));
        if let Some(closed) = &mut self.closed {
            closed.is_idle = core.running.is_empty() || now >= closed.until;
        }
        if !has_worked {
            let listens_until = self.io.as_ref().and_then(Io::listens_until);
            let next = [
                self.read_grace.next(core.session.poll_timeout()),
                core.changes.due(),
                self.drain.map(|drain| drain.until),
                self.closed.as_ref().map(|closed| closed.until),
                self.begins_at.filter(|at| *at > now),
                listens_until,
            ];
            self.alarm.arm(next.into_iter().flatten().min());
            core.driver = Some(cx.waker().clone());
        }
        has_worked
    }

    fn poll_read(&mut self, core: &mut Core, now: Instant, cx: &mut TaskContext<'_>) -> bool {
        let is_held_up = self.is_held_up();
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
                // What it asked before it left is still answered, in case that it listens.
                self.is_at_end = true;
                core.session.handle_eof(now);
                core.session.shut_down();
                core.draining.get_or_insert(Draining::ClientLeft);
            }
            Poll::Ready(Err(error)) => {
                self.is_at_end = true;
                core.session.handle_lost(now, &error.to_string());
            }
        }
        true
    }

    /// Takes what is to be written. Whether there was something.
    pub(super) fn take_transmits(&mut self, core: &mut Core, now: Instant) -> bool {
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
            core.tell_pages();
        }
        core.session.set_unwritten(now, io.unwritten());
        has_taken
    }

    /// Lets handlers go on when there is room for their answers, a few at a time, since the
    /// first may take it all. Whether there were some.
    fn open_gate(&mut self, core: &mut Core) -> bool {
        self.has_room = core.session.takes_answers();
        let mut has_opened = false;
        for _ in 0..RESUMED {
            if !self.has_room {
                break;
            }
            let waker = core.gated.pop_first().map(|(_, waker)| waker);
            let job = core.turns.next(true);
            has_opened |= waker.is_some() || job.is_some();
            self.wakers.extend(waker);
            self.resumed.extend(job);
        }
        has_opened
    }

    /// Ends a session that is to end, when everything is answered and written, or when that
    /// takes too long.
    fn end_if_drained(&mut self, core: &mut Core, now: Instant) -> bool {
        let Some(draining) = core.draining else {
            return false;
        };
        if core.session.phase() == SessionPhase::Closed {
            return false;
        }
        let mut drain = self.drain_now(draining, now);
        let has_listens = core.end_listens(now);
        let unwritten = self.io.as_ref().map_or(0, Io::unwritten);
        let is_written = self.io.as_ref().is_none_or(Io::is_empty);
        let is_answered = match drain.stage {
            Stage::Finishing | Stage::Warned => core.session.open_handlers() == 0,
            Stage::Refused | Stage::Writing => core.session.open_requests() == 0,
        };
        if is_answered && is_written && !has_listens {
            core.session.close(now);
            return true;
        }
        let only_writes = is_answered && !has_listens && draining == Draining::ClientLeft;
        if only_writes && (drain.stage != Stage::Writing || unwritten < drain.unwritten) {
            drain = self.enter(Stage::Writing, now + DEADLINE, unwritten);
        }
        if now < drain.until {
            return has_listens;
        }
        match drain.stage {
            Stage::Finishing => self.warn(core, now),
            Stage::Warned => self.refuse(core, now),
            Stage::Refused | Stage::Writing => {
                if unwritten > 0 {
                    tracing::warn!(unwritten, "session ended with unwritten bytes");
                }
                core.session.close(now);
            }
        }
        true
    }

    /// How far the end is. Whoever asks for it sets the time, also where the client has left.
    fn drain_now(&mut self, draining: Draining, now: Instant) -> Drain {
        let patience = self.shared.server.shutdown_deadline.unwrap_or(DEADLINE);
        match self.drain {
            Some(drain) if drain.stage == Stage::Writing && draining == Draining::AskedTo => {
                self.enter(Stage::Refused, now + patience, 0)
            }
            Some(drain) => drain,
            None => self.enter(Stage::Finishing, now + patience.saturating_sub(GRACE), 0),
        }
    }

    fn enter(&mut self, stage: Stage, until: Instant, unwritten: usize) -> Drain {
        *self.drain.insert(Drain {
            stage,
            until,
            unwritten,
        })
    }

    /// Tells handlers that the session ends, in time for them to answer.
    fn warn(&mut self, core: &mut Core, now: Instant) {
        self.enter(Stage::Warned, now + GRACE, 0);
        let running = core.running.values().cloned();
        if !self.is_at_end {
            return self.warned.extend(running);
        }
        // A client that has left may listen to what it asked for, not to what became of it
        // because it left: some fail at that.
        self.cancelled.extend(running);
        for key in core.running.keys() {
            core.session.abandon_request(*key);
        }
    }

    /// Answers for the handlers that have not. It is taken at once: however late it is, what
    /// the client's buffer has room for is written before the session ends.
    fn refuse(&mut self, core: &mut Core, now: Instant) {
        self.enter(Stage::Refused, now + SLACK, 0);
        core.session.refuse_open(now);
        self.take_transmits(core, now);
    }

    /// Whether handlers were told that the session ends.
    pub(super) fn has_warned(&self) -> bool {
        self.drain
            .is_some_and(|drain| drain.stage != Stage::Finishing)
    }

    fn take_event(&mut self, core: &mut Core, event: SessionEvent, now: Instant) {
        match event {
            SessionEvent::Initialized(client) => {
                self.introduce(|| Some(client.info.clone()), client.revision);
                core.client = Some(Arc::from(client));
            }
            SessionEvent::Request {
                request,
                method,
                params,
                context,
            } => self.requested(core, request, MethodName::Known(method), params, context),
            SessionEvent::UnknownRequest {
                request,
                method,
                params,
                context,
            } => self.requested(core, request, MethodName::Unknown(method), params, context),
            SessionEvent::RequestCancelled(key) | SessionEvent::RequestTimedOut(key) => {
                if core.listens.close(key) {
                    core.session.release(now, key);
                } else if let Some(context) = core.running.get(&key) {
                    self.cancelled.push(context.clone());
                } else {
                    self.withdrawn.insert(key);
                }
            }
            SessionEvent::Ended {
                call,
                outcome,
                sent,
            } => {
                if let Some(asked) = core.asked.get_mut(call) {
                    asked.outcome = Some((outcome, sent));
                    self.wakers.extend(asked.waker.take());
                }
            }
            SessionEvent::Notification { method, params } => {
                self.heard(MethodName::Known(method), params);
            }
            SessionEvent::UnknownNotification { method, params } => {
                self.heard(MethodName::Unknown(method), params);
            }
            SessionEvent::HandshakeTimedOut => {
                tracing::warn!("client has sent nothing within the handshake timeout");
            }
            SessionEvent::Closed(reason) => {
                let ended = reason_of(&reason, core);
                self.notices.push(Notice::Ended { reason: ended });
                // The client sees it now. Handlers may tidy up.
                self.io = None;
                self.closed = Some(Closed {
                    reason,
                    until: now + GRACE + SLACK,
                    is_idle: false,
                });
            }
            _ => tracing::trace!("unknown event ignored"),
        }
    }

    fn requested(
        &mut self,
        core: &Core,
        key: RequestKey,
        method: MethodName,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
    ) {
        let revision = match &stateless {
            Some(stateless) => {
                self.introduce(|| stateless.client_info(), stateless.revision);
                Some(stateless.revision)
            }
            None => core.session.revision(),
        };
        self.told.push_back(Told::Request {
            key,
            method,
            params,
            stateless,
            revision: revision.unwrap_or(Revision::LATEST),
        });
    }

    /// Notes who the client is, the first time that it is known.
    fn introduce(&mut self, info: impl FnOnce() -> Option<Implementation>, revision: Revision) {
        let was_introduced = std::mem::replace(&mut self.is_introduced, true);
        if !was_introduced && !self.shared.span.is_disabled() {
            let client = info();
            self.notices.push(Notice::Connected { client, revision });
        }
    }

    fn heard(&mut self, method: MethodName, params: Option<Payload>) {
        if !self.shared.server.hears_notifications() {
            return;
        }
        let heard = Heard { method, params };
        match self.has_room {
            true => self.told.push_back(Told::Notification(heard)),
            false => self.overtaking.push_back(heard),
        }
    }
}

impl Drop for Driver {
    /// Whoever still works for this client learns that it is gone.
    fn drop(&mut self) {
        let _entered = entered(&self.shared.span);
        let (running, begun, _following, driver) = {
            let now = self.shared.now();
            let mut core = self.shared.lock();
            core.session.close(now);
            while let Some(event) = core.session.poll_event() {
                if let SessionEvent::Closed(reason) = &event {
                    let reason = reason_of(reason, &core);
                    self.notices.push(Notice::Ended { reason });
                }
                if let SessionEvent::Ended {
                    call,
                    outcome,
                    sent,
                } = event
                    && let Some(asked) = core.asked.get_mut(call)
                {
                    asked.outcome = Some((outcome, sent));
                    self.wakers.extend(asked.waker.take());
                }
            }
            let begun = core.turns.end();
            let following = std::mem::take(&mut core.following);
            let driver = core.driver.take();
            (std::mem::take(&mut core.running), begun, following, driver)
        };
        for notice in self.notices.drain(..) {
            notice.emit(&self.shared.span);
        }
        for context in running.into_values() {
            context.cancel();
        }
        // A task that runs the driver in place of the one that serves ends.
        for waker in self.wakers.drain(..).chain(driver) {
            waker.wake();
        }
        // Tasks go on, and the others see that nobody wants them.
        for job in self.resumed.drain(..).chain(begun) {
            job.start();
        }
    }
}

/// Returns why a session has ended, in words of our own.
fn reason_of(reason: &CloseReason, core: &Core) -> &'static str {
    match (reason, core.draining) {
        (CloseReason::Local, Some(Draining::ClientLeft)) => "client disconnected",
        (CloseReason::Local, Some(Draining::AskedTo)) => "server shutdown",
        (reason, _) => reason.name(),
    }
}
