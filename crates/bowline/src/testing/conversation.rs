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
use tokio::time::timeout;

use super::PATIENCE;
use super::body::Body;
use super::handshake::Handshake;
use super::message::{ReceivedMessage, ReceivedNotification, ReceivedRequest};
use super::unexpected::{Line, Side, Transcript, Unexpected};

/// One stream of a client, with the test as its server. Dropping it ends the stream.
///
/// It is strict: what comes next has to be what is expected. [`next`](Self::next) takes
/// whatever comes.
///
/// All that waits is cancel safe: what was read stays for the next one who asks, and what
/// was not written yet leaves before the next message.
#[derive(Debug)]
pub struct Conversation {
    stream: DuplexStream,
    incoming: BytesMut,
    outgoing: BytesMut,
    transcript: Transcript,
    patience: Duration,
    /// The next id of a request of ours.
    next_id: i64,
}

impl Conversation {
    /// A conversation over a stream of your own, for a transport of your own:
    /// [`Peer::accept`](super::Peer::accept) is how others begin.
    ///
    /// ```
    /// use bowline::testing::Conversation;
    /// use bowline::transport::once;
    ///
    /// let (ours, theirs) = tokio::io::duplex(1024);
    /// let (reader, writer) = tokio::io::split(ours);
    /// let transport = once(reader, writer);
    /// let server = Conversation::new(theirs);
    /// # let _ = (transport, server);
    /// ```
    pub fn new(stream: DuplexStream) -> Self {
        Self {
            stream,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            transcript: Transcript::default(),
            patience: PATIENCE,
            next_id: 1,
        }
    }

    /// How long to wait for the client from now on.
    pub fn patience(&mut self, patience: Duration) -> &mut Self {
        self.patience = patience;
        self
    }

    /// Agrees on a revision, as a server of that revision does: of the stateless era it
    /// answers `server/discover`, of the handshake era it refuses that, answers `initialize`
    /// and waits for `notifications/initialized`. The request that it answered.
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
    /// When the client begins otherwise.
    pub async fn handshake(
        &mut self,
        handshake: impl Into<Handshake>,
    ) -> Result<ReceivedRequest, Unexpected> {
        handshake.into().answer(self).await
    }

    /// The next message, which has to be this request.
    ///
    /// # Errors
    ///
    /// When something else comes, or nothing.
    pub async fn expect(&mut self, method: &str) -> Result<ReceivedRequest, Unexpected> {
        let wanted = format!("the request {method}");
        match self.next_for(&wanted).await? {
            ReceivedMessage::Request(request) if request.method() == method => Ok(request),
            other => Err(self.instead(&wanted, &other)),
        }
    }

    /// The next message, which has to be this notification.
    ///
    /// # Errors
    ///
    /// When something else comes, or nothing.
    pub async fn expect_notification(
        &mut self,
        method: &str,
    ) -> Result<ReceivedNotification, Unexpected> {
        let wanted = format!("the notification {method}");
        match self.next_for(&wanted).await? {
            ReceivedMessage::Notification(note) if note.method() == method => Ok(note),
            other => Err(self.instead(&wanted, &other)),
        }
    }

    /// The next message, which has to be the answer to this request of ours.
    ///
    /// # Errors
    ///
    /// When something else comes, or nothing.
    pub async fn expect_answer(&mut self, request: &RequestId) -> Result<RpcResult, Unexpected> {
        let wanted = format!("the answer to {request}");
        match self.next_for(&wanted).await? {
            ReceivedMessage::Answer { id, reply } if id == *request => Ok(reply),
            other => Err(self.instead(&wanted, &other)),
        }
    }

    /// Nothing more, until the client closes the stream.
    ///
    /// # Errors
    ///
    /// When something comes, or the stream stays open.
    pub async fn expect_end(&mut self) -> Result<(), Unexpected> {
        let wanted = "the end of the stream";
        let Some(line) = self.line(wanted).await? else {
            return Ok(());
        };
        Err(match ReceivedMessage::read(&line) {
            Ok(message) => self.instead(wanted, &message),
            Err(words) => self.unexpected(wanted, format!("this is no message: {words}")),
        })
    }

