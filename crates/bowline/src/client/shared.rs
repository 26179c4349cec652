//! The state that the handles of a client and its driver share.
//!
//! The core sits behind a short lock: a call enters it directly, and a dropped future leaves
//! it at once. Nothing is awaited, decoded or woken while it is held.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bowline_proto::link::{
    CallKey, Link, LinkCall, LinkError, LinkEvent, LinkState, StopOutcome, SubscriptionKey,
    Transition,
};
use bowline_proto::{
    Agreement, CallRequest, IdCounter, Instant, MonotonicTable, Outcome, Payload, RequestKey, Sent,
    Timeouts, Transmit, TransmitKind,
};
use bowline_types::logging::{LoggingLevel, SetLevelParams};
use bowline_types::meta::RequestMeta;
use bowline_types::tasks::EXTENSION;
use bowline_types::{Era, Method, Revision};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::cache::Cache;
use super::config::ClientConfig;
use super::features::{check_capability, check_revision};
use super::notification_router::Router;
use super::output_validation::OutputSchemas;
use super::params::Params;
use super::server_requests::{Handlers, RunningHandlers, ServerRequest};
use super::session_adapter::with_log_level;
use super::subscription_dispatch::{ChangeLimits, SubscriptionDispatch, SubscriptionUpdate};
use super::telemetry::{StatusEvent, Telemetry};
use crate::clock::Clock;
use crate::connection_failure::ConnectionFailure;
use crate::error::{Error, ErrorKind};
use crate::transport::TransportEnd;

/// The limit on progress notifications that wait for one call. Beyond it the latest are kept.
pub(super) const PROGRESS: usize = 32;

/// The state that all handles of a client, and its driver, share.
#[derive(Debug)]
pub(crate) struct Shared {
    core: Mutex<Core>,
    pub(super) state: watch::Sender<LinkState>,
    pub(super) router: Router,
    pub(super) handlers: Handlers,
    pub(super) running_handlers: RunningHandlers,
    pub(super) subscriptions: SubscriptionDispatch,
    pub(super) change_limits: ChangeLimits,
    pub(super) cache: Cache,
    pub(super) output_schemas: OutputSchemas,
    pub(super) call_timeouts: Timeouts,
    /// `true` if there is a level of log messages: calls need not look otherwise.
    pub(super) has_log_level: AtomicBool,
    pub(super) clock: Clock,
    pub(super) telemetry: Telemetry,
}

/// The link, and the slots of the calls that wait.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    pub(super) slots: MonotonicTable<CallKey, Slot>,
    pub(super) agreement: Option<Arc<Agreement>>,
    /// This client has declared the extension of 2026-07-28.
    pub(super) declares_tasks: bool,
    /// The level of log messages that the user wants.
    pub(super) log_level: Option<LoggingLevel>,
    /// How the last stream ended, until there is another one.
    pub(super) transport_end: Option<Arc<TransportEnd>>,
    /// How the stream ended with which the link failed at this moment, until calls are served.
    pub(super) last_stream_end: Option<(Instant, Arc<TransportEnd>)>,
    /// Why the client is stopped, if not by its user.
    pub(super) stop_reason: &'static str,
    /// What is still to be sent after a stop: notifications and responses.
    pub(super) final_messages: Vec<Transmit>,
    /// The driver, while it has nothing to do.
    pub(super) driver: Option<Waker>,
}

/// Where the outcome of a call is put.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) outcome: Option<Outcome>,
    /// If the server may have seen the call, once it has ended.
    pub(super) sent: Sent,
    /// When it was received.
    pub(super) received_at: Option<Instant>,
    /// How the stream ended with which it was lost.
    pub(super) transport_end: Option<Arc<TransportEnd>>,
    /// Why this client abandoned it, where that is more precise than the outcome.
    pub(super) failure: Option<Error>,
    /// Why there was no connection when it ended, where it ended because of that.
    pub(super) no_connection: Option<Box<ConnectionFailure>>,
    pub(super) waker: Option<Waker>,
    /// No caller waits any more; the result, which is on its way, may be a task.
    pub(super) is_orphan: bool,
    pub(super) progress: VecDeque<Payload>,
    /// The task that handles input requests of the server for this call.
    pub(super) input: Option<AbortHandle>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(input) = &self.input {
            input.abort();
        }
    }
}

/// What is to be done after the lock is released.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    pub(super) wakers: Vec<Waker>,
    pub(super) events: Vec<DispatchEvent>,
    pub(super) state: Option<LinkState>,
    /// The events for an operator, at level info.
    pub(super) status_events: Vec<StatusEvent>,
    /// An event for a caller, held back until all of `events`, which precede it, are delivered.
    held_back: Option<LinkEvent>,
}

