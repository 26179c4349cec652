//! What a session's driver does without the lock of the core: it wakes what waits, and says which
//! handlers are to be run.

use std::sync::Arc;
use std::task::Context as TaskContext;
use std::time::Duration;

use bowline_proto::server::RequestContext;
use bowline_proto::{Instant, Payload, RequestKey};
use bowline_types::{Method, Revision};

use super::driver::Driver;
use super::handler_run::HandlerRun;
use super::{SessionCore, SessionShared};
use crate::server::block_monitor::Polled;
use crate::server::context::Context;
use crate::server::resource_subscriptions::HandlerSubscription;
use crate::server::service::{ClientRequest, MethodName};

/// What the client says, in the order in which it does. The limits on requests bound what
/// waits here, and no notification waits for long.
pub(super) enum InboundMessage {
    Request {
        key: RequestKey,
        method: MethodName,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
        revision: Revision,
    },
    Notification(InboundNotification),
}

/// A notification.
pub(super) struct InboundNotification {
    pub(super) method: MethodName,
    pub(super) params: Option<Payload>,
}

/// How long a handler blocks until another one begins beside it. All that run at the same time may answer
/// before the client has read anything, so one that is only busy with a large answer is waited for.
const BLOCKED_HANDLER_DELAY: Duration = Duration::from_millis(100);

/// What is kept meanwhile before reading pauses.
const MAX_QUEUED: usize = 64;

/// Something to be run that a user has written.
pub(super) enum Invocation {
    Request(ClientRequest),
    Notification(InboundNotification),
    /// Subscriptions that are over.
    Unsubscribed(Vec<Vec<HandlerSubscription>>),
}

/// What became of it.
pub(super) enum InvocationOutcome {
    /// A callback has returned.
    CallbackReturned,
    /// A handler was ready at once: when, and whether there is room for more answers.
    Answered { at: Instant, has_room: bool },
    /// A handler has to wait.
    Pending(HandlerRun),
}

impl Invocation {
    /// The request that is handled.
    pub(super) fn key(&self) -> Option<RequestKey> {
        match self {
            Self::Request(request) => Some(request.context.inner().key),
            Self::Notification(_) | Self::Unsubscribed(_) => None,
        }
    }

    /// Runs it on this thread.
    pub(super) fn run(
        self,
        shared: &Arc<SessionShared>,
        now: Instant,
        cx: &mut TaskContext<'_>,
    ) -> InvocationOutcome {
        match self {
            Self::Request(request) => HandlerRun::start(shared, request, now, cx),
            Self::Notification(notification) => {
                let polled = || Polled::Callback(Arc::clone(shared), notification.method.clone());
                let _watch = shared.watch(polled);
                shared
                    .server
                    .dispatch_notification(&notification.method, notification.params.as_ref());
                InvocationOutcome::CallbackReturned
            }
            Self::Unsubscribed(ended) => {
                let method = MethodName::Known(Method::Unsubscribe);
                let _watch = shared.watch(|| Polled::Callback(Arc::clone(shared), method));
                drop(ended);
                InvocationOutcome::CallbackReturned
            }
        }
    }
}

impl Driver {
    /// Wakes what waits. Returns `true` if something did.
    pub(super) fn wake_deferred(&mut self) -> bool {
        for notice in self.notices.drain(..) {
            notice.emit(&self.shared.span);
        }
        let has_woken = !(self.wakers.is_empty()
            && self.jobs_to_start.is_empty()
            && self.to_cancel.is_empty()
            && self.to_notify_of_shutdown.is_empty());
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for job in self.jobs_to_start.drain(..) {
            job.start();
        }
        for context in self.to_cancel.drain(..) {
            context.cancel();
        }
        for context in self.to_notify_of_shutdown.drain(..) {
            context.shut_down();
        }
        has_woken
    }