    /// The next message, whatever it is.
    ///
    /// # Errors
    ///
    /// When none comes in time, or it is no message, or the stream has ended.
    pub async fn next(&mut self) -> Result<ReceivedMessage, Unexpected> {
        self.next_for("a message").await
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// When the client is gone or doesn't read, or the result is no JSON.
    pub async fn reply(
        &mut self,
        request: &ReceivedRequest,
        result: impl Into<Body>,
    ) -> Result<(), Unexpected> {
        let (result, mut line) = (result.into(), Vec::new());
        match result.value() {
            Ok(result) => write_raw_result(&mut line, request.id(), result),
            Err(words) => return Err(self.unexpected("a result", words)),
        }
        self.say(line).await
    }

    /// Answers a request with an error.
    ///
    /// # Errors
    ///
    /// When the client is gone or doesn't read.
    pub async fn reply_error(
        &mut self,
        request: &ReceivedRequest,
        error: &ErrorObject,
    ) -> Result<(), Unexpected> {
        let mut line = Vec::new();
        write_error(&mut line, Some(request.id()), error);
        self.say(line).await
    }

    /// Reports progress of a request whose maker wants to hear of it.
    ///
    /// # Errors
    ///
    /// When it doesn't, or the client is gone or doesn't read.
    pub async fn report(
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
            Err(error) => Err(self.unexpected("progress that can be said", error.to_string())),
        }
    }

    /// Notifies the client.
    ///
    /// # Errors
    ///
    /// When the client is gone or doesn't read, or the parameters are no JSON.
    pub async fn notify(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<(), Unexpected> {
        let (params, mut line) = (params.into(), Vec::new());
        match params.check() {
            Ok(params) => write_raw_notification(&mut line, method, params),
            Err(words) => return Err(self.unexpected("parameters", words)),
        }
        self.say(line).await
    }

    /// Asks the client, and waits for the answer, which has to be the next message.
    ///
    /// # Errors
    ///
    /// When something else comes, or nothing.
    pub async fn request(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<RpcResult, Unexpected> {
        let id = self.ask(method, params).await?;
        self.expect_answer(&id).await
    }

    /// Asks the client, and waits for nothing: see [`expect_answer`](Self::expect_answer).
    ///
    /// # Errors
    ///
    /// When the client is gone or doesn't read, or the parameters are no JSON.
    pub async fn ask(
        &mut self,
        method: &str,
        params: impl Into<Body>,
    ) -> Result<RequestId, Unexpected> {
        let (params, mut line) = (params.into(), Vec::new());
        let id = RequestId::from(self.next_id);
        match params.check() {
            Ok(params) => write_raw_request(&mut line, &id, method, params),
            Err(words) => return Err(self.unexpected("parameters", words)),
        }
        self.next_id += 1;
        self.say(line).await?;
        Ok(id)
    }

    /// Sends bytes as they are. A message ends with a line break.
    ///
    /// # Errors
    ///
    /// When the client is gone or doesn't read.
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Unexpected> {
        let bytes = bytes.as_ref();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        self.transcript.push(Side::Server, line);
        self.outgoing.extend_from_slice(bytes);
        let patience = self.patience;
        match timeout(patience, self.flush()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.unexpected("a client that reads", error.to_string())),
            Err(_) => {
                let words = format!("it took nothing for {patience:?}");
                Err(self.unexpected("a client that reads", words))
            }
        }
    }

    /// Ends the stream. The client still reads what was sent before.
    pub fn hang_up(self) {}

    /// What was said on this stream, by both sides: the last 1,000 lines. What the client
    /// sent and nobody expected yet is not among them.
    pub fn said(&self) -> Vec<Line> {
        self.transcript.lines()
    }

    /// The next message, however long it takes. `None` when there is none.
    pub(super) async fn next_ever(&mut self) -> Option<ReceivedMessage> {
        let line = self.read_line().await.ok()??;
        ReceivedMessage::read(&line).ok()
    }

    async fn say(&mut self, mut line: Vec<u8>) -> Result<(), Unexpected> {
        line.push(b'\n');
        self.send_raw(line).await
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        while !self.outgoing.is_empty() {
            self.stream.write_buf(&mut self.outgoing).await?;
        }
        Ok(())
    }

    async fn next_for(&mut self, wanted: &str) -> Result<ReceivedMessage, Unexpected> {
        let Some(line) = self.line(wanted).await? else {
            return Err(self.unexpected(wanted, "the stream ended"));
        };
        let message = ReceivedMessage::read(&line);
        message.map_err(|words| self.unexpected(wanted, format!("this is no message: {words}")))
    }

    /// The next line. `None` at the end of the stream.
    async fn line(&mut self, wanted: &str) -> Result<Option<Bytes>, Unexpected> {
        let patience = self.patience;
        match timeout(patience, self.read_line()).await {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) => Err(self.unexpected(wanted, error.to_string())),
            Err(_) => Err(self.unexpected(wanted, format!("nothing came within {patience:?}"))),
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

    fn instead(&self, wanted: &str, came: &ReceivedMessage) -> Unexpected {
        self.unexpected(wanted, format!("{} came", came.words()))
    }

    pub(super) fn unexpected(&self, wanted: &str, instead: impl Into<String>) -> Unexpected {
        Unexpected::new(wanted, instead, self.said())
    }
}
