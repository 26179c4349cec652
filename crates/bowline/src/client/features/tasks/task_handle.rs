//! Handles of tasks, which outlive their connections.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bowline_types::tasks::{CancelTaskResult, GetTaskResult, Task};
use serde::{Deserialize, Serialize};

use super::task_polling::{SharedAnsweredKeys, TaskPoller, poll_delay};
use crate::client::Client;
use crate::client::features::tools::ToolResult;
use crate::client::features::typed_call::TypedCall;
use crate::client::output_validation::ExpectedOutput;
use crate::error::{Error, ErrorKind};

/// A reference to a task, to resume it later, in another program as well.
///
/// It is a plain value: serialize it, or keep its text and [parse](str::parse) that. The id
/// of a task is enough to fetch its result: keep it as you would keep a password.
///
/// ```
/// use bowline::client::features::TaskRef;
///
/// let task = TaskRef::new("786512e2", "render");
/// let kept = task.to_string();
/// assert_eq!(kept.parse::<TaskRef>()?, task);
/// // The id alone is enough; errors don't name the tool then.
/// let nameless = TaskRef::from("786512e2");
/// # let _ = nameless;
/// # Ok::<(), bowline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskRef {
    /// The id that the server gave it.
    pub id: String,
    /// The tool that it runs; empty if unknown.
    #[serde(default)]
    pub tool: String,
}

impl TaskRef {
    /// Returns a reference to the task of this id, which runs this tool.
    pub fn new(id: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            tool: tool.into(),
        }
    }

    /// Returns the name of the task in errors.
    pub(super) fn name(&self) -> &str {
        if self.tool.is_empty() {
            &self.id
        } else {
            &self.tool
        }
    }
}

impl From<&str> for TaskRef {
    fn from(id: &str) -> Self {
        Self::new(id, "")
    }
}

impl From<String> for TaskRef {
    fn from(id: String) -> Self {
        Self::new(id, "")
    }
}

/// As text that can be [parsed](str::parse) again.
impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&json)
    }
}

impl FromStr for TaskRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| {
            let message = format!("not a task reference: {error}");
            Error::new(ErrorKind::Config, message)
        })
    }
}

/// The outcome of a call that [may become a task](super::super::ToolCall::start_task).
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the server returns a task or a result"
)]
pub enum TaskOrResult {
    /// The server runs it as a task.
    Task(TaskHandle),
    /// The server responded with the result, as it may always do.
    Result(ToolResult),
}

impl TaskOrResult {
    /// Returns the result, when it is there: see [`TaskHandle::wait`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`TaskHandle::wait`].
    pub async fn wait(self) -> Result<ToolResult, Error> {
        match self {
            Self::Task(task) => task.wait().await,
            Self::Result(result) => Ok(result),
        }
    }
}

/// A task on a server.
///
/// It belongs to no connection, and not to this program either: dropping the handle leaves the
/// task alone, and a program that has [saved](Self::task_ref) it can [resume](super::Tasks::resume)
/// it. The server keeps a task only for a time: see [`Task::ttl`].
#[derive(Clone, Debug)]
pub struct TaskHandle {
    client: Client,
    task: TaskRef,
    initial_state: Option<Task>,
    output_check: OutputCheck,
    /// The input requests that this handle or a clone has answered.
    answered: SharedAnsweredKeys,
}

/// Which output schema the result has to match, if any.
#[derive(Clone, Debug)]
enum OutputCheck {
    Off,
    /// The schema that was known when the call was sent.
    FromCall(ExpectedOutput),
    /// The time of the call is unknown: the schema that is known when the result is waited for.
    FromCache,
}

impl TaskHandle {
    pub(super) fn from_ref(client: Client, task: TaskRef) -> Self {
        Self {
            client,
            task,
            initial_state: None,
            output_check: OutputCheck::FromCache,
            answered: SharedAnsweredKeys::default(),
        }
    }

    /// Returns the handle of a task that a call has become.
    pub(in super::super) fn from_call(
        client: Client,
        task: TaskRef,
        initial_state: Task,
        expected: Option<ExpectedOutput>,
    ) -> Self {
        Self {
            client,
            task,
            initial_state: Some(initial_state),
            output_check: expected.map_or(OutputCheck::Off, OutputCheck::FromCall),
            answered: SharedAnsweredKeys::default(),
        }
    }

    /// Returns the handle without validation of the output: see
    /// [`ToolCall::without_output_validation`](crate::client::features::ToolCall::without_output_validation).
    #[must_use]
    pub fn without_output_validation(mut self) -> Self {
        self.output_check = OutputCheck::Off;
        self
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &str {
        &self.task.id
    }

    /// Returns the tool that it runs; empty when it was [resumed](super::Tasks::resume) without it.
    pub fn tool(&self) -> &str {
        &self.task.tool
    }

    /// Returns the reference to save in order to resume the task later.
    pub fn task_ref(&self) -> &TaskRef {
        &self.task
    }

    /// Returns the state in which the server created it. `None` when it was resumed.
    pub fn initial_state(&self) -> Option<&Task> {
        self.initial_state.as_ref()
    }

    /// Requests the current state of the task.
    pub fn get(&self) -> TypedCall<'_, GetTaskResult> {
        self.client.tasks().get(&*self.task.id)
    }

    /// Requests the server to cancel the task. [`wait`](Self::wait) ends when the server has done
    /// so.
    pub fn cancel(&self) -> TypedCall<'_, CancelTaskResult> {
        self.client.tasks().cancel(&*self.task.id)
    }

    /// Waits until it has ended, however long that takes, and returns what its tool returned.
    ///
    /// The task is polled at the interval that the server gives, though at most every 50 ms, and
    /// every second where the server gives none. Its input requests are answered with the
    /// [handlers of the client](crate::ClientConfig). A connection that is lost is waited for.
    ///
    /// Cancel safe: dropping the future leaves the task alone, and another one may wait for
    /// it. What was answered is not asked again, by clones of the handle neither, unless the
    /// server has not confirmed the answer.
    ///
    /// # Errors
    ///
    /// Of kind [`Cancelled`](ErrorKind::Cancelled) when it was cancelled,
    /// [`JsonRpc`](ErrorKind::JsonRpc) when it failed with an error or the server doesn't know
    /// it, [`Timeout`](ErrorKind::Timeout) when the server doesn't respond,
    /// [`InvalidResponse`](ErrorKind::InvalidResponse) when it has ended without a result,
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) as for
    /// [calls](crate::client::features::Tools::call).
    pub async fn wait(&self) -> Result<ToolResult, Error> {
        let poller = TaskPoller::new(&self.client.shared, self.task.clone(), None);
        let poller = poller.with_shared_answers(&self.answered);
        let first = match &self.initial_state {
            Some(task) => poll_delay(&task.status, task.poll_interval),
            None => Duration::ZERO,
        };
        let expected = self.expected();
        let result = poller.wait_for_result(first).await?;
        let name = self.task.name().to_owned();
        ToolResult::checked(result, name, expected.as_ref())
    }

    fn expected(&self) -> Option<ExpectedOutput> {
        match &self.output_check {
            OutputCheck::Off => None,
            OutputCheck::FromCall(expected) => Some(expected.clone()),
            OutputCheck::FromCache => {
                let _entered = self.client.shared.telemetry.enter();
                let outputs = &self.client.shared.output_schemas;
                Some(outputs.expected(&self.task.tool, self.client.revision()))
            }
        }
    }
}
