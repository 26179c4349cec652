//! The future of a call that was made.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use bowline_proto::link::CallKey;
use bowline_proto::{Instant, Outcome, Payload, Sent};
use bowline_types::Wire;
use bowline_types::progress::ProgressParams;

use super::call::OnProgress;
use super::features::Canceller;
use super::shared::{PROGRESS, Shared, Slot};
use super::telemetry::Telemetry;
use super::url_elicitation_retry::RetryPlan;
use crate::error::{Error, ErrorKind};

/// The pending response to a call. Await it for the result. Dropping it cancels the call: the
/// server is notified once, and a late response is dropped.
pub struct PendingCall(State);

enum State {
    Pending(Pending),
    /// It was refused until URL elicitations are done, and is retried.
    Retrying {
        method: Cow<'static, str>,
        retry: Pin<Box<dyn Future<Output = Result<Payload, Error>> + Send>>,
        cancel: CancelHandle,
        is_done: bool,
    },
    Refused(Option<Error>),
}

impl PendingCall {
    pub(super) fn new(
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
            phase: CallPhase::InFlight,
            had_input_round: false,
            received_at: None,
            is_idempotent: false,
            retry_plan: None,
        }))
    }

    /// Sets whether the caller has declared the call to be idempotent.
    pub(super) fn idempotent(mut self, is_idempotent: bool) -> Self {
        if let State::Pending(pending) = &mut self.0 {
            pending.is_idempotent = is_idempotent;
        }
        self
    }

    /// Sets how it is retried when it is refused until URL elicitations are done.
    pub(super) fn with_retry_plan(mut self, retry_plan: Option<Box<RetryPlan>>) -> Self {
        if let State::Pending(pending) = &mut self.0 {
            pending.retry_plan = retry_plan;
        }
        self
    }

    /// Takes the callback for its progress.
    pub(super) fn take_on_progress(&mut self) -> Option<OnProgress> {
        match &mut self.0 {
            State::Pending(pending) => pending.on_progress.take(),
            State::Retrying { .. } | State::Refused(_) => None,
        }
    }

    /// Returns the response of a call that was refused here: nothing of it was sent.
    pub(super) fn refused(error: Error) -> Self {
        Self(State::Refused(Some(error.with_sent(Sent::No))))
    }

    /// Returns the next progress notification, for a call that was made
    /// [with it](super::Call::with_progress). `None` when the call has ended. Cancel safe.
    ///
    /// ```
    /// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
    /// let call = client.call("tools/call", r#"{"name":"copy"}"#);
    /// let mut call = call.with_progress().send();
    /// while let Some(progress) = call.progress().await {
    ///     println!("{:?}", progress.message);
    /// }
    /// let result = call.await?;
    /// # let _ = result;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn progress(&mut self) -> Option<ProgressParams> {
        match &mut self.0 {
            State::Pending(pending) => poll_fn(|cx| pending.poll_progress(cx)).await,
            State::Retrying { .. } | State::Refused(_) => None,
        }
    }

    /// Returns `true` if the server requested input before it responded.
    pub(super) fn had_input_round(&self) -> bool {
        match &self.0 {
            State::Pending(pending) => pending.had_input_round,
            State::Retrying { .. } => true,
            State::Refused(_) => false,
        }
    }

    /// Returns when the response was received, once it was taken.
    pub(super) fn received_at(&self) -> Option<Instant> {
        match &self.0 {
            State::Pending(pending) => pending.received_at,
            State::Retrying { .. } | State::Refused(_) => None,
        }
    }

    /// Delivers the progress of the task that the call has become to its callback.
    pub(super) fn deliver_task_progress(&mut self, cx: &mut Context<'_>) {
        if let State::Pending(pending) = &mut self.0 {
            pending.deliver_task_progress(cx);
        }
    }

    /// Abandons a call that may have become a task. Returns its result if it was received and not
    /// taken; one that is on its way is handled when it is received.
    pub(super) fn abandon(&mut self) -> Option<Payload> {
        match &mut self.0 {
            State::Pending(pending) => match pending.abandon(true)? {
                Outcome::Result(result) => Some(result),
                _ => None,
            },
            State::Retrying { .. } | State::Refused(_) => None,
        }
    }

    /// Returns a handle with which others cancel the call.
    pub fn cancel_handle(&self) -> CancelHandle {
        match &self.0 {
            State::Pending(pending) => pending.cancel_handle(),
            State::Retrying { cancel, .. } => cancel.clone(),
            State::Refused(_) => CancelHandle::inert(),
        }
    }
}

