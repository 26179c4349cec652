//! Tasks: requests whose result is fetched later.
//!
//! The protocol has two generations of tasks, and this crate one set of types for both:
//!
//! - 2025-11-25 (experimental): the requester requests a task with `task` in its parameters, polls
//!   `tasks/get`, and fetches the result with `tasks/result`.
//! - The extension `io.modelcontextprotocol/tasks` of 2026-07-28: the server alone decides to
//!   respond to `tools/call` with a task. `tasks/get` returns input requests, result and error
//!   ([`DetailedTask`]); input responses are sent with `tasks/update`.
//!
//! `results` has the results and notifications that contain a task.
//!
//! ```
//! use bowline_types::tasks::{CreateTaskResult, Task, TaskStatus};
//! use bowline_types::{Revision, Wire};
//!
//! let now = "2026-01-01T00:00:00Z";
//! let handle = CreateTaskResult::new(Task::new("t1", TaskStatus::Working, now, now).ttl(60_000));
//! // The same handle, encoded for either generation.
//! let old = handle.to_json(Revision::V2025_11_25)?.to_string();
//! assert!(old.starts_with(r#"{"task":{"taskId":"t1""#) && old.contains(r#""ttl":60000"#));
//! let new = handle.to_json(Revision::V2026_07_28)?.to_string();
//! assert!(new.starts_with(r#"{"resultType":"task","taskId":"t1""#) && new.contains(r#""ttlMs":60000"#));
//! # Ok::<(), bowline_types::NotInRevision>(())
//! ```

mod results;

use crate::error::ErrorObject;
use crate::input::{InputRequest, InputResponse};
use crate::json::{Encoder, JsonObject, NotInRevision, Reason};
use crate::meta::RequestMeta;
use crate::revision::{Revision, Revisions};
use crate::wire::{Condition, Map};

pub use results::{
    CancelTaskResult, CreateTaskResult, GetTaskResult, ListTasksResult, TaskStatusParams,
};

/// The id of the tasks extension of 2026-07-28.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

wire_choice! {
    /// The status of a task.
    pub enum TaskStatus {
        /// The task runs.
        Working = "working",
        /// The task waits for input of the requester.
        InputRequired = "input_required",
        /// The task ended with a result.
        Completed = "completed",
        /// The task ended with an error.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Returns `true` if the status is final.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired | Self::Other(_) => false,
        }
    }
}

wire_struct! {
    /// The state of a task.
    pub struct Task [since(V2025_11_25)] {
        /// The id of the task.
        req task_id: String = "taskId";
        /// The status.
        req status: TaskStatus = "status";
        /// A description of the status, for users.
        opt status_message: String = "statusMessage";
        /// The time of creation, in ISO 8601.
        req created_at: String = "createdAt";
        /// The time of the last change, in ISO 8601.
        req last_updated_at: String = "lastUpdatedAt";
        /// How long the task is kept after its creation, in milliseconds; without limit if `None`.
        nul ttl: i64 = "ttl", renamed "ttlMs" since V2026_07_28;
        /// The recommended interval between polls, in milliseconds.
        hint poll_interval: i64 = "pollInterval", renamed "pollIntervalMs" since V2026_07_28;
    }
}

wire_struct! {
    /// The state of a task, with the member that belongs to its status.
    ///
    /// Since 2026-07-28 a task that needs input has input requests, a completed one its result and
    /// a failed one its error. 2025-11-25 has the plain task in the same places.
    pub struct DetailedTask [since(V2025_11_25)] checked by DetailedTask::check, requiring REQUIRED_BY_STATUS {
        /// The id of the task.
        req task_id: String = "taskId";
        /// The status.
        req status: TaskStatus = "status";
        /// A description of the status, for users.
        opt status_message: String = "statusMessage";
        /// The time of creation, in ISO 8601.
        req created_at: String = "createdAt";
        /// The time of the last change, in ISO 8601.
        req last_updated_at: String = "lastUpdatedAt";
        /// How long the task is kept after its creation, in milliseconds; without limit if `None`.
        nul ttl: i64 = "ttl", renamed "ttlMs" since V2026_07_28;
        /// The recommended interval between polls, in milliseconds.
        hint poll_interval: i64 = "pollInterval", renamed "pollIntervalMs" since V2026_07_28;
        /// The open input requests, by keys that are never reused.
        opt input_requests: Map<InputRequest> = "inputRequests", in since(V2026_07_28);
        /// The result of the request.
        opt result: JsonObject = "result", in since(V2026_07_28);
        /// The error of the request.
        opt error: ErrorObject = "error", in since(V2026_07_28);
    }
}

