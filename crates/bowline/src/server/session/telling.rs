//! What a session's driver does without the lock: it wakes who waits, and runs handlers.

use std::sync::Arc;
use std::task::Context as TaskContext;

use bowline_proto::server::RequestContext;
use bowline_proto::{Instant, Payload, RequestKey};
use bowline_types::Revision;

use super::Driver;
use super::handling::{Handling, Started};
use crate::server::context::Context;
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

impl Driver {
    /// Wakes who waits, and runs handlers while there is room for what they answer. Whether
    /// there was one.
    pub(super) fn tell(&mut self, mut now: Instant, cx: &mut TaskContext<'_>) -> bool {
        for notice in self.notices.drain(..) {
            notice.emit(&self.shared.span);
        }
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for job in self.resumed.drain(..) {
            job.start();
        }
        self.unsubscribed.clear();
        for context in self.cancelled.drain(..) {
            context.cancel();
        }
        for context in self.warned.drain(..) {
            context.shut_down();
        }
        for heard in self.overtaking.drain(..) {
            let params = heard.params.as_ref();
            self.shared.server.notified(&heard.method, params);
        }
        let mut has_told = false;
        while self.has_room
            && let Some(told) = self.told.pop_front()
        {
            now = self.tell_one(told, now, cx);
            has_told = true;
        }
        if has_told {
            // Most handlers have answered: it is written with what is written now.
            let shared = Arc::clone(&self.shared);
            self.take_transmits(&mut shared.lock(), now);
        }
        has_told
    }

    /// When it was done.
    fn tell_one(&mut self, told: Told, now: Instant, cx: &mut TaskContext<'_>) -> Instant {
        match told {
            Told::Notification(heard) => {
                let params = heard.params.as_ref();
                self.shared.server.notified(&heard.method, params);
                self.shared.now()
            }
            Told::Request { key, .. } if self.withdrawn.remove(&key) => {
                self.shared.lock().session.release(now, key);
                now
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
                let request = ClientRequest {
                    method,
                    params,
                    context,
                };
                self.handle(request, now, cx)
            }
        }
    }

    /// Runs a handler here, and in a task of its own if it has to wait. When it was run.
    fn handle(
        &mut self,
        request: ClientRequest,
        now: Instant,
        cx: &mut TaskContext<'_>,
    ) -> Instant {
        let handling = match Handling::start(&self.shared, request, now, cx) {
            Started::Answered { at, has_room } => {
                self.has_room = has_room;
                return at;
            }
            Started::Waits(handling) => handling,
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
        } else if self.has_warned() {
            context.shut_down();
        }
        tokio::spawn(handling);
        self.shared.now()
    }
}
