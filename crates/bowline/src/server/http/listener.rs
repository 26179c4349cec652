//! Serving HTTP on a listener, or on one stream of bytes.

use std::sync::Arc;
use std::time::Duration;

use super::bind_addr::BindAddr;
use super::config::HttpConfig;
use super::connections::{self, Shutdown};
use super::endpoint::Endpoint;
use super::routes::Routes;
use super::stats::refuses_public_hosts;
use crate::error::{Error, ErrorKind};
use crate::server::accept::Listener;
use crate::server::builder::Server;
use crate::server::running_server::RunningServer;
use crate::server::session::DEFAULT_SHUTDOWN_DEADLINE;
use crate::transport::Stream;

impl Server {
    /// Serves clients over Streamable HTTP at an address, on the path `/mcp`, until the future is
    /// dropped. All revisions of the protocol are served on it.
    ///
    /// A port alone is one of this machine: clients elsewhere can't reach it. For an address that
    /// they can reach, set the [hosts](HttpConfig::allowed_hosts) with
    /// [`RunningServer::serve_http`].
    ///
    /// ```no_run
    /// use bowline::server::Server;
    ///
    /// # async fn example() -> Result<(), bowline::Error> {
    /// Server::new("greeter", "1.0.0")
    ///     .tool("greet", "Greets", || async { "hello" })
    ///     .serve_http("127.0.0.1:8000")
    ///     .await
    /// # }
    /// ```
    ///
    /// Cancel safe: dropping the future ends all connections.
    ///
    /// # Errors
    ///
    /// When the configuration is [invalid](Self::build), or the address can't be used.
    pub async fn serve_http(self, address: impl Into<BindAddr>) -> Result<(), Error> {
        self.build()?.serve_http(address, HttpConfig::new()).await
    }
}

impl RunningServer {
    /// Serves clients over Streamable HTTP at an address, until the server is [shut
    /// down](Self::shut_down).
    ///
    /// Cancel safe: dropping the future ends all connections.
    ///
    /// # Errors
    ///
    /// When the address can't be used, or the listener fails permanently.
    pub async fn serve_http(
        &self,
        address: impl Into<BindAddr>,
        config: HttpConfig,
    ) -> Result<(), Error> {
        let address = address.into();
        let listener = address.bind().await.map_err(|error| {
            Error::new(ErrorKind::Transport, error.to_string()).in_operation("serve_http")
        })?;
        self.serve_http_listener(listener, config).await
    }

    /// Serves every client that a listener accepts over Streamable HTTP (HTTP/1.1 and HTTP/2), until
    /// the server is [shut down](Self::shut_down). Requests that are being served are finished then,
    /// within the [deadline](Server::shutdown_deadline).
    ///
    /// ```no_run
    /// use bowline::server::{HttpConfig, Server};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", || async { "hello" });
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// println!("http://{}/mcp", listener.local_addr()?);
    /// server.build()?.serve_http_listener(listener, HttpConfig::new()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cancel safe: dropping the future ends all connections.
    ///
    /// # Errors
    ///
    /// When the listener fails permanently.
    pub async fn serve_http_listener(
        &self,
        listener: impl Listener,
        config: HttpConfig,
    ) -> Result<(), Error> {
        if let Some(bound) = listener.local_addr()
            && refuses_public_hosts(bound.ip(), &config.allowed_hosts)
        {
            tracing::warn!(
                address = %bound,
                "requests to public host names are refused: set HttpConfig::allowed_hosts"
            );
        }
        let endpoint = self.http_endpoint(&config);
        connections::serve_listener(listener, endpoint, &config, self.http_shutdown()).await
    }

    /// Serves HTTP on one stream of bytes, until the client closes it or the server is [shut
    /// down](Self::shut_down).
    ///
    /// Cancel safe: dropping the future ends the connection.
    pub async fn serve_http_stream(&self, stream: Stream, config: HttpConfig) {
        let endpoint = self.http_endpoint(&config);
        connections::serve_stream(stream, endpoint, self.http_shutdown()).await;
    }

    fn http_endpoint(&self, config: &HttpConfig) -> Endpoint<Routes> {
        let counters = Arc::clone(self.http_counters());
        Endpoint::new(
            Routes::new(self, config),
            config,
            self.end_signal(),
            counters,
        )
    }

    fn http_shutdown(&self) -> Shutdown {
        let deadline = self.shutdown_deadline();
        // The last responses are written within the deadline of the connections.
        let deadline = deadline.unwrap_or(DEFAULT_SHUTDOWN_DEADLINE);
        Shutdown {
            signal: self.end_signal(),
            deadline: deadline.saturating_add(FLUSH_TIME),
        }
    }
}

/// How long the responses that end a server may take to be written.
const FLUSH_TIME: Duration = Duration::from_millis(500);