    /// Returns `true` if nothing more is to be read until what has come is run: notifications are
    /// not limited as requests are.
    pub(super) fn must_pause_reading(&self) -> bool {
        // While a callback runs, no more than is read at once is kept.
        let waits = !(self.inbound.is_empty() && self.urgent_notifications.is_empty());
        (self.is_in_callback && waits)
            || (!self.may_start_handler() && self.inbound.len() >= MAX_QUEUED)
    }

    /// Returns `true` unless a handler blocks that may soon answer.
    fn may_start_handler(&self) -> bool {
        self.next_handler_at.is_none_or(|at| at <= self.now)
    }

    /// A handler blocks, and this driver was taken over from its task.
    pub(super) fn on_handler_blocked(&mut self, key: RequestKey) {
        if self.blocking.is_empty() {
            self.next_handler_at = Some(self.shared.now() + BLOCKED_HANDLER_DELAY);
        }
        self.blocking.insert(key);
    }

    /// A handler has returned that was run in place. Returns `true` if it has blocked.
    pub(super) fn on_handler_returned(&mut self, key: RequestKey) -> bool {
        let has_blocked = self.blocking.remove(&key);
        if self.blocking.is_empty() {
            self.next_handler_at = None;
        }
        has_blocked
    }

    /// Returns `true` if something may be run now: a handler while there is room for what it answers.
    pub(super) fn has_invocation(&self) -> bool {
        let may_answer = self.has_room && !self.inbound.is_empty() && self.may_start_handler();
        let has_callback =
            !(self.urgent_notifications.is_empty() && self.ended_subscriptions.is_empty());
        !self.is_in_callback && (may_answer || has_callback)
    }

    /// Takes what is to be run next.
    pub(super) fn next_invocation(&mut self) -> Option<Invocation> {
        if !self.ended_subscriptions.is_empty() {
            self.is_in_callback = true;
            return Some(Invocation::Unsubscribed(std::mem::take(
                &mut self.ended_subscriptions,
            )));
        }
        if let Some(notification) = self.urgent_notifications.pop_front() {
            self.is_in_callback = true;
            return Some(Invocation::Notification(notification));
        }
        while let Some(message) = self.inbound.pop_front() {
            match message {
                InboundMessage::Notification(notification) => {
                    self.is_in_callback = true;
                    return Some(Invocation::Notification(notification));
                }
                InboundMessage::Request { key, .. } if self.withdrawn_requests.remove(&key) => {
                    self.shared.lock().session.release(self.now, key);
                }
                InboundMessage::Request {
                    key,
                    method,
                    params,
                    stateless,
                    revision,
                } => {
                    let session = Arc::clone(&self.shared);
                    let (name, kept) = (method.clone(), params.clone());
                    let context = Context::new(session, key, name, revision, kept, stateless);
                    return Some(Invocation::Request(ClientRequest {
                        method,
                        params,
                        context,
                    }));
                }
            }
        }
        None
    }

    /// A callback has returned.
    pub(super) fn on_callback_returned(&mut self) {
        self.is_in_callback = false;
        self.now = self.shared.now();
    }

    /// A handler has answered in place.
    pub(super) fn on_answered(&mut self, at: Instant, has_room: bool) {
        self.now = at;
        self.has_room = has_room;
    }

    /// A handler goes on in a task of its own.
    pub(super) fn on_pending(&mut self, context: &Context) {
        let is_open = self.shared.lock().track_running(context);
        self.deliver_missed_end(context, is_open);
        self.now = self.shared.now();
    }

    /// Tells a handler that goes on what it would have learned before.
    pub(super) fn deliver_missed_end(&self, context: &Context, is_open: bool) {
        if !is_open {
            // It was cancelled while it ran.
            context.cancel();
        } else if self.has_notified_handlers() {
            context.shut_down();
        }
    }
}

impl SessionCore {
    /// A handler goes on while the driver does. Returns `true` if its request may be answered.
    pub(super) fn track_running(&mut self, context: &Context) -> bool {
        let key = context.inner().key;
        self.running.insert(key, context.clone());
        self.session.request_id(key).is_some()
    }
}