impl Future for PendingCall {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Pending(pending) = &mut self.0 {
            let ended = ready!(pending.poll(cx));
            match pending.take_retry(ended) {
                Ok(retrying) => self.0 = retrying,
                Err(ended) => return Poll::Ready(ended),
            }
        }
        match &mut self.0 {
            State::Pending(_) => Poll::Pending,
            State::Retrying { retry, is_done, .. } if !*is_done => {
                let ended = ready!(retry.as_mut().poll(cx));
                *is_done = true;
                Poll::Ready(ended)
            }
            State::Retrying { .. } => Poll::Ready(Err(already_taken(Sent::Maybe))),
            State::Refused(error) => {
                let error = error.take();
                Poll::Ready(Err(error.unwrap_or_else(|| already_taken(Sent::No))))
            }
        }
    }
}

/// Returns the error of a call that is polled after its end.
fn already_taken(sent: Sent) -> Error {
    Error::new(ErrorKind::State, "the response was already taken").with_sent(sent)
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("PendingCall");
        match &self.0 {
            State::Pending(pending) => debug.field("method", &pending.method),
            State::Retrying { method, .. } => debug.field("method", method),
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
    /// The task that the call becomes, if any.
    task: Option<Arc<Canceller>>,
    /// The URL elicitations before the call is retried, if any.
    retry: Option<Arc<Canceller>>,
}

impl CancelHandle {
    /// Returns a handle that cancels nothing: of a call that was not sent.
    pub(super) fn inert() -> Self {
        Self {
            shared: Weak::new(),
            key: None,
            task: None,
            retry: None,
        }
    }

    /// Adds the task that the call becomes, which is cancelled as well.
    pub(super) fn with_task(mut self, task: Arc<Canceller>) -> Self {
        self.task = Some(task);
        self
    }

    /// Cancels the call: it ends with an error of kind
    /// [`Cancelled`](crate::ErrorKind::Cancelled), and the server is notified of the reason.
    /// Returns `true` if the call had not ended.
    pub fn cancel(&self, reason: &str) -> bool {
        let (Some(shared), Some(key)) = (self.shared.upgrade(), self.key) else {
            return false;
        };
        let is_cancelled = shared.with(|core, now| core.link.cancel(now, key, reason));
        // A call that has ended may have become a task, or be about to be retried.
        let followers = self.retry.iter().chain(&self.task);
        is_cancelled || followers.fold(false, |cancelled, canceller| canceller.cancel() | cancelled)
    }
}

/// The phases of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallPhase {
    InFlight,
    /// It ended with a task, whose progress is still delivered.
    RunsAsTask,
    Done,
}

/// A call that was made.
struct Pending {
    shared: Arc<Shared>,
    key: CallKey,
    method: Cow<'static, str>,
    on_progress: Option<OnProgress>,
    phase: CallPhase,
    /// The server requested input before it responded.
    had_input_round: bool,
    /// When the response was received.
    received_at: Option<Instant>,
    /// The caller has declared that it may be executed twice.
    is_idempotent: bool,
    retry_plan: Option<Box<RetryPlan>>,
}

impl Pending {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Payload, Error>> {
        // Progress and outcome are taken under one lock: a notification in between would be
        // lost with the slot.
        let mut core = self.shared.lock();
        let mut delivered = 0;
        while let Some(callback) = &mut self.on_progress
            && let Some(slot) = core.slots.get_mut(self.key)
            && let Some(report) = slot.progress.pop_front()
        {
            drop(core);
            decode_progress(&self.shared.telemetry, report)
                .into_iter()
                .for_each(callback);
            delivered += 1;
            if delivered == PROGRESS {
                // A server may report faster than the callback works, and the polling
                // task may have other work: a timeout of its own, for one.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            core = self.shared.lock();
        }
        let Some(slot) = core.slots.get_mut(self.key) else {
            return Poll::Ready(Err(already_taken(Sent::Maybe)));
        };
        let Some(outcome) = slot.outcome.take() else {
            let replaced = slot.register_waker(cx);
            drop(core);
            drop(replaced);
            return Poll::Pending;
        };
        let (transport_end, failure) = (slot.transport_end.take(), slot.failure.take());
        let no_connection = slot.no_connection.take();
        let sent = slot.sent;
        self.received_at = slot.received_at;
        self.had_input_round = slot.input.is_some();
        let slot = if self.on_progress.is_some() && core.link.is_reporting(self.key) {
            self.phase = CallPhase::RunsAsTask;
            None
        } else {
            self.phase = CallPhase::Done;
            core.link.forget_progress(self.key);
            core.slots.remove(self.key)
        };
        let stop_reason = core.stop_reason;
        drop(core);
        drop(slot);
        let was_stopped = matches!(outcome, Outcome::Shutdown);
        let ended = match (
            failure,
            Error::from_outcome(outcome, Some(sent), transport_end),
        ) {
            (Some(failure), Err(_)) => Err(failure.with_sent(sent)),
            (None, Err(error)) if was_stopped => Err(error.with_message(stop_reason)),
            (_, ended) => ended,
        };
        let no_connection = no_connection.map(|failure| *failure);
        let ended = ended.map_err(|error| error.explained_by_connection_failure(no_connection));
        let (method, is_idempotent) = (&mut self.method, self.is_idempotent);
        Poll::Ready(ended.map_err(|error| {
            let error = error.in_operation(std::mem::take(method));
            if is_idempotent {
                error.with_repeatable(true)
            } else {
                error
            }
        }))
    }

