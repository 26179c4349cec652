//! The task that serves one client on one stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bowline_proto::server::{RequestContext, SessionEvent, SessionPhase};
use bowline_proto::{CloseReason, Instant, Payload, RequestKey};
use bowline_types::meta::{NotificationMeta, SubscriptionResultMeta, keys};
use bowline_types::subscriptions::{AcknowledgedParams, ListenParams, ListenResult};
use bowline_types::{ErrorObject, Method, Revision, Wire};

use super::handling::Handling;
use super::{Core, Shared};
use crate::clock::Alarm;
use crate::io::Io;
use crate::panics::caught;
use crate::server::context::Context;
use crate::server::service::{INVALID_PARAMS, Request};
use crate::transport::Stream;

/// Rounds of work in one wake-up.
const ROUNDS: usize = 32;

/// How long a session that is asked to end waits for its handlers and its client.
const DEADLINE: Duration = Duration::from_secs(5);

/// Serves one client. Ready with the reason when the session is over.
pub(in super::super) struct Driver {
    shared: Arc<Shared>,
    io: Option<Io>,
    alarm: Alarm,
    /// When a session that ends is ended.
    deadline: Option<Instant>,
    told: Vec<Told>,
    wakers: Vec<Waker>,
    closed: Option<CloseReason>,
    is_at_end: bool,
}

/// Something to be done without the lock.
enum Told {
    Request {
        key: RequestKey,
        method: Method,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
        revision: Revision,
    },
    Cancelled(Context),
    Notification(Method, Option<Payload>),
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, stream: Stream) -> Self {
        let alarm = Alarm::new(shared.clock);
        Self {
            shared,
            io: Some(Io::new(stream)),
            alarm,
            deadline: None,
            told: Vec::new(),
            wakers: Vec::new(),
            closed: None,
            is_at_end: false,
        }
    }

    fn work(&mut self, cx: &mut TaskContext<'_>) -> Poll<CloseReason> {
        for _ in 0..ROUNDS {
            let mut has_worked = self.poll_core(cx);
            has_worked |= self.tell(cx);
            if let Some(io) = &mut self.io {
                has_worked |= io.poll_write(cx);
                let now = self.shared.now();
                if let Some(reason) = io.broken(now) {
                    let reason = reason.to_owned();
                    self.io = None;
                    self.shared.lock().session.handle_lost(now, &reason);
                    has_worked = true;
                }
            }
            if has_worked {
                continue;
            }
            if let Some(reason) = self.closed.take() {
                return Poll::Ready(reason);
            }
            if self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads a chunk, and lets the core act. Whether there was something to do.
    fn poll_core(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let now = self.shared.now();
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        // It is awake: who answers need not wake it.
        core.driver = None;
        let mut has_worked = self.poll_read(&mut core, now, cx);
        if core.session.poll_timeout().is_some_and(|at| at <= now) {
            core.session.handle_timeout(now);
            has_worked = true;
        }
        has_worked |= core.tell_changes(now);
        while let Some(event) = core.session.poll_event() {
            self.take_event(&mut core, event, now);
            has_worked = true;
        }
        has_worked |= self.take_transmits(&mut core);
        has_worked |= self.end_if_drained(&mut core, now);
        if !has_worked {
            let listens_until = self.io.as_ref().and_then(Io::listens_until);
            let next = [
                core.session.poll_timeout(),
                core.changes.due(),
                self.deadline,
                listens_until,
            ];
            self.alarm.arm(next.into_iter().flatten().min());
            core.driver = Some(cx.waker().clone());
        }
        has_worked
    }

    fn poll_read(&mut self, core: &mut Core, now: Instant, cx: &mut TaskContext<'_>) -> bool {
        let Some(io) = &mut self.io else {
            return false;
        };
        if self.is_at_end || !core.session.wants_read() {
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
                core.is_draining = true;
            }
            Poll::Ready(Err(error)) => {
                self.is_at_end = true;
                core.session.handle_lost(now, &error.to_string());
            }
        }
        true
    }

    /// Takes what is to be written. Whether there was something.
    fn take_transmits(&mut self, core: &mut Core) -> bool {
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
        has_taken
    }

    /// Ends a session that is to end, when everything is answered and written, or when that
    /// takes too long.
    fn end_if_drained(&mut self, core: &mut Core, now: Instant) -> bool {
        if !core.is_draining || core.session.phase() == SessionPhase::Closed {
            return false;
        }
        let patience = self.shared.server.shutdown_deadline.unwrap_or(DEADLINE);
        let deadline = *self.deadline.get_or_insert(now + patience);
        let has_listens = core.end_listens(now);
        let is_written = self.io.as_ref().is_none_or(Io::is_empty);
        let is_drained = core.session.handled() == 0 && is_written && !has_listens;
        if is_drained || now >= deadline {
            core.session.close(now);
            return true;
        }
        has_listens
    }

    fn take_event(&mut self, core: &mut Core, event: SessionEvent, now: Instant) {
        match event {
            SessionEvent::Initialized(client) => core.client = Some(Arc::from(client)),
            SessionEvent::Request {
                request,
                method: Method::Listen,
                params,
                ..
            } => core.listen(now, request, params.as_ref(), &self.shared),
            SessionEvent::Request {
                request,
                method,
                params,
                context,
            } => {
                let revision = match &context {
                    Some(context) => Some(context.revision),
                    None => core.session.revision(),
                };
                self.told.push(Told::Request {
                    key: request,
                    method,
                    params,
                    stateless: context,
                    revision: revision.unwrap_or(Revision::LATEST),
                });
            }
            SessionEvent::RequestCancelled(key) | SessionEvent::RequestTimedOut(key) => {
                if core.listens.close(key) {
                    core.session.release(now, key);
                }
                if let Some(context) = core.running.get(&key) {
                    self.told.push(Told::Cancelled(context.clone()));
                }
            }
            SessionEvent::Ended { call, outcome } => {
                if let Some(asked) = core.asked.get_mut(call) {
                    asked.outcome = Some(outcome);
                    self.wakers.extend(asked.waker.take());
                }
            }
            SessionEvent::Notification { method, params } => {
                self.told.push(Told::Notification(method, params));
            }
            SessionEvent::HandshakeTimedOut => {
                tracing::warn!("the client has said nothing for long");
            }
            SessionEvent::Closed(reason) => self.closed = Some(reason),
            other => tracing::trace!(?other, "an event that nobody waits for"),
        }
    }

    /// Wakes who waits and runs handlers, without the lock. Whether there was one.
    fn tell(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let has_told = !self.told.is_empty();
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        let mut told = std::mem::take(&mut self.told);
        for told in told.drain(..) {
            match told {
                Told::Cancelled(context) => context.cancel(),
                Told::Notification(method, params) => {
                    self.shared.server.notified(method, params.as_ref());
                }
                Told::Request {
                    key,
                    method,
                    params,
                    stateless,
                    revision,
                } => {
                    let session = Arc::clone(&self.shared);
                    let context =
                        Context::new(session, key, method, revision, params.clone(), stateless);
                    let request = Request {
                        method,
                        params,
                        context,
                    };
                    self.handle(request, cx);
                }
            }
        }
        // The room is used again.
        self.told = told;
        if has_told {
            // Most handlers have answered: it is written with what is written now.
            let shared = Arc::clone(&self.shared);
            self.take_transmits(&mut shared.lock());
        }
        has_told
    }

    /// Runs a handler here, and in a task of its own if it has to wait.
    fn handle(&mut self, request: Request, cx: &mut TaskContext<'_>) {
        let Some(handling) = Handling::start(&self.shared, request, cx) else {
            return;
        };
        let context = handling.context().clone();
        let key = context.inner().key;
        let is_open = {
            let mut core = self.shared.lock();
            core.running.insert(key, context.clone());
            core.session.request_id(key).is_some()
        };
        if !is_open {
            // It was cancelled while it ran.
            context.cancel();
        }
        tokio::spawn(handling);
    }
}

