//! A client on a real stream of bytes, on plain hyper.

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::support::request;

/// A connection to a server.
pub(crate) enum Wire {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Wire {
    pub(crate) async fn http1<S>(stream: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self::Http1(sender)
    }

    /// Connects with prior knowledge: without TLS and without an upgrade.
    pub(crate) async fn http2<S>(stream: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        Self::Http2(sender)
    }

    /// Sends a request to a path on `localhost`.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Incoming> {
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match self {
            Self::Http1(sender) => {
                let request = request.uri(path).header("host", "localhost");
                sender.ready().await.unwrap();
                let request = request.body(Full::from(body)).unwrap();
                sender.send_request(request).await.unwrap()
            }
            Self::Http2(sender) => {
                let request = request.uri(format!("http://localhost{path}"));
                sender.ready().await.unwrap();
                let request = request.body(Full::from(body)).unwrap();
                sender.send_request(request).await.unwrap()
            }
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response<Incoming> {
        self.send(Method::GET, path, &[], String::new()).await
    }

    /// Posts a message of the handshake era, or of the transport of 2024-11-05.
    pub(crate) async fn post(&mut self, path: &str, message: &Value) -> Response<Incoming> {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let body = message.to_string();
        self.send(Method::POST, path, &headers, body).await
    }

    /// Calls a tool in the stateless era. Returns the text of its result.
    pub(crate) async fn call(&mut self, path: &str, tool: &str) -> String {
        self.call_with(path, tool, &[]).await
    }

    pub(crate) async fn call_with(
        &mut self,
        path: &str,
        tool: &str,
        headers: &[(&str, &str)],
    ) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "_meta": meta});
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        all.extend(headers);
        let body = request(1, "tools/call", params).to_string();
        let response = self.send(Method::POST, path, &all, body).await;
        let status = response.status();
        let body: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(status, 200, "{body}");
        let text = body["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("a text in {body}"))
            .to_owned()
    }
}

/// Returns the whole body of a response.
pub(crate) async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The event stream of a client of the transport of 2024-11-05.
pub(crate) struct WireEvents {
    body: Incoming,
    unread: String,
}

impl WireEvents {
    /// Opens the stream. Returns it, and where to post.
    pub(crate) async fn open(wire: &mut Wire, path: &str) -> (Self, String) {
        let response = wire.get(path).await;
        assert_eq!(response.status(), 200);
        let mut events = Self {
            body: response.into_body(),
            unread: String::new(),
        };
        let (event, endpoint) = events.next().await.unwrap();
        assert_eq!(event, "endpoint");
        // As a client does that knows RFC 3986.
        let uri = match endpoint.strip_prefix('?') {
            Some(query) => format!("{path}?{query}"),
            None => endpoint,
        };
        (events, uri)
    }

    /// Returns the type and the data of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
                let found = field("event: ").zip(field("data: "));
                let found = found.map(|(kind, data)| (kind.to_owned(), data.to_owned()));
                self.unread = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let frame = self.body.frame().await?.unwrap();
            let data = frame.into_data().unwrap();
            self.unread += std::str::from_utf8(&data).unwrap();
        }
    }

    /// Returns the next message.
    pub(crate) async fn message(&mut self) -> Value {
        let (event, data) = self.next().await.expect("an event");
        assert_eq!(event, "message");
        serde_json::from_str(&data).unwrap()
    }
}
