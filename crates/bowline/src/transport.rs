//! Transports: how bytes reach a server.
//!
//! A [`Transport`] opens a stream of bytes, once for each connection. Everything
//! else, reconnecting included, is the client's: bring your own transport and it has it all.
//!
//! | transport | of what |
//! |---|---|
//! | [`ChildProcess`] | a command that is started for each connection |
//! | [`stdio()`] | stdin and stdout of this process, once |
//! | [`UnixSocket`], [`Tcp`] | a server that listens |
//! | [`single_stream()`] | a stream that is there already |
//! | [`memory`] | a server in the same process, for tests |
//!
//! Child processes, stdio and Unix sockets are for Unix, and tested on Linux.
//!
//! The files: `child` (a process), `stdio`, `sockets` (TCP and Unix), `single_stream` (a stream that
//! is there already), `memory` (tests) and `peer_addr` (the address of a client). A transport only
//! opens streams: retries, timeouts and the protocol belong to the client.

#[cfg(unix)]
mod child;
pub mod memory;
mod peer_addr;
mod single_stream;
mod sockets;
#[cfg(unix)]
mod stdio;

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

pub use bowline_proto::link::OpenError;
#[cfg(unix)]
pub use child::{ChildProcess, ChildProcesses, StderrTo};
pub use peer_addr::PeerAddr;
pub use single_stream::{SingleStream, single_stream};
pub use sockets::Tcp;
#[cfg(unix)]
pub use sockets::UnixSocket;
#[cfg(unix)]
pub use stdio::{Stdio, stdio};

/// The boxed future of a trait object.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Opens streams of bytes to a server.
///
/// ```
/// use bowline::transport::{OpenError, Stream, Transport};
/// use tokio::net::TcpStream;
///
/// /// A server on a socket.
/// struct Tcp(String);
///
/// impl Transport for Tcp {
///     async fn open(&mut self) -> Result<Stream, OpenError> {
///         let stream = TcpStream::connect(&self.0).await;
///         let stream = stream.map_err(|error| OpenError::transient(error.to_string()))?;
///         let (reader, writer) = stream.into_split();
///         Ok(Stream::new(reader, writer))
///     }
/// }
/// ```
pub trait Transport: Send + 'static {
    /// Opens a stream. Dropping the future gives it up.
    fn open(&mut self) -> impl Future<Output = Result<Stream, OpenError>> + Send;

    /// Returns how long a server may be silent at first, where
    /// [nothing else is configured](crate::Config::startup_timeout). Default: no longer than
    /// the handshake may take.
    fn startup_timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns what the client's `tracing` events call it: a command or an address, without
    /// arguments, credentials or anything else that a log should not have. Default: the name
    /// of the type.
    fn label(&self) -> String {
        let path = type_name::<Self>();
        let path = path.split('<').next().unwrap_or(path);
        path.rsplit("::").next().unwrap_or(path).to_owned()
    }
}

/// A stream of bytes in both directions.
pub struct Stream {
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(crate) peer: Option<Box<dyn StreamPeer>>,
    pub(crate) peer_addr: Option<PeerAddr>,
    #[cfg(feature = "http-server")]
    pub(crate) extensions: http::Extensions,
}

impl Stream {
    /// Creates a stream of two halves. Dropping them closes it.
    ///
    /// The reader is polled while the client is locked: it must not use its client.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::from_boxed(Box::new(reader), Box::new(writer))
    }

    pub(crate) fn from_boxed(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
    ) -> Self {
        Self {
            reader,
            writer,
            peer: None,
            peer_addr: None,
            #[cfg(feature = "http-server")]
            extensions: http::Extensions::new(),
        }
    }

    /// Returns the same stream, with a peer that reports why it ended.
    #[must_use]
    pub fn peer(mut self, peer: impl StreamPeer) -> Self {
        self.peer = Some(Box::new(peer));
        self
    }

    /// Returns the same stream, with the network address of its peer.
    #[must_use]
    pub fn with_peer_addr(mut self, address: PeerAddr) -> Self {
        self.peer_addr = Some(address);
        self
    }

    /// Returns the same stream, with a value for the extensions of each HTTP request on it: what a
    /// listener knows of its peer, such as a certificate, or the
    /// [`Principal`](crate::server::Principal) that it has authenticated. One value of each type is
    /// kept.
    #[cfg(feature = "http-server")]
    #[must_use]
    pub fn with_extension(mut self, value: impl Clone + Send + Sync + 'static) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Returns the network address of the peer, where that is known.
    pub fn peer_addr(&self) -> Option<PeerAddr> {
        self.peer_addr
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// The process or object at the other end of a stream. Dropping it ends that process.
pub trait StreamPeer: Send + 'static {
    /// Returns why the stream has just ended. `None` if that is unknown.
    ///
    /// Calls wait for this before they fail, so that their errors have the reason: it should take a
    /// few milliseconds. It is not waited for longer than a second.
    fn transport_end(&mut self) -> Pin<Box<dyn Future<Output = Option<TransportEnd>> + Send + '_>>;
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportEnd {
    /// The reason as a message: short, and safe to show.
    pub reason: String,
    /// The exit status of a process.
    pub status: Option<ExitStatus>,
    /// The end of its stderr output, unchanged: 64 KiB at most.
    pub stderr: String,
}

impl TransportEnd {
    /// Creates an end of which only the reason is known.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            ..Self::default()
        }
    }
}
