//! 200 clients of one server over HTTP, with the same ids and the same progress tokens.
//!
//! `cargo bench -p bowline --features http-server --bench tenancy [-- CALLS]`: 100,000 calls by
//! default, over real sockets. Each call carries a marker of its client. Answers, progress, log
//! messages and questions that carry the marker of another client are crossings, of which there
//! must be none. Half of the clients have sessions, the others use the stateless era. Each client is
//! a principal, and now and then tries the session of its neighbour, which must not exist for it.

// proves: SE-20, SE-22

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bowline::server::{Context, HttpConfig, HttpService, Principal, Server, ToolError};
use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use bowline::types::logging::LoggingLevel;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service as _;

const CLIENTS: usize = 200;
const CALLS: usize = 100_000;

/// Of so many calls of a client one reports progress, asks a question, or tries another session.
const EVERY: usize = 10;

const REVISION: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<ExitCode, Failure> {
    let calls = std::env::args().nth(1).filter(|arg| !arg.starts_with("--"));
    let calls = calls.map_or(Ok(CALLS), |calls| calls.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let begun = Instant::now();
    let counts = runtime.block_on(run(calls))?;
    let crossings = counts.crossings.load(Ordering::Relaxed);
    let messages = counts.messages.load(Ordering::Relaxed);
    let is_good = crossings == 0 && messages >= calls;
    println!(
        "{CLIENTS} clients with the same ids: {calls} calls, {messages} messages and answers, \
         {} attempts on a neighbour's session, {crossings} crossings, {:.1?}: {}",
        counts.attempts.load(Ordering::Relaxed),
        begun.elapsed(),
        if is_good { "ok" } else { "SHORT" }
    );
    Ok(match is_good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicUsize,
    crossings: AtomicUsize,
    attempts: AtomicUsize,
    /// The ids of the sessions, each set by its client.
    sessions: Vec<OnceLock<String>>,
}

async fn run(calls: usize) -> Result<Arc<Counts>, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let service = server().build()?.http_service(HttpConfig::new());
    tokio::spawn(serve(listener, service));
    let counts = Arc::new(Counts {
        sessions: (0..CLIENTS).map(|_| OnceLock::new()).collect(),
        ..Counts::default()
    });
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let counts = Arc::clone(&counts);
        clients.spawn(async move {
            let mut client = TestClient::open(address, number, counts).await?;
            for id in 1..=calls / CLIENTS {
                client.call(id).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok(counts)
}

#[derive(Deserialize, JsonSchema)]
struct Marked {
    marker: String,
}

fn server() -> Server {
    Server::new("shared", "1.0.0")
        .tool("echo", "Returns the marker", |call: Marked| async move {
            call.marker
        })
        .tool(
            "report",
            "Reports the marker",
            |call: Marked, cx: Context| async move {
                cx.progress(1, None, Some(&call.marker));
                tokio::task::yield_now().await;
                cx.log(LoggingLevel::Error, call.marker.as_str());
                cx.progress(2, None, Some(&call.marker));
                call.marker
            },
        )
        .tool("ask", "Asks for the marker", ask)
}

async fn ask(call: Marked, cx: Context) -> Result<String, ToolError> {
    let form = FormSchema::new([("marker", PrimitiveSchema::string())]);
    let question = ElicitFormParams::new(&call.marker, form);
    let answer = cx.elicit("marker", question).await?;
    // The client answers with its own marker: both must be of the same call.
    Ok(format!("{} {answer:?}", call.marker))
}

/// Serves the connections as an application would that authenticates its users.
async fn serve(listener: TcpListener, service: HttpService) -> Result<(), Failure> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let serve = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                let user = request.headers().get("authorization");
                let user = user.and_then(|user| user.to_str().ok()).map(Principal::new);
                if let Some(user) = user {
                    request.extensions_mut().insert(user);
                }
                service.clone().call(request)
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), serve).await;
        });
    }
}

