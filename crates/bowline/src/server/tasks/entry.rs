//! One task, and the one place where its status changes.

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
use crate::server::context::{Context, Holding};
use crate::server::session::SessionShared;

/// The most of a status message that is kept, in characters.
const MESSAGE: usize = 1000;

/// How long a task is kept after its end, at least.
const LATE: Duration = Duration::from_secs(60);

/// A task.
pub(in crate::server) struct Entry {
    pub(super) id: Arc<str>,
    pub(super) owner: Owner,
    /// Bytes of the parameters of its call.
    weight: usize,
    /// A handler on a thread can't be stopped, and may be there after the task.
    handler: Holding,
    expires: Instant,
    ttl: Duration,
    /// How long it waits for an answer of its client.
    patience: Duration,
    poll_interval: Duration,
    created: String,
    state: Mutex<State>,
    changed: Notify,
}

/// Whose task it is.
pub(super) enum Owner {
    /// It alone may see it (TK-14, TX-20).
    Principal(String),
    /// Nobody knows who it is: whoever knows the id may see it. This is where it was begun.
    Session(Weak<SessionShared>),
}

impl Owner {
    pub(super) fn of(context: &Context) -> Self {
        match context.principal() {
            Some(principal) => Self::Principal(principal.id().to_owned()),
            None => Self::Session(Arc::downgrade(&context.inner().session)),
        }
    }

    /// Whether one client has begun both.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Principal(one), Self::Principal(other)) => one == other,
            (Self::Session(one), Self::Session(other)) => Weak::ptr_eq(one, other),
            (Self::Principal(_), Self::Session(_)) | (Self::Session(_), Self::Principal(_)) => {
                false
            }
        }
    }

    /// Whether its tasks are there for another.
    pub(super) fn lets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(_), Self::Session(_)) => true,
            (_, _) => self.is(other),
        }
    }
}

pub(super) struct State {
    phase: Phase,
    updated: String,
    message: Option<String>,
    /// What the handler has asked: see `asking`.
    pub(super) questions: Vec<Question>,
    /// Keys of questions, which are used once (TX-11).
    pub(super) asked: u64,
    /// Requests that wait for the result, by the order in which they came.
    pub(super) waiting: Vec<(u64, Context)>,
    pub(super) waiters: u64,
}

/// A question of the handler.
pub(super) struct Question {
    pub(super) key: String,
    pub(super) question: InputRequest,
    pub(super) answer: Option<InputResponse>,
}

enum Phase {
    /// It has no answer to its call yet, in which the client learns of it.
    Begun(Context),
    Running(Context),
    Ended(Ending),
}

/// Bytes of the parameters of a call.
pub(super) fn weight_of(context: &Context) -> usize {
    let params = context.params();
    params.map_or(0, |params| params.into_bytes().len())
}

/// A moment so much later, or one that nobody sees.
fn later(now: Instant, time: Duration) -> Instant {
    let never = || now + Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now.checked_add(time).unwrap_or_else(never)
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Done(Arc<CallToolResult>),
    Failed(ErrorObject),
    Cancelled,
}

impl Entry {
    pub(super) fn new(id: Arc<str>, context: Context, config: &TaskConfig, ttl: Duration) -> Self {
        let created = timestamp::now();
        Self {
            id,
            owner: Owner::of(&context),
            weight: weight_of(&context),
            handler: context.holding(),
            expires: later(Instant::now(), ttl),
            ttl,
            patience: ttl.max(config.ttl),
            poll_interval: config.poll_interval,
            state: Mutex::new(State {
                phase: Phase::Begun(context),
                updated: created.clone(),
                message: None,
                questions: Vec::new(),
                asked: 0,
                waiting: Vec::new(),
                waiters: 0,
            }),
            created,
            changed: Notify::new(),
        }
    }

    pub(in crate::server) fn id(&self) -> &str {
        &self.id
    }

    /// Whether its handler is still there.
    pub(super) fn is_handled(&self) -> bool {
        self.handler.is_held()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.lock().ending().is_some()
    }

    /// Whether it counts as one that runs: also one that has ended, while its handler is there.
    pub(super) fn is_running(&self) -> bool {
        !self.is_ended() || self.is_handled()
    }

    /// Until when it is kept if it ends now. However late that is, its client needs time to
    /// look (2025-11-25, basic/utilities/tasks: it may be deleted after its ttl, not it must).
    pub(super) fn kept_until(&self, now: Instant) -> Instant {
        let looked_at = later(now, LATE.max(self.poll_interval.saturating_mul(2)));
        self.expires.max(looked_at)
    }

    /// What its handler holds of its call, as long as it is there.
    pub(super) fn weight(&self) -> usize {
        match self.is_handled() {
            true => self.weight,
            false => 0,
        }
    }

    // Changing.

    /// The client knows of it: what it does may be told now.
    pub(in crate::server) fn begin(&self) {
        self.change(|state| {
            let phase = std::mem::replace(&mut state.phase, Phase::Ended(Ending::Cancelled));
            state.phase = match phase {
                Phase::Begun(context) => Phase::Running(context),
                other => other,
            };
        });
    }

    /// The client doesn't know of it, and never will.
    pub(in crate::server) fn abandon(&self) {
        self.end(Ending::Cancelled);
    }

