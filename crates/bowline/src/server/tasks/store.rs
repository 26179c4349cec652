//! All tasks of a server, within limits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_proto::Payload;
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Method, Revision};

use super::TaskConfig;
use super::ended_tasks::{EndedTasks, Gone, SHARE};
use super::entry::{Ending, Entry, Owner, weight_of};
use crate::server::context::Context;
use crate::server::named_table::Table;
use crate::server::round_state_seal::RoundSeal;
use crate::server::service::busy;
use crate::server::telemetry::result_not_encoded;

/// All tasks of a server.
#[derive(Debug)]
pub(in crate::server) struct TaskStore {
    config: TaskConfig,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// All that can be looked at.
    tasks: Table<Entry>,
    /// Those whose handlers are there, or are to be. A handler on a thread can't be stopped: one
    /// whose task is gone is here until it returns.
    running: Vec<Arc<Entry>>,
    ended: EndedTasks,
    /// The server ends, and nothing is begun.
    is_over: bool,
}

impl TaskStore {
    pub(in crate::server) fn new(config: TaskConfig) -> Self {
        Self {
            config,
            kept: Mutex::default(),
        }
    }

    pub(in crate::server) fn is_listed(&self) -> bool {
        self.config.is_listed
    }

    /// Keeps a new task for a request. `ttl` is what the client wants, in milliseconds.
    ///
    /// # Errors
    ///
    /// "Busy", when as many run as may.
    pub(in crate::server) fn begin(
        &self,
        context: &Context,
        ttl: Option<i64>,
    ) -> Result<Arc<Entry>, ErrorObject> {
        let id: Arc<str> = match RoundSeal::nonce() {
            Ok(id) => id.into(),
            Err(error) => {
                tracing::error!(%error, "no random bytes for the id of a task");
                let words = "no task can be begun now";
                return Err(ErrorObject::internal_error(words));
            }
        };
        let owner = Owner::of(context);
        let mut kept = self.lock();
        kept.prune();
        if kept.is_over || !self.has_room(&kept, &owner, weight_of(context)) {
            return Err(busy(WORDS));
        }
        let ttl = self.config.granted(ttl);
        let entry = Entry::new(Arc::clone(&id), context.clone(), &self.config, ttl);
        kept.tasks.insert(&id, entry);
        let entry = kept.tasks.get(&id).cloned().ok_or_else(|| busy(WORDS))?;
        kept.running.push(Arc::clone(&entry));
        Ok(entry)
    }

    /// Whether there is room for another task of this client to run, whose call weighs so much. The
    /// only one always fits: a frame has a limit of its own.
    fn has_room(&self, kept: &Kept, owner: &Owner, weight: usize) -> bool {
        let (mut bytes, mut of_client, mut bytes_of_client) = (0, 0, 0);
        for entry in &kept.running {
            bytes += entry.weight();
            if entry.owner.is(owner) {
                of_client += 1;
                bytes_of_client += entry.weight();
            }
        }
        let most = self.config.max_request_bytes;
        let fits = |held: usize, most: usize| held == 0 || held + weight <= most;
        kept.running.len() < self.config.max_tasks
            && of_client < self.config.max_per_client
            && fits(bytes, most)
            && fits(bytes_of_client, most / SHARE)
    }

    /// Makes a task of a request that is being served, where that can be. Where it can't, it is
    /// served as it was begun.
    pub(in crate::server) fn begin_late(&self, context: &Context) -> Option<Arc<Entry>> {
        let entry = self.begin(context, None).ok()?;
        match context.become_task(&entry) {
            true => Some(entry),
            false => {
                self.take_back(&entry);
                None
            }
        }
    }

    /// Forgets a task that is none: it never begins, and so never ends.
    pub(in crate::server) fn take_back(&self, entry: &Arc<Entry>) {
        self.lock().running.retain(|it| !Arc::ptr_eq(it, entry));
        self.remove(entry);
    }

