//! A task as its user holds it.

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

/// What has to be kept to find a task again, in another program as well.
///
/// It is a plain value: serialize it, or keep its text and [parse](str::parse) that. Whoever
/// knows the id of a task may fetch its result: keep it as you would keep a password.
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
    /// The tool that it runs; empty when nobody knows.
    #[serde(default)]
    pub tool: String,
}

impl TaskRef {
    /// A task of this id, which runs this tool.
    pub fn new(id: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            tool: tool.into(),
        }
    }

    /// What errors call it.
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
            let words = format!("not a saved task: {error}");
            Error::new(ErrorKind::Config, words)
        })
    }
}

/// What came of a call that [may become a task](super::super::ToolCall::start_task).
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a server answers or doesn't")]
pub enum Started {
    /// The server runs it as a task.
    Task(TaskHandle),
    /// The server answered at once, as it may always do.
    Done(ToolResult),
}

impl Started {
    /// The result, when it is there: see [`TaskHandle::wait`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`TaskHandle::wait`].
    pub async fn wait(self) -> Result<ToolResult, Error> {
        match self {
            Self::Task(task) => task.wait().await,
            Self::Done(result) => Ok(result),
        }
    }
}

/// A task on a server.
///
/// It belongs to no connection, and not to this program either: dropping the handle leaves the
/// task alone, and whoever has [saved](Self::saved) it can [go on](super::Tasks::resume) with
/// it. The server keeps a task only so long: [`Task::ttl`] says how long.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    client: Client,
    task: TaskRef,
    begun: Option<Task>,
    output_check: OutputCheck,
    /// What the task was answered, by this handle or a clone.
    answered: SharedAnsweredKeys,
}

/// Whether the result has to fit its tool's output schema.
#[derive(Clone, Debug)]
enum OutputCheck {
    Off,
    /// What was known when the call was made.
    FromCall(ExpectedOutput),
    /// Nobody knows when that was: what is known when the result is first waited for.
    FromCache,
}

impl TaskHandle {
    pub(super) fn from_ref(client: Client, task: TaskRef) -> Self {
        Self {
            client,
            task,
            begun: None,
            output_check: OutputCheck::FromCache,
            answered: SharedAnsweredKeys::default(),
        }
    }

    /// What a call has become, whose result is expected to be so.
    pub(in super::super) fn from_call(
        client: Client,
        task: TaskRef,
        begun: Task,
        expected: Option<ExpectedOutput>,
    ) -> Self {
        Self {
            client,
            task,
            begun: Some(begun),
            output_check: expected.map_or(OutputCheck::Off, OutputCheck::FromCall),
            answered: SharedAnsweredKeys::default(),
        }
    }

    /// Takes its result as it comes: see
    /// [`ToolCall::unchecked`](crate::client::features::ToolCall::unchecked).
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.output_check = OutputCheck::Off;
        self
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.task.id
    }

    /// The tool that it runs; empty when it was [resumed](super::Tasks::resume) without it.
    pub fn tool(&self) -> &str {
        &self.task.tool
    }

    /// What to keep to find it again.
    pub fn saved(&self) -> &TaskRef {
        &self.task
    }

    /// How it stood when the server made it. `None` when it was resumed.
    pub fn begun(&self) -> Option<&Task> {
        self.begun.as_ref()
    }

    /// How it stands now.
    pub fn get(&self) -> TypedCall<'_, GetTaskResult> {
        self.client.tasks().get(&*self.task.id)
    }

    /// Tells the server to cancel it. Whoever [waits](Self::wait) learns of it when the
    /// server has done so.
    pub fn cancel(&self) -> TypedCall<'_, CancelTaskResult> {
        self.client.tasks().cancel(&*self.task.id)
    }

    /// Waits until it has ended, however long that takes, and returns what its tool returned.
    ///
    /// The task is looked at as often as the server wants, though at most every 50 ms, and
    /// every second where the server doesn't say. What it asks is answered with the
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
    /// it, [`Timeout`](ErrorKind::Timeout) when the server doesn't answer,
    /// [`InvalidResponse`](ErrorKind::InvalidResponse) when it has ended without a result,
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) as for
    /// [calls](crate::client::features::Tools::call).
    pub async fn wait(&self) -> Result<ToolResult, Error> {
        let poller = TaskPoller::new(&self.client.shared, self.task.clone(), None);
        let poller = poller.with_shared_answers(&self.answered);
        let first = match &self.begun {
            Some(begun) => poll_delay(&begun.status, begun.poll_interval),
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
