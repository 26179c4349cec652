//! One task, and the only place where its status changes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bowline_proto::Payload;
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::tasks::{DetailedTask, Task, TaskStatus};
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, JsonObject, Map, Revision};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::{TaskConfig, timestamp};
use crate::server::context::{Context, HoldStatus};
use crate::server::session::SessionShared;

/// The most characters of a status message that are kept.
const MAX_MESSAGE_CHARS: usize = 1000;

/// How long a task is kept after its end, at least.
const MIN_RETENTION: Duration = Duration::from_secs(60);

/// A task.
pub(in crate::server) struct TaskEntry {
    pub(super) id: Arc<str>,
    pub(super) owner: Owner,
    /// Bytes of the parameters of its call.
    params_bytes: usize,
    /// Observes whether the handler still runs: one on a thread can't be stopped, and may outlive
    /// the task.
    handler: HoldStatus,
    expires: Instant,
    ttl: Duration,
    /// How long it waits for one answer of its client.
    input_timeout: Duration,
    poll_interval: Duration,
    created: String,
    state: Mutex<State>,
    changed: Notify,
}

/// The owner of a task.
pub(super) enum Owner {
    /// Only this principal may access it (TK-14, TX-20).
    Principal(String),
    /// The client has no principal: every such client that knows the id may access the task. This
    /// is the session in which it was created.
    Session(Weak<SessionShared>),
}

impl Owner {
    pub(super) fn of(context: &Context) -> Self {
        match context.principal() {
            Some(principal) => Self::Principal(principal.id().to_owned()),
            None => Self::Session(Arc::downgrade(&context.inner().session)),
        }
    }

    /// Returns `true` if both are the same client.
    pub(super) fn is_same_client(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Principal(one), Self::Principal(other)) => one == other,
            (Self::Session(one), Self::Session(other)) => Weak::ptr_eq(one, other),
            (Self::Principal(_), Self::Session(_)) | (Self::Session(_), Self::Principal(_)) => {
                false
            }
        }
    }

    /// Returns `true` if `other` may access tasks of this owner.
    pub(super) fn may_be_seen_by(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(_), Self::Session(_)) => true,
            (_, _) => self.is_same_client(other),
        }
    }
}

pub(super) struct State {
    phase: Phase,
    updated: String,
    message: Option<String>,
    /// Questions of the handler: see `task_input`.
    pub(super) questions: Vec<Question>,
    /// Numbers the keys of questions, which are used once (TX-11).
    pub(super) question_count: u64,
    /// Requests that wait for the result, in the order of arrival.
    pub(super) result_waiters: Vec<(u64, Context)>,
    pub(super) waiter_count: u64,
}

/// A question of the handler.
pub(super) struct Question {
    pub(super) key: String,
    pub(super) question: InputRequest,
    pub(super) answer: Option<InputResponse>,
}

enum Phase {
    /// The response to its call, which makes the client know of it, was not sent yet.
    Created(Context),
    Running(Context),
    Ended(TaskOutcome),
}

/// Returns the bytes of the parameters of a call.
pub(super) fn params_bytes_of(context: &Context) -> usize {
    let params = context.params();
    params.map_or(0, |params| params.into_bytes().len())
}

/// Returns the time so much later, or a century later where that overflows.
fn after_or_never(now: Instant, time: Duration) -> Instant {
    let never = || now + Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now.checked_add(time).unwrap_or_else(never)
}

/// The outcome of a task.
#[derive(Clone, Debug)]
pub(super) enum TaskOutcome {
    Completed(Arc<CallToolResult>),
    Failed(ErrorObject),
    Cancelled,
}

impl TaskEntry {
    pub(super) fn new(id: Arc<str>, context: Context, config: &TaskConfig, ttl: Duration) -> Self {
        let created = timestamp::now();
        Self {
            id,
            owner: Owner::of(&context),
            params_bytes: params_bytes_of(&context),
            handler: context.hold_status(),
            expires: after_or_never(Instant::now(), ttl),
            ttl,
            input_timeout: ttl.max(config.ttl),
            poll_interval: config.poll_interval,
            state: Mutex::new(State {
                phase: Phase::Created(context),
                updated: created.clone(),
                message: None,
                questions: Vec::new(),
                question_count: 0,
                result_waiters: Vec::new(),
                waiter_count: 0,
            }),
            created,
            changed: Notify::new(),
        }
    }