    /// It has ended, so far as it had not (TK-6). Whether it had not.
    pub(super) fn end(&self, ending: Ending) -> bool {
        let context = self.change(|state| {
            let context = match &state.phase {
                Phase::Begun(context) | Phase::Running(context) => context.clone(),
                Phase::Ended(_) => return None,
            };
            state.message = ending.message();
            state.phase = Phase::Ended(ending);
            state.questions.clear();
            state.updated = timestamp::now();
            Some(context)
        });
        // The handler is told without the lock: who waits for that may look at the task.
        let Some(context) = context else {
            return false;
        };
        context.cancel();
        true
    }

    /// Tells the client something, unless it has ended. Nothing ends it meanwhile, so that
    /// nothing is told after its end.
    pub(in crate::server) fn while_it_lasts<T>(&self, tell: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        state.ending().is_none().then(tell)
    }

    /// What is being done, in words for people.
    pub(in crate::server) fn set_message(&self, message: &str) {
        self.change(|state| {
            if let Phase::Begun(_) | Phase::Running(_) = state.phase {
                state.message = Some(message.chars().take(MESSAGE).collect());
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

    /// Waits until there is what somebody looks for. Cancel safe.
    pub(super) async fn until<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            let found = look(&self.lock());
            if let Some(found) = found {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until the client knows of it. Whether it has not ended meanwhile. Cancel safe.
    pub(super) async fn begun(&self) -> bool {
        self.until(|state| match state.phase {
            Phase::Begun(_) => None,
            Phase::Running(_) => Some(true),
            Phase::Ended(_) => Some(false),
        })
        .await
    }

    /// Waits until it has ended. Cancel safe.
    pub(super) async fn ended(&self) -> Ending {
        self.until(|state| state.ending().cloned()).await
    }

    /// Waits until its client has owed it one answer for too long: it may be gone, and a handler
    /// that waits for it would keep its place for ever. Cancel safe.
    pub(super) async fn unanswered(&self) {
        loop {
            let oldest = self.until(|state| state.open().next().map(str::to_owned));
            let oldest = oldest.await;
            // The handler may have asked again by now, which is another question.
            let is_open = |state: &State| state.open().any(|key| key == oldest);
            let answered = self.until(|state| (!is_open(state)).then_some(()));
            if timeout(self.patience, answered).await.is_err() {
                return;
            }
        }
    }

    /// How it stands, in the words of a revision.
    pub(super) fn task(&self, revision: Revision) -> Task {
        self.said(&self.lock(), revision)
    }

    /// How it stands, with what that brings along since 2026-07-28 (TX-7).
    pub(super) fn detailed(&self, revision: Revision) -> DetailedTask {
        let state = self.lock();
        let mut task = DetailedTask::from(self.said(&state, revision));
        let ending = state.ending().cloned();
        if revision < Revision::V2026_07_28 {
            return task;
        }
        if task.status == TaskStatus::InputRequired {
            let open = state.questions.iter().filter(|it| it.answer.is_none());
            let open = open.map(|it| (it.key.clone(), it.question.clone()));
            task.input_requests = Some(open.collect::<Map<InputRequest>>());
        }
        drop(state);
        match ending {
            Some(Ending::Done(result)) => task.result = Some(as_object(&result, revision)),
            Some(Ending::Failed(error)) => task.error = Some(error),
            Some(Ending::Cancelled) | None => {}
        }
        task
    }

    fn said(&self, state: &State, revision: Revision) -> Task {
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
    pub(super) fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Begun(_) | Phase::Running(_) => None,
            Phase::Ended(ending) => Some(ending),
        }
    }

    /// Whether it waits for its client.
    fn is_asking(&self) -> bool {
        self.open().next().is_some()
    }

    /// The keys of the questions that its client has not answered, from the oldest on.
    fn open(&self) -> impl Iterator<Item = &str> {
        let open = self.questions.iter().filter(|it| it.answer.is_none());
        open.map(|it| &*it.key)
    }

    fn status(&self, revision: Revision) -> TaskStatus {
        match &self.phase {
            Phase::Begun(_) | Phase::Running(_) if self.is_asking() => TaskStatus::InputRequired,
            Phase::Begun(_) | Phase::Running(_) => TaskStatus::Working,
            // The older generation counts a tool that failed as a task that failed (TK-10), the
            // newer one doesn't (TX-8).
            Phase::Ended(Ending::Done(result))
                if result.is_failure() && revision < Revision::V2026_07_28 =>
            {
                TaskStatus::Failed
            }
            Phase::Ended(Ending::Done(_)) => TaskStatus::Completed,
            Phase::Ended(Ending::Failed(_)) => TaskStatus::Failed,
            Phase::Ended(Ending::Cancelled) => TaskStatus::Cancelled,
        }
    }
}

impl Ending {
    /// Why it ended, for people.
    fn message(&self) -> Option<String> {
        match self {
            Self::Done(_) => None,
            Self::Failed(error) => Some(error.message.chars().take(MESSAGE).collect()),
            Self::Cancelled => Some("it was cancelled".to_owned()),
        }
    }
}

impl fmt::Debug for Entry {
    /// Without the id, which is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

/// A result as it would answer the call. The size of it was checked, and that it can be said.
fn as_object(result: &CallToolResult, revision: Revision) -> JsonObject {
    let said = Payload::encode(result, revision).ok();
    let object = said.and_then(|said| JsonObject::parse(said.as_str()).ok());
    object.unwrap_or_default()
}
