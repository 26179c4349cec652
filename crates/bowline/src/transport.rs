//! How bytes reach a server.
//!
//! A [`Transport`] opens a stream of bytes, once for each life of a connection. Everything
//! else, reconnecting included, is the client's: bring your own transport and it has it all.
//!
//! | transport | of what |
//! |---|---|
//! | [`ChildProcess`] | a command that is started for each life of a connection |
//! | [`stdio()`] | our own stdin and stdout, once |
//! | [`UnixSocket`], [`Tcp`] | a server that listens |
//! | [`once()`] | a stream that is there already |
//! | [`memory`] | a server in the same process, for tests |
//!
//! Child processes, stdio and Unix sockets are for Unix, and tested on Linux.

#[cfg(unix)]
mod child;
pub mod memory;
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
pub use child::{ChildProcess, Children, StderrTo};
pub use single_stream::{Once, once};
pub use sockets::Tcp;
#[cfg(unix)]
pub use sockets::UnixSocket;
#[cfg(unix)]
pub use stdio::{Stdio, stdio};

/// A future of a trait object.
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

    /// How long a server may be silent at first, where
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
    pub(crate) peer: Option<Box<dyn Peer>>,
}

impl Stream {
    /// A stream of two halves. Dropping them closes it.
    ///
    /// The reader is polled while the client is locked: it must not use its client.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Box::new(writer),
            peer: None,
        }
    }

    /// The same stream, with somebody who knows why it ended.
    #[must_use]
    pub fn peer(mut self, peer: impl Peer) -> Self {
        self.peer = Some(Box::new(peer));
        self
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// Who is at the other end of a stream, as far as that is known. Dropping it is the end of
/// whoever that is.
pub trait Peer: Send + 'static {
    /// Why the stream ended, which it just did. `None` when nobody knows.
    ///
    /// Calls wait for this before they fail, so that they can say why: it should take a few
    /// milliseconds. After a second nobody waits for it any more.
    fn why(&mut self) -> Pin<Box<dyn Future<Output = Option<TransportEnd>> + Send + '_>>;
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportEnd {
    /// In words: short, and safe to show.
    pub reason: String,
    /// The exit status of a process.
    pub status: Option<ExitStatus>,
    /// The end of what it said on stderr, as it said it: 64 KiB at most.
    pub stderr: String,
}

impl TransportEnd {
    /// An ending that is known in words only.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            ..Self::default()
        }
    }
}
