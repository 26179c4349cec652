//! The tasks of an HTTP/2 connection: one for each request. They end with their connection.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hyper::rt::Executor;
use tokio::task::JoinSet;
use tracing::Instrument as _;

/// The tasks of one connection. Dropping them aborts them.
#[derive(Debug, Default)]
pub(super) struct StreamTasks(Arc<Mutex<JoinSet<()>>>);

impl StreamTasks {
    /// Returns the executor for the connection. It doesn't keep the tasks, which have it themselves.
    pub(super) fn executor(&self) -> StreamExecutor {
        StreamExecutor(Arc::downgrade(&self.0))
    }

    /// Aborts the tasks, and waits until they have ended.
    pub(super) async fn shut_down(self) {
        let mut tasks = {
            let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
    }
}

/// Spawns the tasks of one connection.
#[derive(Clone)]
pub(super) struct StreamExecutor(Weak<Mutex<JoinSet<()>>>);

impl fmt::Debug for StreamExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamExecutor")
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let Some(tasks) = self.0.upgrade() else {
            return;
        };
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are let go, so that no more are kept than were open at once.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(future.in_current_span());
    }
}
