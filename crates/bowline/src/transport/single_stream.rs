//! A stream that is there already.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{OpenError, Stream, Transport};

/// Returns a transport of one stream that is already open, of two halves. It can't be opened again:
/// when it is lost, the client gives up.
///
/// ```
/// let (ours, _theirs) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(ours);
/// let transport = bowline::transport::single_stream(reader, writer);
/// ```
pub fn single_stream(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> SingleStream {
    SingleStream(Some(Stream::new(reader, writer)))
}

/// A stream that can be opened once; see [`single_stream()`].
pub struct SingleStream(Option<Stream>);

impl From<Stream> for SingleStream {
    fn from(stream: Stream) -> Self {
        Self(Some(stream))
    }
}

impl fmt::Debug for SingleStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleStream").finish_non_exhaustive()
    }
}

impl Transport for SingleStream {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let stream = self.0.take();
        stream.ok_or_else(|| {
            OpenError::permanent("this stream was already used: it can be opened only once")
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
        let mut transport = single_stream(tokio::io::empty(), tokio::io::sink());
        transport.open().await.expect("the first time");
        let error = transport.open().await.expect_err("the second time");
        assert!(error.is_permanent);
    }
}
