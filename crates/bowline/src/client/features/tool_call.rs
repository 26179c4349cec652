//! A tool call, before and after it is sent.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bowline_proto::Payload;
use bowline_types::progress::ProgressParams;
use bowline_types::tasks::Task;
use bowline_types::tools::{CallToolResponse, CallToolResult};
use bowline_types::{Method, Revision};
use tokio::time::{Instant, timeout};

use super::task_negotiation::{TaskOffer, TaskPreference, TaskRequested};
use super::tasks::{Canceller, TaskHandle, TaskOrResult, TaskRef, TaskWait, WaitLimits};
use super::tool_params::{EncodedToolParams, with_task};
use super::tools::ToolResult;
use super::typed_call::decode_result;
use crate::client::call::Call;
use crate::client::output_validation::ExpectedOutput;
use crate::client::pending_call::{CancelHandle, PendingCall};
use crate::client::shared::Shared;
use crate::client::{Client, Params};
use crate::error::{Error, ErrorKind};

/// A call of a tool that has not been made yet. Await it to make it.
#[must_use = "a call does nothing unless it is awaited"]
pub struct ToolCall<'c> {
    pub(super) client: &'c Client,
    pub(super) call: Call<'c>,
    pub(super) name: String,
    pub(super) encoded_params: EncodedToolParams,
    pub(super) as_task: TaskPreference,
    /// Its result has to fit the tool's output schema.
    pub(super) is_checked: bool,
}

impl ToolCall<'_> {
    call_settings!();

    /// Asks a server of 2025-11-25 to run it as a task, and to keep that for `ttl` from its
    /// beginning on; the server may choose another time.
    ///
    /// Since 2026-07-28 there is nothing to ask: the server decides, and a client
    /// [declares](crate::ClientConfig::tasks) that it may. Other revisions have no tasks, which
    /// is an error of kind [`CapabilityNotSupported`](ErrorKind::CapabilityNotSupported), as is
    /// a server or a tool that is known to have none.
    pub fn as_task(mut self, ttl: Option<Duration>) -> Self {
        self.as_task = TaskPreference::Always(ttl);
        self
    }

    /// Accepts a result without a check against the tool's output schema: see
    /// [`Tools::call`](super::Tools::call).
    pub fn without_output_validation(mut self) -> Self {
        self.is_checked = false;
        self
    }

    /// Makes the call, and returns the task that it becomes, where it becomes one: a handle
    /// that outlives the connection, and the program if its [reference](TaskHandle::task_ref) is
    /// saved. In 2025-11-25 a task is asked for where the server offers it.
    ///
    /// Progress is delivered until the call has become a task: the handle of a task may be waited
    /// for anywhere.
    ///
    /// A server of 2025-11-25 must not be asked to run a tool as a task that doesn't. So its tools
    /// are listed first, where that was not done.
    ///
    /// Not cancel safe: dropping the future cancels the call, and the task if the server has
    /// responded with one.
    ///
    /// # Errors
    ///
    /// As for awaiting the call, and when the tools can't be listed.
    pub async fn start_task(mut self) -> Result<TaskOrResult, Error> {
        if let TaskPreference::IfRequired = self.as_task {
            self.as_task = TaskPreference::IfSupported;
            let (limits, _) = self.call.time_limits();
            let waits = self.call.may_wait().then_some(limits);
            let learned = fetch_task_support(self.client, &self.name, limits, waits).await;
            // Of the call that is not made then, and not of the list.
            learned.map_err(Error::with_call_not_sent)?;
        }
        let client = self.client.clone();
        let mut call = self.send();
        let response = (&mut call.call).await?;
        let task = |id| TaskRef::new(id, &*call.name);
        Ok(match call.decode_response(&response)? {
            ToolResponse::Complete(result) => {
                let name = call.name.clone();
                TaskOrResult::Result(ToolResult::checked(result, name, call.expected.as_ref())?)
            }
            ToolResponse::Task(begun) => {
                let task = task(&*begun.task_id);
                let expected = call.expected.take();
                TaskOrResult::Task(TaskHandle::from_call(client, task, begun, expected))
            }
        })
    }

    /// Makes the call now. Its result can be awaited later.
    pub fn send(self) -> PendingToolCall {
        self.into_future()
    }

    /// Encodes the call: now, or when it is sent. Returns if a task is requested, and the
    /// revision in which it is encoded, where that is known.
    fn prepare(&mut self, shared: &Shared) -> Result<(TaskRequested, Option<Revision>), Error> {
        let encoded_params = std::mem::take(&mut self.encoded_params);
        if self.call.may_wait() {
            let params = encoded_params.params(&self.name, None)?;
            return Ok((self.encode_when_sent(params)?, None));
        }
        let offer = TaskOffer::current(shared, &self.name);
        let wanted = self.as_task.task_request(&self.name, &offer);
        let task =
            wanted.map_err(|message| Error::new(ErrorKind::CapabilityNotSupported, message))?;
        let params = encoded_params.params(&self.name, task.as_ref().zip(offer.revision))?;
        self.call.set_params(params);
        let requested = match task {
            Some(_) => TaskRequested::Yes,
            None => TaskRequested::No,
        };
        Ok((requested, offer.revision))
    }

    /// Encodes the call when it is sent: the session, and its revision, are not known yet.
    fn encode_when_sent(&mut self, params: Params) -> Result<TaskRequested, Error> {
        let members = params.clone().check()?.members;
        self.call.set_params(params);
        let requested = Arc::new(AtomicBool::new(false));
        let (was_requested, name, as_task) =
            (Arc::clone(&requested), self.name.clone(), self.as_task);
        self.call.set_params_encoder(move |terms| {
            let offer = TaskOffer::new(terms.agreement(), || terms.task_support(&name));
            let task = as_task.task_request(&name, &offer)?;
            was_requested.store(task.is_some(), Ordering::Relaxed);
            match task {
                Some(task) => with_task(&members, &task, terms.agreement().revision),
                None => Ok(members.clone()),
            }
        });
        Ok(TaskRequested::WhenSent(requested))
    }
}

