//! A call of a tool, before and after it is made.

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

use super::task_negotiation::{AsTask, Asked, Offer};
use super::tasks::{Patience, Started, Stopper, TaskHandle, TaskRef, Waiting};
use super::tool_params::{Said, with_task};
use super::tools::ToolResult;
use super::typed_call::decoded;
use crate::client::call::Call;
use crate::client::output_validation::Expected;
use crate::client::pending_call::{Answer, CancelHandle};
use crate::client::shared::Shared;
use crate::client::{Client, Params};
use crate::error::{Error, ErrorKind};

/// A call of a tool that has not been made yet. Await it to make it.
#[must_use = "a call is made when it is awaited"]
pub struct ToolCall<'c> {
    pub(super) client: &'c Client,
    pub(super) call: Call<'c>,
    pub(super) name: String,
    pub(super) said: Said,
    pub(super) as_task: AsTask,
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
        self.as_task = AsTask::Always(ttl);
        self
    }

    /// Takes a result as it comes, whatever the tool's output schema says: see
    /// [`Tools::call`](super::Tools::call).
    pub fn unchecked(mut self) -> Self {
        self.is_checked = false;
        self
    }

    /// Makes the call, and hands out the task that it becomes, where it becomes one: a handle
    /// that outlives the connection, and the program if its id is
    /// [saved](TaskHandle::saved). In 2025-11-25 a task is asked for where the server offers it.
    ///
    /// Progress is told until it has become a task: a task that is handed out may be waited for
    /// by anybody.
    ///
    /// A server of 2025-11-25 must not be asked to run a tool as a task that doesn't. So its tools
    /// are listed first, where that was not done.
    ///
    /// Not cancel safe: dropping the future cancels the call, and the task if the server has
    /// answered with one.
    ///
    /// # Errors
    ///
    /// As for awaiting the call, and when the tools can't be listed.
    pub async fn start_task(mut self) -> Result<Started, Error> {
        if let AsTask::IfDemanded = self.as_task {
            self.as_task = AsTask::IfPossible;
            let (patience, _) = self.call.patience();
            let waits = self.call.may_wait().then_some(patience);
            let learned = learn_support(self.client, &self.name, patience, waits).await;
            // Of the call that is not made then, and not of the list.
            learned.map_err(Error::of_unsent_call)?;
        }
        let client = self.client.clone();
        let mut answer = self.send();
        let response = (&mut answer.answer).await?;
        let task = |id| TaskRef::new(id, &*answer.name);
        Ok(match answer.read(&response)? {
            CalledTool::Complete(result) => {
                let name = answer.name.clone();
                Started::Done(ToolResult::checked(result, name, answer.expected.as_ref())?)
            }
            CalledTool::Task(begun) => {
                let task = task(&*begun.task_id);
                let expected = answer.expected.take();
                Started::Task(TaskHandle::begun_by(client, task, begun, expected))
            }
        })
    }

    /// Makes the call now. Its answer can be awaited later.
    pub fn send(self) -> ToolAnswer {
        self.into_future()
    }

    /// Says it: now, or when it is made. Whether a task is asked for, and the revision in which
    /// it is said, where that is known.
    fn prepare(&mut self, shared: &Shared) -> Result<(Asked, Option<Revision>), Error> {
        let said = std::mem::take(&mut self.said);
        if self.call.may_wait() {
            let params = said.params(&self.name, None)?;
            return Ok((self.word_later(params)?, None));
        }
        let offer = Offer::of(shared, &self.name);
        let wanted = self.as_task.wanted(&self.name, &offer);
        let task = wanted.map_err(|words| Error::new(ErrorKind::CapabilityNotSupported, words))?;
        let params = said.params(&self.name, task.as_ref().zip(offer.revision))?;
        self.call.set_params(params);
        let asked = match task {
            Some(_) => Asked::Yes,
            None => Asked::No,
        };
        Ok((asked, offer.revision))
    }

    /// Says it when it is made: nobody knows yet who is spoken to then.
    fn word_later(&mut self, params: Params) -> Result<Asked, Error> {
        let members = params.clone().check()?.members;
        self.call.set_params(params);
        let asked = Arc::new(AtomicBool::new(false));
        let (told, name, as_task) = (Arc::clone(&asked), self.name.clone(), self.as_task);
        self.call.set_words(move |terms| {
            let offer = Offer::new(terms.agreement(), || terms.task_support(&name));
            let task = as_task.wanted(&name, &offer)?;
            told.store(task.is_some(), Ordering::Relaxed);
            match task {
                Some(task) => with_task(&members, &task, terms.agreement().revision),
                None => Ok(members.clone()),
            }
        });
        Ok(Asked::WhenMade(asked))
    }
}

/// Learns whether a tool runs as a task, where it matters and nobody knows (TK-2). Waits so long
/// for a connection, for a call that does.
async fn learn_support(
    client: &Client,
    tool: &str,
    patience: Duration,
    waits: Option<Duration>,
) -> Result<(), Error> {
    if let Some(patience) = waits
        && client.shared.check_open().is_ok()
    {
        // The call says best why there is none.
        let _ = timeout(patience, client.ready()).await;
    }
    if Offer::of(&client.shared, tool).is_unknown() {
        client.tools().list_all().timeout(patience).await?;
    }
    Ok(())
}

