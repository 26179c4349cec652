//! A session of the handshake era, as the server has it.
//!
//! It holds what a client's `initialize` has settled, the requests that are being handled,
//! our own requests to the client, the log level and the watched resources. Like the client's
//! connection it is driven from outside: messages and time go in, messages and events come
//! out. It reads what [`route`](super::route) hands on; it knows no bytes.

mod config;
mod inbound;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bowline_types::logging::LoggingLevel;
use bowline_types::{ErrorObject, JsonRef, RequestId, Revision};
use bytes::Bytes;

use crate::calls::{CallId, CallLimits, Calls, IdCounter};
use crate::connection::{Outcome, Payload, RespondError, Sent};
use crate::message::{Composer, Members};
use crate::outbox::{Outbox, OutboxLimits, Transmit, TransmitKind};
use crate::time::Instant;

pub use config::SessionConfig;
pub use inbound::{ClientInfo, SessionEvent, SessionStats};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionPhase {
    /// The client has not said `initialize`.
    AwaitingInitialize,
    /// `initialize` is answered; requests are served.
    Initialized,
    /// The client has said that it is initialized, too.
    Ready,
    /// Nothing new is begun.
    ShuttingDown,
    /// Over.
    Closed,
}

impl SessionPhase {
    /// The phase in words, as errors have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingInitialize => "awaiting initialize",
            Self::Initialized => "initialized",
            Self::Ready => "ready",
            Self::ShuttingDown => "shutting down",
            Self::Closed => "closed",
        }
    }
}

/// A server's session of the handshake era: what the client's `initialize` has settled, the
/// requests that are being handled, our own requests to the client, the log level and the
/// watched resources. Messages and time go in, messages and events come out.
#[derive(Debug)]
pub struct Session {
    config: SessionConfig,
    composer: Composer,
    phase: SessionPhase,
    revision: Option<Revision>,
    /// Until when the handshake must be finished.
    handshake: Option<Instant>,
    counter: IdCounter,
    calls: Calls<()>,
    outbox: Outbox,
    /// Requests of the client that are being handled.
    open: BTreeSet<RequestId>,
    watched: BTreeSet<String>,
    log_level: Option<LoggingLevel>,
    events: VecDeque<SessionEvent>,
    stats: SessionStats,
}

/// Why a request to the client was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// There is no client yet, or no longer.
    NotReady,
    /// As many requests of ours wait as may, or as much waits to be sent.
    Busy,
}

impl Session {
    /// A session that waits for its client.
    pub fn new(now: Instant, config: SessionConfig) -> Self {
        let calls = Calls::new(CallLimits {
            pending: config.max_requests,
            tombstones: 4096,
            tombstone_lifetime: Duration::from_secs(75),
        });
        let outbox = Outbox::new(OutboxLimits {
            messages: config.max_queued,
            bytes: config.max_queued_bytes,
            answers: config.max_requests,
        });
        Self {
            composer: Composer {
                carrier: config.carrier,
                framing: config.framing,
            },
            phase: SessionPhase::AwaitingInitialize,
            revision: None,
            handshake: Some(now + config.handshake_timeout),
            counter: IdCounter::new(),
            calls,
            outbox,
            open: BTreeSet::new(),
            watched: BTreeSet::new(),
            log_level: None,
            events: VecDeque::new(),
            stats: SessionStats::default(),
            config,
        }
    }

    // Looking.

    /// Where it stands.
    pub fn phase(&self) -> SessionPhase {
        self.phase
    }

    /// The revision that is spoken, once it is agreed.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Whether the driver should read on.
    pub fn wants_read(&self) -> bool {
        self.phase != SessionPhase::Closed && self.outbox.takes_answers()
    }

    /// Whether the client watches a resource.
    pub fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    /// Whether a log message of this level is wanted. All are until the client says.
    pub fn logs(&self, level: &LoggingLevel) -> bool {
        self.log_level
            .as_ref()
            .is_none_or(|least| level.is_at_least(least))
    }

    /// Requests of the client that are being handled.
    pub fn open_requests(&self) -> usize {
        self.open.len()
    }

    /// What happened that has no other trace.
    pub fn stats(&self) -> SessionStats {
        self.stats
    }

    // The world did something.

    /// The peer made a stateless request beside the session: it needs no handshake, so none
    /// is waited for.
    pub fn handle_stateless(&mut self) {
        self.handshake = None;
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.handshake.is_some_and(|deadline| deadline <= now) {
            self.handshake = None;
            self.emit(SessionEvent::HandshakeTimedOut);
            if !self.config.handshake_timeout_only_logs {
                self.close();
            }
        }
        while let Some(call) = self.calls.overdue(now) {
            let started = self.calls.get(call).map(|waiting| waiting.started);
            self.calls.give_up(now, call);
            self.tell_cancelled(call, "timed out");
            let elapsed = started.map_or(Duration::ZERO, |started| now.since(started));
            self.ended(call, Outcome::TimedOut { elapsed });
        }
        self.calls.sweep(now);
    }

