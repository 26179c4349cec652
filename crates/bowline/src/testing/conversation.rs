//! One stream between a client and a scripted server.

use crate::RpcResult;
use std::time::Duration;

use bowline_types::envelope::{
    write_error, write_raw_notification, write_raw_request, write_raw_result,
};
use bowline_types::progress::ProgressParams;
use bowline_types::{ErrorObject, RequestId, Revision, Wire as _};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time;

use super::DEFAULT_TIMEOUT;
use super::body::Body;
use super::handshake::Handshake;
use super::message::{ReceivedMessage, ReceivedNotification, ReceivedRequest};
use super::unexpected::{Side, Transcript, TranscriptLine, Unexpected};

/// A stream of a client, whose server is the test. Dropping it ends the stream.
///
/// It is strict: the next message must be the expected one. [`next`](Self::next) accepts any
/// message.
///
/// All methods that wait are cancel safe: bytes that were read are kept for the next call, and
/// bytes that were not written yet are sent before the next message.
#[derive(Debug)]
pub struct Conversation {
    stream: DuplexStream,
    incoming: BytesMut,
    outgoing: BytesMut,
    transcript: Transcript,
    timeout: Duration,
    /// The id of the next request.
    next_id: i64,
}

impl Conversation {
    /// Creates a conversation over a stream, for a transport of your own. Otherwise use
    /// [`Peer::accept`](super::Peer::accept).
    ///
    /// ```
    /// use bowline::testing::Conversation;
    /// use bowline::transport::single_stream;
    ///
    /// let (ours, theirs) = tokio::io::duplex(1024);
    /// let (reader, writer) = tokio::io::split(ours);
    /// let transport = single_stream(reader, writer);
    /// let server = Conversation::new(theirs);
    /// # let _ = (transport, server);
    /// ```
    pub fn new(stream: DuplexStream) -> Self {
        Self {
            stream,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            transcript: Transcript::default(),
            timeout: DEFAULT_TIMEOUT,
            next_id: 1,
        }
    }

    /// Sets how long to wait for the client from now on.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Performs the handshake as a server of a revision, and returns the request of the client. In
    /// the stateless era the server responds to `server/discover`. In the handshake era it rejects
    /// `server/discover`, responds to `initialize`, and waits for `notifications/initialized`.
    ///
    /// ```
    /// use bowline::testing::{Conversation, Handshake, Unexpected};
    /// use bowline::types::Revision;
    /// use bowline::types::capabilities::ServerCapabilities;
    ///
    /// # async fn example(mut server: Conversation) -> Result<(), Unexpected> {
    /// let mut tools = Handshake::new(Revision::V2025_11_25);
    /// tools.capabilities(ServerCapabilities::new());
    /// server.handshake(tools).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the client sends something else.
    pub async fn handshake(
        &mut self,
        handshake: impl Into<Handshake>,
    ) -> Result<ReceivedRequest, Unexpected> {
        handshake.into().run(self).await
    }

    /// Expects that the next message is this request.
    ///
    /// # Errors
    ///
    /// If the next message is another one, or none arrives before the timeout.
    pub async fn expect(&mut self, method: &str) -> Result<ReceivedRequest, Unexpected> {
        let expected = format!("the request {method}");
        match self.next_expected(&expected).await? {
            ReceivedMessage::Request(request) if request.method() == method => Ok(request),
            other => Err(self.unexpected_message(&expected, &other)),
        }
    }

    /// Expects that the next message is this notification.
    ///
    /// # Errors
    ///
    /// If the next message is another one, or none arrives before the timeout.
    pub async fn expect_notification(
        &mut self,
        method: &str,
    ) -> Result<ReceivedNotification, Unexpected> {
        let expected = format!("the notification {method}");
        match self.next_expected(&expected).await? {
            ReceivedMessage::Notification(notification) if notification.method() == method => {
                Ok(notification)
            }
            other => Err(self.unexpected_message(&expected, &other)),
        }
    }

    /// Expects that the next message is the response to this request of the server.
    ///
    /// # Errors
    ///
    /// If the next message is another one, or none arrives before the timeout.
    pub async fn expect_response(&mut self, request: &RequestId) -> Result<RpcResult, Unexpected> {
        let expected = format!("the response to {request}");
        match self.next_expected(&expected).await? {
            ReceivedMessage::Response { id, result } if id == *request => Ok(result),
            other => Err(self.unexpected_message(&expected, &other)),
        }
    }

    /// Expects that the client closes the stream without another message.
    ///
    /// # Errors
    ///
    /// If a message arrives, or the stream is still open at the timeout.
    pub async fn expect_end(&mut self) -> Result<(), Unexpected> {
        let expected = "the end of the stream";
        let Some(line) = self.next_line(expected).await? else {
            return Ok(());
        };
        Err(match ReceivedMessage::read(&line) {
            Ok(message) => self.unexpected_message(expected, &message),
            Err(problem) => {
                self.unexpected(expected, format!("received an invalid message: {problem}"))
            }
        })
    }

    /// Returns the next message, of any kind.
    ///
    /// # Errors
    ///
    /// If no message arrives before the timeout, the message is invalid, or the stream has ended.
    pub async fn next(&mut self) -> Result<ReceivedMessage, Unexpected> {
        self.next_expected("a message").await
    }

    /// Responds to a request with a result.
    ///
    /// # Errors
    ///
    /// If the client is gone or doesn't read, or the result isn't valid JSON.
    pub async fn reply(
        &mut self,
        request: &ReceivedRequest,
        result: impl Into<Body>,
    ) -> Result<(), Unexpected> {
        let (result, mut line) = (result.into(), Vec::new());
        match result.value() {
            Ok(result) => write_raw_result(&mut line, request.id(), result),
            Err(problem) => return Err(self.unexpected("a result", problem)),
        }
        self.send_line(line).await
    }

