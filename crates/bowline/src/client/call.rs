//! A call under way.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bowline_proto::link::{CallKey, LinkCall};
use bowline_proto::{CallRequest, Payload, Timeouts};
use bowline_types::meta::RequestMeta;

use super::shared::{Shared, Slot};
use crate::error::Error;

/// A call that has not been made yet. Await it to make it.
#[must_use = "a call is made when it is awaited"]
#[derive(Debug)]
pub struct Call<'c> {
    shared: &'c Arc<Shared>,
    method: String,
    request: CallRequest,
    timeouts: Timeouts,
    wait_for_ready: bool,
    is_idempotent: bool,
}

impl<'c> Call<'c> {
    pub(super) fn new(shared: &'c Arc<Shared>, request: CallRequest, method: String) -> Self {
        let timeouts = Timeouts::new(Duration::from_secs(30), Duration::from_secs(600));
        Self {
            shared,
            method,
            request,
            timeouts,
            wait_for_ready: false,
            is_idempotent: false,
        }
    }

    /// How long it may take without an answer. Default 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.idle = timeout;
        self
    }

    /// How long it may take altogether. Default 10 min.
    pub fn max_total(mut self, total: Duration) -> Self {
        self.timeouts.total = total;
        self
    }

    /// Waits for a connection, within the call's own time, instead of failing at once.
    pub fn wait_for_ready(mut self) -> Self {
        self.wait_for_ready = true;
        self
    }

    /// It may be made twice: with [`wait_for_ready`](Self::wait_for_ready) it is made again
    /// when its connection is lost.
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Adds entries to `_meta`.
    pub fn meta(mut self, meta: RequestMeta) -> Self {
        self.request = self.request.meta(meta);
        self
    }

    fn make(self) -> Result<Pending, Error> {
        let mut call = LinkCall::new(self.request.timeouts(self.timeouts));
        if self.wait_for_ready {
            call = call.wait_for_ready();
        }
        if self.is_idempotent {
            call = call.idempotent();
        }
        let made = self.shared.with(|core, now| {
            let key = core.link.call(now, call)?;
            core.slots.insert(key, Slot::default());
            Ok(key)
        });
        match made {
            Ok(key) => Ok(Pending {
                shared: Arc::clone(self.shared),
                key,
                method: self.method,
                is_done: false,
            }),
            Err(error) => {
                let error = Error::from_link(error, |at| self.shared.until(at));
                Err(error.in_operation(self.method))
            }
        }
    }
}

impl IntoFuture for Call<'_> {
    type Output = Result<Payload, Error>;
    type IntoFuture = Answer;

    /// Makes the call. Dropping the future cancels it: the server is told once, and an
    /// answer that comes nevertheless is dropped.
    fn into_future(self) -> Answer {
        Answer(match self.make() {
            Ok(pending) => State::Pending(pending),
            Err(error) => State::Refused(Some(error)),
        })
    }
}

/// The answer to a call. Dropping it cancels the call.
#[derive(Debug)]
pub struct Answer(State);

#[derive(Debug)]
enum State {
    Pending(Pending),
    Refused(Option<Error>),
}

impl Future for Answer {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Pending(pending) => pending.poll(cx),
            State::Refused(error) => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        }
    }
}

/// A call that was made.
#[derive(Debug)]
struct Pending {
    shared: Arc<Shared>,
    key: CallKey,
    method: String,
    is_done: bool,
}

impl Pending {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Payload, Error>> {
        let mut core = self.shared.lock();
        let Some(slot) = core.slots.get_mut(&self.key) else {
            return Poll::Pending;
        };
        let Some(outcome) = slot.outcome.take() else {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        core.slots.remove(&self.key);
        drop(core);
        self.is_done = true;
        let method = std::mem::take(&mut self.method);
        Poll::Ready(Error::from_outcome(outcome).map_err(|error| error.in_operation(method)))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.shared.with(|core, now| {
            core.slots.remove(&self.key);
            core.link.cancel(now, self.key, "no longer wanted");
        });
    }
}
