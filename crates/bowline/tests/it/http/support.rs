//! Requests to a service within the process, and their responses.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use bowline::server::{HttpBody, HttpConfig, HttpService, Server};
use bytes::Bytes;
use http::{Extensions, HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower_service::Service as _;

/// A client of a service, which adds headers to each request.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) service: HttpService,
    headers: Vec<(&'static str, String)>,
    extensions: Extensions,
}

/// A response, whose body is read on demand.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: HttpBody,
    /// What was read of an event stream and not returned.
    unread: String,
    /// The id of the last event, which also one without data has.
    pub(crate) last_id: Option<String>,
    /// The last `retry`, in milliseconds.
    pub(crate) retry: Option<u64>,
}

impl HttpClient {
    pub(crate) fn new(server: Server) -> Self {
        Self::with_config(server, HttpConfig::new())
    }

    pub(crate) fn with_config(server: Server, config: HttpConfig) -> Self {
        Self::of(server.build().unwrap().http_service(config))
    }

    pub(crate) fn of(service: HttpService) -> Self {
        Self {
            service,
            headers: vec![
                ("host", "localhost".to_owned()),
                ("content-type", "application/json".to_owned()),
                ("accept", "application/json, text/event-stream".to_owned()),
            ],
            extensions: Extensions::new(),
        }
    }

    /// Adds a header to each request, or replaces it.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// Adds what a listener or a layer knows of each request.
    pub(crate) fn extension<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Removes a header from each request.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    pub(crate) fn request(&self, method: Method, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().unwrap();
        *request.extensions_mut() = self.extensions.clone();
        for (name, value) in &self.headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        request
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Reply {
        Reply::of(self.service.clone().call(request).await.unwrap())
    }

    pub(crate) async fn post(&self, message: Value) -> Reply {
        self.send(self.request(Method::POST, message.to_string()))
            .await
    }

    pub(crate) async fn get(&self) -> Reply {
        self.send(self.request(Method::GET, Bytes::new())).await
    }

    pub(crate) async fn delete(&self) -> Reply {
        self.send(self.request(Method::DELETE, Bytes::new())).await
    }

    /// Resumes a stream.
    pub(crate) async fn get_after(&self, last_id: &str) -> Reply {
        self.clone().header("last-event-id", last_id).get().await
    }

    /// Opens a session of the handshake era, and finishes the handshake.
    pub(crate) async fn open_session(&self, revision: &str, capabilities: Value) -> Self {
        let reply = self.initialize(revision, capabilities).await;
        assert_eq!(reply.status, 200);
        let id = reply.header("mcp-session-id").unwrap();
        let session = self
            .clone()
            .header("mcp-session-id", id)
            .header("mcp-protocol-version", revision);
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(note).await.status, 202);
        session
    }

    pub(crate) async fn initialize(&self, revision: &str, capabilities: Value) -> Reply {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        self.post(request(0, "initialize", params)).await
    }

    /// Sends a request of the stateless era.
    pub(crate) async fn stateless(&self, id: u64, method: &str, mut params: Value) -> Reply {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let given = params["_meta"].take();
        params["_meta"] = meta;
        for (key, value) in given.as_object().into_iter().flatten() {
            params["_meta"][key] = value.clone();
        }
        let name = params["name"].as_str().or(params["uri"].as_str());
        let mut client = self
            .clone()
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = name {
            client = client.header("mcp-name", name);
        }
        client.post(request(id, method, params)).await
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns a `tools/call`.
pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(
        id,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

impl Reply {
    pub(crate) fn of(response: Response<HttpBody>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            body,
            unread: String::new(),
            last_id: None,
            retry: None,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").as_deref() == Some("text/event-stream")
    }

    /// Returns the body, which is JSON.
    pub(crate) async fn json(self) -> Value {
        assert_eq!(
            self.header("content-type").as_deref(),
            Some("application/json")
        );
        let body = self.body.collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    pub(crate) async fn text(self) -> String {
        let body = self.body.collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    /// Reads an event that has an id and no data, with which a stream begins from 2025-11-25 on.
    pub(crate) async fn priming(&mut self) -> String {
        let chunk = self.next_chunk().await.unwrap();
        let (event, rest) = chunk.split_once("\n\n").unwrap();
        let (id, fields) = event.split_once('\n').unwrap();
        let id = id.strip_prefix("id: ").unwrap();
        assert_eq!(fields, "retry: 1000\ndata: ");
        self.unread = rest.to_owned();
        self.last_id = Some(id.to_owned());
        id.to_owned()
    }

    /// Returns the next message of an event stream, or `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let (_, data) = self.next_event().await?;
        Some(serde_json::from_str(&data).unwrap())
    }

    /// Returns the type and the data of the next event that has data, or `None` at the end.
    pub(crate) async fn next_event(&mut self) -> Option<(String, String)> {
        assert!(self.is_stream(), "{:?}", self.headers);
        loop {
            let (event, rest) = match self.unread.split_once("\n\n") {
                Some((event, rest)) => (event.to_owned(), rest.to_owned()),
                None => {
                    let chunk = self.next_chunk().await?;
                    self.unread += &chunk;
                    continue;
                }
            };
            self.unread = rest;
            let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
            if let Some(id) = field("id: ") {
                self.last_id = Some(id.to_owned());
            }
            if let Some(retry) = field("retry: ") {
                self.retry = Some(retry.parse().unwrap());
            }
            if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
                let kind = field("event: ").unwrap_or("message");
                return Some((kind.to_owned(), data.to_owned()));
            }
        }
    }

    /// Returns the next bytes of the body, or `None` at its end.
    pub(crate) async fn next_chunk(&mut self) -> Option<String> {
        self.try_next_chunk().await.unwrap()
    }

    /// As [`next_chunk`](Self::next_chunk), for a body that may fail.
    pub(crate) async fn try_next_chunk(&mut self) -> io::Result<Option<String>> {
        let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await;
        let Some(frame) = frame.transpose()? else {
            return Ok(None);
        };
        let data = frame.into_data().unwrap();
        Ok(Some(String::from_utf8(data.to_vec()).unwrap()))
    }
}
