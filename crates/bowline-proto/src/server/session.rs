//! A client as a server has it: one client on one stream, or one session over HTTP.
//!
//! See [`Session`].

mod commands;
mod config;
mod event;
mod inbound;
mod lifecycle;
mod requests;

use std::collections::BTreeSet;

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
    /// Returns the phase in words, as errors have it.
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

/// A client as a server has it: one client on one stream, or one session over HTTP.
///
/// It holds what a client's `initialize` has settled, the requests that are being handled,
/// our own requests to the client, the log level and the watched resources. Like the client's
/// [`Connection`](crate::Connection) it is driven from outside: bytes, messages and time go
/// in, messages and events come out.
///
/// On a shared stream it reads the bytes itself and serves both eras side by side. Over HTTP
/// the driver asks [`route`](super::route) first: a request of the stateless era needs no
/// session, and the rest comes here with the stream on which it came.
#[derive(Debug)]
pub struct Session {
    config: SessionConfig,
    router: RouterConfig,
    phase: SessionPhase,
    revision: Option<Revision>,
    /// Until when the handshake must be finished.
    handshake: Option<Instant>,
    endpoint: Endpoint<SessionEvent>,
    watched: BTreeSet<String>,
    watched_bytes: usize,
    log_level: Option<LoggingLevel>,
    /// The client will say nothing more.
    has_client_closed: bool,
}

impl Session {
    /// Creates a session that waits for its client.
    pub fn new(now: Instant, config: SessionConfig) -> Self {
        let setup = Setup {
            side: Side::Server,
            carrier: config.carrier,
            framing: config.framing,
            limits: config.limits,
            seed: config.seed,
        };
        let mut endpoint = Endpoint::new(setup, Carryover::new());
        endpoint.set_frame_timeout(config.frame_timeout);
        Self {
            router: RouterConfig {
                hands_on_unknown: config.forward_unknown_methods,
                ..RouterConfig::new(config.revisions)
            },
            phase: SessionPhase::AwaitingInitialize,
            revision: None,
            handshake: Some(now + config.handshake_timeout),
            endpoint,
            watched: BTreeSet::new(),
            watched_bytes: 0,
            log_level: None,
            has_client_closed: false,
            config,
        }
    }

    // Looking.

    /// Returns where it stands.
    pub fn phase(&self) -> SessionPhase {
        self.phase
    }

    /// Returns the revision that is spoken, once it is agreed.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Returns `true` if the driver should read on: one chunk for each time that this is true.
    /// Never because handlers are slow: only while answers have not left, or events have not been
    /// taken.
    pub fn wants_read(&self) -> bool {
        self.phase != SessionPhase::Closed && self.endpoint.wants_read()
    }

    /// Returns `true` if there is room for more answers. While there is none a driver should let no
    /// handler go on: what they answer is kept until it has left.
    pub fn takes_answers(&self) -> bool {
        self.endpoint.outbox.has_room_for_answer()
    }

    /// Returns `true` if the client watches a resource.
    pub fn watches(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    /// Returns `true` if a client that has introduced itself was told that it will hear of such a
    /// change. One of the stateless era asks for it.
    pub fn declares(&self, change: Change<'_>) -> bool {
        let has = &self.config.capabilities;
        let resources = has.resources.as_ref();
        let declared = match change {
            Change::Tools => has.tools.as_ref().and_then(|it| it.list_changed),
            Change::Prompts => has.prompts.as_ref().and_then(|it| it.list_changed),
            Change::Resources => resources.and_then(|it| it.list_changed),
            Change::Resource(_) => resources.and_then(|it| it.subscribe),
        };
        self.revision.is_some() && declared == Some(true)
    }

    /// Returns `true` if a log message of this level is wanted. All are until the client says.
    pub fn logs(&self, level: &LoggingLevel) -> bool {
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

    /// Returns what happened that has no other trace.
    pub fn stats(&self) -> Stats {
        self.endpoint.stats
    }

    /// Returns the beginning of the last frame that was no message, for whoever looks for the
    /// reason. It is what the peer said: not for a log that others read.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.endpoint.malformed_sample.as_deref()
    }

    /// Returns the buffer to read into, on a shared stream. Then
    /// [`handle_read`](Self::handle_read).
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        self.endpoint.decoder.buffer()
    }

    // Draining.

    /// Returns the next message to send. Take it only when the one before is written.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_transmit()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.endpoint.poll_event()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due. `None` while nothing waits.
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
