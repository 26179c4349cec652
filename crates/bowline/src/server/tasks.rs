//! Tasks: tool calls that go on after their response.
//!
//! A call becomes a task where its tool [allows](super::ToolDef::task_support) it: in 2025-11-25
//! when the client asks for one, with the extension `io.modelcontextprotocol/tasks` of 2026-07-28
//! when the server decides. The handler is the same in both cases and doesn't notice: its questions
//! to the client are sent through the task. A task belongs to no connection, but to its
//! [principal](super::Principal) where there is one. Without a principal every client that knows
//! the id, which can't be guessed, has access to it.
//!
//! Files: `entry` is one task and the only place where its status changes, `store` holds all tasks
//! within limits, `ended_tasks` decides which ended tasks are kept, `task_mode` decides which calls
//! become tasks, `task_handler` runs a handler to the end of its task, `task_input` lets it ask the
//! client, `task_methods` serves `tasks/*` requests, `timestamp` formats ISO 8601.

mod ended_tasks;
mod entry;
mod store;
mod task_handler;
mod task_input;
mod task_methods;
mod task_mode;
mod timestamp;

use std::time::Duration;

pub(super) use entry::TaskEntry;
pub(super) use store::TaskStore;
pub(super) use task_handler::run_task;
pub(super) use task_methods::create_task_result;
pub(super) use task_mode::{TaskMode, TaskRule, declares_extension, missing_extension};

/// Limits and times of a server's tasks: see [`Server::tasks`](super::Server::tasks).
///
/// ```
/// use std::time::Duration;
/// use bowline::server::{Server, TaskConfig};
///
/// let server = Server::new("renderer", "1.0.0")
///     .tasks(TaskConfig::new().max_tasks(50).max_ttl(Duration::from_secs(600)));
/// ```
#[derive(Clone, Debug)]
pub struct TaskConfig {
    max_tasks: usize,
    max_per_client: usize,
    max_request_bytes: usize,
    max_ended: usize,
    max_ended_per_client: usize,
    max_result_bytes: usize,
    ttl: Duration,
    max_ttl: Duration,
    poll_interval: Duration,
    has_list: bool,
}

impl TaskConfig {
    /// Creates a configuration with the defaults.
    pub fn new() -> Self {
        Self {
            max_tasks: 1000,
            max_per_client: 100,
            max_request_bytes: 64 * 1024 * 1024,
            max_ended: 1000,
            max_ended_per_client: 100,
            max_result_bytes: 64 * 1024 * 1024,
            ttl: Duration::from_secs(60 * 60),
            max_ttl: Duration::from_secs(24 * 60 * 60),
            poll_interval: Duration::from_millis(500),
            has_list: false,
        }
    }

    /// Sets the most tasks that run at a time, of all clients. Default 1000. A task that has ended
    /// doesn't count any more, once its handler is gone. Beyond the limit a call that has to become
    /// a task gets the error "busy"; one that may become a task is served as a plain call.
    pub fn max_tasks(&mut self, tasks: usize) -> &mut Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the most running tasks of one [principal](super::Principal), or of one connection
    /// without a principal. Default 100, so that one client can't lock out the others.
    pub fn max_per_client(&mut self, tasks: usize) -> &mut Self {
        self.max_per_client = tasks;
        self
    }

    /// Sets the most bytes of the parameters of calls that run as tasks. Default 64 MiB, of which
    /// one client may have a quarter. Memory that a handler allocates is not counted. Beyond the
    /// limit calls are treated as beyond [`max_tasks`](Self::max_tasks); the only task of a client
    /// always fits.
    pub fn max_request_bytes(&mut self, bytes: usize) -> &mut Self {
        self.max_request_bytes = bytes;
        self
    }

    /// Sets the most tasks that are kept after their end until their [time to live](Self::ttl) is
    /// over, of all clients. Default 1000: each costs 1 to 4 KiB beside its result, and results
    /// have a [limit](Self::max_result_bytes) of their own. Beyond the limit the task that ended
    /// first is forgotten. One is always kept.
    pub fn max_ended(&mut self, tasks: usize) -> &mut Self {
        self.max_ended = tasks;
        self
    }

    /// Sets the most ended tasks that are kept for one [principal](super::Principal), or for one
    /// connection without a principal. Default 100, which is how many it may have running: all of
    /// them may end together. Beyond the limit the client's own task that ended first is forgotten.
    /// One is always kept.
    pub fn max_ended_per_client(&mut self, tasks: usize) -> &mut Self {
        self.max_ended_per_client = tasks;
        self
    }

    /// Sets the most bytes of results that are kept at a time. Default 64 MiB, of which one client
    /// may have a quarter. Where a result doesn't fit, the results that ended first are dropped,
    /// those of the same client before those of others. A result larger than the quarter is kept if
    /// there is room for it beside the others' results; a task whose result can't be kept fails.
    pub fn max_result_bytes(&mut self, bytes: usize) -> &mut Self {
        self.max_result_bytes = bytes;
        self
    }

    /// Sets how long a task is kept from its creation on, where the client doesn't request a time
    /// to live. Default 1 h. It ends no handler: a task that takes longer goes on, and its outcome
    /// is kept for a minute at least. Only a task that has waited for input of its client for so
    /// long fails, since a client that is gone would keep its place for ever.
    pub fn ttl(&mut self, ttl: Duration) -> &mut Self {
        self.ttl = ttl;
        self
    }

    /// Sets the longest time to live that a client may request. Default 24 h.
    pub fn max_ttl(&mut self, ttl: Duration) -> &mut Self {
        self.max_ttl = ttl;
        self
    }

    /// Sets the polling interval that is suggested to clients. Default 500 ms.
    pub fn poll_interval(&mut self, interval: Duration) -> &mut Self {
        self.poll_interval = interval;
        self
    }

    /// Sets whether `tasks/list` is served in 2025-11-25. A [principal](super::Principal) sees its own tasks.
    /// Clients without one see all tasks of clients without one, can fetch their results and
    /// cancel them: that is for a server with one client, or with clients that trust each other
    /// (2025-11-25, tasks, security: not where callers can't be distinguished). Default: `false`.
    pub fn enable_list(&mut self, is_enabled: bool) -> &mut Self {
        self.has_list = is_enabled;
        self
    }

    /// Returns the time to live that is granted for a requested one, in milliseconds.
    fn granted_ttl(&self, asked: Option<i64>) -> Duration {
        match asked {
            None => self.ttl.min(self.max_ttl),
            Some(millis) => {
                let asked = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
                asked.max(MIN_TTL).min(self.max_ttl)
            }
        }
    }
}

/// Clones it, so that what its methods return can be given to
/// [`Server::tasks`](super::Server::tasks).
impl From<&mut Self> for TaskConfig {
    fn from(config: &mut Self) -> Self {
        config.clone()
    }
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// The shortest time to live: a task that is gone before a client can poll it is useless.
const MIN_TTL: Duration = Duration::from_secs(1);
