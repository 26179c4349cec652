//! Handling what the driver reports about the transport.

use bytes::{Bytes, BytesMut};

use super::state::{Cause, LinkState};
use super::{ConnectionId, Link};
use crate::calls::CallId;
use crate::connection::{Connection, StreamEnd};
use crate::defect::{self, Defect};
use crate::outbox::Transmit;
use crate::time::Instant;

/// Why a transport could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenError {
    /// The reason, as a message.
    pub reason: String,
    /// `true` if trying again at once can't help: no such command, authorization refused.
    pub is_permanent: bool,
}

impl OpenError {
    /// Creates an error after which another attempt may succeed.
    pub fn transient(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_permanent: false,
        }
    }

    /// Creates an error that another attempt would only repeat.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_permanent: true,
        }
    }
}

impl Link {
    /// Handles that the transport is open: the handshake begins.
    pub fn handle_opened(&mut self, now: Instant, connection_id: ConnectionId) {
        if !self.is_current(connection_id) || self.state != LinkState::Starting {
            return;
        }
        self.observe_time(now);
        let mut config = self.config.connection.clone();
        config.known_era(self.known_era);
        let mut connection = Connection::new(config, self.carryover.take().unwrap_or_default());
        self.enter(now, LinkState::Initializing, Cause::Opened);
        connection.open(now);
        self.connection = Some(connection);
        self.process_connection_events(now);
    }

    /// Handles that the transport could not be opened.
    pub fn handle_open_failed(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        error: OpenError,
    ) {
        if !self.is_current(connection_id) {
            return;
        }
        match self.state {
            LinkState::Starting => {
                let cause = Cause::OpenFailed(error.reason);
                self.fail_attempt(now, cause, error.is_permanent);
            }
            LinkState::Closing => self.enter(now, LinkState::Closed, Cause::Drained),
            LinkState::Initializing | LinkState::Ready | LinkState::Backoff | LinkState::Closed => {
            }
        }
    }

    /// Returns the buffer to read into. `None` if this connection has ended.
    pub fn read_buffer(&mut self, connection_id: ConnectionId) -> Option<&mut BytesMut> {
        self.current_connection(connection_id)
            .map(Connection::read_buffer)
    }

    /// Handles bytes that were appended to the buffer.
    pub fn handle_read(&mut self, now: Instant, connection_id: ConnectionId) {
        self.with_connection(now, connection_id, |connection| connection.handle_read(now));
    }

    /// Handles the end of the shared stream.
    pub fn handle_eof(&mut self, now: Instant, connection_id: ConnectionId) {
        self.handle_transport_end(now, connection_id, |connection| connection.handle_eof(now));
    }

    /// Handles the end of the shared stream with a known reason: a process that exited.
    pub fn handle_end(&mut self, now: Instant, connection_id: ConnectionId, reason: &str) {
        self.handle_transport_end(now, connection_id, |connection| {
            connection.handle_end(now, reason)
        });
    }

    /// Handles the loss of the transport.
    pub fn handle_lost(&mut self, now: Instant, connection_id: ConnectionId, reason: &str) {
        self.handle_transport_end(now, connection_id, |connection| {
            connection.handle_lost(now, reason)
        });
    }

    /// Handles a message on a carrier with a stream per request: see
    /// [`Connection::handle_message`].
    pub fn handle_message(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        stream: Option<CallId>,
        frame: &Bytes,
    ) {
        self.with_connection(now, connection_id, |connection| {
            connection.handle_message(now, stream, frame);
        });
    }

    /// Handles input that is no message: see [`Connection::handle_activity`].
    pub fn handle_activity(&mut self, now: Instant, connection_id: ConnectionId) {
        self.with_connection(now, connection_id, |connection| {
            connection.handle_activity(now)
        });
    }

    /// Handles the end of the stream of a call: see [`Connection::handle_stream_end`]. If the
    /// server can't be reached while no other stream is open, the connection is lost.
    pub fn handle_stream_end(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        call: CallId,
        end: StreamEnd,
    ) {
        let unreachable = match &end {
            StreamEnd::NotSent(reason) => Some(reason.clone()),
            StreamEnd::Refused(_) | StreamEnd::Lost(_) | StreamEnd::Complete => None,
        };
        self.with_connection(now, connection_id, |connection| {
            connection.handle_stream_end(now, call, end);
            // Nothing else shows that the server is there.
            if let Some(reason) = unreachable
                && connection.is_ready()
                && connection.pending() == 0
            {
                connection.handle_lost(now, &reason);
            }
        });
    }

