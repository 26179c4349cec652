//! The configuration of a server over HTTP.

use std::time::Duration;

/// The configuration of a [server](super::super::Server) over HTTP.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    pub(super) max_body_bytes: usize,
    pub(super) body_timeout: Duration,
    pub(super) keep_alive: Duration,
    pub(super) stream_after: Duration,
    pub(super) max_sessions: usize,
    pub(super) session_idle_timeout: Duration,
    pub(super) has_sessions: bool,
    pub(super) max_streams_per_session: usize,
    pub(super) max_stream_age: Option<Duration>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(2),
            max_sessions: 10_000,
            session_idle_timeout: Duration::from_secs(30 * 60),
            has_sessions: true,
            max_streams_per_session: 256,
            max_stream_age: None,
        }
    }
}

impl HttpConfig {
    /// Creates the default configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest body of a request, in bytes. Default 16 MiB, as for messages on other
    /// transports; a larger one is answered with 413. Each request that is being read may keep as
    /// much.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets how long the body of a request may take to arrive. Default 30 s; then it is answered
    /// with 408.
    #[must_use]
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// Sets the time between two comments on a stream without events. Default 15 s: proxies are
    /// known to close streams that are silent for longer than 30 s.
    #[must_use]
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets how long a request may stay unanswered before its response becomes a stream. Default
    /// 2 s. A handler that is faster and sends nothing else is answered with plain JSON.
    #[must_use]
    pub fn stream_after(mut self, delay: Duration) -> Self {
        self.stream_after = delay;
        self
    }

    /// Sets the most sessions of the handshake era. Default 10,000; beyond it `initialize` is
    /// answered with 503 and `Retry-After`. An idle session costs at most 1 KiB.
    #[must_use]
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// Sets how long a session is kept without a request and without an open stream. Default
    /// 30 min.
    #[must_use]
    pub fn session_idle_timeout(mut self, timeout: Duration) -> Self {
        self.session_idle_timeout = timeout;
        self
    }

    /// Disables sessions: in the handshake era each request stands alone, no `Mcp-Session-Id` is
    /// given out, and there is no stream for messages outside of requests.
    #[must_use]
    pub fn without_sessions(mut self) -> Self {
        self.has_sessions = false;
        self
    }

    /// Sets the most requests and streams that one session may have open. Default 256; a request
    /// beyond it is answered with 503 and `Retry-After`.
    #[must_use]
    pub fn max_streams_per_session(mut self, count: usize) -> Self {
        self.max_streams_per_session = count;
        self
    }

    /// Sets after what time a stream of events ends, so that its client opens another one. Default:
    /// never. A server that is updated often reaches all of its clients that way.
    #[must_use]
    pub fn max_stream_age(mut self, age: Option<Duration>) -> Self {
        self.max_stream_age = age;
        self
    }
}
