//! What a client's handles and its driver share.
//!
//! The core sits behind a short lock: a call enters it directly, and a dropped future leaves
//! it at once. Nothing is awaited, decoded or woken while it is held.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use bowline_proto::link::{CallKey, Link, LinkEvent, State, Transition};
use bowline_proto::{Agreement, Instant, Outcome, Payload, RequestKey};
use tokio::sync::watch;
use tokio::time::Instant as Moment;

use crate::transport::Ending;

/// What all have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    core: Mutex<Core>,
    pub(crate) state: watch::Sender<State>,
    clock: Moment,
}

/// The link, and who waits for what.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) link: Link,
    pub(crate) slots: BTreeMap<CallKey, Slot>,
    pub(crate) agreement: Option<Arc<Agreement>>,
    /// The last change of state, and why.
    pub(crate) last: Option<Transition>,
    /// How the last stream ended.
    pub(crate) ending: Option<Arc<Ending>>,
    /// The driver, while it has nothing to do.
    pub(crate) driver: Option<Waker>,
}

/// Where the outcome of a call is put.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) outcome: Option<Outcome>,
    pub(crate) waker: Option<Waker>,
}

/// What is to be done after the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Dispatch {
    pub(crate) wakers: Vec<Waker>,
    pub(crate) notifications: Vec<(Box<str>, Option<Payload>)>,
    pub(crate) requests: Vec<RequestKey>,
    pub(crate) state: Option<State>,
}

impl Shared {
    pub(crate) fn new(clock: Moment, link: Link) -> Self {
        let (state, _) = watch::channel(link.state());
        Self {
            core: Mutex::new(Core {
                link,
                slots: BTreeMap::new(),
                agreement: None,
                last: None,
                ending: None,
                driver: None,
            }),
            state,
            clock,
        }
    }

    /// The core. A panic while it was held is contained: its tables are consistent between
    /// any two of its methods.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the core, and wakes the driver if it sleeps.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let now = self.now();
        let mut core = self.lock();
        let done = work(&mut core, now);
        let driver = core.driver.take();
        drop(core);
        if let Some(driver) = driver {
            driver.wake();
        }
        done
    }

    /// Now, on the clock of the core.
    pub(crate) fn now(&self) -> Instant {
        let nanos = self.clock.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// A moment of the core, on the clock of the runtime.
    pub(crate) fn moment(&self, at: Instant) -> Moment {
        self.clock + at.since(Instant::START)
    }

    /// How long it is until a moment of the core.
    pub(crate) fn until(&self, at: Instant) -> Duration {
        at.since(self.now())
    }
}

impl Core {
    /// Takes what the link has to tell, for somebody to do without the lock.
    pub(crate) fn take_events(&mut self, dispatch: &mut Dispatch) {
        while let Some(event) = self.link.poll_event() {
            match event {
                LinkEvent::Ended { call, outcome } => {
                    if let Some(slot) = self.slots.get_mut(&call) {
                        slot.outcome = Some(outcome);
                        dispatch.wakers.extend(slot.waker.take());
                    }
                }
                LinkEvent::State(transition) => {
                    dispatch.state = Some(transition.to);
                    self.last = Some(transition);
                }
                LinkEvent::Ready { agreement, .. } => self.agreement = Some(Arc::from(agreement)),
                LinkEvent::Notification { method, params } => {
                    dispatch.notifications.push((method, params));
                }
                LinkEvent::Request { request, .. } => dispatch.requests.push(request),
                // Features that this handle doesn't offer yet.
                _ => {}
            }
        }
    }
}
