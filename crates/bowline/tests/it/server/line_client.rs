//! A client that exchanges JSON values line by line, for messages that our own client would not
//! send or hides.

use std::time::Duration;

use bowline::server::RunningServer;
use bowline::transport::Stream;
use bowline::types::{Era, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::io::{DuplexStream, Lines as LinesOf, ReadHalf, WriteHalf, duplex, split};
use tokio::time::timeout;

/// A client whose every message is up to the test.
pub(crate) struct LineClient {
    reader: LinesOf<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    revision: Revision,
    capabilities: Value,
    last: u64,
}

impl LineClient {
    /// Connects to a server, without a handshake.
    pub(crate) fn open(server: &RunningServer) -> Self {
        Self::open_with(|stream| server.serve_stream(stream))
    }

    /// Connects to what serves a stream.
    pub(crate) fn open_with<S>(serve: impl FnOnce(Stream) -> S) -> Self
    where
        S: Future<Output = Result<(), bowline::Error>> + Send + 'static,
    {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, writer) = split(theirs);
        tokio::spawn(serve(Stream::new(reader, writer)));
        let (reader, writer) = split(ours);
        Self {
            reader: BufReader::new(reader).lines(),
            writer,
            revision: Revision::LATEST,
            capabilities: json!({"roots": {}}),
            last: 0,
        }
    }

    /// Sets the capabilities that it declares.
    pub(crate) fn declaring(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Initializes the session, where the revision has a handshake.
    pub(crate) async fn begin(&mut self, revision: Revision) -> Value {
        self.revision = revision;
        if revision.era() == Era::Stateless {
            return Value::Null;
        }
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": {"name": "lines", "version": "1"},
        });
        let answer = self.ask("initialize", &params.to_string()).await;
        self.write_line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        answer
    }

    /// Sends a request, and returns its response.
    pub(crate) async fn ask(&mut self, method: &str, params: &str) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Sends a request with all that its revision demands. Its id.
    pub(crate) async fn send(&mut self, method: &str, params: &str) -> u64 {
        let mut params: Value = serde_json::from_str(params).expect("JSON");
        if self.revision.era() == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = self.revision.as_str().into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "lines", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.last += 1;
        let (id, method) = (self.last, method);
        self.write_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Gives a request up.
    pub(crate) async fn cancel(&mut self, id: u64) {
        let (method, params) = ("notifications/cancelled", json!({"requestId": id}));
        self.write_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn write_line(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let written = self.writer.write_all(line.as_bytes()).await;
        written.expect("the server reads");
    }

    /// The answer to the request of this id.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let received = self.receive().await;
            if received["id"] == id && received.get("method").is_none() {
                return received;
            }
        }
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.reader.next_line()).await;
        let line = line.expect("it says something").expect("it can be read");
        serde_json::from_str(&line.expect("it is there")).expect("JSON")
    }
}
