//! The limits of an event log, and its counters.

use std::time::Duration;

/// The limits of the event log of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLogConfig {
    /// Events that are kept for clients that are not connected. Default 1000.
    pub events: usize,
    /// Bytes that are kept for clients that are not connected: those of the messages, and
    /// [`EVENT_OVERHEAD`](Self::EVENT_OVERHEAD) for each. Default 1 MiB: a thousand notifications
    /// of common size, or the results of some dozen calls, at a cost that ten thousand sessions
    /// could reach at once on a large machine. A larger message is sent, but can't be resumed.
    pub bytes: usize,
    /// Bytes that wait for connected clients to read them, counted in the same way. Default
    /// 33 MiB: two messages of the largest size. Beyond it the connection that has
    /// waited longest is given up; it can be resumed as long as its events are kept.
    pub unread_bytes: usize,
    /// Bytes that [`shed`](super::EventLog::shed) leaves for clients that are not connected, with those
    /// of streams that are remembered. Default 64 KiB.
    pub unshared_bytes: usize,
    /// Bytes that [`shed`](super::EventLog::shed) leaves for connected clients, beside final responses,
    /// all of which it leaves. Default 1 MiB: a connection that reads must not be given up for what
    /// other sessions keep, and what it can't read in time must not be much.
    pub unshared_unread_bytes: usize,
    /// How long an event is kept, read or not. Default 5 min: longer than the waits between a
    /// client's attempts to connect. A stream that has ended is remembered for twice as long, to
    /// report what has happened to its events.
    pub age: Duration,
    /// Streams that are remembered, at [`STREAM_OVERHEAD`](Self::STREAM_OVERHEAD) each. Default 1000. Beyond it those that
    /// ended first are forgotten; if none has ended, no stream can be opened.
    pub streams: usize,
}

impl EventLogConfig {
    /// The cost of an event beside its message, in bytes.
    pub const EVENT_OVERHEAD: usize = 128;

    /// The cost of a stream that is remembered, in bytes.
    pub const STREAM_OVERHEAD: usize = 512;
}

impl Default for EventLogConfig {
    fn default() -> Self {
        Self {
            events: 1000,
            bytes: 1024 * 1024,
            unread_bytes: 33 * 1024 * 1024,
            unshared_bytes: 64 * 1024,
            unshared_unread_bytes: 1024 * 1024,
            age: Duration::from_secs(5 * 60),
            streams: 1000,
        }
    }
}

/// What an event log has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLogStats {
    /// Events that were removed at a limit, final responses included.
    pub evicted: u64,
    /// Final responses that were removed at a limit before a client fetched them.
    pub evicted_responses: u64,
    /// Events that were removed for their age, final responses included.
    pub expired: u64,
    /// Final responses that were removed for their age before a client fetched them.
    pub expired_responses: u64,
    /// Connections that were given up since they did not read.
    pub lagged: u64,
    /// Connections whose stream was taken over by another one.
    pub displaced: u64,
}
