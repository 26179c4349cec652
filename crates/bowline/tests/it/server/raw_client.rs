//! A client that writes raw text and reads lines, for what our own client would not send.

use std::time::Duration;

use bowline::server::{RunningServer, Server};
use bowline::transport::Stream;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf,
    WriteHalf,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than any step takes, in tests with paused time.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// A client that writes and reads lines.
pub(crate) struct RawClient {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl RawClient {
    /// Connects to a server of its own.
    pub(crate) fn new(server: Server) -> Self {
        Self::connect(&server.build().expect("it can be served"))
    }

    /// Connects to a running server.
    pub(crate) fn connect(server: &RunningServer) -> Self {
        Self::connect_with_task(server).0
    }

    /// Connects to a running server. Returns the task that serves it, too.
    pub(crate) fn connect_with_task(
        server: &RunningServer,
    ) -> (Self, JoinHandle<Result<(), bowline::Error>>) {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(server.serve_stream(Stream::new(reader, writer)));
        (Self::from_stream(ours), serving)
    }

    /// Creates a client on its end of a pipe.
    pub(crate) fn from_stream(ours: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(ours);
        let reader = BufReader::new(reader);
        Self { reader, writer }
    }

    /// Writes a text and a line end.
    pub(crate) async fn write_line(&mut self, text: &str) {
        self.writer
            .write_all(text.as_bytes())
            .await
            .expect("it reads");
        self.writer.write_all(b"\n").await.expect("it reads");
    }

    /// Closes the sending side, and can still receive.
    pub(crate) async fn close_sending(&mut self) {
        self.writer.shutdown().await.expect("it reads");
    }

    /// Returns the next message. `Null` when the stream has ended.
    pub(crate) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(RECEIVE_TIMEOUT, self.reader.read_line(&mut line)).await;
        read.expect("it says something").expect("it is there");
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    /// Reads up to so many bytes. Returns how many; none when the stream has ended.
    pub(crate) async fn receive_bytes(&mut self, most: usize) -> usize {
        let mut bytes = vec![0; most];
        let mut read = 0;
        while read < most {
            let more = timeout(RECEIVE_TIMEOUT, self.reader.read(&mut bytes[read..])).await;
            match more.expect("it says something").expect("it is there") {
                0 => break,
                more => read += more,
            }
        }
        read
    }

    /// Returns the response to the request of this id, and skips other messages.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let received = self.receive().await;
            assert!(!received.is_null(), "the stream ended");
            if received["id"] == id && received.get("method").is_none() {
                return received;
            }
        }
    }

    /// Initializes the session, in the handshake era.
    pub(crate) async fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "raw", "version": "1"},
        });
        self.ask(0, "initialize", params).await;
        self.write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
    }

    /// Sends a request, and waits for the response.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(id, method, params).await;
        self.answer(id).await
    }

    /// Sends a request.
    pub(crate) async fn send(&mut self, id: u64, method: &str, params: Value) {
        self.write_line(&request(id, method, params)).await;
    }

    /// Calls a tool, in the handshake era.
    pub(crate) async fn call(&mut self, id: u64, tool: &str) {
        self.send(id, "tools/call", json!({"name": tool})).await;
    }
}

/// A request, as text.
pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The cancellation of a request, as text.
pub(crate) fn cancelled(id: u64) -> String {
    let params = json!({"requestId": id});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
}

/// Parameters of the stateless era.
pub(crate) fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    });
    params
}
