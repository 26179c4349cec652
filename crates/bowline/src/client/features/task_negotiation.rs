//! Negotiates whether a call to a server of 2025-11-25 runs as a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_proto::Agreement;
use bowline_types::Revision;
use bowline_types::tasks::TaskMetadata;
use bowline_types::tools::TaskSupport;

use crate::client::shared::Shared;

/// When a server of 2025-11-25 is asked for a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum TaskPreference {
    /// Where the tool is known to require it.
    IfRequired,
    /// Where it can be.
    IfSupported,
    /// In any case, and kept for so long.
    Always(Option<Duration>),
}

/// The request of a task: made, not made, or decided when the call was sent last.
pub(super) enum TaskRequested {
    Yes,
    No,
    /// As decided when the call was sent last.
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
    /// Returns the task to request, if any, or why none can be where one must.
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
            // The server decides (TX-1), or the revision is not known yet.
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

/// The task support that a server offers for a tool.
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

    /// Returns `true` if a task may have to be requested, and the task support of the tool is
    /// unknown.
    pub(super) fn is_unknown(&self) -> bool {
        self.revision == Some(Revision::V2025_11_25) && self.is_declared && self.support.is_none()
    }

    /// Refuses a task that the server doesn't offer (TK-1, TK-2).
    fn check(&self, tool: &str) -> Result<(), String> {
        if self.revision != Some(Revision::V2025_11_25) {
            // Other revisions have no such declaration.
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
