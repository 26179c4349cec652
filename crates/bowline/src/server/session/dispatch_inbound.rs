//! What a session's driver does without the lock of the core: it wakes what waits, and says which
//! handlers are to be run.

use std::sync::Arc;
use std::task::Context as TaskContext;
use std::time::Duration;

use bowline_proto::server::RequestContext;
use bowline_proto::{Instant, Payload, RequestKey};
use bowline_types::{Method, Revision};

use super::driver::Driver;
use super::handler_run::Handling;
use super::{Core, Shared};
use crate::server::block_monitor::Polled;
use crate::server::context::Context;
use crate::server::resource_subscriptions::Subscribed;
use crate::server::service::{ClientRequest, MethodName};

/// What the client says, in the order in which it does. The limits on requests bound what
/// waits here, and no notification waits for long.
pub(super) enum Told {
    Request {
        key: RequestKey,
        method: MethodName,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
        revision: Revision,
    },
    Notification(Heard),
}

/// A notification.
pub(super) struct Heard {
    pub(super) method: MethodName,
    pub(super) params: Option<Payload>,
}

/// How long a handler blocks until another one begins beside it. All that run at the same time may answer
/// before the client has read anything, so one that is only busy with a large answer is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is kept meanwhile before reading pauses.
const KEPT: usize = 64;

/// Something to be run that a user has written.
pub(super) enum Inbound {
    Request(ClientRequest),
    Notification(Heard),
    /// Subscriptions that are over.
    Unsubscribed(Vec<Vec<Subscribed>>),
}

/// What became of it.
pub(super) enum Ran {
    /// A callback has returned.
    CalledBack,
    /// A handler was ready at once: when, and whether there is room for more answers.
    Answered { at: Instant, has_room: bool },
    /// A handler has to wait.
    Waits(Handling),
}

impl Inbound {
    /// The request that is handled.
    pub(super) fn key(&self) -> Option<RequestKey> {
        match self {
            Self::Request(request) => Some(request.context.inner().key),
            Self::Notification(_) | Self::Unsubscribed(_) => None,
        }
    }

    /// Runs it on this thread.
    pub(super) fn run(self, shared: &Arc<Shared>, now: Instant, cx: &mut TaskContext<'_>) -> Ran {
        match self {
            Self::Request(request) => Handling::start(shared, request, now, cx),
            Self::Notification(heard) => {
                let polled = || Polled::Callback(Arc::clone(shared), heard.method.clone());
                let _watch = shared.watch(polled);
                shared.server.notified(&heard.method, heard.params.as_ref());
                Ran::CalledBack
            }
            Self::Unsubscribed(ended) => {
                let method = MethodName::Known(Method::Unsubscribe);
                let _watch = shared.watch(|| Polled::Callback(Arc::clone(shared), method));
                drop(ended);
                Ran::CalledBack
            }
        }
    }
}

impl Driver {
    /// Wakes what waits. Returns `true` if something did.
    pub(super) fn wake_waiting(&mut self) -> bool {
        for notice in self.notices.drain(..) {
            notice.emit(&self.shared.span);
        }
        let has_woken = !(self.wakers.is_empty()
            && self.resumed.is_empty()
            && self.cancelled.is_empty()
            && self.warned.is_empty());
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for job in self.resumed.drain(..) {
            job.start();
        }
        for context in self.cancelled.drain(..) {
            context.cancel();
        }
        for context in self.warned.drain(..) {
            context.shut_down();
        }
        has_woken
    }

    /// Returns `true` if nothing more is to be read until what has come is run: notifications are
    /// not limited as requests are.
    pub(super) fn is_held_up(&self) -> bool {
        // While a callback runs, no more than is read at once is kept.
        let waits = !(self.told.is_empty() && self.overtaking.is_empty());
        (self.is_calling_back && waits) || (!self.may_begin() && self.told.len() >= KEPT)
    }

    /// Returns `true` unless a handler blocks that may soon answer.
    fn may_begin(&self) -> bool {
        self.begins_at.is_none_or(|at| at <= self.now)
    }

    /// A handler blocks, and this driver was taken over from its task.
    pub(super) fn blocks(&mut self, key: RequestKey) {
        if self.blocking.is_empty() {
            self.begins_at = Some(self.shared.now() + PATIENCE);
        }
        self.blocking.insert(key);
    }

    /// A handler has returned that was run in place. Returns `true` if it has blocked.
    pub(super) fn returned(&mut self, key: RequestKey) -> bool {
        let has_blocked = self.blocking.remove(&key);
        if self.blocking.is_empty() {
            self.begins_at = None;
        }
        has_blocked
    }

    /// Returns `true` if something may be run now: a handler while there is room for what it answers.
    pub(super) fn has_inbound(&self) -> bool {
        let may_answer = self.has_room && !self.told.is_empty() && self.may_begin();
        let has_callback = !(self.overtaking.is_empty() && self.unsubscribed.is_empty());
        !self.is_calling_back && (may_answer || has_callback)
    }

    /// Takes what is to be run next.
    pub(super) fn next_inbound(&mut self) -> Option<Inbound> {
        if !self.unsubscribed.is_empty() {
            self.is_calling_back = true;
            return Some(Inbound::Unsubscribed(std::mem::take(
                &mut self.unsubscribed,
            )));
        }
        if let Some(heard) = self.overtaking.pop_front() {
            self.is_calling_back = true;
            return Some(Inbound::Notification(heard));
        }
        while let Some(told) = self.told.pop_front() {
            match told {
                Told::Notification(heard) => {
                    self.is_calling_back = true;
                    return Some(Inbound::Notification(heard));
                }
                Told::Request { key, .. } if self.withdrawn.remove(&key) => {
                    self.shared.lock().session.release(self.now, key);
                }
                Told::Request {
                    key,
                    method,
                    params,
                    stateless,
                    revision,
                } => {
                    let session = Arc::clone(&self.shared);
                    let (name, kept) = (method.clone(), params.clone());
                    let context = Context::new(session, key, name, revision, kept, stateless);
                    return Some(Inbound::Request(ClientRequest {
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
    pub(super) fn called_back(&mut self) {
        self.is_calling_back = false;
        self.now = self.shared.now();
    }

    /// A handler has answered in place.
    pub(super) fn answered(&mut self, at: Instant, has_room: bool) {
        self.now = at;
        self.has_room = has_room;
    }

    /// A handler goes on in a task of its own.
    pub(super) fn waits(&mut self, context: &Context) {
        let is_open = self.shared.lock().enter_running(context);
        self.catch_up(context, is_open);
        self.now = self.shared.now();
    }

    /// Tells a handler that goes on what it would have learned before.
    pub(super) fn catch_up(&self, context: &Context, is_open: bool) {
        if !is_open {
            // It was cancelled while it ran.
            context.cancel();
        } else if self.has_warned() {
            context.shut_down();
        }
    }
}

impl Core {
    /// A handler goes on while the driver does. Returns `true` if its request may be answered.
    pub(super) fn enter_running(&mut self, context: &Context) -> bool {
        let key = context.inner().key;
        self.running.insert(key, context.clone());
        self.session.request_id(key).is_some()
    }
}