impl Future for Driver {
    type Output = CloseReason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<CloseReason> {
        match caught(|| self.work(cx)) {
            Ok(polled) => polled,
            Err(panicked) => {
                tracing::error!(panic = panicked.0, "the driver of a session panicked");
                Poll::Ready(CloseReason::Local)
            }
        }
    }
}

impl Drop for Driver {
    /// Whoever still works for this client learns that it is gone.
    fn drop(&mut self) {
        let running = {
            let now = self.shared.now();
            let mut core = self.shared.lock();
            core.session.close(now);
            while let Some(event) = core.session.poll_event() {
                if let SessionEvent::Ended { call, outcome } = event
                    && let Some(asked) = core.asked.get_mut(call)
                {
                    asked.outcome = Some(outcome);
                    self.wakers.extend(asked.waker.take());
                }
            }
            std::mem::take(&mut core.running)
        };
        for context in running.into_values() {
            context.cancel();
        }
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
    }
}

impl Core {
    /// Opens a subscription: the client is told what of it is honoured, and then every
    /// change, until either side ends it (2026-07-28, basic/patterns/subscriptions).
    fn listen(
        &mut self,
        now: Instant,
        request: RequestKey,
        params: Option<&Payload>,
        shared: &Shared,
    ) {
        let opened = self.open_listen(request, params, shared);
        if let Err(error) = opened {
            self.listens.close(request);
            // It was cancelled meanwhile.
            let _ = self.session.respond_error(now, request, &error);
        }
    }

    fn open_listen(
        &mut self,
        request: RequestKey,
        params: Option<&Payload>,
        shared: &Shared,
    ) -> Result<(), ErrorObject> {
        let invalid = |words: String| ErrorObject::new(INVALID_PARAMS, words);
        let params = ListenParams::from_json(params.map_or("{}", Payload::as_str));
        let params = params.map_err(|error| invalid(error.under_key("params").to_string()))?;
        let id = self.session.request_id(request).cloned();
        let id = id.ok_or_else(|| invalid("the request is gone".to_owned()))?;
        let capabilities = shared.server.capabilities();
        let opened = self
            .listens
            .open(request, id.clone(), params.notifications, &capabilities);
        let granted = opened.map_err(|error| invalid(error.to_string()))?;
        let meta = NotificationMeta::new().with(keys::SUBSCRIPTION_ID, id);
        let acknowledged = AcknowledgedParams::new(granted).meta(meta);
        let said = Payload::encode(&acknowledged, Revision::LATEST);
        let said = said.map_err(|error| invalid(error.to_string()))?;
        let bytes = said.into_bytes();
        let body = bytes.slice(1..bytes.len() - 1);
        let sent = self
            .session
            .notify(Some(request), Method::Acknowledged.as_str(), body);
        sent.map_err(|error| invalid(error.to_string()))
    }

    /// Ends all subscriptions with their result. Whether there were some.
    fn end_listens(&mut self, now: Instant) -> bool {
        let open: Vec<RequestKey> = self.listens.requests().collect();
        for request in &open {
            self.listens.close(*request);
            let Some(id) = self.session.request_id(*request).cloned() else {
                continue;
            };
            let meta = SubscriptionResultMeta::new().with(keys::SUBSCRIPTION_ID, id);
            let result = ListenResult::new().meta(meta);
            if let Ok(result) = Payload::encode(&result, Revision::LATEST) {
                // It was cancelled meanwhile.
                let _ = self.session.respond(now, *request, result);
            }
        }
        !open.is_empty()
    }
}