    pub(in crate::server) fn id(&self) -> &str {
        &self.id
    }

    /// Returns `true` if its handler still runs.
    pub(super) fn has_handler(&self) -> bool {
        self.handler.is_held()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.lock().outcome().is_some()
    }

    /// Returns `true` if it counts as running: also after its end, while its handler still runs.
    pub(super) fn is_running(&self) -> bool {
        !self.is_ended() || self.has_handler()
    }

    /// Returns until when it is kept if it ends now. However late that is, its client needs time to
    /// poll it (2025-11-25, basic/utilities/tasks: it may be deleted after its ttl, not it must).
    pub(super) fn kept_until(&self, now: Instant) -> Instant {
        let looked_at =
            after_or_never(now, MIN_RETENTION.max(self.poll_interval.saturating_mul(2)));
        self.expires.max(looked_at)
    }

    /// Returns the bytes that its handler holds of its call, as long as it runs.
    pub(super) fn params_bytes(&self) -> usize {
        if self.has_handler() {
            self.params_bytes
        } else {
            0
        }
    }

    // Changing.

    /// Notes that the client knows of the task: notifications about it may be sent now.
    pub(in crate::server) fn start(&self) {
        self.change(|state| {
            let phase = std::mem::replace(&mut state.phase, Phase::Ended(TaskOutcome::Cancelled));
            state.phase = match phase {
                Phase::Created(context) => Phase::Running(context),
                other => other,
            };
        });
    }

    /// Cancels a task of which the client will never know.
    pub(in crate::server) fn abandon(&self) {
        self.end(TaskOutcome::Cancelled);
    }

    /// Ends the task. Returns `false` if it had ended before (TK-6).
    pub(super) fn end(&self, outcome: TaskOutcome) -> bool {
        let context = self.change(|state| {
            let context = match &state.phase {
                Phase::Created(context) | Phase::Running(context) => context.clone(),
                Phase::Ended(_) => return None,
            };
            state.message = outcome.message();
            state.phase = Phase::Ended(outcome);
            state.questions.clear();
            state.updated = timestamp::now();
            Some(context)
        });
        // The handler is cancelled without the lock: code that waits for that may access the task.
        let Some(context) = context else {
            return false;
        };
        context.cancel();
        true
    }

    /// Runs `send` unless the task has ended. The lock is held, so that nothing is sent after its
    /// end.
    pub(in crate::server) fn run_unless_ended<T>(&self, notify: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        state.outcome().is_none().then(notify)
    }

    /// Sets the status message, which is shown to users.
    pub(in crate::server) fn set_message(&self, message: &str) {
        self.change(|state| {
            if let Phase::Created(_) | Phase::Running(_) = state.phase {
                state.message = Some(message.chars().take(MAX_MESSAGE_CHARS).collect());
                state.updated = timestamp::now();
            }
        });
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_waiters();
        changed
    }

    // Looking.