    /// Responds to a request with an error.
    ///
    /// # Errors
    ///
    /// If the client is gone or doesn't read.
    pub async fn reply_error(
        &mut self,
        request: &ReceivedRequest,
        error: &ErrorObject,
    ) -> Result<(), Unexpected> {
        let mut line = Vec::new();
        write_error(&mut line, Some(request.id()), error);
        self.send_line(line).await
    }

    /// Sends a progress notification for a request.
    ///
    /// # Errors
    ///
    /// If the request has no progress token, or the client is gone or doesn't read.
    pub async fn report_progress(
        &mut self,
        request: &ReceivedRequest,
        progress: i64,
    ) -> Result<(), Unexpected> {
        let Some(token) = request.progress_token() else {
            return Err(self.unexpected("a progress token", "the request has none"));
        };
        let params = ProgressParams::new(token, progress).to_json(Revision::LATEST);
        match params {
            Ok(params) => self.notify("notifications/progress", params).await,
            Err(error) => Err(self.unexpected("valid progress", error.to_string())),
        }
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// If the client is gone or doesn't read, or the parameters aren't valid JSON.
    pub async fn notify(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<(), Unexpected> {
        let (params, mut line) = (params.into(), Vec::new());
        match params.check() {
            Ok(params) => write_raw_notification(&mut line, method, params),
            Err(problem) => return Err(self.unexpected("parameters", problem)),
        }
        self.send_line(line).await
    }

    /// Sends a request, and expects that the next message is its response.
    ///
    /// # Errors
    ///
    /// If the next message is another one, or none arrives before the timeout.
    pub async fn request(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<RpcResult, Unexpected> {
        let id = self.send_request(method, params).await?;
        self.expect_response(&id).await
    }

    /// Sends a request, without waiting: see [`expect_response`](Self::expect_response).
    ///
    /// # Errors
    ///
    /// If the client is gone or doesn't read, or the parameters aren't valid JSON.
    pub async fn send_request(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<RequestId, Unexpected> {
        let (params, mut line) = (params.into(), Vec::new());
        let id = RequestId::from(self.next_id);
        match params.check() {
            Ok(params) => write_raw_request(&mut line, &id, method, params),
            Err(problem) => return Err(self.unexpected("parameters", problem)),
        }
        self.next_id += 1;
        self.send_line(line).await?;
        Ok(id)
    }

    /// Sends bytes unchanged. A message must end with a line break.
    ///
    /// # Errors
    ///
    /// If the client is gone or doesn't read.
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Unexpected> {
        let bytes = bytes.as_ref();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        self.transcript.push(Side::Server, line);
        self.outgoing.extend_from_slice(bytes);
        let limit = self.timeout;
        match time::timeout(limit, self.flush()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.unexpected("a client that reads", error.to_string())),
            Err(_) => {
                let problem = format!("the client read nothing for {limit:?}");
                Err(self.unexpected("a client that reads", problem))
            }
        }
    }

    /// Closes the stream. The client still reads what was sent before.
    pub fn hang_up(self) {}

    /// Returns the transcript of both sides: the last 1,000 lines. Messages of the client that the
    /// test has not received yet are not included.
    pub fn transcript(&self) -> Vec<TranscriptLine> {
        self.transcript.lines()
    }

    /// Returns the next message, without a timeout. `None` if there is none.
    pub(super) async fn next_without_timeout(&mut self) -> Option<ReceivedMessage> {
        let line = self.read_line().await.ok()??;
        ReceivedMessage::read(&line).ok()
    }

    async fn send_line(&mut self, mut line: Vec<u8>) -> Result<(), Unexpected> {
        line.push(b'\n');
        self.send_raw(line).await
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        while !self.outgoing.is_empty() {
            self.stream.write_buf(&mut self.outgoing).await?;
        }
        Ok(())
    }

    async fn next_expected(&mut self, expected: &str) -> Result<ReceivedMessage, Unexpected> {
        let Some(line) = self.next_line(expected).await? else {
            return Err(self.unexpected(expected, "the stream ended"));
        };
        let message = ReceivedMessage::read(&line);
        message.map_err(|problem| {
            self.unexpected(expected, format!("received an invalid message: {problem}"))
        })
    }

    /// Returns the next line, or `None` at the end of the stream.
    async fn next_line(&mut self, expected: &str) -> Result<Option<Bytes>, Unexpected> {
        let limit = self.timeout;
        match time::timeout(limit, self.read_line()).await {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) => Err(self.unexpected(expected, error.to_string())),
            Err(_) => {
                Err(self.unexpected(expected, format!("received no message within {limit:?}")))
            }
        }
    }

    async fn read_line(&mut self) -> std::io::Result<Option<Bytes>> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.incoming[searched..]) {
                let mut line = self.incoming.split_to(searched + at + 1).freeze();
                line.truncate(searched + at);
                self.transcript.push(Side::Client, &line);
                return Ok(Some(line));
            }
            searched = self.incoming.len();
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                let rest = self.incoming.split().freeze();
                if rest.is_empty() {
                    return Ok(None);
                }
                self.transcript.push(Side::Client, &rest);
                return Ok(Some(rest));
            }
        }
    }

    fn unexpected_message(&self, expected: &str, message: &ReceivedMessage) -> Unexpected {
        self.unexpected(expected, format!("received {}", message.describe()))
    }

    pub(super) fn unexpected(&self, expected: &str, actual: impl Into<String>) -> Unexpected {
        Unexpected::new(expected, actual, self.transcript())
    }
}
