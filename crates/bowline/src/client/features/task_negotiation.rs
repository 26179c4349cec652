//! Asking a server of 2025-11-25 for a task: whether it is wanted, and whether it is offered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_proto::Agreement;
use bowline_types::Revision;
use bowline_types::tasks::TaskMetadata;
use bowline_types::tools::TaskSupport;

use crate::client::shared::Shared;

/// Whether a server of 2025-11-25 is asked for a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum TaskPreference {
    /// Where the tool is known to demand it.
    IfRequired,
    /// Where it can be.
    IfSupported,
    /// In any case, and kept for so long.
    Always(Option<Duration>),
}

/// Whether we have asked for a task.
pub(super) enum TaskRequested {
    Yes,
    No,
    /// As it was when the call was made last.
    WhenSent(Arc<AtomicBool>),
}

impl TaskRequested {
    pub(super) fn is_requested(&self) -> bool {
        match self {
            Self::Yes => true,
            Self::No => false,
            Self::WhenSent(requested) => requested.load(Ordering::Relaxed),
        }
    }
}

impl TaskPreference {
    /// The task that is asked for, if one is. Why none can be, where one must.
    pub(super) fn task_request(
        self,
        tool: &str,
        offer: &TaskOffer,
    ) -> Result<Option<TaskMetadata>, String> {
        let ttl = match self {
            Self::Always(ttl) => {
                offer.check(tool)?;
                ttl
            }
            Self::IfRequired | Self::IfSupported => None,
        };
        let requests_task = match (self, &offer.support) {
            // The server decides (TX-1), or nobody knows yet who it is.
            _ if offer
                .revision
                .is_none_or(|revision| revision >= Revision::V2026_07_28) =>
            {
                false
            }
            (Self::Always(_), _) => true,
            (_, _) if !offer.is_declared => false,
            (Self::IfSupported, support) => *support != Some(TaskSupport::Forbidden),
            (Self::IfRequired, support) => *support == Some(TaskSupport::Required),
        };
        Ok(requests_task.then(|| {
            let mut task = TaskMetadata::new();
            task.ttl = ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
            task
        }))
    }
}

/// What a server offers of tasks of a tool.
pub(super) struct TaskOffer {
    pub(super) revision: Option<Revision>,
    /// It runs calls of tools as tasks (TK-1).
    is_declared: bool,
    support: Option<TaskSupport>,
}

impl TaskOffer {
    pub(super) fn current(shared: &Shared, tool: &str) -> Self {
        let core = shared.lock();
        match &core.agreement {
            Some(agreement) => Self::new(agreement, || core.link.task_support(tool)),
            None => Self {
                revision: None,
                is_declared: false,
                support: None,
            },
        }
    }

    pub(super) fn new(
        agreement: &Agreement,
        support: impl FnOnce() -> Option<TaskSupport>,
    ) -> Self {
        let tasks = agreement.capabilities.tasks.as_ref();
        let requests = tasks.and_then(|tasks| tasks.requests.as_ref());
        let tools = requests.and_then(|requests| requests.tools.as_ref());
        let is_declared = tools.is_some_and(|tools| tools.call.is_some());
        Self {
            revision: Some(agreement.revision),
            is_declared,
            support: is_declared.then(support).flatten(),
        }
    }

    /// Whether a task may have to be asked for, and nobody knows if it can be.
    pub(super) fn is_unknown(&self) -> bool {
        self.revision == Some(Revision::V2025_11_25) && self.is_declared && self.support.is_none()
    }

    /// TK-1, TK-2: what is not offered is not asked for.
    fn check(&self, tool: &str) -> Result<(), String> {
        if self.revision != Some(Revision::V2025_11_25) {
            // Where there are no tasks it can't be said.
            return Ok(());
        }
        match (self.is_declared, &self.support) {
            (false, _) => Err("the server has not declared `tasks.requests.tools.call`".into()),
            (true, Some(TaskSupport::Forbidden)) => Err(format!(
                "tool {tool:?} does not support tasks (its taskSupport is \"forbidden\")"
            )),
            (true, _) => Ok(()),
        }
    }
}
