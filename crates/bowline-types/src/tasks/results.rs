//! Results and notifications that contain a task.

use super::{DetailedTask, Task};
use crate::json::{DecodeError, Encoder, NotInRevision, Problem, Reader, Reason, shortened};
use crate::meta::{NotificationMeta, ResultMeta};
use crate::result::{EmptyResult, TASK, result_type};
use crate::revision::{Revision, Revisions};
use crate::wire::{Decode, Encode, EncodeMembers, Member, Shape, Struct, Wire};

/// Declares a type with the members of a task, `_meta`, and optionally a `resultType`.
macro_rules! task_with_meta {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident [$revisions:expr] { $task:ident, $meta:ident $(, $result:literal)? }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            /// The task.
            pub task: $task,
            /// Additional metadata.
            pub meta: Option<$meta>,
        }

        impl $name {
            const REVISIONS: Revisions = revisions!($revisions);

            /// Creates a value from the members that all revisions require.
            pub fn new(task: impl Into<$task>) -> Self {
                Self {
                    task: task.into(),
                    meta: None,
                }
            }

            /// Sets `meta`.
            #[must_use]
            pub fn meta(mut self, value: impl Into<$meta>) -> Self {
                self.meta = Some(value.into());
                self
            }
        }

        impl Decode for $name {
            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                $(
                    if let Some(found) = result_type(reader, &[TASK])?
                        && found != $result
                    {
                        return Err(wrong_result_type(reader, $result, &found));
                    }
                )?
                let meta = read_meta(reader)?;
                Ok(Self {
                    task: Decode::decode(reader)?,
                    meta,
                })
            }
        }

        impl EncodeMembers for $name {
            fn encode_members(
                &self,
                encoder: &mut Encoder<'_>,
                with_meta: bool,
            ) -> Result<(), NotInRevision> {
                encoder.require_revision(stringify!($name), Self::REVISIONS)?;
                $(
                    encoder.write_literal(
                        Revisions::since(Revision::V2026_07_28),
                        concat!("\"resultType\":\"", $result, "\""),
                        $result == "complete",
                    );
                )?
                self.task.encode_members(encoder, with_meta)?;
                match &self.meta {
                    Some(meta) if with_meta => encoder.member("_meta", meta),
                    Some(_) | None => Ok(()),
                }
            }
        }

        impl Encode for $name {
            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
                encoder.begin_object();
                self.encode_members(encoder, true)?;
                encoder.end_object();
                Ok(())
            }
        }

        crate::wire::serde_through_json!($name);
    };
}

task_with_meta! {
    /// The result of `tasks/get`.
    pub struct GetTaskResult [since(V2025_11_25)] { DetailedTask, ResultMeta, "complete" }
}

task_with_meta! {
    /// The parameters of `notifications/tasks/status` (2025-11-25) and
    /// `notifications/tasks` (the extension of 2026-07-28).
    pub struct TaskStatusParams [since(V2025_11_25)] { DetailedTask, NotificationMeta }
}

wire_struct! {
    /// The result of `tasks/list`. Only in 2025-11-25.
    pub struct ListTasksResult [only(V2025_11_25)] {
        /// The tasks of the page.
        req tasks: Vec<Task> = "tasks";
        /// The cursor of the next page; absent on the last page.
        opt next_cursor: String = "nextCursor";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

/// The result of `tasks/cancel`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CancelTaskResult {
    /// The cancelled task. Required in 2025-11-25; the extension of 2026-07-28 only acknowledges.
    pub task: Option<Task>,
    /// Additional metadata.
    pub meta: Option<ResultMeta>,
}

impl CancelTaskResult {
    /// Creates an acknowledgement without a task.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `task`.
    #[must_use]
    pub fn task(mut self, value: impl Into<Task>) -> Self {
        self.task = Some(value.into());
        self
    }

    /// Sets `meta`.
    #[must_use]
    pub fn meta(mut self, value: impl Into<ResultMeta>) -> Self {
        self.meta = Some(value.into());
        self
    }
}

impl Decode for CancelTaskResult {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let meta = read_meta(reader)?;
        if result_type(reader, &[])?.is_none() && reader.peek_member("taskId")?.is_some() {
            let task = Some(Decode::decode(reader)?);
            return Ok(Self { task, meta });
        }
        EmptyResult::decode(reader)?;
        Ok(Self { task: None, meta })
    }
}

