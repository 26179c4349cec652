//! One client on one stream.
//!
//! The protocol state machine (`bowline_proto::server::Session`) sits behind a short lock, as the
//! client's does: a handler's response, its log messages and its questions enter it directly.
//! Nothing here decides protocol rules; they are the core's.
//!
//! Files: `driver` moves bytes and events between the stream and the core, `wakeup` is one wake-up
//! of it, `driver_slot` decides which task runs it, `session_shutdown` ends it in phases,
//! `dispatch_inbound` queues what the client sends and runs it, `handler_run` is one handler that
//! runs, `http_requests`, `http_drain`, `response_streams` and `response_queue` are what a session over HTTP has in place of a driver
//! (`legacy_stream` instead of the latter, with the transport of 2024-11-05), `stream_log` keeps the
//! events of its streams for clients that resume them, `stored_session` is what a store needs of one,
//! `blocking_quota` limits the session's threads, `change_notifications` and
//! `listen_subscriptions` notify the client of changes, `pending_url_elicitations` remembers which
//! URLs the client was asked to open. Never run a user's code, a waker or a destructor of a user's
//! value while the lock is held.

mod blocking_quota;
mod change_notifications;
mod dispatch_inbound;
mod driver;
mod driver_slot;
mod handler_run;
#[cfg(feature = "http-server")]
mod http_drain;
#[cfg(feature = "http-server")]
mod http_requests;
#[cfg(feature = "http-server")]
mod legacy_stream;
mod listen_subscriptions;
mod pending_url_elicitations;
#[cfg(feature = "http-server")]
mod response_queue;
#[cfg(feature = "http-server")]
mod response_streams;
mod session_shutdown;
#[cfg(feature = "http-server")]
mod stored_session;
#[cfg(feature = "http-server")]
mod stream_log;
mod wakeup;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::server::{Change, ClientInfo, ListenLimits, ListenSubscriptions, Session};
use bowline_proto::{
    CallError, CallId, CallRequest, Instant, MonotonicTable, Outcome, Payload, RequestKey, Sent,
};
use bytes::Bytes;
use tracing::Span;

use super::block_monitor;
use super::context::Context;
use super::principal::Principal;
use super::resource_subscriptions::HandlerSubscriptions;
use super::server_core::{Origin, ServerCore};
use super::session_set::{Membership, ShutdownMode};
use super::telemetry::session_span;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::log_names::entered;
use crate::transport::Stream;
use blocking_quota::BlockingQuota;
use change_notifications::PendingChanges;
use driver::Driver;
use driver_slot::ReplacementContext;
use pending_url_elicitations::PendingUrlElicitations;

pub(super) use blocking_quota::JobId;
pub(super) use driver_slot::ServeSession;
pub(super) use handler_run::CANCEL_GRACE;
#[cfg(feature = "http-server")]
pub(super) use http_requests::{HttpSessionStart, PostMessage, SessionRemains, SessionTimer};
#[cfg(feature = "http-server")]
pub(super) use legacy_stream::{LegacyOutput, NotTaken};
#[cfg(feature = "http-server")]
pub(super) use response_streams::{StreamOutput, StreamStart};
#[cfg(feature = "http-server")]
pub(super) use session_shutdown::DEFAULT_SHUTDOWN_DEADLINE;
#[cfg(feature = "http-server")]
pub(super) use stream_log::{EventBudget, LogSettings};

/// The state that a session's driver and its handlers share.
#[derive(Debug)]
pub(super) struct SessionShared {
    core: Mutex<SessionCore>,
    pub(super) server: Arc<ServerCore>,
    /// The principal to whom the stream belongs, where the transport knows it.
    pub(super) principal: Option<Principal>,
    clock: Clock,
    /// The span of the session's log events.
    pub(super) span: Span,
    /// How another worker takes over the driver when a handler blocks. Not set on a current-thread
    /// runtime.
    replacement_context: OnceLock<ReplacementContext>,
    /// Keeps it in the lists of its server.
    membership: OnceLock<Membership>,
}

