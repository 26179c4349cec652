//! A stream that is there already.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{OpenError, Stream, Transport};

/// Returns a transport of two halves that are there already. When they are lost, the connection is:
/// there is nothing to open again.
///
/// ```
/// let (ours, _theirs) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(ours);
/// let transport = bowline::transport::once(reader, writer);
/// ```
pub fn once(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Once {
    Once(Some(Stream::new(reader, writer)))
}

/// A stream that can be opened once; see [`once()`].
pub struct Once(Option<Stream>);

impl From<Stream> for Once {
    fn from(stream: Stream) -> Self {
        Self(Some(stream))
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl Transport for Once {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let stream = self.0.take();
        stream.ok_or_else(|| {
            OpenError::permanent("this stream was already used: it can be opened once")
        })
    }

    fn label(&self) -> String {
        "stream".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_can_be_used_once() {
        let mut transport = once(tokio::io::empty(), tokio::io::sink());
        transport.open().await.expect("the first time");
        let error = transport.open().await.expect_err("the second time");
        assert!(error.is_permanent);
    }
}
