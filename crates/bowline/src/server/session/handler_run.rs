//! One handler that runs.
//!
//! A handler is first polled in place, on the driver's task: most are ready at once and cost no
//! task. One that is pending moves to a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use bowline_proto::Instant;
use bowline_types::ErrorObject;
use tokio::time::{Sleep, sleep};

use super::SessionShared;
use super::dispatch_inbound::InvocationOutcome;
use crate::RpcResult;
use crate::log_names::entered;
use crate::panics::{CatchPanic, caught};
use crate::server::block_monitor::Polled;
use crate::server::context::Context;
use crate::server::service::ClientRequest;
use crate::server::telemetry::{handler_blocked, handler_panicked};
use crate::transport::BoxFuture;

/// How long a cancelled handler may go on, to clean up.
pub(in super::super) const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// How long one poll of a handler may take before it is logged as blocking.
const BLOCKED_WARNING: Duration = Duration::from_millis(100);

/// A handler, and the request that it serves.
pub(super) struct HandlerRun {
    future: CatchPanic<BoxFuture<'static, RpcResult>>,
    request: OpenRequest,
    /// Ends the time that it has after its cancellation.
    grace: Option<Pin<Box<Sleep>>>,
    is_cancelled: Option<BoxFuture<'static, ()>>,
}

impl HandlerRun {
    /// Starts a handler. The response of one that is ready at once is sent at once. The clock is
    /// read once for each handler, since reading it costs as much as running a small handler.
    pub(super) fn start(
        shared: &Arc<SessionShared>,
        request: ClientRequest,
        now: Instant,
        cx: &mut TaskContext<'_>,
    ) -> InvocationOutcome {
        let context = request.context.clone();
        let _entered = entered(context.span());
        let mut open = OpenRequest {
            context,
            has_responded: false,
        };
        let watch = shared.watch(|| Polled::InPlace(open.context.clone()));
        let future = match caught(|| shared.server.service.0.serve(request)) {
            Ok(future) => future,
            Err(panicked) => {
                drop(watch);
                let reply = panic_error(&open.context, &panicked.0);
                return open.respond(reply, shared.now());
            }
        };
        let mut run = Self {
            future: CatchPanic::new(future),
            request: open,
            grace: None,
            is_cancelled: None,
        };
        let polled = run.poll_result(now, cx);
        // The response is the known end of the poll.
        drop(watch);
        match polled {
            (at, Poll::Ready(reply)) => run.request.respond(reply, at),
            (_, Poll::Pending) => InvocationOutcome::Pending(run),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.request.context
    }

    /// Polls the handler. Returns the time after the poll, and its result.
    fn poll_result(
        &mut self,
        started: Instant,
        cx: &mut TaskContext<'_>,
    ) -> (Instant, Poll<RpcResult>) {
        let polled = Pin::new(&mut self.future).poll(cx);
        let now = self.request.context.inner().session.now();
        let blocked = now.since(started);
        if blocked > BLOCKED_WARNING {
            handler_blocked(&self.request.context, blocked);
        }
        let reply = match polled {
            Poll::Ready(Ok(reply)) => Poll::Ready(reply),
            Poll::Ready(Err(panicked)) => {
                Poll::Ready(panic_error(&self.request.context, &panicked.0))
            }
            Poll::Pending => match self.request.context.take_questions(cx) {
                Some(questions) => Poll::Ready(questions),
                None => Poll::Pending,
            },
        };
        (now, reply)
    }

    /// Returns `true` if it must not go on, since the client doesn't read earlier responses. A
    /// handler whose request was cancelled sends no response, so it need not wait.
    fn must_wait_for_room(&self, cx: &TaskContext<'_>) -> bool {
        let inner = self.request.context.inner();
        let mut core = inner.session.lock();
        if core.session.has_room_for_response() || core.session.request_id(inner.key).is_none() {
            return false;
        }
        core.waiting_for_room.insert(inner.key, cx.waker().clone());
        true
    }

    /// Is ready when the request was cancelled and the grace time is over.
    fn poll_grace(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.grace.is_none() {
            let context = self.request.context.clone();
            let is_cancelled = self
                .is_cancelled
                .get_or_insert_with(|| Box::pin(async move { context.cancelled().await }));
            if is_cancelled.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.grace = Some(Box::pin(sleep(CANCEL_GRACE)));
        }
        match &mut self.grace {
            Some(grace) => grace.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl Future for HandlerRun {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let _entered = entered(self.request.context.span());
        while self.must_wait_for_room(cx) {
            let was_cancelled = self.grace.is_some();
            ready!(self.poll_grace(cx));
            if was_cancelled || self.grace.is_none() {
                return Poll::Pending;
            }
            // The request was cancelled just now.
        }
        let started = self.request.context.inner().session.now();
        let session = &self.request.context.inner().session;
        let watch = session.watch(|| Polled::OwnTask(self.request.context.clone()));
        let polled = self.poll_result(started, cx);
        drop(watch);
        if let (at, Poll::Ready(reply)) = polled {
            self.request.respond(reply, at);
            return Poll::Ready(());
        }
        self.poll_grace(cx)
    }
}

/// Returns the error that a client gets for a panic: nothing but that the handler failed (ER-4).
fn panic_error(context: &Context, message: &str) -> RpcResult {
    handler_panicked(context, message);
    Err(ErrorObject::internal_error("the handler failed"))
}

/// A request that is being handled. Its place is freed when the handler is dropped.
struct OpenRequest {
    context: Context,
    has_responded: bool,
}

impl OpenRequest {
    fn respond(&mut self, reply: RpcResult, at: Instant) -> InvocationOutcome {
        self.has_responded = true;
        let inner = self.context.inner();
        let is_result = reply.is_ok();
        let (responded, has_room) = inner.session.with_core(|core| {
            core.remove_handler(inner.key);
            let is_listening = core.listens.contains(inner.key);
            let responded = match reply {
                // The response to a subscription is sent when it ends.
                Ok(_) if is_listening => Ok(()),
                Ok(result) => core.session.respond(at, inner.key, result),
                Err(error) => {
                    // A layer may refuse a subscription that was open already.
                    core.listens.close(inner.key);
                    core.session.respond_error(at, inner.key, &error)
                }
            };
            (responded, core.session.has_room_for_response())
        });
        let is_result_sent = is_result && responded.is_ok();
        if let Err(error) = responded {
            tracing::debug!(%error, request = inner.key.get(), "response not sent");
        }
        match self.context.task() {
            // The handler goes on as a task.
            Some(task) if is_result_sent => task.start(),
            // The client never learns of the task, or a layer has refused it.
            Some(task) => task.abandon(),
            // Other holders of the context may wait for its end.
            None => self.context.cancel(),
        }
        InvocationOutcome::Responded { at, has_room }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.has_responded {
            return;
        }
        let inner = self.context.inner();
        inner.session.with(|core, _| core.remove_handler(inner.key));
        self.context.release_hold();
        if let Some(task) = self.context.task() {
            task.abandon();
        }
    }
}
