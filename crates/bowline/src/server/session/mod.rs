//! One client on one stream.
//!
//! The core sits behind a short lock, as the client's does: a handler's answer, its log
//! messages and its questions enter it directly.

mod changes;
mod driver;
mod handling;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::server::{ClientInfo, Listens, Session};
use bowline_proto::{CallId, CallRequest, Instant, Outcome, Payload, RequestKey, Rising};

use super::context::Context;
use super::core::ServerCore;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::transport::Stream;
use changes::Changes;

pub(super) use driver::Driver;
pub(super) use handling::GRACE;

/// Subscriptions of the stateless era that one client may have open, and resources in each.
const LISTENS: (usize, usize) = (64, 1000);

/// What a session's driver and its handlers share.
#[derive(Debug)]
pub(super) struct Shared {
    core: Mutex<Core>,
    pub(super) server: Arc<ServerCore>,
    clock: Clock,
}

/// The session, and who waits for what.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) session: Session,
    pub(super) client: Option<Arc<ClientInfo>>,
    /// Handlers that run in tasks of their own.
    pub(super) running: BTreeMap<RequestKey, Context>,
    asked: Rising<CallId, Asked>,
    pub(super) listens: Listens,
    pub(super) changes: Changes,
    /// The driver, while it has nothing to do.
    driver: Option<Waker>,
    /// Nothing new is begun, and the session ends when all is answered.
    is_draining: bool,
}

/// Where the answer to a question of ours is put.
#[derive(Debug, Default)]
struct Asked {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl Shared {
    pub(super) fn new(server: Arc<ServerCore>) -> Arc<Self> {
        let mut config = server.session_config();
        config.seed(RandomState::new().hash_one(0));
        let core = Core {
            session: Session::new(Instant::START, config),
            client: None,
            running: BTreeMap::new(),
            asked: Rising::new(),
            listens: Listens::new(LISTENS.0, LISTENS.1),
            changes: Changes::default(),
            driver: None,
            is_draining: false,
        };
        let shared = Arc::new(Self {
            core: Mutex::new(core),
            clock: Clock::start(),
            server,
        });
        shared.server.join(&shared);
        shared
    }

    /// Serves a stream until it ends. Must be called within a runtime.
    pub(super) fn serve(self: &Arc<Self>, stream: Stream) -> Driver {
        Driver::new(Arc::clone(self), stream)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the core, and wakes the driver if it sleeps.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Core, Instant) -> T) -> T {
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

    fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Begins nothing new; the session ends when all is answered.
    pub(super) fn shut_down(&self) {
        self.with(|core, _| {
            core.session.shut_down();
            core.is_draining = true;
        });
    }

    /// Ends everything now.
    pub(super) fn close(&self) {
        self.with(|core, now| core.session.close(now));
    }

    /// Asks the client something, for a request of its own.
    pub(super) async fn ask(
        &self,
        about: Option<RequestKey>,
        request: CallRequest,
    ) -> Result<Payload, Error> {
        let asked = self.with(|core, now| {
            let call = core.session.ask(now, about, request)?;
            core.asked.insert(call, Asked::default());
            Ok(call)
        });
        let call = asked.map_err(|error: bowline_proto::CallError| {
            Error::new(ErrorKind::State, error.to_string())
        })?;
        let waiting = Waiting { shared: self, call };
        let outcome = poll_fn(|cx| waiting.poll(cx)).await;
        Error::from_outcome(outcome, None)
    }
}

/// A question that waits. Dropping it gives it up.
struct Waiting<'s> {
    shared: &'s Shared,
    call: CallId,
}

impl Waiting<'_> {
    fn poll(&self, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        let mut core = self.shared.lock();
        let Some(asked) = core.asked.get_mut(self.call) else {
            return Poll::Pending;
        };
        match asked.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                asked.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.with(|core, now| {
            core.asked.remove(self.call);
            core.session.cancel(now, self.call, "no longer wanted");
        });
    }
}