/// A client with a connection for its calls, and one for its answers to questions.
struct TestClient {
    number: usize,
    calls: Connection,
    answers: Connection,
    session: Option<String>,
    counts: Arc<Counts>,
}

impl TestClient {
    async fn open(
        address: SocketAddr,
        number: usize,
        counts: Arc<Counts>,
    ) -> Result<Self, Failure> {
        let mut client = Self {
            number,
            calls: Connection::open(address).await?,
            answers: Connection::open(address).await?,
            session: None,
            counts,
        };
        if number.is_multiple_of(2) {
            let params = json!({
                "protocolVersion": REVISION,
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "client", "version": "1"},
            });
            let message =
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let head = client.head("");
            client.calls.send(&head, &message).await?;
            let answer = client.calls.head().await?;
            let id = header(&answer, "mcp-session-id")
                .ok_or("no session")?
                .to_owned();
            client.calls.finish(&answer).await?;
            let _ = client.counts.sessions[number].set(id.clone());
            client.session = Some(id);
        }
        Ok(client)
    }

    /// Returns the headers of a request of this client.
    fn head(&self, more: &str) -> String {
        let mut head = format!("authorization: user {}\r\n{more}", self.number);
        if let Some(session) = &self.session {
            head += &format!("mcp-session-id: {session}\r\nmcp-protocol-version: {REVISION}\r\n");
        }
        head
    }

    /// Makes one call. The ids, and the progress tokens, are those of all other clients.
    async fn call(&mut self, id: usize) -> Result<(), Failure> {
        let marker = format!("<{}:{id}>", self.number);
        let tool = match id % EVERY {
            1 => "report",
            2 => "ask",
            3 => return self.try_neighbour(id).await,
            _ => "echo",
        };
        let mut params = json!({"name": tool, "arguments": {"marker": marker}});
        params["_meta"]["progressToken"] = id.into();
        loop {
            let result = self.exchange(id, tool, &params, &marker).await?;
            if result["resultType"] != "input_required" {
                return Ok(());
            }
            // The stateless era: the question ends the request.
            let question = &result["inputRequests"]["marker"]["params"]["message"];
            self.check(question.as_str() == Some(&*marker));
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = json!({"marker": answer(&marker)});
        }
    }

    /// Sends one request, and returns its result after everything that came before it.
    async fn exchange(
        &mut self,
        id: usize,
        tool: &str,
        params: &Value,
        marker: &str,
    ) -> Result<Value, Failure> {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call"});
        message["params"] = params.clone();
        let mut more = String::new();
        if self.session.is_none() {
            let meta = &mut message["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
            meta["io.modelcontextprotocol/logLevel"] = "debug".into();
            more = format!(
                "mcp-protocol-version: {STATELESS}\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
            );
        }
        let head = self.head(&more);
        self.calls.send(&head, &message).await?;
        let answer_head = self.calls.head().await?;
        if header(&answer_head, "content-type") == Some("application/json") {
            let body = self.calls.finish(&answer_head).await?;
            let body = serde_json::from_slice(&body)?;
            return self.take_response(id, body, marker);
        }
        let mut response = Value::Null;
        while let Some(event) = self.calls.event().await? {
            if event.get("method").is_some() {
                self.take_message(id, &event, marker).await?;
            } else {
                response = event;
            }
        }
        self.take_response(id, response, marker)
    }

    fn take_response(&self, id: usize, response: Value, marker: &str) -> Result<Value, Failure> {
        let result = &response["result"];
        let is_ours = response["id"] == id && is_marked(result, marker, self.number);
        if result.is_null() {
            return Err(format!("client {}: {response}", self.number).into());
        }
        self.check(is_ours);
        Ok(result.clone())
    }

    /// Takes progress, a log message, or a question.
    async fn take_message(
        &mut self,
        id: usize,
        event: &Value,
        marker: &str,
    ) -> Result<(), Failure> {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "notifications/progress" => {
                self.check(params["progressToken"] == id && params["message"] == marker);
            }
            "notifications/message" => self.check(params["data"] == marker),
            "elicitation/create" => {
                self.check(params["message"] == marker);
                let reply = json!({"jsonrpc": "2.0", "id": event["id"], "result": answer(marker)});
                let head = self.head("");
                self.answers.send(&head, &reply).await?;
                let accepted = self.answers.head().await?;
                self.answers.finish(&accepted).await?;
                if !accepted.starts_with("HTTP/1.1 202") {
                    return Err(accepted.into());
                }
            }
            other => return Err(format!("unexpected {other}").into()),
        }
        Ok(())
    }

    /// Calls a tool in the session of another principal.
    async fn try_neighbour(&mut self, id: usize) -> Result<(), Failure> {
        let neighbour = ((self.number + 2) % CLIENTS) & !1;
        let Some(session) = self.counts.sessions[neighbour].get().cloned() else {
            return Ok(());
        };
        let message = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"marker": "stolen"}},
        });
        let head = format!(
            "authorization: user {}\r\nmcp-session-id: {session}\r\n",
            self.number
        );
        if neighbour == self.number {
            return Ok(());
        }
        self.calls.send(&head, &message).await?;
        let answer = self.calls.head().await?;
        self.calls.finish(&answer).await?;
        self.counts.attempts.fetch_add(1, Ordering::Relaxed);
        self.check(answer.starts_with("HTTP/1.1 404"));
        Ok(())
    }

    /// Counts a message, and a crossing if it isn't ours.
    fn check(&self, is_ours: bool) {
        self.counts.messages.fetch_add(1, Ordering::Relaxed);
        if !is_ours {
            self.counts.crossings.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn answer(marker: &str) -> Value {
    json!({"action": "accept", "content": {"marker": marker}})
}

/// Returns `true` if a result has the marker of its call, and none of another client.
fn is_marked(result: &Value, marker: &str, number: usize) -> bool {
    if result["resultType"] == "input_required" {
        return true;
    }
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let own = format!("<{number}:");
    text.contains(marker) && text.matches('<').count() == text.matches(&own).count()
}

/// A connection that is kept open, of HTTP/1.1.
struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
    events: String,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            unread: Vec::new(),
            events: String::new(),
        })
    }

    async fn send(&mut self, head: &str, message: &Value) -> Result<(), Failure> {
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{head}\r\n{body}",
            body.len()
        );
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    async fn head(&mut self) -> Result<String, Failure> {
        Ok(String::from_utf8(self.take_until(b"\r\n\r\n").await?)?)
    }

    /// Reads the body behind a head.
    async fn finish(&mut self, head: &str) -> Result<Vec<u8>, Failure> {
        let length = header(head, "content-length").unwrap_or("0").parse()?;
        self.take(length).await
    }

    /// Returns the next message of a stream, or `None` at its end.
    async fn event(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some((event, rest)) = self.events.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data
                    .filter(|data| !data.is_empty())
                    .map(serde_json::from_str);
                self.events = rest.to_owned();
                match data {
                    Some(data) => return Ok(Some(data?)),
                    None => continue,
                }
            }
            let line = String::from_utf8(self.take_until(b"\r\n").await?)?;
            let length = usize::from_str_radix(line.trim(), 16)?;
            let chunk = self.take(length + 2).await?;
            if length == 0 {
                return Ok(None);
            }
            self.events += std::str::from_utf8(&chunk[..length])?;
        }
    }

    async fn take_until(&mut self, end: &[u8]) -> Result<Vec<u8>, Failure> {
        loop {
            let found = self
                .unread
                .windows(end.len())
                .position(|bytes| bytes == end);
            if let Some(at) = found {
                return Ok(self.unread.drain(..at + end.len()).collect());
            }
            self.read().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        while self.unread.len() < length {
            self.read().await?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    async fn read(&mut self) -> Result<(), Failure> {
        match self.stream.read_buf(&mut self.unread).await? {
            0 => Err("the server has closed the connection".into()),
            _ => Ok(()),
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