/// The protocol session, and what waits for its events. Behind the lock.
#[derive(Debug)]
pub(super) struct SessionCore {
    /// Boxed, since it is large and moves with the rest when a session begins.
    pub(super) session: Box<Session>,
    pub(super) client: Option<Arc<ClientInfo>>,
    /// Handlers that run in tasks of their own.
    pub(super) running: BTreeMap<RequestKey, Context>,
    /// Running handlers that wait until there is room for more responses.
    waiting_for_room: BTreeMap<RequestKey, Waker>,
    /// The session's share of the threads for blocking handlers.
    blocking_quota: BlockingQuota,
    pending_questions: MonotonicTable<CallId, PendingQuestion>,
    pub(super) listens: ListenSubscriptions,
    /// Resource subscriptions that a [`Handler`](super::Handler) has accepted.
    pub(super) subscriptions: HandlerSubscriptions,
    changes: PendingChanges,
    url_elicitations: PendingUrlElicitations,
    /// Where messages leave over HTTP, where there is no driver.
    #[cfg(feature = "http-server")]
    streams: Option<response_streams::ResponseStreams>,
    /// Where all messages leave in place of these streams, with the transport of 2024-11-05.
    #[cfg(feature = "http-server")]
    legacy_stream: Option<legacy_stream::LegacyStream>,
    /// Wakes the driver, while it has nothing to do.
    driver: Option<Waker>,
    /// Set when the session ends: no request is started any more, and it closes when every request
    /// is answered.
    shutdown_reason: Option<ShutdownReason>,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownReason {
    /// The client has closed its sending side. It may still read responses.
    ClientDisconnected,
    /// The server was shut down, with a deadline.
    Requested,
}

impl SessionCore {
    fn new(session: Session, listen_limits: ListenLimits, max_blocking: usize) -> Self {
        Self {
            listens: ListenSubscriptions::new(listen_limits),
            session: Box::new(session),
            client: None,
            running: BTreeMap::new(),
            pending_questions: MonotonicTable::new(),
            waiting_for_room: BTreeMap::new(),
            blocking_quota: BlockingQuota::new(max_blocking),
            subscriptions: HandlerSubscriptions::default(),
            changes: PendingChanges::default(),
            url_elicitations: PendingUrlElicitations::default(),
            #[cfg(feature = "http-server")]
            streams: None,
            #[cfg(feature = "http-server")]
            legacy_stream: None,
            driver: None,
            shutdown_reason: None,
        }
    }

    /// Sends a notification of a handler. Over HTTP it is refused while too many wait on the stream of
    /// the request that it is about.
    pub(super) fn notify(
        &mut self,
        about: Option<RequestKey>,
        method: &str,
        members: Bytes,
    ) -> Result<(), CallError> {
        #[cfg(feature = "http-server")]
        if let Some(request) = about {
            /// What a message has beside its method and the members of its parameters, at most.
            const ENVELOPE: usize = 64;
            let bytes = ENVELOPE + method.len() + members.len();
            if !self.has_room_for_notification(request, bytes) {
                return Err(CallError::QueueFull);
            }
        }
        self.session.notify(about, method, members)
    }

    /// Removes a handler that is done.
    fn remove_handler(&mut self, request: RequestKey) {
        self.running.remove(&request);
        self.waiting_for_room.remove(&request);
    }
}

/// A request to the client that is waiting for its response.
#[derive(Debug, Default)]
struct PendingQuestion {
    /// The outcome, and whether the client may have seen the request.
    outcome: Option<(Outcome, Sent)>,
    waker: Option<Waker>,
}

impl SessionShared {
    pub(super) fn new(server: Arc<ServerCore>, origin: Origin) -> Arc<Self> {
        let mut config = server.session_config(&origin);
        config.seed(RandomState::new().hash_one(0));
        let limits = config.listen_limits();
        let session = Session::new(Instant::START, config);
        let core = SessionCore::new(session, limits, server.max_blocking);
        Self::with_core_state(server, core, Clock::start(), origin.principal())
    }

    fn with_core_state(
        server: Arc<ServerCore>,
        core: SessionCore,
        clock: Clock,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        let span = session_span(&server.name);
        let _entered = entered(&span);
        let shared = Arc::new(Self {
            core: Mutex::new(core),
            clock,
            span: span.clone(),
            server,
            principal,
            replacement_context: OnceLock::new(),
            membership: OnceLock::new(),
        });
        let membership = shared.server.sessions.add(&shared);
        let _ = shared.membership.set(membership);
        shared
    }

