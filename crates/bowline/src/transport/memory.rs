//! A transport within one process, for tests.

use tokio::io::{DuplexStream, duplex, split};
use tokio::sync::mpsc;

use super::{OpenError, Stream, Transport};

/// Bytes that either direction holds.
pub(crate) const CAPACITY: usize = 64 * 1024;

/// Returns a transport and its other end, which gets a stream each time that it is opened.
///
/// ```
/// # async fn example() {
/// let (transport, mut server) = bowline::transport::memory::pair();
/// # drop(transport);
/// while let Some(stream) = server.accept().await {
///     // One connection.
/// #   drop(stream);
/// }
/// # }
/// ```
pub fn pair() -> (Memory, Acceptor) {
    let (sender, receiver) = mpsc::channel(1);
    (Memory { sender }, Acceptor { receiver })
}

/// The client's end of a [`pair`].
#[derive(Debug)]
pub struct Memory {
    sender: mpsc::Sender<DuplexStream>,
}

/// The server's end of a [`pair`].
#[derive(Debug)]
pub struct Acceptor {
    receiver: mpsc::Receiver<DuplexStream>,
}

impl Acceptor {
    /// Returns the next stream. `None` when the client is gone. Cancel safe.
    pub async fn accept(&mut self) -> Option<DuplexStream> {
        self.receiver.recv().await
    }
}

impl Transport for Memory {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let (ours, theirs) = duplex(CAPACITY);
        let sent = self.sender.send(theirs).await;
        sent.map_err(|_| OpenError::transient("the acceptor of the memory transport was dropped"))?;
        let (reader, writer) = split(ours);
        Ok(Stream::new(reader, writer))
    }

    fn label(&self) -> String {
        "memory".to_owned()
    }
}