    /// Turns a refusal that requires URL elicitations into a retry. Returns any other response as
    /// it is.
    fn take_retry(
        &mut self,
        ended: Result<Payload, Error>,
    ) -> Result<State, Result<Payload, Error>> {
        let refused = match ended {
            Err(error) if !error.url_elicitations().is_empty() => error,
            ended => return Err(ended),
        };
        let cancel = self.cancel_handle();
        let Some(plan) = self.retry_plan.take() else {
            return Err(Err(refused));
        };
        let method = refused.operation().unwrap_or_default().to_owned();
        let method: Cow<'static, str> = method.into();
        let shared = Arc::clone(&self.shared);
        let on_progress = self.on_progress.take();
        let retry = plan.run(shared, method.clone(), refused, on_progress);
        Ok(State::Retrying {
            method,
            retry: Box::pin(retry),
            cancel,
            is_done: false,
        })
    }

    fn cancel_handle(&self) -> CancelHandle {
        CancelHandle {
            shared: Arc::downgrade(&self.shared),
            key: Some(self.key),
            task: None,
            retry: self.retry_plan.as_ref().map(|plan| plan.canceller()),
        }
    }

    /// Delivers the progress of the task that the call has become, as much as waits. Wakes when
    /// there is more.
    fn deliver_task_progress(&mut self, cx: &mut Context<'_>) {
        let Some(callback) = self
            .on_progress
            .as_mut()
            .filter(|_| self.phase == CallPhase::RunsAsTask)
        else {
            return;
        };
        for _ in 0..PROGRESS {
            let mut core = self.shared.lock();
            let Some(slot) = core.slots.get_mut(self.key) else {
                return;
            };
            let Some(report) = slot.progress.pop_front() else {
                let replaced = slot.register_waker(cx);
                drop(core);
                drop(replaced);
                return;
            };
            drop(core);
            decode_progress(&self.shared.telemetry, report)
                .into_iter()
                .for_each(&mut *callback);
        }
        cx.waker().wake_by_ref();
    }

    /// Abandons the call. Returns its outcome, if it had one that was not taken.
    fn abandon(&mut self, may_be_task: bool) -> Option<Outcome> {
        let slot = match std::mem::replace(&mut self.phase, CallPhase::Done) {
            CallPhase::Done => return None,
            CallPhase::RunsAsTask => {
                let mut core = self.shared.lock();
                core.link.forget_progress(self.key);
                core.slots.remove(self.key)
            }
            CallPhase::InFlight => self.shared.with(|core, now| {
                let is_cancelled =
                    core.link
                        .cancel(now, self.key, "the caller dropped the request");
                core.link.forget_progress(self.key);
                let slot = core.slots.get_mut(self.key)?;
                if may_be_task && !is_cancelled && slot.outcome.is_none() {
                    // It has ended, and is held back until the events before it are delivered.
                    Some(std::mem::replace(slot, Slot::orphan()))
                } else {
                    core.slots.remove(self.key)
                }
            }),
        };
        // It is dropped without the lock: its waker may be the last one of a task with other calls.
        slot?.outcome.take()
    }

    fn poll_progress(&mut self, cx: &mut Context<'_>) -> Poll<Option<ProgressParams>> {
        loop {
            if let Some(report) = self.shared.next_progress(self.key) {
                match decode_progress(&self.shared.telemetry, report) {
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
                let replaced = slot.register_waker(cx);
                drop(core);
                drop(replaced);
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        drop(self.abandon(false));
    }
}

/// Decodes a progress notification, in the caller's task.
fn decode_progress(telemetry: &Telemetry, report: Payload) -> Option<ProgressParams> {
    let decoded = ProgressParams::from_json(report.as_str());
    let report = decoded.inspect_err(|error| {
        let _entered = telemetry.enter();
        tracing::debug!(%error, "progress notification can't be decoded");
    });
    report.ok()
}
