//! The transport of 2024-11-05 (HTTP+SSE).

mod limits;
mod refusals;
mod sessions;
mod shutdown;

use bowline::server::{
    Context, HttpConfig, LegacySseService, Principal, RunningServer, Server, ToolError,
};
use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tower_service::Service as _;

use super::support::{Reply, request};

/// A client of the service.
#[derive(Clone)]
struct LegacyClient {
    service: LegacySseService,
    headers: Vec<(&'static str, String)>,
    principal: Option<Principal>,
}

/// An open session: the stream, and the URI to post to.
struct LegacySession {
    client: LegacyClient,
    stream: Reply,
    uri: String,
}

impl LegacyClient {
    fn new(server: Server) -> Self {
        Self::with_config(server, HttpConfig::new())
    }

    fn with_config(server: Server, config: HttpConfig) -> Self {
        Self::of(&server.build().unwrap(), config)
    }

    fn of(server: &RunningServer, config: HttpConfig) -> Self {
        Self {
            service: server.legacy_sse_service(config),
            headers: vec![("host", "localhost".to_owned())],
            principal: None,
        }
    }

    /// Adds a header to each request, or replaces it.
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn with_user(mut self, user: &str) -> Self {
        self.principal = Some(Principal::new(user));
        self
    }

    async fn send(&self, method: Method, uri: &str, body: impl Into<Bytes>) -> Reply {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().unwrap();
        for (name, value) in &self.headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        request.extensions_mut().extend({
            let mut extensions = http::Extensions::new();
            if let Some(principal) = &self.principal {
                extensions.insert(principal.clone());
            }
            extensions
        });
        Reply::of(self.service.clone().call(request).await.unwrap())
    }

    async fn get(&self) -> Reply {
        let client = self.clone().header("accept", "text/event-stream");
        client.send(Method::GET, "/sse", Bytes::new()).await
    }

    async fn post(&self, uri: &str, message: &Value) -> Reply {
        let client = self.clone().header("content-type", "application/json");
        client.send(Method::POST, uri, message.to_string()).await
    }

    /// Opens a stream, without the handshake.
    async fn open(&self) -> LegacySession {
        let mut stream = self.get().await;
        assert_eq!(stream.status, 200);
        let (event, reference) = stream.next_event().await.unwrap();
        assert_eq!(event, "endpoint");
        // A client resolves it against the URL of the stream.
        let uri = match reference.strip_prefix('?') {
            Some(query) => format!("/sse?{query}"),
            None => reference,
        };
        LegacySession {
            client: self.clone(),
            stream,
            uri,
        }
    }

    /// Opens a stream, and finishes the handshake.
    async fn connect(&self, revision: &str, capabilities: Value) -> LegacySession {
        let mut session = self.open().await;
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        session.post(&request(0, "initialize", params)).await;
        let answer = session.next().await;
        assert_eq!(answer["id"], 0);
        assert_eq!(answer["result"]["protocolVersion"], revision);
        session.notify("notifications/initialized", json!({})).await;
        session
    }
}

impl LegacySession {
    /// Posts a message, which is accepted.
    async fn post(&self, message: &Value) {
        let reply = self.try_post(message).await;
        assert_eq!(reply.status, 202);
        assert_eq!(reply.text().await, "");
    }

    async fn try_post(&self, message: &Value) -> Reply {
        self.client.post(&self.uri, message).await
    }

    async fn notify(&self, method: &str, params: Value) {
        let note = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.post(&note).await;
    }

    /// Returns the next message.
    async fn next(&mut self) -> Value {
        let (event, data) = self.stream.next_event().await.expect("an event");
        assert_eq!(event, "message");
        serde_json::from_str(&data).unwrap()
    }
}

async fn ask(cx: Context) -> Result<String, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx
        .elicit("name", ElicitFormParams::new("Who?", form))
        .await?;
    Ok(format!("{:?}", answer.is_accepted()))
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("count", "Counts", |cx: Context| async move {
            cx.progress(1, None, None);
            "counted"
        })
        .tool("ask", "Asks", ask)
        .tool("headers", "Lists headers", |cx: Context| async move {
            let http = cx.http_request().expect("it came over HTTP");
            let names: Vec<_> = http.headers().keys().map(|name| name.as_str()).collect();
            names.join(" ")
        })
}