impl Dispatch {
    /// Returns `true` if an event for a caller is held back. Nothing more is read then: the queue
    /// would grow.
    pub(super) fn is_behind(&self) -> bool {
        self.held_back.is_some()
    }
}

/// An event to be delivered without the lock.
#[derive(Debug)]
pub(super) enum DispatchEvent {
    Notification(Box<str>, Option<Payload>),
    Request(RequestKey, ServerRequest),
    RequestCancelled(RequestKey),
    InputRequired(CallKey, Payload),
    /// The result of a call of a tool that was dropped: it may be a task.
    OrphanResult(Payload),
    /// There is a session.
    Ready,
    /// Something happened to a subscription.
    Subscription(SubscriptionKey, SubscriptionUpdate),
    /// The connection is gone, and with it all requests of the server.
    ConnectionLost,
}

impl Shared {
    /// Begins with a configuration, which is checked, and the transport's name in events.
    pub(super) fn new(mut config: ClientConfig, transport: &str) -> Self {
        let telemetry = Telemetry::new(config.name.as_deref(), transport);
        let _entered = telemetry.enter();
        let connection = config.link.connection();
        connection.seed_if_none(random_seed());
        let declares_tasks = connection.capabilities_mut().has_extension(EXTENSION);
        let call_timeouts = connection.default_timeouts();
        let link = Link::new(Instant::START, config.link, IdCounter::new());
        let (state, _) = watch::channel(link.state());
        let core = Core {
            link,
            slots: MonotonicTable::new(),
            agreement: None,
            declares_tasks,
            log_level: None,
            transport_end: None,
            last_stream_end: None,
            stop_reason: "",
            final_messages: Vec::new(),
            driver: None,
        };
        Self {
            core: Mutex::new(core),
            state,
            router: config.router,
            handlers: config.handlers,
            running_handlers: RunningHandlers::default(),
            subscriptions: SubscriptionDispatch::default(),
            change_limits: config.changes,
            cache: Cache::new(config.cache),
            #[cfg(feature = "validate")]
            output_schemas: OutputSchemas::new(config.output_validation),
            #[cfg(not(feature = "validate"))]
            output_schemas: OutputSchemas,
            call_timeouts,
            has_log_level: AtomicBool::new(false),
            clock: Clock::start(),
            telemetry,
        }
    }

    /// Returns the core. A panic while it was held is contained: its tables are consistent between
    /// any two of its methods.
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the core, and wakes the driver if it sleeps.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let _entered = self.telemetry.enter();
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

    /// Returns the time now, on the clock of the core.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the next report of progress of a call.
    pub(super) fn next_progress(&self, call: CallKey) -> Option<Payload> {
        self.lock().slots.get_mut(call)?.progress.pop_front()
    }

    /// Returns the same error, of a call that timed out, with why there is no connection now.
    pub(super) fn with_connection_failure(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Timeout || error.connection_failure().is_some() {
            return error;
        }
        let now = self.now();
        error.explained_by_connection_failure(self.lock().connection_failure(now))
    }

    /// Refuses what needs a client that may still connect.
    pub(super) fn check_open(&self) -> Result<(), Error> {
        let now = self.now();
        let core = self.lock();
        let closed = match core.link.state() {
            LinkState::Starting
            | LinkState::Initializing
            | LinkState::Ready
            | LinkState::Backoff => return Ok(()),
            LinkState::Closed if core.link.has_given_up() => LinkError::GaveUp,
            LinkState::Closing | LinkState::Closed => LinkError::Shutdown,
        };
        Err(core.refusal(now, closed))
    }

    /// Closes the link for good, for this reason.
    pub(super) fn give_up(&self, reason: &str) {
        self.with(|core, now| core.link.handle_driver_failed(now, reason));
    }
}

/// Returns the seed of the backoff: another number in each client, so that many don't reconnect at
/// the same time. It need not be hard to guess.
fn random_seed() -> u64 {
    RandomState::new().hash_one(0)
}

impl Core {
    /// Refuses what the revision of the session doesn't have.
    pub(super) fn check_revision(&self, method: &str) -> Result<(), Error> {
        let checked = match self.link.revision() {
            Some(revision) => check_revision(method, revision),
            None => Ok(()),
        };
        checked.map_err(|message| Error::new(ErrorKind::CapabilityNotSupported, message))
    }

    /// Refuses a call of what the server has not declared. Without a session that is not known:
    /// then it is checked when the call is sent.
    pub(super) fn check_capability(&self, method: &str) -> Result<(), Error> {
        let checked = match (&self.agreement, self.link.revision()) {
            (Some(agreement), Some(_)) => check_capability(method, agreement, self.declares_tasks),
            (_, _) => Ok(()),
        };
        checked.map_err(|message| Error::new(ErrorKind::CapabilityNotSupported, message))
    }

