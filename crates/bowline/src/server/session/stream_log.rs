//! The event log of a session over HTTP, with which its clients resume event streams.
//!
//! It is made when the first response of the session becomes a stream of events. Only sessions of
//! the handshake era have one. All logs of a server share an [`EventBudget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline_proto::server::{
    Continued, EventData, EventId, EventLog, EventLogConfig, EventReader, Read, Replay,
    ReplayError, StreamHead,
};
use bowline_proto::{Instant, StreamId, Transmit, TransmitKind};
use bowline_types::Revision;
use bytes::Bytes;
use memchr::memchr2;

/// What all event logs of a server have in common.
#[derive(Debug)]
pub(in crate::server) struct LogSettings {
    /// The limits of each log.
    pub(in crate::server) limits: EventLogConfig,
    /// When a client should resume a stream that was cut.
    pub(in crate::server) reconnect_delay: Duration,
    pub(in crate::server) budget: EventBudget,
}

/// The bytes that all event logs keep together.
#[derive(Debug)]
pub(in crate::server) struct EventBudget {
    kept: AtomicUsize,
    max: usize,
}

impl EventBudget {
    pub(in crate::server) fn new(max: usize) -> Self {
        Self {
            kept: AtomicUsize::new(0),
            max,
        }
    }

    /// Replaces the bytes of one log. Returns how many are too many now.
    fn replace(&self, before: usize, after: usize) -> usize {
        // Wraps where a log has become smaller: the sum is right.
        let change = after.wrapping_sub(before);
        let kept = self.kept.fetch_add(change, Ordering::Relaxed);
        kept.wrapping_add(change).saturating_sub(self.max)
    }

    /// Returns how many bytes are too many.
    fn excess(&self) -> usize {
        self.kept().saturating_sub(self.max)
    }

    /// Returns the bytes that are kept.
    pub(in crate::server) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }
}

/// The event log of one session.
#[derive(Debug)]
pub(super) struct StreamLog {
    log: EventLog,
    settings: Arc<LogSettings>,
    /// `true` if a stream begins with an event that has an id and no data (2025-11-25,
    /// basic/transports).
    has_priming: bool,
    /// The bytes that the budget knows of.
    counted: usize,
}

impl StreamLog {
    /// Creates the log of a session that has negotiated this revision.
    pub(super) fn new(settings: Arc<LogSettings>, revision: Option<Revision>) -> Self {
        Self {
            log: EventLog::new(settings.limits),
            settings,
            has_priming: revision >= Some(Revision::V2025_11_25),
            counted: 0,
        }
    }

    /// Returns `true` if the revision has priming events, and with them polling.
    pub(super) fn has_priming(&self) -> bool {
        self.has_priming
    }

    /// Returns when a client should resume a stream that was cut, where the revision says so.
    pub(super) fn reconnect_delay(&self) -> Option<Duration> {
        self.has_priming.then_some(self.settings.reconnect_delay)
    }

    /// Opens a stream. Without a reader its events can't be resumed: the log has no room.
    pub(super) fn open(&mut self, now: Instant, stream: StreamId) -> Option<EventReader> {
        let reader = self.log.open(now, stream).ok()?;
        if self.has_priming {
            // The stream has just been opened.
            let _ = self.log.append(now, stream, EventData::Priming);
        }
        self.keep_budget(now);
        Some(reader)
    }

    /// Appends a message of the core. Returns `false` if the stream has ended.
    pub(super) fn append(&mut self, now: Instant, stream: StreamId, transmit: &Transmit) -> bool {
        let message = one_line(transmit.to_bytes());
        let data = if transmit.kind == TransmitKind::Response {
            EventData::FinalResponse(message)
        } else {
            EventData::Message(message)
        };
        let is_open = self.log.append(now, stream, data).is_ok();
        self.keep_budget(now);
        is_open
    }

    pub(super) fn end(&mut self, now: Instant, stream: StreamId) {
        // It may have ended already, with its response.
        let _ = self.log.end(now, stream);
    }

    /// Lets the client of a stream poll. Returns `false` if the stream has ended.
    pub(super) fn close_stream(&mut self, now: Instant, stream: StreamId, retry: Duration) -> bool {
        self.log.close_stream(now, stream, retry).is_ok()
    }

    pub(super) fn replay(&mut self, now: Instant, last: EventId) -> Result<Replay, ReplayError> {
        let replay = self.log.replay(now, last);
        self.keep_budget(now);
        replay
    }

    pub(super) fn continue_stream(&mut self, now: Instant, stream: StreamId) -> Option<Continued> {
        let continued = self.log.continue_stream(now, stream).ok();
        self.keep_budget(now);
        continued
    }

    pub(super) fn poll_read(&mut self, now: Instant, reader: &EventReader) -> Read {
        let read = self.log.poll_read(now, reader);
        self.keep_budget(now);
        read
    }

    pub(super) fn detach(&mut self, now: Instant, reader: EventReader) {
        self.log.detach(now, reader);
        self.keep_budget(now);
    }

    pub(super) fn has_reader(&self, stream: StreamId) -> bool {
        self.log.has_reader(stream)
    }

    /// Removes what is too old. Returns `true` if no event is left.
    pub(super) fn is_empty(&mut self, now: Instant) -> bool {
        self.log.handle_timeout(now);
        self.keep_budget(now);
        self.log.is_empty()
    }

    /// Returns `true` if events of this time are not kept any more.
    pub(super) fn is_old(&self, at: Instant, now: Instant) -> bool {
        at + self.settings.limits.age <= now
    }

    pub(super) fn head(&self, stream: StreamId) -> Option<StreamHead> {
        self.log.head(stream)
    }

    /// Restores a stream of a session that was only a record.
    pub(super) fn restore(&mut self, head: StreamHead) {
        // The log is new, so the number is.
        let _ = self.log.restore(head);
    }

    /// Keeps the limit on all logs: this one, which has just changed, gives up what is too much.
    fn keep_budget(&mut self, now: Instant) {
        // Without a change there may be more to give up: a client may have disconnected.
        let excess = self.count();
        if excess > 0 {
            self.log.shed(now, excess);
            self.count();
        }
    }

    /// Reports to the budget what is kept. Returns how many bytes are too many.
    fn count(&mut self) -> usize {
        let bytes = self.log.cost();
        if bytes == self.counted {
            return self.settings.budget.excess();
        }
        let excess = self.settings.budget.replace(self.counted, bytes);
        self.counted = bytes;
        excess
    }
}

/// Returns a message without line ends, which are white space in JSON: an event has one line of data.
fn one_line(mut message: Vec<u8>) -> Bytes {
    let mut start = 0;
    while let Some(at) = memchr2(b'\n', b'\r', message.get(start..).unwrap_or_default()) {
        start += at + 1;
        if let Some(line_end) = message.get_mut(start - 1) {
            *line_end = b' ';
        }
    }
    message.into()
}

impl Drop for StreamLog {
    fn drop(&mut self) {
        self.settings.budget.replace(self.counted, 0);
    }
}
