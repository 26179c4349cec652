//! Tasks: calls of tools whose results are fetched later.
//!
//! There are two generations. In 2025-11-25 the client asks for a task; since 2026-07-28 an
//! extension lets the server decide. The handles are the same for both, and a task is always
//! polled: notifications of it are hints, and nothing here waits for them (TK-15).
//!
//! - `task_handle`: handles and references that outlive a connection.
//! - `task_polling`: polls a task until it has ended, and answers its input requests.
//! - `task_wait`: a call that has become a task, within the limits of the call.
//! - `task_canceller`: cancels it from another handle.

mod task_canceller;
mod task_handle;
mod task_polling;
mod task_wait;

use std::sync::Arc;

use bowline_proto::Payload;
use bowline_types::input::InputResponse;
use bowline_types::method::requests;
use bowline_types::result::EmptyResult;
use bowline_types::tasks::{
    self, CancelTaskResult, GetTaskResult, ListTasksResult, TaskParams, UpdateTaskParams,
};
use bowline_types::tools::{CallToolResponse, CallToolResult};
use bowline_types::{Map, Method};

use super::paginated_list::{self, Pages, WholeList};
use super::typed_call::TypedCall;
use crate::client::shared::Shared;
use crate::client::{Client, ClientConfig};

pub use task_handle::{TaskHandle, TaskOrResult, TaskRef};

pub(in crate::client) use task_canceller::Canceller;
pub(super) use task_wait::{TaskWait, WaitLimits};

use task_polling::TaskPoller;

/// Cancels the task in the result of a call that was dropped, if it is one.
pub(in crate::client) fn cancel_orphan(shared: &Arc<Shared>, result: &Payload) {
    if let Ok(CallToolResponse::Task(begun)) = result.decode() {
        TaskPoller::new(shared, TaskRef::from(begun.task.task_id), None).cancel();
    }
}

/// The `resultType` of a task in place of a result.
const TASK: &str = "task";

impl ClientConfig {
    /// Lets servers of 2026-07-28 respond to a call of a tool with a task: declares the extension
    /// `io.modelcontextprotocol/tasks`. [Calls](super::Tools::call) that become tasks are
    /// polled until they have ended.
    ///
    /// 2025-11-25 needs no declaration: there the client [asks](super::ToolCall::as_task).
    pub fn tasks(&mut self) -> &mut Self {
        self.connection()
            .capabilities_mut()
            .add_extension(tasks::EXTENSION);
        self.link().accept_result(TASK);
        self
    }
}

/// The tasks of a server: see [`Client::tasks`].
///
/// ```
/// use bowline::client::features::{TaskOrResult, TaskRef};
///
/// # async fn example(client: bowline::Client) -> Result<(), Box<dyn std::error::Error>> {
/// // Before the program ends …
/// let started = client.tools().call("render", ()).start_task().await?;
/// if let TaskOrResult::Task(task) = started {
///     std::fs::write("task", task.task_ref().to_string())?;
/// }
/// // … and after it has begun again.
/// let saved: TaskRef = std::fs::read_to_string("task")?.parse()?;
/// let result = client.tasks().resume(saved).wait().await?;
/// println!("{}", result.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tasks<'c> {
    client: &'c Client,
}

impl<'c> Tasks<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    /// Returns the handle of a task that was begun before, perhaps by another program. No request
    /// is sent until the handle is used.
    pub fn resume(self, task: impl Into<TaskRef>) -> TaskHandle {
        TaskHandle::from_ref(self.client.clone(), task.into())
    }

    /// Requests the state of a task. Since 2026-07-28 it has the input requests, the result or the
    /// error.
    pub fn get(self, id: impl Into<String>) -> TypedCall<'c, GetTaskResult> {
        self.about(Method::GetTask, id.into())
    }

    /// Requests the result of a task, which comes when it has ended. Only in 2025-11-25: see
    /// [`TaskHandle::wait`] for both generations.
    pub fn result(self, id: impl Into<String>) -> TypedCall<'c, CallToolResult> {
        self.about(Method::GetTaskPayload, id.into())
    }

    /// Cancels a task. In 2025-11-25 the result has its state; since 2026-07-28 the server only
    /// acknowledges, and the task may end otherwise.
    pub fn cancel(self, id: impl Into<String>) -> TypedCall<'c, CancelTaskResult> {
        self.about(Method::CancelTask, id.into())
    }

    /// Sends responses to input requests of a task, by their keys. New in 2026-07-28.
    /// [`TaskHandle::wait`] answers them with the handlers of the client.
    pub fn update(
        self,
        id: impl Into<String>,
        responses: impl Into<Map<InputResponse>>,
    ) -> TypedCall<'c, EmptyResult> {
        let params = UpdateTaskParams::new(id, responses);
        let params = self.client.encode(&params);
        TypedCall::new(self.client.call(Method::UpdateTask.as_str(), params))
    }

    /// Fetches the first page of the list. Only in 2025-11-25, where servers may have it.
    pub fn list(self) -> TypedCall<'c, ListTasksResult> {
        paginated_list::page::<requests::ListTasks>(self.client, None)
    }

    /// Fetches the page of the list that begins at a cursor. Only in 2025-11-25.
    pub fn list_from(self, cursor: impl Into<String>) -> TypedCall<'c, ListTasksResult> {
        paginated_list::page::<requests::ListTasks>(self.client, Some(cursor.into()))
    }

    /// Returns the list as a stream of items, fetched page by page. Only in 2025-11-25.
    pub fn pages(self) -> Pages<'c, ListTasksResult> {
        Pages::new::<requests::ListTasks>(self.client)
    }

    /// Fetches the whole list when it is awaited. Only in 2025-11-25. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is [too
    /// large](Pages).
    pub fn list_all(self) -> WholeList<'c, ListTasksResult> {
        WholeList::new::<requests::ListTasks>(self.client)
    }

    fn about<T: bowline_types::Wire>(self, method: Method, id: String) -> TypedCall<'c, T> {
        let params = self.client.encode(&TaskParams::new(id));
        TypedCall::new(self.client.call(method.as_str(), params))
    }
}