/// Fetches whether a tool runs as a task, where it matters and is unknown (TK-2). A call that waits
/// for a connection waits for it here for this time.
async fn fetch_task_support(
    client: &Client,
    tool: &str,
    limits: Duration,
    waits: Option<Duration>,
) -> Result<(), Error> {
    if let Some(limits) = waits
        && client.shared.check_open().is_ok()
    {
        // The error of the call names the cause.
        let _ = timeout(limits, client.ready()).await;
    }
    if TaskOffer::current(&client.shared, tool).is_unknown() {
        client.tools().list_all().timeout(limits).await?;
    }
    Ok(())
}

impl IntoFuture for ToolCall<'_> {
    type Output = Result<ToolResult, Error>;
    type IntoFuture = PendingToolCall;

    /// Makes the call. Dropping the future cancels it: the server is notified once, and a
    /// late response is dropped. A task that it has become is cancelled too.
    fn into_future(mut self) -> PendingToolCall {
        let (idle, total) = self.call.time_limits();
        let shared = Arc::clone(&self.client.shared);
        let prepared = self.prepare(&shared);
        let revision = prepared.as_ref().ok().and_then(|(_, revision)| *revision);
        let expected = || {
            let _entered = shared.telemetry.enter();
            shared.output_schemas.expected(&self.name, revision)
        };
        let expected = self.is_checked.then(expected);
        let (call, requested) = match prepared {
            Ok((requested, _)) => (self.call.into_future(), requested),
            Err(error) => {
                let error = error.in_operation(Method::CallTool.as_str());
                (PendingCall::refused(error), TaskRequested::No)
            }
        };
        PendingToolCall {
            call,
            name: self.name,
            expected,
            canceller: OnceLock::new(),
            phase: ToolCallPhase::Call {
                shared,
                requested,
                limits: WaitLimits {
                    since: Instant::now(),
                    idle,
                    total,
                },
            },
        }
    }
}

impl fmt::Debug for ToolCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// The pending result of a tool call. Dropping it cancels the call, or the task that the
/// call has become.
pub struct PendingToolCall {
    call: PendingCall,
    name: String,
    /// The schema that its result has to match, unless the check is off.
    expected: Option<ExpectedOutput>,
    canceller: OnceLock<Arc<Canceller>>,
    phase: ToolCallPhase,
}

/// The phases of the call: it may become a task.
enum ToolCallPhase {
    Call {
        shared: Arc<Shared>,
        /// The request of a task.
        requested: TaskRequested,
        limits: WaitLimits,
    },
    Task(Pin<Box<dyn Future<Output = Result<CallToolResult, Error>> + Send>>),
}

