//! A server on a real socket, and a client that writes bytes and reads what comes back.

use std::net::SocketAddr;
use std::time::Duration;

use bowline::server::{HttpConfig, RunningServer, Server};
use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// No answer takes as long, also on a machine that is busy. A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The newest revision, whose requests stand alone.
pub(crate) const STATELESS: &str = "2026-07-28";

/// A server on a socket of this process.
pub(crate) struct SocketServer {
    pub(crate) address: SocketAddr,
    pub(crate) running: RunningServer,
    serving: JoinHandle<Result<(), bowline::Error>>,
}

impl SocketServer {
    pub(crate) async fn start(server: Server, config: HttpConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let running = server.build().unwrap();
        let serving = tokio::spawn({
            let running = running.clone();
            async move { running.serve_http_listener(listener, config).await }
        });
        Self {
            address,
            running,
            serving,
        }
    }

    pub(crate) async fn connect(&self) -> RawClient {
        RawClient::connect(self.address).await
    }

    pub(crate) async fn shut_down(self) {
        self.running.shut_down();
        patiently(self.serving).await.unwrap().unwrap();
    }
}

/// Waits, but not for ever.
pub(crate) async fn patiently<F: Future>(waiting: F) -> F::Output {
    let waited = timeout(PATIENCE, waiting).await;
    waited.expect("it takes too long")
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct RawClient {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
    /// What was read of an event stream and not returned.
    events: String,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    text: String,
}

/// A whole response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl RawClient {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::new(patiently(TcpStream::connect(address)).await.unwrap())
    }

    /// Connects with a small receive buffer, so that what isn't read stays with the server.
    pub(crate) async fn connect_small(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        Self::new(patiently(socket.connect(address)).await.unwrap())
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            unread: Vec::new(),
            events: String::new(),
        }
    }

    /// Writes bytes. Returns `false` if the server has closed the connection.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        patiently(self.stream.write_all(bytes.as_ref()))
            .await
            .is_ok()
    }

    /// Sends a request, and returns its response. A server may answer before it has read all.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Answer {
        self.write(request).await;
        self.answer().await.expect("an answer")
    }

    /// Returns the next response, or `None` if the connection was closed before it began.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let head = self.head().await?;
        let body = self.body(&head).await;
        Some(Answer { head, body })
    }

    /// Returns the head of the next response, without interim ones.
    pub(crate) async fn head(&mut self) -> Option<Head> {
        loop {
            let text = self.take_until(b"\r\n\r\n").await?;
            let text = String::from_utf8(text).unwrap();
            let status = text.split(' ').nth(1).unwrap().parse().unwrap();
            if status != 100 {
                return Some(Head { status, text });
            }
        }
    }

    /// Returns the body of a response with this head.
    pub(crate) async fn body(&mut self, head: &Head) -> Vec<u8> {
        if let Some(length) = head.header("content-length") {
            return self.take(length.parse().unwrap()).await.expect("a body");
        }
        let mut body = Vec::new();
        if head.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        } else if head.status != 204 {
            body = self.rest().await;
        }
        body
    }

    /// Returns the next chunk of a body, or `None` at its end.
    ///
    /// Panics if the connection ends before its body does: see [`is_cut`](Self::is_cut).
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.take_until(b"\r\n").await.expect("a chunk");
        let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        let mut chunk = self.take(length + 2).await.expect("a whole chunk");
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Returns the next message of an event stream, or `None` at its end. Comments are skipped.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.events.split_once("\n\n") {
                let data: Vec<&str> = event.lines().filter_map(data_of).collect();
                let data = data.join("\n");
                self.events = rest.to_owned();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let chunk = self.chunk().await?;
            self.events += std::str::from_utf8(&chunk).unwrap();
        }
    }

    /// Reads until the server closes. Returns `true` if it does so within a chunked body.
    pub(crate) async fn is_cut(&mut self) -> bool {
        let rest = self.rest().await;
        !rest.ends_with(b"0\r\n\r\n")
    }

    /// Returns what the server sends until it closes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.unread);
        // A reset is an end as well.
        let _ = patiently(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    async fn take_until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self
                .unread
                .windows(end.len())
                .position(|bytes| bytes == end);
            if let Some(at) = found {
                return Some(self.unread.drain(..at + end.len()).collect());
            }
            self.read_more().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.unread.len() < length {
            self.read_more().await?;
        }
        Some(self.unread.drain(..length).collect())
    }

    async fn read_more(&mut self) -> Option<()> {
        let read = patiently(self.stream.read_buf(&mut self.unread)).await;
        (read.unwrap_or(0) > 0).then_some(())
    }
}

fn data_of(line: &str) -> Option<&str> {
    let data = line.strip_prefix("data:")?;
    Some(data.strip_prefix(' ').unwrap_or(data))
}

impl Head {
    /// Returns the value of a header, whose name is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A request as it is written: a line, headers, and a body.
#[derive(Clone, Debug)]
pub(crate) struct RawRequest {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl RawRequest {
    /// A POST of a message, with the headers that each has.
    pub(crate) fn post(message: &Value) -> Self {
        let body = message.to_string();
        let length = body.len().to_string();
        Self {
            line: "POST /mcp HTTP/1.1".to_owned(),
            headers: Vec::new(),
            body: body.into_bytes(),
        }
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Length", length)
    }

    /// A request of the stateless era.
    pub(crate) fn stateless(id: u64, method: &str, mut params: Value) -> Self {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().map(str::to_owned);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = Self::post(&message)
            .header("MCP-Protocol-Version", STATELESS)
            .header("Mcp-Method", method);
        match name {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        }
    }

    /// A `tools/call` of the stateless era.
    pub(crate) fn call(id: u64, tool: &str) -> Self {
        Self::stateless(id, "tools/call", json!({"name": tool, "arguments": {}}))
    }

    /// A `tools/call` whose progress is wanted.
    pub(crate) fn call_with_progress(id: u64, tool: &str) -> Self {
        let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": id}});
        Self::stateless(id, "tools/call", params)
    }

    /// An `initialize`.
    pub(crate) fn initialize(revision: &str) -> Self {
        Self::post(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }}),
        )
    }

    /// A request without a body.
    pub(crate) fn without_body(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
        .header("Host", "localhost")
        .header("Accept", "text/event-stream")
    }

    /// Adds a header, also where there is one of its name.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Sets a header in place of the one of its name.
    pub(crate) fn replace(self, name: &str, value: impl Into<String>) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The same request for a client of HTTP/2, which frames the body itself.
    pub(crate) fn for_http2(&self) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::post("http://localhost/mcp");
        for (name, value) in &self.headers {
            if !matches!(name.as_str(), "Host" | "Content-Length") {
                request = request.header(name, value);
            }
        }
        request.body(Full::from(self.body.clone())).unwrap()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}
