//! All tasks of a server, within limits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_proto::Payload;
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Method, Revision};
use tokio::time::Instant;

use super::TaskConfig;
use super::entry::{Ending, Entry, Owner, weight_of};
use crate::server::context::Context;
use crate::server::seal::RoundSeal;
use crate::server::service::{INTERNAL_ERROR, busy};
use crate::server::table::Table;

/// All tasks of a server.
#[derive(Debug)]
pub(in crate::server) struct TaskStore {
    config: TaskConfig,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    tasks: Table<Entry>,
    count: usize,
    /// Tasks whose time is over and whose handlers are still there, on threads: they count
    /// until these return.
    outlived: Vec<Arc<Entry>>,
    /// Bytes of results.
    bytes: usize,
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
    /// "Busy", when there are as many as may be.
    pub(in crate::server) fn begin(
        &self,
        context: &Context,
        ttl: Option<i64>,
    ) -> Result<Arc<Entry>, ErrorObject> {
        let id: Arc<str> = match RoundSeal::nonce() {
            Ok(id) => id.into(),
            Err(error) => {
                tracing::error!(%error, "no randomness for the id of a task");
                let words = "no task can be begun now";
                return Err(ErrorObject::new(INTERNAL_ERROR, words));
            }
        };
        let owner = Owner::of(context);
        let mut kept = self.lock();
        kept.outlived.retain(|entry| entry.is_handled());
        if !self.has_room(&kept, &owner, weight_of(context)) {
            return Err(busy(WORDS));
        }
        let ttl = self.config.granted(ttl);
        let entry = Entry::new(
            Arc::clone(&id),
            context.clone(),
            ttl,
            self.config.poll_interval,
        );
        kept.tasks.insert(&id, entry);
        kept.count += 1;
        kept.tasks.get(&id).cloned().ok_or_else(|| busy(WORDS))
    }

    /// Whether there is room for another task of this client, whose call weighs so much. The
    /// only one always fits: a frame has a limit of its own.
    fn has_room(&self, kept: &Kept, owner: &Owner, weight: usize) -> bool {
        let (mut count, mut of_client) = (0, 0);
        let (mut bytes, mut bytes_of_client) = (0, 0);
        for entry in kept.tasks.iter().chain(&kept.outlived) {
            count += 1;
            bytes += entry.weight();
            if entry.owner.is(owner) {
                of_client += 1;
                bytes_of_client += entry.weight();
            }
        }
        let most = self.config.max_request_bytes;
        let fits = |held: usize, most: usize| held == 0 || held + weight <= most;
        count < self.config.max_tasks
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

    /// The task of an id, unless its time is over or it is another's.
    pub(super) fn find(&self, id: &str, context: &Context) -> Option<Arc<Entry>> {
        let entry = self.lock().tasks.get(id).cloned();
        let entry = entry.filter(|entry| entry.owner.lets(&Owner::of(context)));
        entry.filter(|entry| entry.expires > Instant::now())
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
        let (page, next) = kept.tasks.page(Method::ListTasks, cursor, size)?;
        let page = page.into_iter().filter(|entry| entry.owner.lets(&who));
        Some((page.cloned().collect(), next))
    }

    /// The handler of a task is done.
    pub(super) fn finish(
        &self,
        entry: &Entry,
        revision: Revision,
        done: Result<CallToolResult, ErrorObject>,
    ) {
        let size = match &done {
            Ok(result) => Payload::encode(result, revision).map(|said| said.as_str().len()),
            Err(error) => {
                Ok(error.message.len() + error.data.as_ref().map_or(0, |it| it.as_str().len()))
            }
        };
        let (ending, bytes) = match (done, size) {
            (_, Err(error)) => {
                tracing::error!(%error, "a result can't be said");
                let words = "the result can't be said in this revision";
                (Ending::Failed(ErrorObject::new(INTERNAL_ERROR, words)), 0)
            }
            (done, Ok(bytes)) => match self.take_room(bytes) {
                true => match done {
                    Ok(result) => (Ending::Done(Arc::new(result)), bytes),
                    Err(error) => (Ending::Failed(error), bytes),
                },
                false => {
                    let words = "the result is too large to be kept";
                    (Ending::Failed(ErrorObject::new(INTERNAL_ERROR, words)), 0)
                }
            },
        };
        if !entry.end(ending, bytes) {
            // It was cancelled before.
            self.give_back(bytes);
        }
    }

    /// Forgets a task whose time is over.
    pub(super) fn remove(&self, entry: &Arc<Entry>) {
        entry.end(Ending::Expired, 0);
        if self.take_back(entry) && entry.is_handled() {
            self.lock().outlived.push(Arc::clone(entry));
        }
    }

    /// Whether it was there.
    fn take_back(&self, entry: &Entry) -> bool {
        let mut kept = self.lock();
        if kept.tasks.remove(&entry.id).is_none() {
            return false;
        }
        kept.count -= 1;
        kept.bytes -= entry.bytes();
        true
    }

    /// Cancels all that run: the server ends.
    pub(in crate::server) fn cancel_all(&self) {
        let all: Vec<Arc<Entry>> = self.lock().tasks.iter().cloned().collect();
        for entry in all {
            entry.end(Ending::Cancelled, 0);
        }
    }

    fn take_room(&self, bytes: usize) -> bool {
        let mut kept = self.lock();
        let has_room = kept.bytes.saturating_add(bytes) <= self.config.max_result_bytes;
        if has_room {
            kept.bytes += bytes;
        }
        has_room
    }

    fn give_back(&self, bytes: usize) {
        self.lock().bytes -= bytes;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What part of the bytes of calls one client may have.
const SHARE: usize = 4;

/// What a client is told when there is no room.
const WORDS: &str = "too many tasks are kept";
