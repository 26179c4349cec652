//! Runs a handler to the end of its task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bowline_types::ErrorObject;
use bowline_types::tools::CallToolResult;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;

use super::entry::{TaskEntry, TaskOutcome};
use super::store::TaskStore;
use crate::panics::CatchPanic;
use crate::server::block_monitor::Polled;
use crate::server::context::Context;
use crate::server::session::CANCEL_GRACE;
use crate::server::telemetry::handler_panicked;
use crate::server::tool::ToolFuture;

/// Runs the handler of a task in a tokio task, and keeps the outcome until its time to live is
/// over.
pub(in crate::server) fn run_task(
    store: &Arc<TaskStore>,
    entry: Arc<TaskEntry>,
    context: Context,
    called: ToolFuture,
) {
    let store = Arc::downgrade(store);
    let span = context.span().clone();
    let running = async move {
        let revision = context.revision();
        // Before the client knows of the task, nothing about it is sent.
        let is_known = entry.wait_until_started().await;
        let done = if is_known {
            run_handler(&entry, &context, called).await
        } else {
            None
        };
        drop(context);
        let Some(ended) = store.upgrade() else {
            // The server is gone, and no client can ask for the task.
            entry.end(TaskOutcome::Cancelled);
            return;
        };
        if !is_known {
            return ended.remove(&entry);
        }
        let gone = ended.finish(&entry, revision, done);
        let until = entry.kept_until(Instant::now());
        // No strong reference is kept here meanwhile: the task may be evicted, and the server
        // dropped.
        let (entry, _) = (Arc::downgrade(&{ entry }), { ended });
        if timeout_at(until, gone).await.is_ok() {
            return;
        }
        if let (Some(store), Some(entry)) = (store.upgrade(), entry.upgrade()) {
            store.remove(&entry);
        }
    };
    tokio::spawn(running.instrument(span));
}

/// Returns the result of the handler. `None` when it is not wanted any more.
async fn run_handler(
    entry: &TaskEntry,
    context: &Context,
    called: ToolFuture,
) -> Option<Result<CallToolResult, ErrorObject>> {
    let mut called = CatchPanic::new(called);
    let mut over = pin!(async {
        wait_until_given_up(entry, context).await;
        sleep(CANCEL_GRACE).await;
    });
    let session = &context.inner().session;
    let done = poll_fn(|cx| {
        let watch = session.watch(|| Polled::OwnTask(context.clone()));
        let polled = Pin::new(&mut called).poll(cx);
        drop(watch);
        match polled {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => over.as_mut().poll(cx).map(|()| None),
        }
    });
    match done.await? {
        Ok(done) => Some(done),
        Err(panicked) => {
            // The panic message is for the log, not for the peer (ER-4).
            handler_panicked(context, &panicked.0);
            Some(Err(ErrorObject::internal_error("the handler failed")))
        }
    }
}

/// Waits until a task must not go on: it was cancelled, or its client has not answered a question
/// for too long. A handler that computes is never given up, however late it is.
async fn wait_until_given_up(entry: &TaskEntry, context: &Context) {
    let mut cancelled = pin!(context.cancelled());
    let mut unanswered = pin!(entry.wait_until_input_overdue());
    let is_unanswered = poll_fn(|cx| match cancelled.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(false),
        Poll::Pending => unanswered.as_mut().poll(cx).map(|()| true),
    });
    if is_unanswered.await {
        let message = "the client has not responded to the input request of the task in time";
        entry.end(TaskOutcome::Failed(ErrorObject::internal_error(message)));
    }
}
