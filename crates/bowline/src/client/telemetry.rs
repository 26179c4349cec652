//! The spans of a client's events, and the events that show the state of a server at level info.
//!
//! There is one span for each connection: it carries the name of the server and the number of
//! the session. It is entered once for each wake-up of the driver, and for each call that is
//! made; without a subscriber both cost one look at a flag. The table of all events is in
//! docs/telemetry.md.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::link::{Cause, LinkState, Transition};
use bowline_proto::{Agreement, CloseReason};
use tracing::span::EnteredSpan;
use tracing::{Span, error_span, info, info_span};

use crate::log_names::shortened;
use crate::transport::TransportEnd;

/// The span of a client's connection, and what the next one carries.
#[derive(Debug)]
pub(super) struct Telemetry {
    /// `true` if the span is worth entering.
    is_enabled: AtomicBool,
    transport: Box<str>,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    /// The name of the server, from a registry or the configuration.
    server: Option<Box<str>>,
    span: Span,
}

impl Telemetry {
    /// Creates the span of the first connection.
    pub(super) fn new(server: Option<&str>, transport: &str) -> Self {
        let transport = shortened(transport);
        let server = server.map(shortened);
        let span = connection_span(server.as_deref(), &transport, 1);
        Self {
            is_enabled: AtomicBool::new(!span.is_disabled()),
            transport: transport.into(),
            current: Mutex::new(Current {
                server: server.map(Into::into),
                span,
            }),
        }
    }

    /// Names the server, unless it has a name: for a client that is added to a registry after
    /// its start.
    pub(super) fn set_server_name(&self, server: &str) {
        let mut current = self.lock();
        if current.server.is_none() {
            let server = shortened(server);
            current.span.record("server", &*server);
            current.server = Some(server.into());
        }
    }

    /// Begins another connection. If it becomes ready, its session has this number.
    pub(super) fn connect(&self, session: u64) {
        let mut current = self.lock();
        let span = connection_span(current.server.as_deref(), &self.transport, session);
        let is_enabled = !span.is_disabled();
        let earlier = std::mem::replace(&mut current.span, span);
        drop(current);
        // The subscriber closes it without the lock.
        drop(earlier);
        self.is_enabled.store(is_enabled, Ordering::Relaxed);
    }

    /// Enters the span of the connection, if a subscriber is interested in it.
    pub(super) fn enter(&self) -> Option<EnteredSpan> {
        let is_enabled = self.is_enabled.load(Ordering::Relaxed);
        is_enabled.then(|| self.span().entered())
    }

    /// Returns the span of the connection, for a task of it.
    pub(super) fn span(&self) -> Span {
        if self.is_enabled.load(Ordering::Relaxed) {
            self.lock().span.clone()
        } else {
            Span::none()
        }
    }

    /// Returns a span for the handler of a request or notification of the server: the one of
    /// the connection where only warnings are wanted.
    pub(super) fn handler_span(&self, method: &str, request: Option<u64>) -> Span {
        let connection = self.span();
        if connection.is_disabled() {
            return connection;
        }
        let span = info_span!(
            target: "bowline::request", parent: &connection, "request",
            method = &*shortened(method), request
        );
        if span.is_disabled() { connection } else { span }
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the span of a connection. It has the level of errors, so that no event that is
/// wanted is without it; and no parent, since it lasts longer than the caller's spans.
fn connection_span(server: Option<&str>, transport: &str, session: u64) -> Span {
    error_span!(
        target: "bowline::client", parent: None, "client",
        server, transport, session
    )
}

/// An event about a server for an operator, at level info.
#[derive(Debug)]
pub(super) enum StatusEvent {
    Connected {
        session: u64,
        agreement: Arc<Agreement>,
    },
    Changed {
        transition: Transition,
        /// How its stream ended.
        status: Option<ExitStatus>,
        /// Until the next attempt, where there is one.
        delay: Option<Duration>,
    },
}

impl StatusEvent {
    /// Returns what a change of the state means to an operator.
    pub(super) fn from_transition(
        transition: &Transition,
        transport_end: Option<&TransportEnd>,
        delay: Option<Duration>,
    ) -> Option<Self> {
        let is_notable = match transition.to {
            LinkState::Backoff | LinkState::Closed => true,
            // At once, without a wait.
            LinkState::Starting => {
                matches!(transition.from, LinkState::Ready | LinkState::Initializing)
            }
            LinkState::Initializing | LinkState::Ready | LinkState::Closing => false,
        };
        is_notable.then(|| Self::Changed {
            transition: transition.clone(),
            status: transport_end.and_then(|transport_end| transport_end.status),
            delay,
        })
    }

    /// Emits the events.
    pub(super) fn emit(self) {
        match self {
            Self::Connected { session, agreement } => connected(session, &agreement),
            Self::Changed {
                transition,
                status,
                delay,
            } => changed(&transition, status, delay),
        }
    }
}

fn connected(session: u64, agreement: &Agreement) {
    let info = agreement.server_info.as_ref();
    info!(
        server_name = info.map(|info| shortened(&info.name)).as_deref(),
        server_version = info.map(|info| shortened(&info.version)).as_deref(),
        revision = agreement.revision.as_str(),
        session,
        "connected to the server"
    );
}

fn changed(transition: &Transition, status: Option<ExitStatus>, delay: Option<Duration>) {
    let reason = reason(&transition.cause, status);
    match (transition.from, transition.to, &transition.cause) {
        (_, LinkState::Closed, Cause::Stopped | Cause::Drained) => info!("client stopped"),
        (_, LinkState::Closed, _) => info!(reason = &*reason, "client gave up"),
        (LinkState::Ready, _, _) => info!(reason = &*reason, "connection to the server lost"),
        _ => info!(reason = &*reason, "connection attempt failed"),
    }
    if let Some(delay) = delay {
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        info!(delay_ms, "next connection attempt scheduled");
    }
}

/// Returns why the state has changed, without anything that the server has written: what it
/// wrote to stderr, or its words in an error.
fn reason(cause: &Cause, status: Option<ExitStatus>) -> String {
    match (cause, status) {
        (Cause::OpenFailed(reason), _) => format!("{}: {}", cause.name(), shortened(reason)),
        (Cause::Ended(CloseReason::Transport(_)), Some(status)) => {
            format!("{} ({status})", cause.name())
        }
        _ => cause.name().to_owned(),
    }
}
