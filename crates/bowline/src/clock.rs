//! The runtime's time, as the core has it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bowline_proto::Instant;
use tokio::time::{Instant as Moment, Sleep, sleep_until};

/// An instant that the runtime can't represent never comes.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A clock that begins when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Moment);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Moment::now())
    }

    /// Returns the current time, for the core.
    pub(crate) fn now(self) -> Instant {
        let nanos = self.0.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Converts a moment of the core for the runtime.
    fn moment(self, at: Instant) -> Moment {
        let since = at.since(Instant::START);
        self.0 + since.min(self.0.elapsed() + NEVER)
    }
}

/// Wakes a driver in time.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    timer: Pin<Box<Sleep>>,
    /// When it goes off: no later than the earliest time that was requested.
    armed: Option<Instant>,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            timer: Box::pin(sleep_until(clock.0)),
            armed: None,
        }
    }

    /// Arms the alarm for this moment, or before. It is set anew only for an earlier one: it goes
    /// off once too often then, which is cheaper than setting it with each call that ends.
    pub(crate) fn arm(&mut self, at: Option<Instant>) {
        let Some(at) = at else {
            return;
        };
        if self.armed.is_none_or(|armed| at < armed) {
            self.timer.as_mut().reset(self.clock.moment(at));
            self.armed = Some(at);
        }
    }

    /// Polls the alarm. Ready when it has gone off.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.armed.is_some() && self.timer.as_mut().poll(cx).is_ready() {
            self.armed = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
