//! The configuration of a server over HTTP.

use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use ::http::request::Parts;
use bowline_proto::server::EventLogConfig;

use super::authenticate::{Authenticate, Authentication};
use super::forwarded::TrustedProxies;
use super::hosts::AllowedHosts;
use super::origins::AllowedOrigins;
use super::public_url::PublicUrl;
use super::refusal::HttpRefusal;
use super::server_card::{self, ServerCard};
use super::stored_sessions::StoredSessions;
use crate::server::session::{EventBudget, LogSettings};
use crate::server::store::{SessionStore, SharedSessionStore};

/// The longest time that is measured, ten years. A longer one, such as [`Duration::MAX`] for "never",
/// would exceed the clock when it is added to the current time.
const MAX_DURATION: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The configuration of a [server](super::super::Server) over HTTP.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    pub(super) max_body_bytes: usize,
    pub(super) max_pending_body_bytes: usize,
    pub(super) body_timeout: Duration,
    pub(super) keep_alive: Duration,
    pub(super) stream_after: Duration,
    pub(super) max_sessions: usize,
    pub(super) session_idle_timeout: Duration,
    pub(super) has_sessions: bool,
    session_store: Option<SharedSessionStore>,
    store_timeout: Duration,
    pub(super) allowed_hosts: AllowedHosts,
    pub(super) allowed_origins: AllowedOrigins,
    pub(super) trusted_proxies: TrustedProxies,
    authentication: Option<Authentication>,
    authentication_timeout: Duration,
    pub(super) path: Box<str>,
    pub(super) max_connections: usize,
    pub(super) head_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) max_streams_per_session: usize,
    pub(super) max_stream_age: Option<Duration>,
    has_resumption: bool,
    event_log: EventLogConfig,
    max_event_bytes: usize,
    pub(super) max_unread_response_bytes: usize,
    reconnect_delay: Duration,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) legacy_sse: Option<Box<str>>,
    pub(super) server_card: Option<ServerCard>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 * 1024 * 1024,
            max_pending_body_bytes: 256 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(2),
            max_sessions: 10_000,
            session_idle_timeout: Duration::from_secs(30 * 60),
            has_sessions: true,
            session_store: None,
            store_timeout: Duration::from_secs(2),
            allowed_hosts: AllowedHosts::default(),
            allowed_origins: AllowedOrigins::default(),
            trusted_proxies: TrustedProxies::default(),
            authentication: None,
            authentication_timeout: Duration::from_secs(10),
            path: "/mcp".into(),
            max_connections: 1024,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            max_streams_per_session: 256,
            max_stream_age: None,
            has_resumption: true,
            event_log: EventLogConfig::default(),
            max_event_bytes: 256 * 1024 * 1024,
            max_unread_response_bytes: 256 * 1024 * 1024,
            reconnect_delay: Duration::from_secs(1),
            public_url: None,
            legacy_sse: None,
            server_card: None,
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
    /// much, within a [limit for all of them](Self::max_pending_body_bytes).
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets how many bytes of bodies may be waiting for their rest, of all connections together.
    /// Default 256 MiB, and at least [one body](Self::max_body_bytes). A request beyond it is
    /// answered with 503 and `Retry-After`; small bodies, which arrive in one piece, don't count.
    #[must_use]
    pub fn max_pending_body_bytes(mut self, bytes: usize) -> Self {
        self.max_pending_body_bytes = bytes;
        self
    }

    /// Sets how long the body of a request may take to arrive. Default 30 s; then it is answered
    /// with 408.
    #[must_use]
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout.min(MAX_DURATION);
        self
    }

    /// Sets the time between two comments on a stream without events. Default 15 s: proxies are
    /// known to close streams that are silent for longer than 30 s.
    #[must_use]
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval.min(MAX_DURATION);
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

    /// Sets how long a session is kept without a request, an open stream or a running call. Default
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

    /// Sets the store in which the sessions of the handshake era are kept, so that several nodes
    /// can serve them, and so that they outlast a node. Default: each server keeps its own in
    /// memory.
    ///
    /// A request is served by the node that it reaches, with one or two operations of the store for
    /// each. A session expires by the clock of the store. If the store can't be used, `initialize`
    /// and requests within sessions are answered with 503 and `Retry-After`, never with 404; the
    /// stateless era needs no store.
    ///
    /// The answers of a client to questions of a handler, and its cancellations, have an effect only
    /// at the node where that handler runs, and changes are announced to a session only by the node
    /// that has its `GET` stream: a load balancer should keep a session on one node while it can.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use bowline::server::HttpConfig;
    /// use bowline::server::store::MemorySessions;
    ///
    /// // Two servers of one process. Those of several machines share a store beside them.
    /// let store = Arc::new(MemorySessions::new());
    /// let first = HttpConfig::new().session_store(Arc::clone(&store));
    /// let second = HttpConfig::new().session_store(store);
    /// # let _ = (first, second);
    /// ```
    #[must_use]
    pub fn session_store(mut self, store: impl SessionStore) -> Self {
        self.session_store = Some(SharedSessionStore::new(store, self.store_timeout));
        self
    }

    /// Sets how long an operation of the [session store](Self::session_store) may take. Default 2 s;
    /// then the request is answered with 503 and `Retry-After`.
    #[must_use]
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// Sets the hosts that requests may name. Default `localhost`, `127.0.0.1` and `[::1]` with
    /// any port, so that no page can reach a local server by DNS rebinding; any other host is
    /// answered with 403. A public server needs its own names here. Each entry is compared with
    /// the host of each request.
    #[must_use]
    pub fn allowed_hosts(mut self, hosts: AllowedHosts) -> Self {
        self.allowed_hosts = hosts;
        self
    }

    /// Sets the web origins that requests may come from, and whose pages may read the responses
    /// (CORS). Default `http` and `https` from `localhost`, `127.0.0.1` and `[::1]` with any port;
    /// any other origin is answered with 403. Requests without an origin, which are those of most
    /// clients, cost nothing.
    #[must_use]
    pub fn allowed_origins(mut self, origins: AllowedOrigins) -> Self {
        self.allowed_origins = origins;
        self
    }

    /// Sets the proxies whose `X-Forwarded-*` or `Forwarded` headers count. Default none, as any
    /// client can write them. With proxies, the host that they forward must be allowed as well as
    /// the one of the request. At most 16 proxies in a row are followed.
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.trusted_proxies = proxies;
        self
    }

    /// Sets the hook that authenticates each request, before its body is read: an async closure that
    /// gets the [head](super::HttpRequestHead) of the request and returns its
    /// [`Principal`](crate::server::Principal), or a
    /// [refusal](super::AuthenticationRefusal). Default: requests have the principal that the
    /// listener or a layer has set, or none.
    ///
    /// Host, origin and the rest of the head are checked first, and a CORS preflight, which never has
    /// credentials, is answered without asking the hook; in a layer around the service it would be
    /// refused. The pages of an allowed origin can read a refusal. `/healthz`, `/readyz` and the
    /// [server card](Self::server_card) are for everybody. A hook that panics is answered with 500.
    ///
    /// ```
    /// use bowline::server::{AuthenticationRefusal, HttpConfig, HttpRequestHead, Principal};
    /// use http::HeaderValue;
    ///
    /// let config = HttpConfig::new().authenticate(async |head: HttpRequestHead| {
    ///     match head.bearer_token() {
    ///         Some("open-sesame") => Ok(Principal::new("ali")),
    ///         _ => Err(AuthenticationRefusal::unauthorized(
    ///             HeaderValue::from_static("Bearer"),
    ///         )),
    ///     }
    /// });
    /// # let _ = config;
    /// ```
    #[must_use]
    pub fn authenticate(mut self, hook: impl Authenticate) -> Self {
        self.authentication = Some(Authentication::new(hook));
        self
    }

    /// Sets how long the [authentication](Self::authenticate) of a request may take. Default 10 s;
    /// then it is answered with 503 and `Retry-After`.
    #[must_use]
    pub fn authentication_timeout(mut self, timeout: Duration) -> Self {
        self.authentication_timeout = timeout;
        self
    }

    /// Sets the path of the endpoint. Default `/mcp`. A slash at its end makes no difference; other
    /// paths are answered with 404, apart from `/healthz`, `/readyz` and those of other settings.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.path = normalized(path.as_ref());
        self
    }

    /// Sets the URL at which clients see the root path of the server, where a proxy changes it:
    /// with `https://example.com/tools` they see the endpoint `/mcp` at
    /// `https://example.com/tools/mcp`. Default none: what clients are sent names no host, and the
    /// paths of this server.
    #[must_use]
    pub fn public_url(mut self, url: PublicUrl) -> Self {
        self.public_url = Some(url);
        self
    }

    /// Serves clients of the transport of 2024-11-05 (HTTP+SSE) at a path of their own, such as
    /// `/sse`: see [`LegacySseService`](super::LegacySseService). Default: they are not served.
    #[must_use]
    pub fn legacy_sse(mut self, path: impl AsRef<str>) -> Self {
        self.legacy_sse = Some(normalized(path.as_ref()));
        self
    }

    /// Sets the most connections that are served at the same time. Default 1024; with HTTP/1.1 each
    /// may keep 64 KiB, with HTTP/2 1 MiB of bodies that are being received and 64 KiB for each of up
    /// to 100 responses. Larger responses have a
    /// [limit for all of them](Self::max_unread_response_bytes).
    ///
    /// Beyond it the connection that has been without a request for the longest time is closed: at
    /// first one that has never sent a complete request head, and at last one that is still sending
    /// the body of its request. Only if all of them are being served, a new one is answered with 503
    /// and `Retry-After`.
    #[must_use]
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count;
        self
    }

    /// Sets how long the head of a request may take to arrive, from the opening of a connection or
    /// the first byte of the head on. Default 10 s; then the connection is closed.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout.min(MAX_DURATION);
        self
    }

    /// Sets how long a connection may be idle between two requests, and how long a client may
    /// read nothing of what is sent to it. Default 60 s; then the connection is closed.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout.min(MAX_DURATION);
        self
    }

    /// Sets the most requests and streams that one session may have open. Default 256; a request
    /// beyond it is answered with 503 and `Retry-After`.
    ///
    /// In a session of the [transport of 2024-11-05](Self::legacy_sse) these are the requests that
    /// are not answered, or whose response its client has not read.
    #[must_use]
    pub fn max_streams_per_session(mut self, count: usize) -> Self {
        self.max_streams_per_session = count;
        self
    }

    /// Sets after what time a stream of events ends, so that its client opens another one. Default:
    /// never. A server that is updated often reaches all of its clients that way. A stream on which a
    /// response is expected ends only if its client can resume it, from 2025-11-25 on. Not for streams of
    /// the [transport of 2024-11-05](Self::legacy_sse), whose end is that of their session.
    #[must_use]
    pub fn max_stream_age(mut self, age: Option<Duration>) -> Self {
        self.max_stream_age = age;
        self
    }

    /// Disables the resumption of event streams: events have no ids, a stream that is cut is lost with
    /// the response that was expected on it, and
    /// [`Context::close_stream`](super::super::Context::close_stream) does nothing.
    #[must_use]
    pub fn without_resumption(mut self) -> Self {
        self.has_resumption = false;
        self
    }

    /// Sets how many events, and bytes of them, a session keeps for clients that are not connected.
    /// Default 1000 and 1 MiB, each event counted with 128 bytes of its own. Beyond it the oldest event
    /// is removed first, and a response that no client has read last; a client that comes back for
    /// one that is gone is answered with 400 and the reason.
    #[must_use]
    pub fn max_session_events(mut self, count: usize, bytes: usize) -> Self {
        self.event_log.events = count;
        self.event_log.bytes = bytes;
        self
    }

    /// Sets how many bytes of events a session keeps that connected clients have not read yet. Default
    /// 33 MiB, twice the largest message. Beyond it the connection that has waited longest is closed;
    /// its client can resume the stream.
    #[must_use]
    pub fn max_session_unread_bytes(mut self, bytes: usize) -> Self {
        self.event_log.unread_bytes = bytes;
        self
    }

    /// Sets how many bytes of events all sessions keep together, with 512 bytes for each stream that is
    /// remembered. Default 256 MiB. Beyond it a session
    /// in which something is sent gives up events of its own, down to 64 KiB, and at last connections
    /// that don't read: at more than 1 MiB of unread messages beside responses.
    #[must_use]
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets how many bytes of responses over 64 KiB, and of events over it that are being sent, may be
    /// kept until their clients have read them, of all connections together. Default 256 MiB; a
    /// response counts in full until its last byte was read. Beyond it the ones that were not read for
    /// the longest time are cut, whose connection or HTTP/2 stream is reset; the newest one never is,
    /// whatever its size. [`HttpStats::cut_responses`](super::HttpStats::cut_responses) counts them.
    ///
    /// Events that clients can resume are kept within [another limit](Self::max_event_bytes), and
    /// streams of the [transport of 2024-11-05](Self::legacy_sse) have limits of their own.
    #[must_use]
    pub fn max_unread_response_bytes(mut self, bytes: usize) -> Self {
        self.max_unread_response_bytes = bytes;
        self
    }

    /// Sets how long an event is kept, a response that no client has read too. Default 5 min.
    #[must_use]
    pub fn event_age(mut self, age: Duration) -> Self {
        self.event_log.age = age;
        self
    }

    /// Sets when clients should resume an event stream that was cut: the `retry` of its first event,
    /// from 2025-11-25 on. Default 1 s.
    #[must_use]
    pub fn reconnect_delay(mut self, delay: Duration) -> Self {
        self.reconnect_delay = delay.min(MAX_DURATION);
        self
    }

    /// Serves a card at `server-card` below the endpoint (`GET /mcp/server-card`), which shows
    /// anyone who the server is and, where the [public URL](Self::public_url) is set, where its
    /// endpoints are. Default: there is none. It follows a draft of the protocol and may change with
    /// it.
    #[must_use]
    pub fn server_card(mut self, card: ServerCard) -> Self {
        self.server_card = Some(card);
        self
    }

    /// Adds the principal to the head of a request, where there is a hook that authenticates. After
    /// a refusal the head is empty.
    pub(super) async fn authenticate_request(&self, parts: &mut Parts) -> Result<(), HttpRefusal> {
        let Some(authentication) = &self.authentication else {
            return Ok(());
        };
        let client = self.trusted_proxies.client(parts);
        let deadline = self.authentication_timeout;
        let (empty, ()) = Request::new(()).into_parts();
        let taken = std::mem::replace(parts, empty);
        *parts = authentication.check(taken, client, deadline).await?;
        Ok(())
    }

    /// Returns what the event logs of sessions are made with, if there are sessions and their streams
    /// can be resumed.
    pub(in crate::server) fn log_settings(&self) -> Option<Arc<LogSettings>> {
        (self.has_sessions && self.has_resumption).then(|| {
            Arc::new(LogSettings {
                limits: self.event_log,
                reconnect_delay: self.reconnect_delay,
                budget: EventBudget::new(self.max_event_bytes),
            })
        })
    }

    /// Returns the sessions of all nodes, where there is a store.
    pub(super) fn stored_sessions(&self) -> Option<StoredSessions> {
        let store = self.session_store.clone()?;
        let store = store.deadline(self.store_timeout);
        Some(StoredSessions::new(store, self.session_idle_timeout))
    }

    /// Returns the paths beside that of the endpoint.
    pub(super) fn further_paths(&self) -> Vec<String> {
        let legacy = self.legacy_sse.iter().map(|path| path.to_string());
        let endpoint = self.path.trim_end_matches('/');
        let card = self.server_card.iter();
        let card = card.map(|_| format!("{endpoint}{}", server_card::PATH));
        legacy.chain(card).collect()
    }
}

/// Returns a path with a slash at its beginning only.
fn normalized(path: &str) -> Box<str> {
    format!("/{}", path.trim_matches('/')).into()
}
