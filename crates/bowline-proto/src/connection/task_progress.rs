//! Calls that have ended and still report progress: those that have become tasks.
//!
//! Spec, basic/utilities/tasks, 2025-11-25: the progress token of a request that has become a
//! task stays valid until the task ends. A connection can't see that end, so the code that waits
//! for the task calls [`Connection::forget_progress`]; beyond the limit the oldest is forgotten.

use std::collections::BTreeSet;

use bowline_types::{RawJsonRef, RequestId, Revision, Wire};

use super::Connection;
use crate::calls::{Call, CallId};
use crate::endpoint::{Purpose, Tag};

#[derive(Debug)]
pub(super) struct TaskProgress {
    calls: BTreeSet<CallId>,
    most: usize,
}

impl TaskProgress {
    pub(super) fn new(most: usize) -> Self {
        Self {
            calls: BTreeSet::new(),
            most,
        }
    }

    fn insert(&mut self, call: CallId) {
        self.calls.insert(call);
        if self.calls.len() > self.most {
            self.calls.pop_first();
        }
    }
}

impl Connection {
    /// Returns `true` if a call has ended and still reports progress, since it has become a task.
    pub fn is_reporting(&self, call: CallId) -> bool {
        self.task_progress.calls.contains(&call)
    }

    /// Stops reporting the progress of a task.
    pub fn forget_progress(&mut self, call: CallId) {
        self.task_progress.calls.remove(&call);
    }

    /// Keeps the progress token of a call that has become a task.
    pub(super) fn track_task(&mut self, call: CallId, waiting: &Call<Tag>, result: RawJsonRef<'_>) {
        let is_asked = waiting.tag.wants_progress && waiting.tag.purpose == Purpose::User;
        if is_asked
            && self.revision() == Some(Revision::V2025_11_25)
            && let Ok(Some(_)) = result.reader().peek_member("task")
        {
            self.task_progress.insert(call);
        }
    }

    /// Returns the call of a progress token that has become a task.
    pub(super) fn task_call(&self, params: RawJsonRef<'_>) -> Option<CallId> {
        if self.task_progress.calls.is_empty() {
            return None;
        }
        let token = params.reader().peek_member("progressToken").ok()??;
        let token = RequestId::from_json(token.as_str()).ok()?;
        CallId::named(&token).filter(|call| self.is_reporting(*call))
    }
}
