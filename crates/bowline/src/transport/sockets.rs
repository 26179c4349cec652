//! Servers on sockets, with one message per line.

use std::io;
#[cfg(unix)]
use std::path::PathBuf;

use tokio::net::TcpStream;

use super::{OpenError, Stream, Transport};

/// A transport to a server on TCP.
///
/// There is neither encryption nor authentication: use it on one machine, or in a network that
/// provides both.
///
/// ```
/// let server = bowline::transport::Tcp::new("localhost:7000");
/// ```
#[derive(Clone, Debug)]
pub struct Tcp {
    address: String,
}

impl Tcp {
    /// Creates a transport to `host:port`. A name is looked up for each connection.
    pub fn new(address: impl Into<String>) -> Self {
        let address = address.into();
        Self { address }
    }
}

impl Transport for Tcp {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let connect_error = |error| connect_error(&self.address, &error);
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(connect_error)?;
        // Messages are written whole: waiting for more only makes them late.
        stream.set_nodelay(true).map_err(connect_error)?;
        let (reader, writer) = stream.into_split();
        Ok(Stream::new(reader, writer))
    }

    fn label(&self) -> String {
        self.address.clone()
    }
}

/// A transport to a server on a Unix socket.
///
/// ```
/// let server = bowline::transport::UnixSocket::new("/run/server.sock");
/// ```
#[cfg(unix)]
#[derive(Clone, Debug)]
pub struct UnixSocket {
    path: PathBuf,
}

#[cfg(unix)]
impl UnixSocket {
    /// Creates a transport to the socket at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path }
    }
}

#[cfg(unix)]
impl Transport for UnixSocket {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let stream = tokio::net::UnixStream::connect(&self.path).await;
        let stream = stream.map_err(|error| connect_error(&self.path.to_string_lossy(), &error))?;
        let (reader, writer) = stream.into_split();
        Ok(Stream::new(reader, writer))
    }

    fn label(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// Converts the error of a connect. A server that isn't there may come later.
fn connect_error(address: &str, error: &io::Error) -> OpenError {
    let message = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("{address}: connection refused: no server is listening ({error})")
        }
        io::ErrorKind::NotFound => format!("{address}: no such socket ({error})"),
        _ => format!("{address}: {error}"),
    };
    match error.kind() {
        // No address, a path that is too long, a socket that others may not use.
        io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => {
            OpenError::permanent(message)
        }
        _ => OpenError::transient(message),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Writes through a stream to its other end, and the other way round.
    async fn check(mut stream: Stream, mut other: impl AsyncReadWrite) {
        let mut read = [0; 5];
        stream.writer.write_all(b"there").await.unwrap();
        other.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"there");
        other.write_all(b"back!").await.unwrap();
        stream.reader.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"back!");
        drop(stream);
        assert_eq!(other.read(&mut read).await.unwrap(), 0);
    }

    trait AsyncReadWrite: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin {}
    impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> AsyncReadWrite for T {}

    // proves: TP-8
    #[tokio::test]
    async fn a_server_is_reached_through_tcp() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut server = Tcp::new(&address);
        let (stream, accepted) = tokio::join!(server.open(), listener.accept());
        check(stream.unwrap(), accepted.unwrap().0).await;

        drop(listener);
        let error = server.open().await.expect_err("it is gone");
        assert!(!error.is_permanent && error.reason.contains(&address));
        assert!(error.reason.contains("no server is listening"), "{error:?}");
        let error = Tcp::new("no port").open().await;
        assert!(error.expect_err("no address").is_permanent);
    }

    // proves: TP-8
    #[cfg(unix)]
    #[tokio::test]
    async fn a_server_is_reached_through_a_unix_socket() {
        let name = format!("bowline-socket-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut server = UnixSocket::new(&path);
        let error = server.open().await.expect_err("it isn't there yet");
        assert!(!error.is_permanent && error.reason.contains("bowline-socket"));

        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let (stream, accepted) = tokio::join!(server.open(), listener.accept());
        check(stream.unwrap(), accepted.unwrap().0).await;

        drop(listener);
        let error = server.open().await.expect_err("it is gone");
        assert!(!error.is_permanent, "{error:?}");
        std::fs::remove_file(&path).unwrap();
        let error = UnixSocket::new("x".repeat(200)).open().await;
        assert!(error.expect_err("too long").is_permanent);
    }
}
