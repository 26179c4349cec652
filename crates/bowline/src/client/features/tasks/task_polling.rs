//! Polls a task until it has ended.
//!
//! A task is polled at the interval that its server gives. Connections may come and go meanwhile,
//! and the server of the next one may speak another revision: each request is encoded for the
//! revision of the session in which it is sent.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::link::{LinkCall, LinkState};
use bowline_proto::{CallRequest, Outcome, Payload, Sent};
use bowline_types::input::InputResponse;
use bowline_types::tasks::{DetailedTask, GetTaskResult, TaskParams, TaskStatus, UpdateTaskParams};
use bowline_types::tools::CallToolResult;
use bowline_types::{JsonObject, Map, Method, Revision, Wire};
use tokio::time::sleep;

use super::task_handle::TaskRef;
use crate::client::Params;
use crate::client::call::Call;
use crate::client::features::typed_call::decode_result;
use crate::client::input_rounds::input_requests;
use crate::client::server_requests::ServerRequest;
use crate::client::shared::Shared;
use crate::error::{Error, ErrorKind, Recovery};

/// The poll interval where the server gives none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest poll interval, whatever the server gives: 0 would be a loop without a pause.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// The longest poll interval: a server may give a million years.
const MAX_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The longest pause before a request is repeated to a server that is busy, or was lost.
const MAX_BUSY_PAUSE: Duration = Duration::from_secs(5);

/// How often the result of a task is requested while the server responds that it is busy. The task
/// itself may have failed with that error, and then every response is the same (TK-9).
const MAX_BUSY_RESULTS: u32 = 3;

/// The limit on the input requests of one task. A server that sends more never ends.
const MAX_INPUT_REQUESTS: usize = 100;

/// Returns how long to wait before the task is polled again.
pub(super) fn poll_delay(status: &TaskStatus, interval: Option<i64>) -> Duration {
    match status {
        // There is a result to fetch, or an input request to answer.
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::InputRequired => Duration::ZERO,
        // Also an unknown status of a later revision.
        _ => poll_interval(interval),
    }
}

fn poll_interval(interval: Option<i64>) -> Duration {
    match interval {
        None => DEFAULT_INTERVAL,
        Some(millis) => {
            let wanted = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            wanted.clamp(MIN_INTERVAL, MAX_INTERVAL)
        }
    }
}

/// Polls one task.
#[derive(Debug)]
pub(in super::super) struct TaskPoller {
    shared: Arc<Shared>,
    task: TaskRef,
    /// How long the server may take to respond.
    timeout: Duration,
    answered: SharedAnsweredKeys,
}