impl IntoFuture for ToolCall<'_> {
    type Output = Result<ToolResult, Error>;
    type IntoFuture = ToolAnswer;

    /// Makes the call. Dropping the future cancels it: the server is told once, and an
    /// answer that comes nevertheless is dropped. A task that it has become is cancelled too.
    fn into_future(mut self) -> ToolAnswer {
        let (idle, total) = self.call.patience();
        let shared = Arc::clone(&self.client.shared);
        let prepared = self.prepare(&shared);
        let revision = prepared.as_ref().ok().and_then(|(_, revision)| *revision);
        let expected = || {
            let _entered = shared.telemetry.enter();
            shared.outputs.expected(&self.name, revision)
        };
        let expected = self.is_checked.then(expected);
        let (answer, asked) = match prepared {
            Ok((asked, _)) => (self.call.into_future(), asked),
            Err(error) => {
                let error = error.in_operation(Method::CallTool.as_str());
                (Answer::refused(error), Asked::No)
            }
        };
        ToolAnswer {
            answer,
            name: self.name,
            expected,
            stopper: OnceLock::new(),
            following: Following::Not {
                shared,
                asked,
                patience: Patience {
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

/// What a tool returns, when it is there. Dropping it cancels the call, or the task that the
/// call has become.
pub struct ToolAnswer {
    answer: Answer,
    name: String,
    /// What its result has to be, unless nobody wants to know.
    expected: Option<Expected>,
    stopper: OnceLock<Arc<Stopper>>,
    following: Following,
}

/// Whether the call has become a task.
enum Following {
    Not {
        shared: Arc<Shared>,
        /// We have asked for one.
        asked: Asked,
        patience: Patience,
    },
    Task(Pin<Box<dyn Future<Output = Result<CallToolResult, Error>> + Send>>),
}

impl ToolAnswer {
    /// The next report of progress, for a call that was made with it. `None` when the call
    /// has ended, or has become a task. Cancel safe.
    pub async fn progress(&mut self) -> Option<ProgressParams> {
        self.answer.progress().await
    }

    /// A handle with which others cancel the call.
    pub fn cancel_handle(&self) -> CancelHandle {
        let stopper = self.stopper.get_or_init(Arc::default);
        self.answer.cancel_handle().of_task(Arc::clone(stopper))
    }

    /// Reads the answer to the call: a result, or a task that was asked for.
    fn read(&self, response: &Payload) -> Result<CalledTool, Error> {
        let is_expected = match &self.following {
            Following::Not { asked, .. } => asked.is_asked(),
            Following::Task(_) => false,
        };
        let invalid = |words: &str| {
            let words = format!("{}: {words}", self.name);
            let error = Error::new(ErrorKind::InvalidResponse, words);
            Err(error.in_operation(Method::CallTool.as_str()))
        };
        match decoded(response.as_json(), Method::CallTool.as_str())? {
            CallToolResponse::Complete(result) => Ok(CalledTool::Complete(result)),
            CallToolResponse::Task(begun) if is_expected || is_extension(response) => {
                Ok(CalledTool::Task(begun.task))
            }
            CallToolResponse::Task(_) => invalid("a task, which nobody asked for"),
            _ => invalid("neither a result nor a task"),
        }
    }

    /// Goes on with the task that the call has become.
    fn follow(&mut self, begun: Task) {
        let stopper = Arc::clone(self.stopper.get_or_init(Arc::default));
        if let Following::Not {
            shared, patience, ..
        } = &self.following
        {
            let task = TaskRef::new(&*begun.task_id, &*self.name);
            let waiting = Waiting::new(shared, task, stopper, *patience);
            self.following = Following::Task(Box::pin(waiting.end(begun)));
        }
    }

    fn done(&mut self, result: Result<CallToolResult, Error>) -> Poll<Result<ToolResult, Error>> {
        let name = std::mem::take(&mut self.name);
        let expected = self.expected.as_ref();
        Poll::Ready(result.and_then(|result| ToolResult::checked(result, name, expected)))
    }
}

impl Drop for ToolAnswer {
    /// The answer may be there and be a task that nobody has seen: it isn't wanted either.
    fn drop(&mut self) {
        if let Following::Not { .. } = &self.following
            && let Some(response) = self.answer.abandon()
            && let Ok(CalledTool::Task(begun)) = self.read(&response)
        {
            // What follows a task cancels it when it is dropped.
            self.follow(begun);
        }
    }
}

/// What a call of a tool was answered with.
enum CalledTool {
    Complete(CallToolResult),
    Task(Task),
}

/// With the extension a result says that it is a task. The link lets that through only where it
/// was declared.
fn is_extension(response: &Payload) -> bool {
    let kind = response.as_json().reader().peek_member("resultType");
    matches!(kind, Ok(Some(_)))
}

impl Future for ToolAnswer {
    type Output = Result<ToolResult, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Following::Not { .. } = &self.following {
            let response = match ready!(Pin::new(&mut self.answer).poll(cx)) {
                Ok(response) => response,
                Err(error) => return self.done(Err(error)),
            };
            match self.read(&response) {
                Ok(CalledTool::Complete(result)) => return self.done(Ok(result)),
                Ok(CalledTool::Task(begun)) => self.follow(begun),
                Err(error) => return self.done(Err(error)),
            }
        }
        let Self {
            answer, following, ..
        } = &mut *self;
        let Following::Task(following) = following else {
            return Poll::Pending;
        };
        let polled = following.as_mut().poll(cx);
        // After it: what came before the result is told before it.
        answer.tell_task(cx);
        self.done(ready!(polled))
    }
}

impl fmt::Debug for ToolAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolAnswer")
            .field("tool", &self.name)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}
