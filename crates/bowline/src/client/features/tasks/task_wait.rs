//! A call that has become a task, while its caller waits for the result.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bowline_proto::{Outcome, Sent};
use bowline_types::Method;
use bowline_types::tasks::Task;
use bowline_types::tools::CallToolResult;
use tokio::time::{Instant, timeout_at};

use super::task_canceller::Canceller;
use super::task_handle::TaskRef;
use super::task_polling::{TaskPoller, poll_delay};
use crate::client::shared::Shared;
use crate::error::{Error, ErrorKind};

/// The limits of how long the caller waits.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct WaitLimits {
    /// When the call was made.
    pub(in super::super) since: Instant,
    /// How long the server may take for each response.
    pub(in super::super) idle: Duration,
    /// How long it may take altogether.
    pub(in super::super) total: Duration,
}

/// A call that has become a task.
///
/// The task is cancelled when its result is no longer needed, as a call would be: its future is
/// dropped, it takes too long, or an input request of the task can't be answered.
#[derive(Debug)]
pub(in super::super) struct TaskWait {
    poller: TaskPoller,
    canceller: Arc<Canceller>,
    limits: WaitLimits,
    is_over: bool,
}

impl TaskWait {
    pub(in super::super) fn new(
        shared: &Arc<Shared>,
        task: TaskRef,
        canceller: Arc<Canceller>,
        limits: WaitLimits,
    ) -> Self {
        canceller.set_active(true);
        Self {
            poller: TaskPoller::new(shared, task, Some(limits.idle)),
            canceller,
            limits,
            is_over: false,
        }
    }

    /// Returns what the tool returned. Dropping the future cancels the task.
    pub(in super::super) async fn wait(mut self, begun: Task) -> Result<CallToolResult, Error> {
        let first = poll_delay(&begun.status, begun.poll_interval);
        let ended = self
            .wait_within_limits(first)
            .await
            .unwrap_or_else(|outcome| {
                let error = Error::from_outcome(outcome, Some(Sent::Maybe), None).err();
                let error = error.unwrap_or_else(|| Error::new(ErrorKind::State, ""));
                let error = self.poller.shared().with_connection_failure(error);
                Err(error.in_operation(Method::CallTool.as_str()))
            });
        // It is the tool that would run twice, and not the request about its task.
        let ended = ended.map_err(|error| error.with_repeatable(false));
        self.is_over = match &ended {
            Ok(_) => true,
            Err(error) => has_task_ended(error),
        };
        ended
    }

    /// Returns how the task ended, or why it is no longer waited for.
    async fn wait_within_limits(
        &self,
        first: Duration,
    ) -> Result<Result<CallToolResult, Error>, Outcome> {
        let WaitLimits { since, total, .. } = self.limits;
        let end = self.poller.wait_for_result(first);
        let mut ending = pin!(async {
            match since.checked_add(total) {
                Some(until) => timeout_at(until, end).await,
                // Later than there is time.
                None => Ok(end.await),
            }
        });
        let mut cancelled = pin!(self.canceller.cancelled());
        poll_fn(|cx| {
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(Outcome::Cancelled));
            }
            let elapsed = since.elapsed();
            let ended = ending.as_mut().poll(cx);
            ended.map(|ended| ended.map_err(|_| Outcome::TimedOut { elapsed }))
        })
        .await
    }
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        self.canceller.set_active(false);
        if !self.is_over {
            self.poller.cancel();
        }
    }
}

/// Returns `true` if the task itself has ended, and not only the wait for it.
fn has_task_ended(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::JsonRpc | ErrorKind::InvalidResponse => true,
        // By the server; when this client cancels it, the operation is another one.
        ErrorKind::Cancelled => error.operation() == Some(Method::GetTask.as_str()),
        _ => false,
    }
}