    // The application wants something.

    /// Answers a request of the client. A cancelled one has no answer.
    pub fn respond(&mut self, id: &RequestId, result: JsonRef<'_>) -> Result<(), RespondError> {
        if !self.open.remove(id) {
            return Err(RespondError);
        }
        let message = self.composer.result(id, result);
        self.outbox.push_owed(message);
        Ok(())
    }

    /// Answers a request of the client with an error.
    pub fn respond_error(
        &mut self,
        id: &RequestId,
        error: &ErrorObject,
    ) -> Result<(), RespondError> {
        if !self.open.remove(id) {
            return Err(RespondError);
        }
        let message = self.composer.error(Some(id), error);
        self.outbox.push_owed(message);
        Ok(())
    }

    /// Asks the client something: sampling, roots, elicitation, ping. `body` are the members
    /// of the parameters without braces.
    pub fn ask(
        &mut self,
        now: Instant,
        method: &str,
        body: impl Into<Bytes>,
    ) -> Result<CallId, AskError> {
        match self.phase {
            SessionPhase::Initialized | SessionPhase::Ready => {}
            SessionPhase::AwaitingInitialize
            | SessionPhase::ShuttingDown
            | SessionPhase::Closed => return Err(AskError::NotReady),
        }
        if !self.calls.has_room() {
            return Err(AskError::Busy);
        }
        let call = self.counter.issue().ok_or(AskError::Busy)?;
        let params = Members {
            meta: Vec::new(),
            body: body.into(),
        };
        let kind = TransmitKind::Call(call);
        let message = self
            .composer
            .message(kind, Some(&call.into()), method, params);
        self.outbox.push(message).map_err(|_| AskError::Busy)?;
        self.calls.insert(now, call, self.config.ask_timeouts, ());
        Ok(call)
    }

    /// Gives up a request to the client.
    pub fn cancel(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        if self.calls.give_up(now, call).is_none() {
            return false;
        }
        self.tell_cancelled(call, reason);
        self.ended(call, Outcome::Cancelled);
        true
    }

    /// Sends a notification. Whether there was room for it.
    pub fn notify(&mut self, method: &str, body: impl Into<Bytes>) -> bool {
        if self.phase == SessionPhase::Closed {
            return false;
        }
        let params = Members {
            meta: Vec::new(),
            body: body.into(),
        };
        let message = self
            .composer
            .message(TransmitKind::Notification, None, method, params);
        self.outbox.push(message).is_ok()
    }

    /// Begins nothing new; what is being handled may still be answered.
    pub fn shut_down(&mut self) {
        match self.phase {
            SessionPhase::AwaitingInitialize | SessionPhase::Initialized | SessionPhase::Ready => {
                self.phase = SessionPhase::ShuttingDown;
                self.handshake = None;
            }
            SessionPhase::ShuttingDown | SessionPhase::Closed => {}
        }
    }

    /// Ends the session and everything in it.
    pub fn close(&mut self) {
        if self.phase == SessionPhase::Closed {
            return;
        }
        self.phase = SessionPhase::Closed;
        self.handshake = None;
        while let Some(call) = self.calls.first() {
            self.calls.answer(call);
            let lost = Outcome::Lost {
                reason: "the session was closed".into(),
                sent: Sent::Maybe,
            };
            self.ended(call, lost);
        }
        for id in std::mem::take(&mut self.open) {
            self.emit(SessionEvent::RequestCancelled(id));
        }
        self.watched.clear();
        while self.outbox.pop().is_some() {}
        self.emit(SessionEvent::Closed);
    }

    // Draining.

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [
            self.handshake,
            self.calls.next_deadline(),
            self.calls.next_expiry(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn tell_cancelled(&mut self, call: CallId, reason: &str) {
        let reason = bowline_types::Json::from(reason);
        let body = format!("\"requestId\":{call},\"reason\":{reason}");
        let params = Members {
            meta: Vec::new(),
            body: body.into(),
        };
        let method = bowline_types::Method::Cancelled.as_str();
        let message = self
            .composer
            .message(TransmitKind::Notification, None, method, params);
        self.outbox.push_owed(message);
    }

    fn ended(&mut self, call: CallId, outcome: Outcome) {
        self.emit(SessionEvent::Ended { call, outcome });
    }

    fn emit(&mut self, event: SessionEvent) {
        self.events.push_back(event);
    }

    fn payload(frame: &Bytes, part: JsonRef<'_>) -> Payload {
        Payload(frame.slice_ref(part.as_str().as_bytes()))
    }
}