    /// The task of an id, unless it is another's.
    pub(super) fn find(&self, id: &str, context: &Context) -> Option<Arc<Entry>> {
        let entry = self.lock().tasks.get(id).cloned();
        entry.filter(|entry| entry.owner.lets(&Owner::of(context)))
    }

    /// A page of the list, and where the next one begins. Those of others are not on it. `None`
    /// for a cursor that is none of ours.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        context: &Context,
    ) -> Option<(Vec<Arc<Entry>>, Option<String>)> {
        let who = Owner::of(context);
        let kept = self.lock();
        let (page, next) = kept.tasks.page(Method::ListTasks.as_str(), cursor, size)?;
        let page = page.into_iter().filter(|entry| entry.owner.lets(&who));
        Some((page.cloned().collect(), next))
    }

    /// The handler of a task is done, or was given up. What is returned ends when the task is no
    /// longer kept.
    pub(super) fn finish(
        &self,
        entry: &Arc<Entry>,
        revision: Revision,
        done: Option<Result<CallToolResult, ErrorObject>>,
    ) -> Gone {
        let (ending, bytes) = match entry.is_ended() {
            // It was cancelled before: nothing of another one goes for what is not kept.
            true => (Ending::Cancelled, 0),
            false => ending(done, revision),
        };
        let (ending, bytes, gone) = self.keep(entry, ending, bytes);
        let is_first = entry.end(ending);
        let mut kept = self.lock();
        // It was cancelled just now, and has no result.
        if !is_first && bytes > 0 {
            kept.ended.lighten(entry);
        }
        kept.prune();
        gone
    }

    /// Keeps one that is about to end, in place of older ones if it has to be.
    fn keep(&self, entry: &Arc<Entry>, ending: Ending, bytes: usize) -> (Ending, usize, Gone) {
        let mut kept = self.lock();
        let (ending, bytes) = match kept.ended.can_keep(&self.config, &entry.owner, bytes) {
            true => (ending, bytes),
            false => (failed("the result is too large to be kept"), 0),
        };
        let (gone, oldest) = kept.ended.keep(&self.config, entry, bytes);
        for entry in &oldest {
            kept.tasks.remove(&entry.id);
        }
        drop(kept);
        (ending, bytes, gone)
    }

    /// Forgets a task: its time is over, or nobody has learnt of it.
    pub(super) fn remove(&self, entry: &Arc<Entry>) {
        let mut kept = self.lock();
        kept.tasks.remove(&entry.id);
        kept.ended.remove(entry);
        kept.prune();
    }

    /// Cancels all that run, and begins no more: the server ends.
    pub(in crate::server) fn cancel_all(&self) {
        let all = {
            let mut kept = self.lock();
            kept.is_over = true;
            kept.running.clone()
        };
        for entry in all {
            entry.end(Ending::Cancelled);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Lets go of those that run no more.
    fn prune(&mut self) {
        self.running.retain(|entry| entry.is_running());
    }
}

/// How a task ends whose handler returned this, and the bytes of its outcome.
fn ending(
    done: Option<Result<CallToolResult, ErrorObject>>,
    revision: Revision,
) -> (Ending, usize) {
    match done {
        None => (Ending::Cancelled, 0),
        Some(Err(error)) => {
            let data = error.data.as_ref().map_or(0, |data| data.as_str().len());
            let bytes = error.message.len() + data;
            (Ending::Failed(error), bytes)
        }
        Some(Ok(result)) => match Payload::encode(&result, revision) {
            Ok(said) => (Ending::Done(Arc::new(result)), said.as_str().len()),
            Err(error) => {
                result_not_encoded(None, &error);
                (failed("the result can't be said in this revision"), 0)
            }
        },
    }
}

fn failed(words: &str) -> Ending {
    Ending::Failed(ErrorObject::internal_error(words))
}

/// What a client is told when there is no room.
const WORDS: &str = "too many tasks run";
