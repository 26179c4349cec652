//! A call that was made, and its answer.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bowline_proto::Payload;
use bowline_proto::link::CallKey;
use bowline_types::Wire;
use bowline_types::progress::ProgressParams;

use super::call::OnProgress;
use super::shared::{PROGRESS, Shared};
use crate::error::{Error, ErrorKind};

/// The answer to a call, when it is there. Dropping it cancels the call: the server is told
/// once, and an answer that comes nevertheless is dropped.
pub struct Answer(State);

enum State {
    Pending(Pending),
    Refused(Option<Error>),
}

impl Answer {
    pub(super) fn pending(
        shared: Arc<Shared>,
        key: CallKey,
        method: Cow<'static, str>,
        on_progress: Option<OnProgress>,
    ) -> Self {
        Self(State::Pending(Pending {
            shared,
            key,
            method,
            on_progress,
            is_done: false,
        }))
    }

    pub(super) fn refused(error: Error) -> Self {
        Self(State::Refused(Some(error)))
    }

    /// The next report of progress, for a call that was made
    /// [with it](super::Call::with_progress). `None` when the call has ended. Cancel safe.
    ///
    /// ```
    /// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
    /// let call = client.call("tools/call", r#"{"name":"copy"}"#);
    /// let mut answer = call.with_progress().send();
    /// while let Some(progress) = answer.progress().await {
    ///     println!("{:?}", progress.message);
    /// }
    /// let result = answer.await?;
    /// # let _ = result;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn progress(&mut self) -> Option<ProgressParams> {
        match &mut self.0 {
            State::Pending(pending) => poll_fn(|cx| pending.poll_progress(cx)).await,
            State::Refused(_) => None,
        }
    }

    /// A handle with which others cancel the call.
    pub fn cancel_handle(&self) -> CancelHandle {
        match &self.0 {
            State::Pending(pending) => CancelHandle {
                shared: Arc::downgrade(&pending.shared),
                key: Some(pending.key),
            },
            State::Refused(_) => CancelHandle {
                shared: Weak::new(),
                key: None,
            },
        }
    }
}

impl Future for Answer {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Pending(pending) => pending.poll(cx),
            State::Refused(error) => Poll::Ready(Err(error.take().unwrap_or_else(ended))),
        }
    }
}

/// An answer is given once.
fn ended() -> Error {
    Error::new(ErrorKind::State, "the answer was taken already")
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Answer");
        match &self.0 {
            State::Pending(pending) => debug.field("method", &pending.method),
            State::Refused(error) => debug.field("refused", error),
        };
        debug.finish_non_exhaustive()
    }
}

/// Cancels a call. Clones cancel the same one; cancelling twice is cancelling once.
#[derive(Clone, Debug)]
pub struct CancelHandle {
    shared: Weak<Shared>,
    key: Option<CallKey>,
}

impl CancelHandle {
    /// Gives up the call: whoever awaits it gets an error of kind
    /// [`Cancelled`](crate::ErrorKind::Cancelled), and the server is told why. Whether it had
    /// not ended.
    pub fn cancel(&self, reason: &str) -> bool {
        let (Some(shared), Some(key)) = (self.shared.upgrade(), self.key) else {
            return false;
        };
        shared.with(|core, now| core.link.cancel(now, key, reason))
    }
}

/// A call that was made.
struct Pending {
    shared: Arc<Shared>,
    key: CallKey,
    method: Cow<'static, str>,
    on_progress: Option<OnProgress>,
    is_done: bool,
}

impl Pending {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Payload, Error>> {
        // What is looked at and what is taken is one step: a report that comes in between
        // would be lost with the slot.
        let mut core = self.shared.lock();
        let mut told_now = 0;
        while let Some(callback) = &mut self.on_progress
            && let Some(slot) = core.slots.get_mut(self.key)
            && let Some(report) = slot.progress.pop_front()
        {
            drop(core);
            told(report).into_iter().for_each(callback);
            told_now += 1;
            if told_now == PROGRESS {
                // A server may report faster than the callback works, and whoever polls may
                // have something else to look at: a timeout of its own, for one.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            core = self.shared.lock();
        }
        let Some(slot) = core.slots.get_mut(self.key) else {
            return Poll::Ready(Err(ended()));
        };
        let Some(outcome) = slot.outcome.take() else {
            let before = slot.wait(cx);
            drop(core);
            drop(before);
            return Poll::Pending;
        };
        let (ending, failure) = (slot.ending.take(), slot.failure.take());
        let slot = core.slots.remove(self.key);
        drop(core);
        drop(slot);
        self.is_done = true;
        let ended = match (failure, Error::from_outcome(outcome, ending)) {
            (Some(failure), Err(_)) => Err(failure),
            (_, ended) => ended,
        };
        let method = &mut self.method;
        Poll::Ready(ended.map_err(|error| error.in_operation(std::mem::take(method))))
    }

    fn poll_progress(&mut self, cx: &mut Context<'_>) -> Poll<Option<ProgressParams>> {
        loop {
            if let Some(report) = self.shared.next_progress(self.key) {
                match told(report) {
                    Some(report) => return Poll::Ready(Some(report)),
                    None => continue,
                }
            }
            let mut core = self.shared.lock();
            let Some(slot) = core.slots.get_mut(self.key) else {
                return Poll::Ready(None);
            };
            if slot.outcome.is_some() && slot.progress.is_empty() {
                return Poll::Ready(None);
            }
            if slot.progress.is_empty() {
                let before = slot.wait(cx);
                drop(core);
                drop(before);
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let slot = self.shared.with(|core, now| {
            core.link.cancel(now, self.key, "no longer wanted");
            core.slots.remove(self.key)
        });
        // Without the lock: its waker may be the last one of a task with other calls.
        drop(slot);
    }
}

/// A report, decoded here in the caller's task.
fn told(report: Payload) -> Option<ProgressParams> {
    let decoded = ProgressParams::from_json(report.as_str());
    let told = decoded.inspect_err(|error| tracing::debug!(%error, "progress can't be read"));
    told.ok()
}