    /// Returns the `_meta` of a call, with the log level where calls carry it.
    pub(super) fn with_log_level(&self, meta: Option<RequestMeta>) -> Option<RequestMeta> {
        let era = self.link.revision().map(Revision::era);
        with_log_level(meta, self.log_level.as_ref(), era)
    }

    /// Sends the log level to a new session.
    pub(super) fn send_log_level(&mut self, now: Instant) {
        let (Some(level), Some(agreement)) = (&self.log_level, &self.agreement) else {
            return;
        };
        let revision = agreement.revision;
        let has_log = agreement.capabilities.logging.is_some();
        if revision.era() == Era::Stateless || !has_log {
            return;
        }
        let params = Params::encode(&SetLevelParams::new(level.clone()), revision);
        if let Ok(params) = params.check() {
            let request = CallRequest::new(Method::SetLevel.as_str(), params.members);
            // Its response is not waited for.
            if let Err(error) = self.link.call(now, LinkCall::new(request)) {
                tracing::debug!(%error, "log level not sent to the server");
            }
        }
    }

    /// Returns why there is no connection. `None` while there is one, before anything has
    /// failed, and once the client was stopped.
    pub(super) fn connection_failure(&self, now: Instant) -> Option<ConnectionFailure> {
        let last = self.link.last_failure()?;
        // Of another moment it is how an earlier stream ended.
        let transport_end = self
            .last_stream_end
            .as_ref()
            .filter(|(at, _)| *at == last.at);
        Some(ConnectionFailure {
            state: self.link.state(),
            cause: last.cause.clone(),
            transport_end: transport_end.map(|(_, transport_end)| Arc::clone(transport_end)),
            attempts: self.link.failed_attempts(),
            next_attempt: self.link.next_attempt().map(|at| at.since(now)),
        })
    }

    /// Returns the error for what the link refuses.
    pub(super) fn refusal(&self, now: Instant, error: LinkError) -> Error {
        match error {
            LinkError::Shutdown => {
                let error = Error::from_link(error, |at| at.since(now));
                error.with_message(self.stop_reason)
            }
            LinkError::GaveUp | LinkError::Unavailable { .. } => {
                let error = Error::from_link(error, |at| at.since(now));
                error.explained_by_connection_failure(self.connection_failure(now))
            }
            other => Error::from_link(other, |at| at.since(now)),
        }
    }

    /// Returns why there was no connection for a call that ended so, where that is why.
    fn no_connection(
        &self,
        now: Instant,
        outcome: &Outcome,
        sent: Sent,
    ) -> Option<Box<ConnectionFailure>> {
        let is_about_it = match outcome {
            Outcome::TimedOut { .. } => true,
            // A call that was sent was lost with its connection, whatever happened then.
            Outcome::Lost { .. } => sent == Sent::No && self.link.has_given_up(),
            _ => false,
        };
        if is_about_it {
            self.connection_failure(now).map(Box::new)
        } else {
            None
        }
    }

    /// Returns what a change of the state means to an operator.
    fn status_event(&self, transition: &Transition, now: Instant) -> Option<StatusEvent> {
        let next = match (transition.to, self.link.state()) {
            (LinkState::Backoff, LinkState::Backoff) => self.link.next_attempt(),
            (_, _) => None,
        };
        let delay = next.map(|at| at.since(now));
        StatusEvent::from_transition(transition, self.transport_end.as_deref(), delay)
    }

    /// Stops the link. Queued notifications and responses are still sent.
    pub(super) fn stop(&mut self, now: Instant) -> StopOutcome {
        while self.link.state() == LinkState::Ready
            && let Some(transmit) = self.link.poll_final_transmit()
        {
            match transmit.kind {
                TransmitKind::Notification | TransmitKind::Response => {
                    self.final_messages.push(transmit)
                }
                // The streams of all calls are closed with the transport.
                _ => {}
            }
        }
        self.link.stop(now)
    }

    /// Pauses the timeouts of all calls that are with the server, and returns their keys. On one
    /// stream it is not known for which of them the server sends a request.
    pub(super) fn pause_calls(&mut self, now: Instant) -> Vec<CallKey> {
        let link = &mut self.link;
        let made = self.slots.keys();
        made.filter(|call| link.set_call_paused(now, *call, true))
            .collect()
    }

    /// Resumes the timeouts of these calls.
    pub(super) fn resume_calls(&mut self, now: Instant, calls: &[CallKey]) {
        for call in calls {
            self.link.set_call_paused(now, *call, false);
        }
    }

