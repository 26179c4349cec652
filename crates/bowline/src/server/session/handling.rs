//! A handler that runs.
//!
//! It is run in place first: most are done at once, and cost no task. One that has to wait
//! moves to a task of its own, where it may take its time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use bowline_types::ErrorObject;
use tokio::time::{Sleep, sleep};

use super::Shared;
use crate::panics::{CatchPanic, caught};
use crate::server::context::Context;
use crate::server::service::{INTERNAL_ERROR, Reply, Request};
use crate::transport::BoxFuture;

/// How long a handler may go on that nobody waits for, to tidy up.
pub(in crate::server) const GRACE: Duration = Duration::from_millis(100);

/// How long a handler may keep its thread at a time before it is told of.
const BLOCKED: Duration = Duration::from_millis(100);

/// A handler, and the request that it serves.
pub(super) struct Handling {
    future: CatchPanic<BoxFuture<'static, Reply>>,
    open: Open,
    /// Until when it may go on although it was cancelled.
    grace: Option<Pin<Box<Sleep>>>,
    is_cancelled: Option<BoxFuture<'static, ()>>,
}

impl Handling {
    /// Starts a handler. What is ready at once is answered at once, and `None`.
    pub(super) fn start(
        shared: &Arc<Shared>,
        request: Request,
        cx: &mut TaskContext<'_>,
    ) -> Option<Self> {
        let context = request.context.clone();
        let mut open = Open {
            context,
            is_answered: false,
        };
        if let Err(error) = open.context.begin_rounds() {
            open.answer(Err(error));
            return None;
        }
        let future = match caught(|| shared.server.service.0.serve(request)) {
            Ok(future) => future,
            Err(panicked) => {
                let reply = failed(&open.context, &panicked.0);
                open.answer(reply);
                return None;
            }
        };
        let mut handling = Self {
            future: CatchPanic::new(future),
            open,
            grace: None,
            is_cancelled: None,
        };
        match handling.poll_reply(cx) {
            Poll::Ready(reply) => {
                handling.open.answer(reply);
                None
            }
            Poll::Pending => Some(handling),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.open.context
    }

    fn poll_reply(&mut self, cx: &mut TaskContext<'_>) -> Poll<Reply> {
        let started = Instant::now();
        let polled = Pin::new(&mut self.future).poll(cx);
        if started.elapsed() > BLOCKED {
            let (method, request) = (
                self.open.context.method().as_str(),
                self.open.context.request_number(),
            );
            tracing::warn!(
                method,
                request,
                "a handler blocked its thread: see ToolDef::blocking"
            );
        }
        match polled {
            Poll::Ready(Ok(reply)) => Poll::Ready(reply),
            Poll::Ready(Err(panicked)) => Poll::Ready(failed(&self.open.context, &panicked.0)),
            Poll::Pending => match self.open.context.questions(cx.waker()) {
                Some(questions) => Poll::Ready(questions),
                None => Poll::Pending,
            },
        }
    }

    /// Ready when it was cancelled, and its time is over.
    fn poll_grace(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.grace.is_none() {
            let context = self.open.context.clone();
            let is_cancelled = self
                .is_cancelled
                .get_or_insert_with(|| Box::pin(async move { context.cancelled().await }));
            if is_cancelled.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.grace = Some(Box::pin(sleep(GRACE)));
        }
        match &mut self.grace {
            Some(grace) => grace.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl Future for Handling {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        if let Poll::Ready(reply) = self.poll_reply(cx) {
            self.open.answer(reply);
            return Poll::Ready(());
        }
        self.poll_grace(cx)
    }
}

/// What a panic is to the client: nothing of it but that it was (ER-4).
fn failed(context: &Context, words: &str) -> Reply {
    let (method, request) = (context.method().as_str(), context.request_number());
    tracing::error!(method, request, panic = words, "a handler panicked");
    Err(ErrorObject::new(INTERNAL_ERROR, "the handler failed"))
}

/// A request that is being handled. Its place is free again when the handler is really gone.
struct Open {
    context: Context,
    is_answered: bool,
}

impl Open {
    fn answer(&mut self, reply: Reply) {
        self.is_answered = true;
        let inner = self.context.inner();
        let responded = inner.session.with(|core, now| {
            core.running.remove(&inner.key);
            match reply {
                Ok(result) => core.session.respond(now, inner.key, result),
                Err(error) => core.session.respond_error(now, inner.key, &error),
            }
        });
        if let Err(error) = responded {
            tracing::debug!(%error, request = inner.key.get(), "an answer was not sent");
        }
        // Who still holds the context may wait for this.
        self.context.cancel();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let inner = self.context.inner();
        inner.session.with(|core, now| {
            core.running.remove(&inner.key);
            core.session.release(now, inner.key);
        });
    }
}