    /// Handles an expired HTTP session: `call` received a 404 with a session id. One handshake for
    /// all calls follows, and the call is sent again once.
    pub fn handle_session_expired(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        call: CallId,
    ) {
        if self.current_connection(connection_id).is_none() {
            return;
        }
        let session = self.session;
        let entry = self.calls.by_id(call);
        if let Some(entry) = entry.and_then(|key| self.calls.get_mut(key)) {
            // Once: with a server that forgets every session this would never end.
            entry.is_expired = entry.retries == 0;
            if entry.session < session {
                // That session has been replaced already.
                return self.with_connection(now, connection_id, |connection| {
                    connection.handle_expired_call(now, call);
                });
            }
        }
        if self.state == LinkState::Ready {
            self.enter(now, LinkState::Initializing, Cause::SessionExpired);
        }
        self.with_connection(now, connection_id, |connection| {
            connection.handle_session_expired(now, call);
        });
    }

    /// Handles a busy transport, which did not take `transmit`.
    pub fn handle_busy(&mut self, now: Instant, connection_id: ConnectionId, transmit: Transmit) {
        self.with_connection(now, connection_id, |connection| {
            connection.handle_busy(now, transmit);
        });
    }

    /// Handles a crash of the driver: the transport is gone with it. The link connects again,
    /// unless that happens too often.
    pub fn handle_crash(&mut self, now: Instant) {
        self.observe_time(now);
        match self.state {
            LinkState::Starting
            | LinkState::Initializing
            | LinkState::Ready
            | LinkState::Backoff => {}
            // The transport was to be closed, and is: an end that was asked for is no crash.
            LinkState::Closing => return self.enter(now, LinkState::Closed, Cause::Drained),
            LinkState::Closed => return,
        }
        let window = self.config.crash_window;
        self.crashes.retain(|at| now.since(*at) < window);
        self.crashes.push_back(now);
        let is_too_often = self.crashes.len() > self.config.max_crashes as usize;
        let waits = self.state == LinkState::Backoff;
        if !waits {
            self.drop_connection(now, "the client driver panicked");
        }
        if is_too_often {
            let cause = Cause::TooManyCrashes;
            return self.close_permanently(now, cause.lost_reason(), cause);
        }
        // Without a transport there is nothing to start anew before the wait is over.
        if !waits {
            self.enter(now, LinkState::Starting, Cause::DriverCrash);
        }
    }

    /// Handles a driver that can't run at all, because its environment lacks something that it
    /// needs. Closes the link permanently with this reason.
    pub fn handle_driver_failed(&mut self, now: Instant, reason: &str) {
        self.observe_time(now);
        match self.state {
            LinkState::Starting | LinkState::Initializing | LinkState::Ready => {
                self.drop_connection(now, reason);
            }
            LinkState::Backoff => {}
            LinkState::Closing => return self.enter(now, LinkState::Closed, Cause::Drained),
            LinkState::Closed => return,
        }
        self.close_permanently(now, reason.to_owned(), Cause::DriverFailed(reason.into()));
    }

    /// Returns `true` if this is the current connection.
    fn is_current(&self, connection_id: ConnectionId) -> bool {
        connection_id == self.connection_id || defect::is(Defect::StaleConnection)
    }

    fn current_connection(&mut self, connection_id: ConnectionId) -> Option<&mut Connection> {
        if self.is_current(connection_id) {
            self.connection.as_mut()
        } else {
            None
        }
    }

    /// Runs `work` with the connection, if it is the current one, and handles its events.
    pub(super) fn with_connection(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        work: impl FnOnce(&mut Connection),
    ) {
        self.observe_time(now);
        if let Some(connection) = self.current_connection(connection_id) {
            work(connection);
            self.process_connection_events(now);
        }
    }

    fn handle_transport_end(
        &mut self,
        now: Instant,
        connection_id: ConnectionId,
        work: impl FnOnce(&mut Connection),
    ) {
        if !self.is_current(connection_id) {
            return;
        }
        match self.state {
            LinkState::Initializing | LinkState::Ready => {
                self.with_connection(now, connection_id, work)
            }
            // It ended before the driver reported it as open.
            LinkState::Starting => {
                let cause = Cause::OpenFailed("closed immediately after opening".into());
                self.fail_attempt(now, cause, false);
            }
            LinkState::Closing => self.enter(now, LinkState::Closed, Cause::Drained),
            LinkState::Backoff | LinkState::Closed => {}
        }
    }
}
