//! All tasks of a server, within limits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_proto::Payload;
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Method, Revision};

use super::TaskConfig;
use super::ended_tasks::{CLIENT_SHARE, EndedTasks, EvictionSignal};
use super::entry::{Owner, TaskEntry, TaskOutcome, params_bytes_of};
use crate::server::context::Context;
use crate::server::named_table::NamedTable;
use crate::server::round_state_seal::RoundSeal;
use crate::server::service::busy_error;
use crate::server::telemetry::result_not_encoded;

/// All tasks of a server.
#[derive(Debug)]
pub(in crate::server) struct TaskStore {
    config: TaskConfig,
    state: Mutex<StoreState>,
}

#[derive(Debug, Default)]
struct StoreState {
    /// All tasks that clients can access.
    tasks: NamedTable<TaskEntry>,
    /// Tasks whose handlers run, or are about to. A handler on a thread can't be stopped: one whose
    /// task is gone is listed here until it returns.
    running: Vec<Arc<TaskEntry>>,
    ended: EndedTasks,
    /// Set when the server ends: no task is created any more.
    is_closed: bool,
}

impl TaskStore {
    pub(in crate::server) fn new(config: TaskConfig) -> Self {
        Self {
            config,
            state: Mutex::default(),
        }
    }

    pub(in crate::server) fn has_list(&self) -> bool {
        self.config.has_list
    }

    /// Creates a task for a request. `ttl` is the time to live that the client requests, in
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// "Busy", when the limits on running tasks are reached.
    pub(in crate::server) fn create(
        &self,
        context: &Context,
        ttl: Option<i64>,
    ) -> Result<Arc<TaskEntry>, ErrorObject> {
        let id: Arc<str> = match RoundSeal::random_id() {
            Ok(id) => id.into(),
            Err(error) => {
                tracing::error!(%error, "no random bytes available for the id of a task");
                let message = "can't create a task now";
                return Err(ErrorObject::internal_error(message));
            }
        };
        let owner = Owner::of(context);
        let mut state = self.lock();
        state.prune();
        if state.is_closed || !self.has_room(&state, &owner, params_bytes_of(context)) {
            return Err(busy_error(TOO_MANY_TASKS));
        }
        let ttl = self.config.granted_ttl(ttl);
        let entry = TaskEntry::new(Arc::clone(&id), context.clone(), &self.config, ttl);
        state.tasks.insert(&id, entry);
        let entry = state
            .tasks
            .get(&id)
            .cloned()
            .ok_or_else(|| busy_error(TOO_MANY_TASKS))?;
        state.running.push(Arc::clone(&entry));
        Ok(entry)
    }

    /// Returns `true` if there is room for another running task of this client, whose parameters
    /// have so many bytes. The only task always fits: a frame has a limit of its own.
    fn has_room(&self, state: &StoreState, owner: &Owner, params_bytes: usize) -> bool {
        let (mut bytes, mut of_client, mut bytes_of_client) = (0, 0, 0);
        for entry in &state.running {
            bytes += entry.params_bytes();
            if entry.owner.is_same_client(owner) {
                of_client += 1;
                bytes_of_client += entry.params_bytes();
            }
        }
        let most = self.config.max_request_bytes;
        let fits = |held: usize, most: usize| held == 0 || held + params_bytes <= most;
        state.running.len() < self.config.max_tasks
            && of_client < self.config.max_per_client
            && fits(bytes, most)
            && fits(bytes_of_client, most / CLIENT_SHARE)
    }

    /// Makes a task of a request that is being served, where that is possible. Otherwise the
    /// request is served as a plain call.
    pub(in crate::server) fn create_late(&self, context: &Context) -> Option<Arc<TaskEntry>> {
        let entry = self.create(context, None).ok()?;
        if context.become_task(&entry) {
            Some(entry)
        } else {
            self.discard(&entry);
            None
        }
    }

    /// Removes a task that never starts, and so never ends.
    pub(in crate::server) fn discard(&self, entry: &Arc<TaskEntry>) {
        self.lock()
            .running
            .retain(|running| !Arc::ptr_eq(running, entry));
        self.remove(entry);
    }

