//! A session of a server with one client: one stream, or one session over HTTP.
//!
//! - `inbound`: messages of the client. `requests`: its requests, those that the session answers
//!   itself and those for a handler.
//! - `commands`: the application's commands. `lifecycle`: handshake, deadlines, closing.
//! - `config`, `event`, `record`: the public types around them.
//!
//! Code that the client's connection needs as well belongs to `endpoint`.

mod commands;
mod config;
mod event;
mod inbound;
mod lifecycle;
mod record;
mod requests;

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_types::logging::LoggingLevel;
use bowline_types::{RequestId, Revision};
use bytes::BytesMut;

use crate::carryover::Carryover;
use crate::endpoint::{Endpoint, Setup};
use crate::outbox::Transmit;
use crate::requests::RequestKey;
use crate::server::listen_subscriptions::Change;
use crate::server::route::RouterConfig;
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::Side;

pub use config::SessionConfig;
pub use event::{ClientInfo, SessionEvent};
pub use record::SessionRecord;

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionPhase {
    /// The client has not sent `initialize`.
    AwaitingInitialize,
    /// `initialize` is answered; requests are served.
    Initialized,
    /// The client has sent `notifications/initialized`.
    Ready,
    /// New requests are refused; open ones may still be answered.
    ShuttingDown,
    /// The session has ended.
    Closed,
}

impl SessionPhase {
    /// Returns the name of the phase, as in errors.
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

/// A session of a server with one client: one stream, or one session over HTTP.
///
/// It holds the negotiated revision, the requests that are being handled, our own requests to the
/// client, the log level and the subscribed resources. Like the client's
/// [`Connection`](crate::Connection) it is driven from outside: bytes, messages and time go
/// in, messages and events come out.
///
/// On a shared stream it reads the bytes itself and serves both eras side by side. Over HTTP
/// the driver calls [`route`](super::route) first: a request of the stateless era needs no
/// session, and all other messages are passed to the session with their streams.
#[derive(Debug)]
pub struct Session {
    config: Arc<SessionConfig>,
    router: RouterConfig,
    phase: SessionPhase,
    revision: Option<Revision>,
    /// Until when the handshake must be finished.
    handshake: Option<Instant>,
    endpoint: Endpoint<SessionEvent>,
    subscribed: BTreeSet<String>,
    subscribed_bytes: usize,
    log_level: Option<LoggingLevel>,
    /// Set when the client has closed its side of the stream.
    has_client_closed: bool,
}

impl Session {
    /// Creates a session that waits for its client. Sessions may share a configuration.
    pub fn new(now: Instant, config: impl Into<Arc<SessionConfig>>) -> Self {
        Self::with_carryover(now, config.into(), Carryover::new())
    }

    /// Creates a session that goes on from its record.
    pub fn resume(
        now: Instant,
        config: impl Into<Arc<SessionConfig>>,
        record: SessionRecord,
    ) -> Self {
        let mut session = Self::with_carryover(now, config.into(), record.carryover());
        session.phase = if record.is_ready {
            SessionPhase::Ready
        } else {
            SessionPhase::Initialized
        };
        session.handshake = session.handshake.filter(|_| !record.is_ready);
        session.revision = Some(record.revision);
        session.log_level = record.log_level;
        session.subscribed_bytes = record.subscribed.iter().map(String::len).sum();
        session.subscribed = record.subscribed;
        session
    }

    /// Returns what has to be kept of a session in which nothing is open, so that it can be
    /// [resumed](Self::resume). `None` before `initialize` is answered, and once it ends.
    pub fn into_record(mut self) -> Option<SessionRecord> {
        let subscribed = std::mem::take(&mut self.subscribed);
        self.record_with(subscribed)
    }

    /// Returns what [`into_record`](Self::into_record) would return now, of a session that goes on.
    pub fn record(&self) -> Option<SessionRecord> {
        self.record_with(self.subscribed.clone())
    }

    fn record_with(&self, subscribed: BTreeSet<String>) -> Option<SessionRecord> {
        let is_ready = match self.phase {
            SessionPhase::Initialized => false,
            SessionPhase::Ready => true,
            SessionPhase::AwaitingInitialize
            | SessionPhase::ShuttingDown
            | SessionPhase::Closed => return None,
        };
        let (next_call, next_request) = self.endpoint.next_ids();
        Some(SessionRecord {
            revision: self.revision?,
            is_ready,
            log_level: self.log_level.clone(),
            subscribed,
            next_call,
            next_request,
        })
    }

