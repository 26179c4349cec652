//! Accepts clients from a listener, with a session for each of them.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::running_server::RunningServer;
use super::telemetry::listener_span;
use crate::error::{Error, ErrorKind};
use crate::transport::Stream;

/// The delay after a failure to accept a client: the first, and the longest.
pub(super) const RETRY_DELAYS: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_secs(1));

/// A listener that accepts clients. Implemented for TCP and Unix sockets.
pub trait Listener: Send + 'static {
    /// Accepts the next client. Cancel safe: dropping the future loses no client.
    fn accept(&mut self) -> impl Future<Output = io::Result<Stream>> + Send;

    /// Returns the address that clients connect to, where it is an IP address. Default: none. A
    /// server over HTTP warns of one that others can reach while its hosts are not set.
    fn local_addr(&self) -> Option<SocketAddr> {
        None
    }
}

impl Listener for TcpListener {
    async fn accept(&mut self) -> io::Result<Stream> {
        let (stream, address) = accept_tcp(self).await?;
        let (reader, writer) = stream.into_split();
        Ok(Stream::new(reader, writer).with_peer_addr(address.into()))
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        Self::local_addr(self).ok()
    }
}

/// Accepts a client whose small messages are sent at once.
async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = listener.accept().await?;
    if let Err(error) = stream.set_nodelay(true) {
        // At worst the connection is slower, or closed already: that is no reason to end the
        // listener.
        tracing::debug!(%error, "TCP_NODELAY can't be set on the socket of a client");
    }
    Ok((stream, address))
}

#[cfg(unix)]
impl Listener for UnixListener {
    async fn accept(&mut self) -> io::Result<Stream> {
        let (stream, _) = Self::accept(self).await?;
        let (reader, writer) = stream.into_split();
        Ok(Stream::new(reader, writer))
    }
}

impl RunningServer {
    /// Serves every client that a listener accepts, until the server is [shut
    /// down](Self::shut_down). Beyond the [limit](super::Server::max_sessions) clients wait to be
    /// accepted. A client that sends nothing within the [handshake
    /// timeout](super::Server::handshake_timeout) is disconnected.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use bowline::server::Server;
    ///
    /// let server = Server::new("shared", "1.0.0").tool("hello", "Greets", || async { "hello" });
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:7000").await?;
    /// server.build()?.serve_listener(listener).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Clients are not authenticated: use a listener that only trusted clients can reach.
    ///
    /// Cancel safe: dropping the future ends all sessions that it began.
    ///
    /// # Errors
    ///
    /// When the listener fails permanently.
    pub async fn serve_listener(&self, listener: impl Listener) -> Result<(), Error> {
        let span = listener_span(self.name());
        self.accept_all(listener).instrument(span).await
    }

    async fn accept_all(&self, mut listener: impl Listener) -> Result<(), Error> {
        let mut sessions = JoinSet::new();
        let mut end_signal = self.end_signal();
        let mut delay = RETRY_DELAYS.0;
        while !*end_signal.borrow() {
            let has_room = sessions.len() < self.max_sessions();
            match next_event(&mut listener, &mut end_signal, &mut sessions, has_room).await {
                AcceptEvent::Other => {}
                AcceptEvent::Accepted(Ok(stream)) => {
                    delay = RETRY_DELAYS.0;
                    sessions.spawn(self.serve_accepted(stream));
                }
                AcceptEvent::Accepted(Err(error)) if is_transient(&error) => {
                    tracing::warn!(%error, "accepting a client failed, trying again");
                    tokio::time::sleep(delay).await;
                    delay = (delay * 2).min(RETRY_DELAYS.1);
                }
                AcceptEvent::Accepted(Err(error)) => {
                    let message = error.to_string();
                    return Err(
                        Error::new(ErrorKind::Transport, message).in_operation("serve_listener")
                    );
                }
            }
        }
        drop(listener);
        while sessions.join_next().await.is_some() {}
        Ok(())
    }
}

/// The next event of a listener.
enum AcceptEvent {
    Accepted(io::Result<Stream>),
    /// A session ended, or the server is to end.
    Other,
}

async fn next_event(
    listener: &mut impl Listener,
    end_signal: &mut watch::Receiver<bool>,
    sessions: &mut JoinSet<Result<(), Error>>,
    has_room: bool,
) -> AcceptEvent {
    let mut changed = pin!(end_signal.changed());
    let mut accepted = pin!(listener.accept());
    poll_fn(|cx| {
        if changed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(AcceptEvent::Other);
        }
        if !sessions.is_empty() && sessions.poll_join_next(cx).is_ready() {
            return Poll::Ready(AcceptEvent::Other);
        }
        if has_room {
            accepted.as_mut().poll(cx).map(AcceptEvent::Accepted)
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Returns `true` if accepting may succeed later: there are too many descriptors or too little
/// memory now, or the client went away before it was accepted.
pub(super) fn is_transient(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotConnected | io::ErrorKind::Unsupported
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a small response waits for the acknowledgement of the one before it (40 ms).
    #[tokio::test]
    async fn an_accepted_socket_has_no_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), accept_tcp(&listener));
        let (stream, peer) = accepted.unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(peer, client.unwrap().local_addr().unwrap());
    }
}