    /// Serves a stream until it ends. Must be called within a runtime.
    pub(super) fn serve(self: &Arc<Self>, stream: Stream) -> ServeSession {
        ServeSession::new(Driver::new(Arc::clone(self), stream))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SessionCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the core at the current time, and wakes the driver if it sleeps.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut SessionCore, Instant) -> T) -> T {
        let now = self.now();
        self.with_core(|core| work(core, now))
    }

    /// Runs `work` on the core, for callers that don't need the time, and wakes the driver.
    fn with_core<T>(&self, work: impl FnOnce(&mut SessionCore) -> T) -> T {
        let mut core = self.lock();
        let done = work(&mut core);
        #[cfg(feature = "http-server")]
        if core.streams.is_some() {
            let drained = core.drain_http(self.clock);
            drop(core);
            drained.finish_outbound(self);
            return done;
        }
        let driver = core.driver.take();
        drop(core);
        if let Some(driver) = driver {
            block_monitor::wake_driver(driver);
        }
        done
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Queues a change notification. A client that has not subscribed to it is not even woken.
    pub(super) fn on_change(&self, change: Change<'_>) {
        let _entered = entered(&self.span);
        let mut core = self.lock();
        if !core.wants_change(change) {
            return;
        }
        core.record_change(change);
        #[cfg(feature = "http-server")]
        if let Some(streams) = &mut core.streams {
            // The first of them sends it.
            streams.wake_all();
            if let Some(stream) = &mut core.legacy_stream {
                stream.note_change();
            }
            let drained = core.drain_http(self.clock);
            drop(core);
            drained.finish_outbound(self);
            return;
        }
        let driver = core.driver.take();
        drop(core);
        if let Some(driver) = driver {
            block_monitor::wake_driver(driver);
        }
    }

    /// Ends the session: when every request has its response, or immediately.
    pub(super) fn end(self: &Arc<Self>, mode: ShutdownMode) {
        let _entered = entered(&self.span);
        #[cfg(feature = "http-server")]
        if mode == ShutdownMode::Graceful && self.is_http() {
            return self.end_http();
        }
        self.with(|core, now| match mode {
            ShutdownMode::Graceful => {
                core.session.shut_down();
                core.shutdown_reason = Some(ShutdownReason::Requested);
            }
            ShutdownMode::Immediate => core.session.close(now),
        });
    }

    /// Lets the client of a request's event stream poll. Returns `false`: only over HTTP it can.
    #[cfg(not(feature = "http-server"))]
    pub(super) fn close_for_polling(&self, _: RequestKey, _: std::time::Duration) -> bool {
        false
    }

    /// Sends a request to the client, where `about` is the client's request that it belongs to.
    pub(super) async fn call_client(
        self: &Arc<Self>,
        about: Option<RequestKey>,
        request: CallRequest,
    ) -> Result<Payload, Error> {
        let question = self.with(|core, now| {
            let call = core.session.send_request(now, about, request)?;
            core.pending_questions
                .insert(call, PendingQuestion::default());
            Ok(call)
        });
        let call =
            question.map_err(|error: CallError| Error::new(ErrorKind::State, error.to_string()))?;
        let wait = QuestionWait { shared: self, call };
        #[cfg(feature = "http-server")]
        let mut timer = self.question_timer();
        let (outcome, sent) = poll_fn(|cx| {
            let polled = wait.poll(cx);
            #[cfg(feature = "http-server")]
            if let (true, Some(timer)) = (polled.is_pending(), &mut timer) {
                timer.poll(cx);
            }
            polled
        })
        .await;
        Error::from_outcome(outcome, Some(sent), None)
    }
}

/// Waits for the response to a request to the client. Dropping it cancels the request.
struct QuestionWait<'s> {
    shared: &'s SessionShared,
    call: CallId,
}

impl QuestionWait<'_> {
    fn poll(&self, cx: &mut TaskContext<'_>) -> Poll<(Outcome, Sent)> {
        let mut core = self.shared.lock();
        let Some(question) = core.pending_questions.get_mut(self.call) else {
            return Poll::Pending;
        };
        match question.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                question.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for QuestionWait<'_> {
    fn drop(&mut self) {
        self.shared.with(|core, now| {
            core.pending_questions.remove(self.call);
            core.session.cancel(
                now,
                self.call,
                "the handler no longer waits for the response",
            );
        });
    }
}
