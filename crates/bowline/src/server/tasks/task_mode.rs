//! Which calls become tasks, and when.

use std::time::Duration;

use bowline_proto::server::Refusal;
use bowline_types::capabilities::ClientCapabilities;
use bowline_types::tasks::{EXTENSION, TaskMetadata};
use bowline_types::{ErrorObject, RequestId, Revision, Wire as _};

use crate::server::context::Context;

/// The task support of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::server) struct TaskRule {
    /// `true` if every call is a task.
    pub(in crate::server) is_required: bool,
    /// With the extension, a call becomes a task after so long.
    pub(in crate::server) after: Option<Duration>,
}

/// How a call is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum TaskMode {
    /// The response is sent when the handler is done.
    Plain,
    /// The call becomes a task when the handler takes longer.
    TaskAfter(Duration),
    /// The call is a task from the beginning on, with the time to live that the client requests, in
    /// milliseconds.
    Task(Option<i64>),
}

impl TaskMode {
    /// Selects how a call of a tool with this rule is served. `asked` is the member `task` of its
    /// parameters; `offers_tasks` is whether the server has a tool that runs as a task.
    ///
    /// # Errors
    ///
    /// When the tool requires a task and the client doesn't support it, or the other way round.
    pub(in crate::server) fn select(
        rule: Option<TaskRule>,
        asked: Option<&str>,
        offers_tasks: impl FnOnce() -> bool,
        context: &Context,
    ) -> Result<Self, ErrorObject> {
        let unsupported = |message: &str| ErrorObject::method_not_found(message);
        match (context.revision(), rule, asked) {
            // TX-1: clients don't ask for tasks there.
            (revision, rule, _) if revision >= Revision::V2026_07_28 => {
                Self::select_for_extension(rule, context)
            }
            (Revision::V2025_11_25, Some(_), Some(asked)) => {
                let asked = TaskMetadata::from_json(asked).map_err(|error| {
                    let error = error.under_key("task").under_key("params");
                    ErrorObject::invalid_params(error.to_string())
                })?;
                Ok(Self::Task(asked.ttl))
            }
            // TK-3.
            (Revision::V2025_11_25, Some(rule), None) if rule.is_required => Err(unsupported(
                "this tool must be called as a task: send params.task",
            )),
            // TK-4: without a declaration `task` is ignored.
            (Revision::V2025_11_25, None, Some(_)) if offers_tasks() => Err(unsupported(
                "this tool doesn't support tasks: omit params.task",
            )),
            // Also in revisions without tasks, for tools that are always a task.
            (_, _, _) => Ok(Self::Plain),
        }
    }

    fn select_for_extension(
        rule: Option<TaskRule>,
        context: &Context,
    ) -> Result<Self, ErrorObject> {
        let Some(rule) = rule else {
            return Ok(Self::Plain);
        };
        let can_take = declares_extension(context);
        match (rule.is_required, can_take, rule.after) {
            (true, true, _) => Ok(Self::Task(None)),
            // TX-3.
            (true, false, _) => Err(missing_extension()),
            (false, true, Some(after)) => Ok(Self::TaskAfter(after)),
            (false, _, _) => Ok(Self::Plain),
        }
    }
}

/// Returns `true` if the client has declared the extension with this very request.
pub(in crate::server) fn declares_extension(context: &Context) -> bool {
    context.client_capabilities().has_extension(EXTENSION)
}

/// Returns the error for a client that has not declared it (TX-3, TX-13, TX-15).
pub(in crate::server) fn missing_extension() -> ErrorObject {
    let mut needed = ClientCapabilities::new();
    needed.add_extension(EXTENSION);
    // The caller replaces the id.
    let mut refusal = Refusal::missing_capability(&RequestId::from(0), needed);
    refusal.error.message = format!("the client doesn't declare the extension {EXTENSION}");
    refusal.error
}
