//! A built server: it serves clients, each in a session of its own, and shuts down.

use std::future::Future;
use std::sync::Arc;

use bowline_proto::CloseReason;
use tokio::io::{duplex, split};
use tokio::sync::watch;

use super::features::ServerFeatures;
#[cfg(feature = "http-server")]
use super::http::{HttpConfig, HttpCounters, HttpService, HttpStats, LegacySseService};
use super::principal::Principal;
use super::server_core::{Origin, ServerCore};
use super::session::{ServeSession, SessionShared};
use super::session_set::ShutdownMode;
use crate::error::{Error, ErrorKind};
use crate::transport::memory::CAPACITY;
use crate::transport::{OpenError, Stream, Transport};

/// A server that is ready to serve any number of clients. Clones share one server.
///
/// ```no_run
/// use bowline::server::Server;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new("greeter", "1.0.0")
///     .tool("greet", "Greets", || async { "hello" })
///     .build()?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
/// let listening = tokio::spawn({
///     let server = server.clone();
///     async move { server.serve_listener(listener).await }
/// });
///
/// // When it is time to end: what is being served is finished.
/// server.shut_down();
/// listening.await??;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RunningServer(Arc<ServerCore>);

impl RunningServer {
    pub(super) fn new(core: ServerCore) -> Self {
        Self(Arc::new(core))
    }

    #[cfg(test)]
    pub(super) fn core(&self) -> &Arc<ServerCore> {
        &self.0
    }

    /// Serves one client on a transport, until it disconnects: see
    /// [`Server::serve`](super::Server::serve).
    ///
    /// Cancel safe: dropping the future ends the session.
    ///
    /// # Errors
    ///
    /// As for [`Server::serve`](super::Server::serve).
    pub async fn serve(&self, mut transport: impl Transport) -> Result<(), Error> {
        let stream = transport.open().await.map_err(|error| {
            Error::new(ErrorKind::Transport, error.reason).in_operation("serve")
        })?;
        self.serve_stream(stream).await
    }

    /// Serves one client on an open stream, until it disconnects. The client may be silent for as
    /// long as it likes, unlike one that a [listener](Self::serve_listener) accepts.
    ///
    /// Cancel safe: dropping the future ends the session.
    ///
    /// # Errors
    ///
    /// When the client violates the protocol more often than is tolerated.
    pub fn serve_stream(
        &self,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Stream(None), stream)
    }

    /// Serves one client whose identity the transport has authenticated. Each of its requests has
    /// this [principal](super::Principal), unless a layer sets another one.
    ///
    /// Cancel safe: dropping the future ends the session.
    ///
    /// # Errors
    ///
    /// As for [`serve_stream`](Self::serve_stream).
    pub fn serve_stream_as(
        &self,
        stream: Stream,
        principal: Principal,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Stream(Some(principal)), stream)
    }

    /// Returns a transport to this server within the process, for tests with a real client.
    ///
    /// Each time that it is opened a session begins, which ends when the client disconnects. After
    /// [`shut_down`](Self::shut_down) or [`close`](Self::close) opening it fails.
    ///
    /// ```
    /// # #[cfg(feature = "client")]
    /// # async fn example() -> Result<(), bowline::Error> {
    /// use bowline::Client;
    /// use bowline::server::Server;
    /// use bowline::types::common::Implementation;
    ///
    /// let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", || async { "hello" });
    /// let server = server.build()?.in_memory();
    /// let client = Client::connect(server, Implementation::new("test", "1")).await?;
    /// assert_eq!(client.tools().call("greet", ()).await?.text(), "hello");
    /// # Ok(())
    /// # }
    /// # #[cfg(feature = "client")]
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()
    /// #     .expect("a runtime").block_on(example()).expect("it greets");
    /// ```
    pub fn in_memory(&self) -> InMemoryTransport {
        InMemoryTransport(self.clone())
    }

    #[cfg(feature = "http-server")]
    pub(super) fn shutdown_deadline(&self) -> Option<std::time::Duration> {
        self.0.shutdown_deadline
    }

    /// Returns the features, to change them while the server runs.
    pub fn features(&self) -> &ServerFeatures {
        &self.0.features
    }

    /// Returns this server as a tower service, which answers the HTTP requests of one endpoint.
    #[cfg(feature = "http-server")]
    pub fn http_service(&self, config: HttpConfig) -> HttpService {
        HttpService::new(Arc::clone(&self.0), config)
    }

    /// Returns this server as a tower service for clients of the transport of 2024-11-05
    /// (HTTP+SSE), to be mounted beside [`http_service`](Self::http_service).
    #[cfg(feature = "http-server")]
    pub fn legacy_sse_service(&self, config: HttpConfig) -> LegacySseService {
        LegacySseService::new(Arc::clone(&self.0), config)
    }

    /// Returns how many requests over HTTP were refused, by reason: by its services, and by its
    /// listeners themselves.
    #[cfg(feature = "http-server")]
    pub fn http_stats(&self) -> HttpStats {
        self.0.http_counters.snapshot()
    }

    #[cfg(feature = "http-server")]
    pub(super) fn http_counters(&self) -> &Arc<HttpCounters> {
        &self.0.http_counters
    }

    /// Serves a client that a listener has accepted. A client that sends nothing, or only a part of
    /// a message, is disconnected after a timeout.
    pub(super) fn serve_accepted(
        &self,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Listener, stream)
    }

    fn serve_from(
        &self,
        origin: Origin,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let serving: ServeSession = SessionShared::new(Arc::clone(&self.0), origin).serve(stream);
        async move {
            match serving.await {
                CloseReason::Local | CloseReason::Transport(_) => Ok(()),
                reason => {
                    Err(Error::new(ErrorKind::Protocol, reason.to_string()).in_operation("serve"))
                }
            }
        }
    }

    /// Returns the server's name, for log events.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn end_signal(&self) -> watch::Receiver<bool> {
        self.0.sessions.end_signal()
    }

    pub(super) fn max_sessions(&self) -> usize {
        self.0.max_sessions
    }

    /// Shuts the server down: accepts no more clients and starts no more requests. Requests that
    /// are being served are finished, or cancelled when that takes longer than the
    /// [deadline](super::Server::shutdown_deadline). [`serve`](Self::serve) returns then. Tasks are
    /// cancelled, since no client could ask for them any more.
    pub fn shut_down(&self) {
        self.0.tasks.cancel_all();
        self.0.sessions.end(ShutdownMode::Graceful);
    }

    /// Ends all sessions and tasks immediately. Those of a server that
    /// [shares](super::Server::with_shared_features) its features go on.
    pub fn close(&self) {
        self.0.tasks.cancel_all();
        self.0.sessions.end(ShutdownMode::Immediate);
    }
}

/// A transport to a server in the same process: see [`RunningServer::in_memory`].
#[derive(Clone, Debug)]
pub struct InMemoryTransport(RunningServer);

impl Transport for InMemoryTransport {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        if *self.0.end_signal().borrow() {
            return Err(OpenError::permanent("the server has ended"));
        }
        let (ours, theirs) = duplex(CAPACITY);
        let (reader, writer) = split(theirs);
        // The session ends when the client drops its side.
        tokio::spawn(self.0.serve_stream(Stream::new(reader, writer)));
        let (reader, writer) = split(ours);
        Ok(Stream::new(reader, writer))
    }

    fn label(&self) -> String {
        "memory".to_owned()
    }
}