impl PendingToolCall {
    /// Returns the next report of progress, for a call that was made with it. `None` when the call
    /// has ended, or has become a task. Cancel safe.
    pub async fn progress(&mut self) -> Option<ProgressParams> {
        self.call.progress().await
    }

    /// Returns a handle with which others cancel the call.
    pub fn cancel_handle(&self) -> CancelHandle {
        let canceller = self.canceller.get_or_init(Arc::default);
        self.call.cancel_handle().with_task(Arc::clone(canceller))
    }

    /// Decodes the response to the call: a result, or a task that was requested.
    fn decode_response(&self, response: &Payload) -> Result<ToolResponse, Error> {
        let is_expected = match &self.phase {
            ToolCallPhase::Call { requested, .. } => requested.is_requested(),
            ToolCallPhase::Task(_) => false,
        };
        let invalid = |message: &str| {
            let message = format!("{}: {message}", self.name);
            let error = Error::new(ErrorKind::InvalidResponse, message);
            Err(error.in_operation(Method::CallTool.as_str()))
        };
        match decode_result(response.as_json(), Method::CallTool.as_str())? {
            CallToolResponse::Complete(result) => Ok(ToolResponse::Complete(result)),
            CallToolResponse::Task(begun) if is_expected || has_result_type(response) => {
                Ok(ToolResponse::Task(begun.task))
            }
            CallToolResponse::Task(_) => {
                invalid("the server returned a task that was not requested")
            }
            _ => invalid("the response is neither a result nor a task"),
        }
    }

    /// Continues with the task that the call has become.
    fn continue_as_task(&mut self, begun: Task) {
        let canceller = Arc::clone(self.canceller.get_or_init(Arc::default));
        if let ToolCallPhase::Call { shared, limits, .. } = &self.phase {
            let task = TaskRef::new(&*begun.task_id, &*self.name);
            let waiting = TaskWait::new(shared, task, canceller, *limits);
            self.phase = ToolCallPhase::Task(Box::pin(waiting.wait(begun)));
        }
    }

    fn finish(&mut self, result: Result<CallToolResult, Error>) -> Poll<Result<ToolResult, Error>> {
        let name = std::mem::take(&mut self.name);
        let expected = self.expected.as_ref();
        Poll::Ready(result.and_then(|result| ToolResult::checked(result, name, expected)))
    }
}

impl Drop for PendingToolCall {
    /// The response may be there and be a task that no caller has seen: it is cancelled too.
    fn drop(&mut self) {
        if let ToolCallPhase::Call { .. } = &self.phase
            && let Some(response) = self.call.abandon()
            && let Ok(ToolResponse::Task(begun)) = self.decode_response(&response)
        {
            // What follows a task cancels it when it is dropped.
            self.continue_as_task(begun);
        }
    }
}

/// The response to a tool call.
enum ToolResponse {
    Complete(CallToolResult),
    Task(Task),
}

/// With the extension a result declares by its `resultType` that it is a task. The link accepts
/// that only where the extension was declared.
fn has_result_type(response: &Payload) -> bool {
    let kind = response.as_json().reader().peek_member("resultType");
    matches!(kind, Ok(Some(_)))
}

impl Future for PendingToolCall {
    type Output = Result<ToolResult, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let ToolCallPhase::Call { .. } = &self.phase {
            let response = match ready!(Pin::new(&mut self.call).poll(cx)) {
                Ok(response) => response,
                Err(error) => return self.finish(Err(error)),
            };
            match self.decode_response(&response) {
                Ok(ToolResponse::Complete(result)) => return self.finish(Ok(result)),
                Ok(ToolResponse::Task(begun)) => self.continue_as_task(begun),
                Err(error) => return self.finish(Err(error)),
            }
        }
        let Self { call, phase, .. } = &mut *self;
        let ToolCallPhase::Task(phase) = phase else {
            return Poll::Pending;
        };
        let polled = phase.as_mut().poll(cx);
        // After it: progress that was received before the result is delivered before it.
        call.deliver_task_progress(cx);
        self.finish(ready!(polled))
    }
}

impl fmt::Debug for PendingToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingToolCall")
            .field("tool", &self.name)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
