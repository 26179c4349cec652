//! Runs a handler to the end of its task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};

use bowline_types::ErrorObject;
use bowline_types::tools::CallToolResult;
use tokio::time::{sleep, sleep_until, timeout_at};

use super::entry::{Ending, Entry};
use super::store::TaskStore;
use crate::panics::CatchPanic;
use crate::server::context::Context;
use crate::server::service::INTERNAL_ERROR;
use crate::server::session::GRACE;
use crate::server::tool::Called;

/// Runs the handler of a task in a task of the runtime, and keeps the outcome until its time is
/// over.
pub(in crate::server) fn run(
    store: &Arc<TaskStore>,
    entry: Arc<Entry>,
    context: Context,
    called: Called,
) {
    let store = Arc::downgrade(store);
    tokio::spawn(async move {
        let revision = context.revision();
        let done = handled(&entry, &context, called).await;
        drop(context);
        match (store.upgrade(), done) {
            (Some(store), Some(done)) => store.finish(&entry, revision, done),
            // It was cancelled, or nobody can ask for it any more.
            (_, _) => {
                entry.end(Ending::Cancelled, 0);
            }
        }
        let expires = entry.expires;
        // Nothing of it is kept here meanwhile: a server may go before.
        let entry: Weak<Entry> = Arc::downgrade(&{ entry });
        sleep_until(expires).await;
        if let (Some(store), Some(entry)) = (store.upgrade(), entry.upgrade()) {
            store.remove(&entry);
        }
    });
}

/// What the handler returned. `None` when nobody wants that any more.
async fn handled(
    entry: &Entry,
    context: &Context,
    called: Called,
) -> Option<Result<CallToolResult, ErrorObject>> {
    let mut called = CatchPanic::new(called);
    // Before the client knows of the task, nothing of it is said.
    if !entry.begun().await {
        return None;
    }
    let mut over = pin!(async {
        // Cancelled, or its time is over.
        let _ = timeout_at(entry.expires, context.cancelled()).await;
        context.cancel();
        sleep(GRACE).await;
    });
    let done = poll_fn(|cx| match Pin::new(&mut called).poll(cx) {
        std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
        std::task::Poll::Pending => over.as_mut().poll(cx).map(|()| None),
    });
    match done.await? {
        Ok(done) => Some(done),
        Err(panicked) => {
            // The words are for us, not for the peer (ER-4).
            let request = context.request_number();
            tracing::error!(
                request,
                panic = panicked.0,
                "the handler of a task panicked"
            );
            Some(Err(ErrorObject::new(INTERNAL_ERROR, "the handler failed")))
        }
    }
}
