//! Dispatch of what the client sends, and of what waits for the driver.
//!
//! Requests, notifications and ended subscriptions are queued by `driver` and run here, in order
//! and without the lock of the core, since they run a user's code.

use std::sync::Arc;
use std::task::Context as TaskContext;

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

/// A message of the client, in the order of arrival. The limits on requests bound how many wait
/// here, and no notification waits for long.
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

/// A notification of the client.
pub(super) struct InboundNotification {
    pub(super) method: MethodName,
    pub(super) params: Option<Payload>,
}

/// A call into the user's code.
pub(super) enum Invocation {
    Request(ClientRequest),
    Notification(InboundNotification),
    /// The end of subscriptions, for the handler that accepted them.
    Unsubscribed(Vec<Vec<HandlerSubscription>>),
}

/// The outcome of an invocation.
pub(super) enum InvocationOutcome {
    /// A callback has returned.
    CallbackReturned,
    /// A handler has responded on its first poll: when, and whether there is room for more
    /// responses.
    Responded { at: Instant, has_room: bool },
    /// A handler is pending and needs a task of its own.
    Pending(HandlerRun),
}

impl Invocation {
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
    /// Emits log events, wakes handlers and questions, starts jobs and delivers cancellations that
    /// the driver has collected under the lock. Returns `true` if something was woken.
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

    /// Returns `true` if messages are queued that are not dispatched yet.
    pub(super) fn has_queued(&self) -> bool {
        !(self.inbound.is_empty() && self.urgent_notifications.is_empty())
    }

    /// Returns `true` if something may be run now: a handler only while there is room for its
    /// response.
    pub(super) fn has_invocation(&self) -> bool {
        let may_respond = self.has_room && !self.inbound.is_empty();
        let has_callback =
            !(self.urgent_notifications.is_empty() && self.ended_subscriptions.is_empty());
        !self.is_in_callback && (may_respond || has_callback)
    }

    /// Takes the next invocation.
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

    /// Notes that a handler has responded in place.
    pub(super) fn on_responded(&mut self, at: Instant, has_room: bool) {
        self.now = at;
        self.has_room = has_room;
    }

    /// Registers a handler that continues in a task of its own.
    pub(super) fn on_pending(&mut self, context: &Context) {
        let is_open = self.shared.lock().track_running(context);
        self.deliver_missed_end(context, is_open);
        self.now = self.shared.now();
    }

    /// Delivers a cancellation or shutdown that happened before the handler was registered.
    pub(super) fn deliver_missed_end(&self, context: &Context, is_open: bool) {
        if !is_open {
            // The request was cancelled while its handler ran in place.
            context.cancel();
        } else if self.has_notified_handlers() {
            context.shut_down();
        }
    }
}

impl SessionCore {
    /// Registers a handler that continues beside the driver. Returns `true` if its request may
    /// still get a response.
    pub(super) fn track_running(&mut self, context: &Context) -> bool {
        let key = context.inner().key;
        self.running.insert(key, context.clone());
        self.session.request_id(key).is_some()
    }
}