impl DetailedTask {
    /// Returns the task without the member that belongs to its status.
    pub fn task(&self) -> Task {
        Task {
            status_message: self.status_message.clone(),
            ttl: self.ttl,
            poll_interval: self.poll_interval,
            ..Task::new(
                &*self.task_id,
                self.status.clone(),
                &*self.created_at,
                &*self.last_updated_at,
            )
        }
    }

    fn check(&self, encoder: &Encoder<'_>) -> Result<(), NotInRevision> {
        let has = |member: &str| match member {
            "inputRequests" => self.input_requests.is_some(),
            "result" => self.result.is_some(),
            _ => self.error.is_some(),
        };
        let missing = REQUIRED_BY_STATUS.iter().find(|condition| {
            let applies = encoder
                .revision()
                .is_some_and(|revision| condition.revisions.contains(revision));
            let is_met = condition.requires.iter().any(|member| has(member));
            applies && self.status.as_str() == condition.is && !is_met
        });
        match missing.and_then(|condition| condition.requires.first()) {
            Some(member) => Err(encoder.not_in_revision(Reason::Missing(member))),
            None => Ok(()),
        }
    }
}

/// The member that each status requires, as the schema of the extension defines it.
const REQUIRED_BY_STATUS: [Condition; 3] = [
    required_by("input_required", &["inputRequests"]),
    required_by("completed", &["result"]),
    required_by("failed", &["error"]),
];

const fn required_by(status: &'static str, requires: &'static [&'static str]) -> Condition {
    Condition {
        member: "status",
        is: status,
        requires,
        revisions: Revisions::since(Revision::V2026_07_28),
    }
}

impl From<Task> for DetailedTask {
    fn from(task: Task) -> Self {
        let Task {
            task_id,
            status,
            status_message,
            created_at,
            last_updated_at,
            ttl,
            poll_interval,
        } = task;
        Self {
            status_message,
            ttl,
            poll_interval,
            ..Self::new(task_id, status, created_at, last_updated_at)
        }
    }
}

wire_struct! {
    /// Requests a task. Only in 2025-11-25.
    pub struct TaskMetadata [only(V2025_11_25)] {
        /// How long to keep the task, in milliseconds.
        opt ttl: i64 = "ttl";
    }
}

wire_struct! {
    /// The task that a message belongs to, in `_meta`
    /// ([`keys::RELATED_TASK`](crate::meta::keys::RELATED_TASK)). Only in 2025-11-25.
    pub struct RelatedTask [only(V2025_11_25)] {
        /// The id of the task.
        req task_id: String = "taskId";
    }
}

wire_struct! {
    /// The parameters of `tasks/get`, `tasks/result` and `tasks/cancel`.
    pub struct TaskParams [since(V2025_11_25)] {
        /// The id of the task.
        req task_id: String = "taskId";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `tasks/update`: responses to input requests of a task. In the extension
    /// of 2026-07-28.
    pub struct UpdateTaskParams [since(V2026_07_28)] {
        /// The id of the task.
        req task_id: String = "taskId";
        /// The input responses, by the keys of the input requests. Some may be absent.
        req input_responses: Map<InputResponse> = "inputResponses";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    #[test]
    fn the_extension_requires_the_member_of_each_status() {
        let task = |status| DetailedTask::new("t", status, "c", "u");
        let written = |task: &DetailedTask, revision| task.to_json(revision).map(|_| ());
        let new = Revision::V2026_07_28;
        for (status, missing) in [
            (TaskStatus::InputRequired, "inputRequests"),
            (TaskStatus::Completed, "result"),
            (TaskStatus::Failed, "error"),
        ] {
            let task = task(status);
            let error = written(&task, new).unwrap_err();
            assert_eq!(error.reason(), &Reason::Missing(missing));
            assert_eq!(written(&task, Revision::V2025_11_25), Ok(()));
        }
        assert_eq!(written(&task(TaskStatus::Working), new), Ok(()));
        assert_eq!(
            written(&task(TaskStatus::Completed).result(JsonObject::new()), new),
            Ok(())
        );
    }

    #[test]
    fn an_unlimited_ttl_is_written_as_null() {
        let task = Task::new("t", TaskStatus::Working, "c", "u");
        let written = |revision| task.to_json(revision).unwrap().to_string();
        assert!(written(Revision::V2025_11_25).ends_with(r#""ttl":null}"#));
        assert!(written(Revision::V2026_07_28).ends_with(r#""ttlMs":null}"#));
        assert!(task.to_json(Revision::V2025_06_18).is_err());
        assert_eq!(DetailedTask::from(task.clone()).task(), task);
    }
}