impl TaskPoller {
    pub(in super::super) fn new(
        shared: &Arc<Shared>,
        task: TaskRef,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            timeout: timeout.unwrap_or(shared.call_timeouts.idle),
            shared: Arc::clone(shared),
            task,
            answered: SharedAnsweredKeys::default(),
        }
    }

    /// Shares the answered input requests with other pollers of the same task.
    pub(super) fn with_shared_answers(mut self, answered: &SharedAnsweredKeys) -> Self {
        self.answered = Arc::clone(answered);
        self
    }

    /// Returns what the tool returned, when the task has ended. It is polled for the first time
    /// after `pause`. Dropping the future leaves the task alone.
    pub(in super::super) async fn wait_for_result(
        &self,
        pause: Duration,
    ) -> Result<CallToolResult, Error> {
        let ended = self.poll_until_done(pause).await;
        // The server runs the task, whatever became of the last request about it.
        ended.map_err(|error| error.with_sent(Sent::Maybe))
    }

    async fn poll_until_done(&self, mut pause: Duration) -> Result<CallToolResult, Error> {
        loop {
            sleep(pause).await;
            let TaskSnapshot {
                task,
                text,
                revision,
            } = self.fetch().await?;
            pause = poll_interval(task.poll_interval);
            match (&task.status, revision >= Revision::V2026_07_28) {
                (TaskStatus::Cancelled, _) => return Err(self.cancelled_error(&task)),
                (TaskStatus::Completed, true) => return self.embedded_result(&task),
                (TaskStatus::Failed, true) => return Err(self.embedded_error(task)),
                (TaskStatus::Completed | TaskStatus::Failed, false) => {
                    let (result, _) = self.request(Method::GetTaskPayload, self.timeout).await?;
                    return decode_result(result.as_json(), Method::GetTaskPayload.as_str());
                }
                // TK-8: its input requests arrive while its result is waited for.
                (TaskStatus::InputRequired, false) => {
                    if let Some(result) = self.blocking_result().await? {
                        return decode_result(result.as_json(), Method::GetTaskPayload.as_str());
                    }
                }
                (TaskStatus::InputRequired, true) => {
                    if self.answer_input_requests(&text, revision).await? {
                        pause = MIN_INTERVAL;
                    }
                }
                // It works, or has an unknown status of a later revision, which is no end.
                (_, _) => {}
            }
        }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Sends `tasks/cancel` to the server. The response is not waited for, and the request not
    /// repeated.
    pub(super) fn cancel(&self) {
        let params = TaskParams::new(&*self.task.id);
        let Ok(params) = Params::encode(&params, self.revision()).check() else {
            return;
        };
        let method = Method::CancelTask.as_str();
        let cancelled = self.shared.with(|core, now| {
            core.check_revision(method)?;
            core.check_capability(method)?;
            let call = LinkCall::new(CallRequest::new(method, params.members));
            let called = core.link.call(now, call);
            called.map_err(|error| core.refusal(now, error))
        });
        if let Err(error) = cancelled {
            let _entered = self.shared.telemetry.enter();
            tracing::debug!(%error, "cancellation of a task not sent");
        }
    }

    /// Requests the state of the task.
    async fn fetch(&self) -> Result<TaskSnapshot, Error> {
        let (text, revision) = self.request(Method::GetTask, self.timeout).await?;
        let found: GetTaskResult = decode_result(text.as_json(), Method::GetTask.as_str())?;
        Ok(TaskSnapshot {
            task: found.task,
            text,
            revision,
        })
    }

    /// Returns the result as 2025-11-25 has it, which comes when the task has ended. `None` when
    /// the server takes so long that the task is polled again.
    async fn blocking_result(&self) -> Result<Option<Payload>, Error> {
        let limit = self.shared.call_timeouts.total;
        match self.request(Method::GetTaskPayload, limit).await {
            Ok((result, _)) => Ok(Some(result)),
            Err(error) if error.kind() == ErrorKind::Timeout || is_transient(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Answers the input requests of the task that are new. Returns `true` if there were any.
    async fn answer_input_requests(
        &self,
        task: &Payload,
        revision: Revision,
    ) -> Result<bool, Error> {
        // Other pollers of this task wait here: its input requests are about to be answered.
        let mut answered = self.answered.lock().await;
        let mut responses = Map::new();
        let mut keys = Vec::new();
        for (key, method, params) in input_requests(task) {
            let digest = answered.digest(&key);
            if answered.keys.contains(&digest) {
                continue;
            }
            if answered.keys.len() + keys.len() >= MAX_INPUT_REQUESTS {
                return Err(too_many_input_requests());
            }
            let request = ServerRequest::new(method, params, revision);
            let response = self.shared.handlers.answer_input_request(request).await;
            // Of the update that can't be sent: it is not the task that has ended.
            let response =
                response.map_err(|error| error.in_operation(Method::UpdateTask.as_str()))?;
            let response = JsonObject::parse(response.as_str()).unwrap_or_default();
            responses.insert(key, InputResponse::from(response));
            keys.push(digest);
        }
        if responses.is_empty() {
            return Ok(false);
        }
        let update = UpdateTaskParams::new(&*self.task.id, responses);
        self.send(Method::UpdateTask, &update, self.timeout).await?;
        answered.keys.extend(keys);
        Ok(true)
    }

    async fn request(
        &self,
        method: Method,
        timeout: Duration,
    ) -> Result<(Payload, Revision), Error> {
        let params = TaskParams::new(&*self.task.id);
        self.send(method, &params, timeout).await
    }

    /// Sends a request, again after a connection was lost: all requests about a task may be
    /// repeated. Returns the result with the revision of its session, which may have ended by the
    /// time that the result is read.
    async fn send<T: Wire>(
        &self,
        method: Method,
        params: &T,
        timeout: Duration,
    ) -> Result<(Payload, Revision), Error> {
        let (mut pause, mut refused) = (MIN_INTERVAL, 0);
        loop {
            self.wait_while_connecting().await;
            let revision = self.revision();
            let encoded = Params::encode(params, revision);
            let call =
                Call::new(&self.shared, method.as_str().into(), encoded).with_capability_check();
            let total = timeout.max(self.shared.call_timeouts.total);
            match call.timeout(timeout).max_total(total).await {
                Err(error) if is_transient(&error) => {
                    refused += u32::from(error.kind() == ErrorKind::JsonRpc);
                    if method == Method::GetTaskPayload && refused >= MAX_BUSY_RESULTS {
                        return Err(error);
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_BUSY_PAUSE);
                }
                ended => return ended.map(|result| (result, revision)),
            }
        }
    }

    /// Waits while there is no connection and there may be one.
    async fn wait_while_connecting(&self) {
        let mut changes = self.shared.state.subscribe();
        loop {
            changes.mark_unchanged();
            match self.shared.lock().link.state() {
                LinkState::Starting | LinkState::Initializing | LinkState::Backoff => {}
                // The error of the call names the cause.
                LinkState::Ready | LinkState::Closing | LinkState::Closed => return,
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn revision(&self) -> Revision {
        let revision = self.shared.lock().link.revision();
        revision.unwrap_or(Revision::LATEST)
    }

    fn embedded_result(&self, task: &DetailedTask) -> Result<CallToolResult, Error> {
        let Some(result) = &task.result else {
            let message = "the task is completed but has no result";
            return Err(self.error(ErrorKind::InvalidResponse, message.to_owned()));
        };
        CallToolResult::from_json(result.as_str()).map_err(|error| {
            let message = error.under_key("result").to_string();
            self.error(ErrorKind::InvalidResponse, message)
        })
    }

    fn embedded_error(&self, task: DetailedTask) -> Error {
        let Some(error) = task.error else {
            let message = "the task has failed but has no error";
            return self.error(ErrorKind::InvalidResponse, message.to_owned());
        };
        match Error::from_outcome(Outcome::Error(error), Some(Sent::Maybe), None) {
            Err(error) => error.in_operation(Method::GetTask.as_str()),
            Ok(_) => self.error(ErrorKind::InvalidResponse, "the task has failed".to_owned()),
        }
    }

    fn cancelled_error(&self, task: &DetailedTask) -> Error {
        let why = task
            .status_message
            .as_deref()
            .unwrap_or("the server cancelled the task");
        let why: String = why.chars().take(300).collect();
        self.error(ErrorKind::Cancelled, why)
    }

    fn error(&self, kind: ErrorKind, message: String) -> Error {
        let message = format!("{}: {message}", self.task.name());
        Error::new(kind, message).in_operation(Method::GetTask.as_str())
    }
}

/// The state of a task at one moment.
struct TaskSnapshot {
    task: DetailedTask,
    /// As it was received, with its input requests.
    text: Payload,
    /// The revision of its session: in 2025-11-25 the result is fetched apart.
    revision: Revision,
}

/// Returns `true` if the same request may be repeated at once, or when there is a connection.
fn is_transient(error: &Error) -> bool {
    match error.recovery() {
        Recovery::Reconnect => true,
        // Too many requests are in flight, here or there.
        Recovery::Retry => error.kind() != ErrorKind::Timeout,
        Recovery::Abort | Recovery::Ignore => false,
    }
}

/// The input requests that were answered, shared by all pollers of a task.
pub(super) type SharedAnsweredKeys = Arc<tokio::sync::Mutex<AnsweredKeys>>;

/// The keys of input requests that were answered: the server may repeat them for a while (TX-12).
/// The keys are chosen by the server, so that only digests are kept.
#[derive(Debug, Default)]
pub(super) struct AnsweredKeys {
    keys: HashSet<u64>,
    hasher: RandomState,
}

impl AnsweredKeys {
    fn digest(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }
}

fn too_many_input_requests() -> Error {
    let message = format!("a task sent more than {MAX_INPUT_REQUESTS} input requests");
    Error::new(ErrorKind::Protocol, message).in_operation(Method::GetTask.as_str())
}
