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

/// Runs the handler of a task in a task of the runtime, and keeps the outcome until its time is
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
        // Before the client knows of the task, nothing of it is said.
        let is_known = entry.wait_until_started().await;
        let done = if is_known {
            run_handler(&entry, &context, called).await
        } else {
            None
        };
        drop(context);
        let Some(ended) = store.upgrade() else {
            // Nobody can ask for it any more.
            entry.end(TaskOutcome::Cancelled);
            return;
        };
        if !is_known {
            return ended.remove(&entry);
        }
        let gone = ended.finish(&entry, revision, done);
        let until = entry.kept_until(Instant::now());
        // Nothing of it is kept here meanwhile: it may have to go, or a server before it.
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

/// What the handler returned. `None` when nobody wants that any more.
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
            // The words are for us, not for the peer (ER-4).
            handler_panicked(context, &panicked.0);
            Some(Err(ErrorObject::internal_error("the handler failed")))
        }
    }
}

/// Waits until a task is not to go on: it was cancelled, or its client owes it an answer for so
/// long that it won't come. One whose handler works is never given up, however late it is.
async fn wait_until_given_up(entry: &TaskEntry, context: &Context) {
    let mut cancelled = pin!(context.cancelled());
    let mut unanswered = pin!(entry.wait_until_input_overdue());
    let is_unanswered = poll_fn(|cx| match cancelled.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(false),
        Poll::Pending => unanswered.as_mut().poll(cx).map(|()| true),
    });
    if is_unanswered.await {
        let words = "the client has not answered the task in time";
        entry.end(TaskOutcome::Failed(ErrorObject::internal_error(words)));
    }
}