    fn with_carryover(now: Instant, config: Arc<SessionConfig>, carryover: Carryover) -> Self {
        let setup = Setup {
            side: Side::Server,
            carrier: config.carrier,
            framing: config.framing,
            limits: config.limits,
            seed: config.seed,
        };
        let mut endpoint = Endpoint::new(setup, carryover);
        endpoint.set_frame_timeout(config.frame_timeout);
        Self {
            router: RouterConfig {
                forward_unknown_methods: config.forward_unknown_methods,
                ..RouterConfig::new(config.revisions)
            },
            phase: SessionPhase::AwaitingInitialize,
            revision: None,
            handshake: Some(now + config.handshake_timeout),
            endpoint,
            subscribed: BTreeSet::new(),
            subscribed_bytes: 0,
            log_level: None,
            has_client_closed: false,
            config,
        }
    }

    // Accessors.

    /// Returns the phase of the session.
    pub fn phase(&self) -> SessionPhase {
        self.phase
    }

    /// Returns the negotiated protocol revision.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Returns `true` if the driver should read: one chunk for each `true`. Slow handlers don't
    /// pause reading: only responses that have not left, or events that have not been taken.
    pub fn wants_read(&self) -> bool {
        self.phase != SessionPhase::Closed && self.endpoint.wants_read()
    }

    /// Returns `true` if there is room for more responses. While there is none a driver should
    /// pause the handlers: their responses are kept until they have left.
    pub fn has_room_for_response(&self) -> bool {
        self.endpoint.outbox.has_room_for_response()
    }

    /// Returns `true` if the client has subscribed to a resource.
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.subscribed.contains(uri)
    }

    /// Returns `true` if the server has declared notifications of this change to a client of the
    /// handshake era. One of the stateless era subscribes to them.
    pub fn has_declared(&self, change: Change<'_>) -> bool {
        let has = &self.config.capabilities;
        let resources = has.resources.as_ref();
        let declared = match change {
            Change::Tools => has.tools.as_ref().and_then(|tools| tools.list_changed),
            Change::Prompts => has
                .prompts
                .as_ref()
                .and_then(|prompts| prompts.list_changed),
            Change::Resources => resources.and_then(|resources| resources.list_changed),
            Change::Resource(_) => resources.and_then(|resources| resources.subscribe),
        };
        self.revision.is_some() && declared == Some(true)
    }

    /// Returns `true` if a log message of this level is to be sent. All are until the client sets a
    /// level.
    pub fn is_log_level_enabled(&self, level: &LoggingLevel) -> bool {
        self.log_level
            .as_ref()
            .is_none_or(|least| level.is_at_least(least))
    }

    /// Returns the number of requests of the client that may be answered.
    pub fn open_requests(&self) -> usize {
        self.endpoint.requests.open()
    }

    /// Returns the number of requests of the client whose handlers are not done: those that may be
    /// answered, and those that were cancelled.
    pub fn open_handlers(&self) -> usize {
        self.endpoint.requests.len()
    }

    /// Returns the number of requests of ours that wait for the client.
    pub fn pending(&self) -> usize {
        self.endpoint.calls.len()
    }

    /// Returns the client's id of a request that may be answered.
    pub fn request_id(&self, request: RequestKey) -> Option<&RequestId> {
        self.endpoint
            .requests
            .get(request)
            .map(|request| &request.id)
    }

    /// Returns the counters of dropped and malformed messages.
    pub fn stats(&self) -> Stats {
        self.endpoint.stats
    }

    /// Returns the beginning of the latest malformed frame, for diagnostics. It is content of the
    /// client: don't write it to a log that others read.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.endpoint.malformed_sample.as_deref()
    }

    /// Returns the buffer to read into, on a shared stream. Then
    /// [`handle_read`](Self::handle_read).
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        self.endpoint.decoder.buffer()
    }

    // Output.

    /// Returns the next message to send. Take it only when the one before is written.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_transmit()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.endpoint.poll_event()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due. `None` while there is no
    /// deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.phase == SessionPhase::Closed {
            return None;
        }
        [self.handshake, self.endpoint.next_timeout()]
            .into_iter()
            .flatten()
            .min()
    }
}