    /// Waits until `look` finds something. Cancel safe.
    pub(super) async fn wait_for<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            let found = look(&self.lock());
            if let Some(found) = found {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until the client knows of the task. Returns `false` if it has ended meanwhile. Cancel
    /// safe.
    pub(super) async fn wait_until_started(&self) -> bool {
        self.wait_for(|state| match state.phase {
            Phase::Created(_) => None,
            Phase::Running(_) => Some(true),
            Phase::Ended(_) => Some(false),
        })
        .await
    }

    /// Waits until it has ended. Cancel safe.
    pub(super) async fn wait_until_ended(&self) -> TaskOutcome {
        self.wait_for(|state| state.outcome().cloned()).await
    }

    /// Waits until its client has not responded to an input request for too long: the client may be gone,
    /// and a handler that waits for it would keep its place for ever. Cancel safe.
    pub(super) async fn wait_until_input_overdue(&self) {
        loop {
            let oldest = self.wait_for(|state| state.open_questions().next().map(str::to_owned));
            let oldest = oldest.await;
            // The handler may have asked again by now, which is another question.
            let is_open = |state: &State| state.open_questions().any(|key| key == oldest);
            let responded = self.wait_for(|state| (!is_open(state)).then_some(()));
            if timeout(self.input_timeout, responded).await.is_err() {
                return;
            }
        }
    }

    /// Returns its state, in the form of a revision.
    pub(super) fn task(&self, revision: Revision) -> Task {
        self.to_task(&self.lock(), revision)
    }

    /// Returns its state, with the result, error or input requests that it includes since
    /// 2026-07-28 (TX-7).
    pub(super) fn detailed(&self, revision: Revision) -> DetailedTask {
        let state = self.lock();
        let mut task = DetailedTask::from(self.to_task(&state, revision));
        let outcome = state.outcome().cloned();
        if revision < Revision::V2026_07_28 {
            return task;
        }
        if task.status == TaskStatus::InputRequired {
            let open = state
                .questions
                .iter()
                .filter(|question| question.answer.is_none());
            let open = open
                .map(|open_question| (open_question.key.clone(), open_question.question.clone()));
            task.input_requests = Some(open.collect::<Map<InputRequest>>());
        }
        drop(state);
        match outcome {
            Some(TaskOutcome::Completed(result)) => {
                task.result = Some(to_json_object(&result, revision))
            }
            Some(TaskOutcome::Failed(error)) => task.error = Some(error),
            Some(TaskOutcome::Cancelled) | None => {}
        }
        task
    }

    fn to_task(&self, state: &State, revision: Revision) -> Task {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let status = state.status(revision);
        let mut task = Task::new(&*self.id, status, &*self.created, &*state.updated);
        task.status_message.clone_from(&state.message);
        task.ttl = Some(millis(self.ttl));
        task.poll_interval = Some(millis(self.poll_interval));
        task
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn outcome(&self) -> Option<&TaskOutcome> {
        match &self.phase {
            Phase::Created(_) | Phase::Running(_) => None,
            Phase::Ended(outcome) => Some(outcome),
        }
    }

    /// Returns `true` if it waits for input of its client.
    fn needs_input(&self) -> bool {
        self.open_questions().next().is_some()
    }

    /// Returns the keys of the questions that its client has not answered, from the oldest on.
    fn open_questions(&self) -> impl Iterator<Item = &str> {
        let open = self
            .questions
            .iter()
            .filter(|question| question.answer.is_none());
        open.map(|question| &*question.key)
    }

    fn status(&self, revision: Revision) -> TaskStatus {
        match &self.phase {
            Phase::Created(_) | Phase::Running(_) if self.needs_input() => {
                TaskStatus::InputRequired
            }
            Phase::Created(_) | Phase::Running(_) => TaskStatus::Working,
            // The older generation counts a tool that failed as a task that failed (TK-10), the
            // newer one doesn't (TX-8).
            Phase::Ended(TaskOutcome::Completed(result))
                if result.is_failure() && revision < Revision::V2026_07_28 =>
            {
                TaskStatus::Failed
            }
            Phase::Ended(TaskOutcome::Completed(_)) => TaskStatus::Completed,
            Phase::Ended(TaskOutcome::Failed(_)) => TaskStatus::Failed,
            Phase::Ended(TaskOutcome::Cancelled) => TaskStatus::Cancelled,
        }
    }
}

impl TaskOutcome {
    /// Returns why it ended, for users.
    fn message(&self) -> Option<String> {
        match self {
            Self::Completed(_) => None,
            Self::Failed(error) => Some(error.message.chars().take(MAX_MESSAGE_CHARS).collect()),
            Self::Cancelled => Some("cancelled".to_owned()),
        }
    }
}

impl fmt::Debug for TaskEntry {
    /// Without the id, which is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

/// Encodes a result as it would answer the call. It was checked before that it can be encoded and
/// isn't too large.
fn to_json_object(result: &CallToolResult, revision: Revision) -> JsonObject {
    let encoded = Payload::encode(result, revision).ok();
    let object = encoded.and_then(|encoded| JsonObject::parse(encoded.as_str()).ok());
    object.unwrap_or_default()
}