    /// Takes the events of the link, to be handled without the lock. Returns `true` if there are
    /// more once these are handled: a caller that has its response must not find earlier messages
    /// of the server unhandled, be it a list that has changed or a handler that runs inline.
    #[must_use]
    pub(super) fn take_events(&mut self, now: Instant, dispatch: &mut Dispatch) -> bool {
        while let Some(event) = dispatch.held_back.take().or_else(|| self.link.poll_event()) {
            let is_for_caller =
                matches!(event, LinkEvent::Ended { .. } | LinkEvent::Progress { .. });
            if is_for_caller && !dispatch.events.is_empty() {
                dispatch.held_back = Some(event);
                return true;
            }
            match event {
                LinkEvent::Ended {
                    call,
                    outcome,
                    sent,
                } => {
                    if self.slots.get_mut(call).is_some_and(|slot| slot.is_orphan) {
                        self.slots.remove(call);
                        if let Outcome::Result(result) = outcome {
                            dispatch.events.push(DispatchEvent::OrphanResult(result));
                        }
                    } else if let no_connection = self.no_connection(now, &outcome, sent)
                        && let Some(slot) = self.slots.get_mut(call)
                    {
                        slot.no_connection = no_connection;
                        if let Outcome::Lost { .. } = outcome {
                            slot.transport_end.clone_from(&self.transport_end);
                        }
                        slot.outcome = Some(outcome);
                        slot.sent = sent;
                        slot.received_at = Some(now);
                        dispatch.wakers.extend(slot.waker.take());
                    }
                }
                LinkEvent::Progress { call, params } => {
                    if let Some(slot) = self.slots.get_mut(call) {
                        slot.push_progress(params);
                        dispatch.wakers.extend(slot.waker.take());
                    }
                }
                LinkEvent::State(transition) => {
                    dispatch
                        .status_events
                        .extend(self.status_event(&transition, now));
                    if transition.from == LinkState::Ready {
                        dispatch.events.push(DispatchEvent::ConnectionLost);
                    }
                    dispatch.state = Some(transition.to);
                }
                LinkEvent::Ready { session, agreement } => {
                    dispatch.status_events.push(StatusEvent::Connected {
                        session,
                        agreement: Arc::clone(&agreement),
                    });
                    self.agreement = Some(agreement);
                    self.last_stream_end = None;
                    dispatch.events.push(DispatchEvent::Ready);
                }
                LinkEvent::Notification { method, params } => {
                    dispatch
                        .events
                        .push(DispatchEvent::Notification(method, params));
                }
                LinkEvent::Request {
                    request,
                    method,
                    params,
                } => {
                    let revision = self.link.revision().unwrap_or(Revision::LATEST);
                    let server_request = ServerRequest::new(method, params, revision);
                    dispatch
                        .events
                        .push(DispatchEvent::Request(request, server_request));
                }
                LinkEvent::RequestCancelled(request) => {
                    dispatch
                        .events
                        .push(DispatchEvent::RequestCancelled(request));
                }
                LinkEvent::InputRequired { call, result, .. } => {
                    dispatch
                        .events
                        .push(DispatchEvent::InputRequired(call, result));
                }
                LinkEvent::SubscriptionOpened {
                    subscription,
                    honoured,
                } => dispatch.events.push(DispatchEvent::Subscription(
                    subscription,
                    SubscriptionUpdate::Open(honoured),
                )),
                LinkEvent::SubscriptionGap {
                    subscription,
                    honoured,
                } => dispatch.events.push(DispatchEvent::Subscription(
                    subscription,
                    SubscriptionUpdate::Gap(honoured),
                )),
                LinkEvent::SubscriptionEnded {
                    subscription,
                    outcome,
                } => dispatch.events.push(DispatchEvent::Subscription(
                    subscription,
                    SubscriptionUpdate::Ended(outcome),
                )),
                _ => tracing::debug!("unknown link event ignored"),
            }
        }
        false
    }
}

impl Slot {
    /// Returns the slot of a call that no caller waits for, whose result may be a task.
    pub(super) fn orphan() -> Self {
        let mut slot = Self::default();
        slot.is_orphan = true;
        slot
    }

    /// Registers the waker of the polling task. The waker that it replaces is to be dropped without
    /// the lock: a task may end with its last waker, and its calls with it.
    #[must_use]
    pub(super) fn register_waker(&mut self, cx: &Context<'_>) -> Option<Waker> {
        match &self.waker {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            Some(_) | None => self.waker.replace(cx.waker().clone()),
        }
    }

    fn push_progress(&mut self, params: Payload) {
        if self.progress.len() == PROGRESS {
            self.progress.pop_front();
        }
        self.progress.push_back(params);
    }
}