impl Encode for CancelTaskResult {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.require_revision("CancelTaskResult", BOTH)?;
        encoder.begin_object();
        match (&self.task, encoder.revision()) {
            (_, Some(Revision::V2026_07_28)) => encoder.member("resultType", "complete")?,
            (Some(task), _) => task.encode_members(encoder, true)?,
            (None, None) => {}
            (None, Some(_)) => return Err(encoder.not_in_revision(Reason::Missing("taskId"))),
        }
        if let Some(meta) = &self.meta {
            encoder.member("_meta", meta)?;
        }
        encoder.end_object();
        Ok(())
    }
}

crate::wire::serde_through_json!(CancelTaskResult);

/// A task handle in place of a result.
///
/// In 2025-11-25 the task is a member of its own. In the extension of 2026-07-28 its members are
/// members of the result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// Additional metadata.
    pub meta: Option<ResultMeta>,
}

impl CreateTaskResult {
    /// Creates a handle of `task`.
    pub fn new(task: Task) -> Self {
        Self { task, meta: None }
    }

    /// Sets `meta`.
    #[must_use]
    pub fn meta(mut self, value: impl Into<ResultMeta>) -> Self {
        self.meta = Some(value.into());
        self
    }
}

impl Decode for CreateTaskResult {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let meta = read_meta(reader)?;
        let Some(found) = result_type(reader, &[TASK])? else {
            let Some(task) = reader.peek_member("task")? else {
                return Err(reader.problem(Problem::Missing("task")));
            };
            let task = Task::decode(&mut task.reader()).map_err(|error| error.under_key("task"))?;
            reader.raw()?;
            return Ok(Self { task, meta });
        };
        if found != TASK {
            return Err(wrong_result_type(reader, TASK, &found));
        }
        Ok(Self {
            task: Decode::decode(reader)?,
            meta,
        })
    }
}

impl Encode for CreateTaskResult {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.begin_object();
        if encoder.has_revision_in(Revisions::since(Revision::V2026_07_28)) {
            encoder.member("resultType", TASK)?;
            self.task.encode_members(encoder, true)?;
        } else {
            encoder.member("task", &self.task)?;
        }
        if let Some(meta) = &self.meta {
            encoder.member("_meta", meta)?;
        }
        encoder.end_object();
        Ok(())
    }
}

const OLD: Revisions = Revisions::only(Revision::V2025_11_25);
const NEW: Revisions = Revisions::since(Revision::V2026_07_28);
const BOTH: Revisions = OLD.union(NEW);

/// Implements the shape of a type whose members include those of a task in the revisions `$flat`.
macro_rules! task_shape {
    ($name:ident: $task:ident in $flat:expr, $meta:ident $(, $also:expr)*) => {
        impl Wire for $name {
            const SHAPE: &'static Shape = &Shape::Struct(
                &Struct::new(
                    stringify!($name),
                    BOTH,
                    &[
                        $($also,)*
                        Member::new("_meta", $meta::SHAPE, BOTH, Revisions::NONE),
                    ],
                    false,
                )
                .with_included(&[($task::SHAPE.as_struct(), $flat)]),
            );
        }
    };
}

task_shape!(GetTaskResult: DetailedTask in BOTH, ResultMeta,
    Member::new("resultType", &Shape::Literal("complete"), NEW, NEW));
task_shape!(CancelTaskResult: Task in OLD, ResultMeta,
    Member::new("resultType", &Shape::Literal("complete"), NEW, NEW));
task_shape!(TaskStatusParams: DetailedTask in BOTH, NotificationMeta);
task_shape!(CreateTaskResult: Task in NEW, ResultMeta,
    Member::new("resultType", &Shape::Literal("task"), NEW, NEW),
    Member::new("task", Task::SHAPE, OLD, OLD));

crate::wire::serde_through_json!(CreateTaskResult);

fn read_meta<T: Decode>(reader: &Reader<'_>) -> Result<Option<T>, DecodeError> {
    let Some(meta) = reader.peek_member("_meta")? else {
        return Ok(None);
    };
    let mut meta = meta.reader();
    if meta.null()? {
        return Ok(None);
    }
    T::decode(&mut meta)
        .map(Some)
        .map_err(|error| error.under_key("_meta"))
}

fn wrong_result_type(reader: &Reader<'_>, expected: &'static str, found: &str) -> DecodeError {
    let found = shortened(found);
    reader
        .problem(Problem::Unexpected { expected, found })
        .under_key("resultType")
}
