//! Tasks: requests whose result is fetched later.
//!
//! There are two generations, and one set of types for both:
//!
//! - 2025-11-25 (experimental): the requester asks for a task with `task` in its
//!   parameters, polls `tasks/get`, and fetches the result with `tasks/result`.
//! - The extension `io.modelcontextprotocol/tasks` of 2026-07-28: the server alone
//!   decides to answer `tools/call` with a task. `tasks/get` brings questions, result and
//!   error along ([`DetailedTask`]); questions are answered with `tasks/update`.
//!
//! ```
//! use bowline_types::tasks::{CreateTaskResult, Task, TaskStatus};
//! use bowline_types::{Revision, Wire};
//!
//! let now = "2026-01-01T00:00:00Z";
//! let handle = CreateTaskResult::new(Task::new("t1", TaskStatus::Working, now, now).ttl(60_000));
//! // The same handle in the words of either generation.
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
    /// Where a task stands.
    pub enum TaskStatus {
        /// It runs.
        Working = "working",
        /// It waits for answers of the requester.
        InputRequired = "input_required",
        /// It has a result.
        Completed = "completed",
        /// It has an error.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether it stays so.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired | Self::Other(_) => false,
        }
    }
}

wire_struct! {
    /// A task.
    pub struct Task [since(V2025_11_25)] {
        /// Its id.
        req task_id: String = "taskId";
        /// Where it stands.
        req status: TaskStatus = "status";
        /// More on that, for people.
        opt status_message: String = "statusMessage";
        /// When it was made, in ISO 8601.
        req created_at: String = "createdAt";
        /// When it last changed, in ISO 8601.
        req last_updated_at: String = "lastUpdatedAt";
        /// How long it is kept from its making on, in milliseconds; for ever when `None`.
        nul ttl: i64 = "ttl", renamed "ttlMs" since V2026_07_28;
        /// How long to wait between two looks at it, in milliseconds.
        hint poll_interval: i64 = "pollInterval", renamed "pollIntervalMs" since V2026_07_28;
    }
}

wire_struct! {
    /// A task with what its status brings along.
    ///
    /// Since 2026-07-28 a task that waits has questions, a completed one its result and a
    /// failed one its error. 2025-11-25 has the plain task in the same places.
    pub struct DetailedTask [since(V2025_11_25)] checked by DetailedTask::check, requiring REQUIRED_BY_STATUS {
        /// Its id.
        req task_id: String = "taskId";
        /// Where it stands.
        req status: TaskStatus = "status";
        /// More on that, for people.
        opt status_message: String = "statusMessage";
        /// When it was made, in ISO 8601.
        req created_at: String = "createdAt";
        /// When it last changed, in ISO 8601.
        req last_updated_at: String = "lastUpdatedAt";
        /// How long it is kept from its making on, in milliseconds; for ever when `None`.
        nul ttl: i64 = "ttl", renamed "ttlMs" since V2026_07_28;
        /// How long to wait between two looks at it, in milliseconds.
        hint poll_interval: i64 = "pollInterval", renamed "pollIntervalMs" since V2026_07_28;
        /// The questions that are open, by keys that are never used twice.
        opt input_requests: Map<InputRequest> = "inputRequests", in since(V2026_07_28);
        /// The result of the request.
        opt result: JsonObject = "result", in since(V2026_07_28);
        /// The error of the request.
        opt error: ErrorObject = "error", in since(V2026_07_28);
    }
}

impl DetailedTask {
    /// The task without what its status brings along.
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

/// What a status brings along, as the schema of the extension has it.
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
    /// Asks for a task. Only in 2025-11-25.
    pub struct TaskMetadata [only(V2025_11_25)] {
        /// How long to keep it, in milliseconds.
        opt ttl: i64 = "ttl";
    }
}

wire_struct! {
    /// The task that a message belongs to, in `_meta`
    /// ([`keys::RELATED_TASK`](crate::meta::keys::RELATED_TASK)). Only in 2025-11-25.
    pub struct RelatedTask [only(V2025_11_25)] {
        /// Its id.
        req task_id: String = "taskId";
    }
}

wire_struct! {
    /// The parameters of `tasks/get`, `tasks/result` and `tasks/cancel`.
    pub struct TaskParams [since(V2025_11_25)] {
        /// The id of the task.
        req task_id: String = "taskId";
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `tasks/update`: answers to questions of a task. With the
    /// extension of 2026-07-28.
    pub struct UpdateTaskParams [since(V2026_07_28)] {
        /// The id of the task.
        req task_id: String = "taskId";
        /// The answers, by the keys of the questions; not all need to be there.
        req input_responses: Map<InputResponse> = "inputResponses";
        /// Additional data.
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