    /// Returns the task of an id, unless it belongs to another client.
    pub(super) fn find(&self, id: &str, context: &Context) -> Option<Arc<TaskEntry>> {
        let entry = self.lock().tasks.get(id).cloned();
        entry.filter(|entry| entry.owner.may_be_seen_by(&Owner::of(context)))
    }

    /// Returns a page of the list, and the cursor of the next one. Tasks of other clients are not
    /// on it. `None` for an invalid cursor.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        context: &Context,
    ) -> Option<(Vec<Arc<TaskEntry>>, Option<String>)> {
        let who = Owner::of(context);
        let state = self.lock();
        let (page, next) = state.tasks.page(Method::ListTasks.as_str(), cursor, size)?;
        let page = page
            .into_iter()
            .filter(|entry| entry.owner.may_be_seen_by(&who));
        Some((page.cloned().collect(), next))
    }

    /// Ends a task whose handler is done, or was given up. The returned signal completes when the
    /// task is no longer kept.
    pub(super) fn finish(
        &self,
        entry: &Arc<TaskEntry>,
        revision: Revision,
        done: Option<Result<CallToolResult, ErrorObject>>,
    ) -> EvictionSignal {
        // A task that was cancelled before has no result: no other result is evicted for it.
        let (outcome, bytes) = if entry.is_ended() {
            (TaskOutcome::Cancelled, 0)
        } else {
            outcome_of(done, revision)
        };
        let (outcome, bytes, gone) = self.retain_ended(entry, outcome, bytes);
        let is_first = entry.end(outcome);
        let mut state = self.lock();
        // The task was cancelled just now, and has no result.
        if !is_first && bytes > 0 {
            state.ended.drop_result(entry);
        }
        state.prune();
        gone
    }

    /// Keeps a task that is about to end, in place of older ones if necessary.
    fn retain_ended(
        &self,
        entry: &Arc<TaskEntry>,
        outcome: TaskOutcome,
        bytes: usize,
    ) -> (TaskOutcome, usize, EvictionSignal) {
        let mut state = self.lock();
        let (outcome, bytes) = if state.ended.can_keep(&self.config, &entry.owner, bytes) {
            (outcome, bytes)
        } else {
            (
                failed_outcome("the result is too large to be kept with its task"),
                0,
            )
        };
        let (gone, oldest) = state.ended.keep(&self.config, entry, bytes);
        for entry in &oldest {
            state.tasks.remove(&entry.id);
        }
        drop(state);
        (outcome, bytes, gone)
    }

    /// Removes a task: its time to live is over, or its client never knew of it.
    pub(super) fn remove(&self, entry: &Arc<TaskEntry>) {
        let mut state = self.lock();
        state.tasks.remove(&entry.id);
        state.ended.remove(entry);
        state.prune();
    }

    /// Cancels all running tasks and creates no more, since the server ends.
    pub(in crate::server) fn cancel_all(&self) {
        let all = {
            let mut state = self.lock();
            state.is_closed = true;
            state.running.clone()
        };
        for entry in all {
            entry.end(TaskOutcome::Cancelled);
        }
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreState {
    /// Removes the tasks that don't run any more.
    fn prune(&mut self) {
        self.running.retain(|entry| entry.is_running());
    }
}

/// Returns the outcome of a task whose handler returned this, and the bytes of the outcome.
fn outcome_of(
    done: Option<Result<CallToolResult, ErrorObject>>,
    revision: Revision,
) -> (TaskOutcome, usize) {
    match done {
        None => (TaskOutcome::Cancelled, 0),
        Some(Err(error)) => {
            let data = error.data.as_ref().map_or(0, |data| data.as_str().len());
            let bytes = error.message.len() + data;
            (TaskOutcome::Failed(error), bytes)
        }
        Some(Ok(result)) => match Payload::encode(&result, revision) {
            Ok(encoded) => (
                TaskOutcome::Completed(Arc::new(result)),
                encoded.as_str().len(),
            ),
            Err(error) => {
                result_not_encoded(None, &error);
                (
                    failed_outcome("the result is not supported in this protocol revision"),
                    0,
                )
            }
        },
    }
}

fn failed_outcome(message: &str) -> TaskOutcome {
    TaskOutcome::Failed(ErrorObject::internal_error(message))
}

/// The error message when there is no room.
const TOO_MANY_TASKS: &str = "too many running tasks";
