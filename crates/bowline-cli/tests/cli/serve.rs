//! `bowline serve demo --http`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::run::{check, command, compare, run, text, transcript};

/// `bowline serve demo --http`, which clients can connect to.
struct Serving {
    child: Child,
    /// The first line of its output.
    first_line: String,
    stdout: BufReader<std::process::ChildStdout>,
    args: Vec<String>,
}

impl Serving {
    fn start(args: &[&str]) -> Self {
        let args = [&["serve", "demo", "--http"], args].concat();
        let mut command = command(&args);
        command.stdin(Stdio::null());
        let pipes = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        stdout.read_line(&mut first_line).unwrap();
        Self {
            child,
            first_line,
            stdout,
            args: args.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The host with the port, and the path.
    fn url(&self) -> (&str, &str) {
        let url = self.first_line.trim_end().strip_prefix("http://").unwrap();
        url.split_at(url.find('/').unwrap())
    }

    fn port(&self) -> &str {
        let parts = self.first_line.split(':');
        let mut parts = parts.filter_map(|part| part.split('/').next());
        parts.find(|part| part.parse::<u16>().is_ok()).unwrap()
    }

    /// Sends a request with headers and a body, and returns the response.
    fn request(&self, method: &str, headers: &[&str], body: &str) -> Response {
        Response::read(self.begin(method, headers, body))
    }

    /// Sends a request, and doesn't wait for the response.
    fn begin(&self, method: &str, headers: &[&str], body: &str) -> TcpStream {
        let (host, path) = self.url();
        let mut stream = TcpStream::connect(host).unwrap();
        let host = format!("Host: {host}");
        let length = format!("Content-Length: {}", body.len());
        let request_line = format!("{method} {path} HTTP/1.1");
        let head = [&request_line, &host, &length].map(String::as_str);
        let usual = [
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "Connection: close",
        ];
        // The host of a test replaces the usual one.
        let has_host = headers.iter().any(|line| line.starts_with("Host: "));
        let head = head.into_iter().filter(|line| !has_host || *line != host);
        let lines: Vec<_> = head.chain(usual).chain(headers.iter().copied()).collect();
        write!(stream, "{}\r\n\r\n{body}", lines.join("\r\n")).unwrap();
        stream
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end. The port, which differs from run to run, is left out of the transcript.
    fn end(mut self) -> (Output, String) {
        let port = self.port().to_owned();
        let mut stdout = self.first_line.clone().into_bytes();
        self.stdout.read_to_end(&mut stdout).unwrap();
        let mut output = self.child.wait_with_output().unwrap();
        output.stdout = stdout;
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        let found = transcript(&args, &output).replace(&port, "[port]");
        (output, found)
    }
}

struct Response {
    head: String,
    body: String,
}

impl Response {
    fn read(mut stream: TcpStream) -> Self {
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        let (head, body) = (head.to_owned(), body.to_owned());
        Self { head, body }
    }

    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        let header = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A call of `add` in the stateless era: headers and body.
fn stateless_call() -> ([&'static str; 3], String) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: add",
    ];
    (headers, body.to_string())
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

// proves: TP-6
#[test]
fn both_eras_are_served_until_a_signal() {
    let serving = Serving::start(&["0"]);
    assert!(serving.first_line.starts_with("http://127.0.0.1:"));
    assert!(serving.first_line.ends_with("/mcp\n"));
    let (headers, body) = stateless_call();
    let answer = serving.request("POST", &headers, &body);
    assert_eq!(answer.status(), "200", "{}", answer.body);
    assert_eq!(answer.json()["result"]["content"][0]["text"], "5");

    let greeting = serving.request("POST", &[], INITIALIZE);
    assert_eq!(
        greeting.json()["result"]["serverInfo"]["name"],
        "bowline-demo"
    );
    let id = greeting.header("mcp-session-id").unwrap();
    let session = [
        &format!("Mcp-Session-Id: {id}"),
        "MCP-Protocol-Version: 2025-11-25",
    ];
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let accepted = serving.request("POST", &session, initialized);
    assert_eq!(accepted.status(), "202", "{}", accepted.body);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let answer = serving.request("POST", &session, ping);
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": 2, "result": {}})
    );
    let ended = serving.request("DELETE", &session, "");
    assert!(ended.status().starts_with("20"), "{}", ended.head);
    assert_eq!(serving.request("POST", &session, ping).status(), "404");

    serving.signal(Signal::TERM);
    let (_, found) = serving.end();
    compare("serve_http", &found);
}

// proves: TP-6
#[test]
fn a_signal_ends_open_streams_and_calls() {
    let serving = Serving::start(&["0"]);
    let greeting = serving.request("POST", &[], INITIALIZE);
    let id = greeting.header("mcp-session-id").unwrap().to_owned();
    let session = [
        &format!("Mcp-Session-Id: {id}"),
        "Accept: text/event-stream",
    ];
    let mut stream = BufReader::new(serving.begin("GET", &session, ""));
    let hang = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}"#;
    let call = serving.begin("POST", &session[..1], hang);
    // The stream is open when its head is there, and the call is running when a later one is
    // answered.
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    assert_eq!(serving.request("POST", &session[..1], ping).status(), "200");

    let began = Instant::now();
    serving.signal(Signal::INT);
    // Both responses end: neither connection is cut before its last chunk.
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    let call = Response::read(call);
    let (output, _) = serving.end();
    let took = began.elapsed();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Half a second, and what a busy machine adds.
    assert!(took < Duration::from_secs(3), "it took {took:?}");
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    assert!(call.head.starts_with("HTTP/1.1 "), "{}", call.head);
}

// proves: TP-7
#[test]
fn clients_of_the_older_transport_have_a_url_of_their_own() {
    let mut serving = Serving::start(&["0", "--legacy-sse"]);
    let mut older = String::new();
    serving.stdout.read_line(&mut older).unwrap();
    let (host, _) = serving.url();
    assert_eq!(older, format!("http://{host}/sse\n"));
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /sse HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: endpoint"));
    // It is one of those that a shutdown ends.
    serving.signal(Signal::TERM);
    assert!(lines.last().is_some());
    let (output, _) = serving.end();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_url_is_data() {
    let serving = Serving::start(&["[::]:0", "--path", "a/b/", "--legacy-sse", "c", "--json"]);
    let listening: Value = serde_json::from_str(&serving.first_line).unwrap();
    let url = listening["url"].as_str().unwrap();
    assert!(
        url.starts_with("http://[::1]:") && url.ends_with("/a/b"),
        "{url}"
    );
    serving.signal(Signal::INT);
    let (_, found) = serving.end();
    compare("serve_http_json", &found);
}

// proves: F-HT-20
#[test]
fn a_public_address_needs_hosts() {
    let warned = Serving::start(&["0.0.0.0:0"]);
    let (headers, body) = stateless_call();
    let public = [&headers[..], &["Host: mcp.example.com"]].concat();
    assert_eq!(warned.request("POST", &public, &body).status(), "403");
    warned.signal(Signal::TERM);
    let (_, found) = warned.end();
    compare("serve_http_public", &found);

    let host = ["--allowed-host", "mcp.example.com"];
    let origin = ["--allowed-origin", "https://app.example.com"];
    let allowed = Serving::start(&[&["0.0.0.0:0"], &host[..], &origin[..]].concat());
    let page = |origin: &'static str| [&public[..], &[origin]].concat();
    for (headers, status) in [
        (public.clone(), "200"),
        (headers.to_vec(), "200"),
        (page("Origin: https://app.example.com"), "200"),
        (page("Origin: http://localhost:5173"), "200"),
        (page("Origin: https://evil.example"), "403"),
        ([&headers[..], &["Host: evil.example"]].concat(), "403"),
    ] {
        let answer = allowed.request("POST", &headers, &body);
        assert_eq!(answer.status(), status, "{headers:?}: {}", answer.body);
    }
    allowed.signal(Signal::TERM);
    let (output, _) = allowed.end();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_address_that_cannot_be_used_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (name, json) in [
        ("serve_http_taken", &[][..]),
        ("serve_http_taken_json", &["--json"]),
    ] {
        let args = [&["serve", "demo", "--http", &port], json].concat();
        let found = transcript(&args, &run(&args, b""));
        compare(name, &found.replace(&port, "[port]"));
    }
    // Of a block that is for documentation.
    check(
        "serve_http_elsewhere",
        &["serve", "demo", "--http", "192.0.2.1:8000"],
        b"",
    );
}

#[test]
fn options_of_http_are_checked() {
    let check = |name: &str, args: &[&str]| check(name, &[&["serve", "demo"], args].concat(), b"");
    check("serve_http_no_port", &["--http", "localhost"]);
    check("serve_http_path", &["--http", "--path", "/a b"]);
    check(
        "serve_http_host",
        &["--http", "--allowed-host", "https://mcp.example.com"],
    );
    check(
        "serve_http_origin",
        &["--http", "--allowed-origin", "app.example.com"],
    );
    check("serve_http_alone", &["--allowed-host", "mcp.example.com"]);
    check("serve_http_path_alone", &["--path", "/mcp"]);
    check(
        "serve_http_one_path",
        &["--http", "--path=/a", "--legacy-sse=/a"],
    );
}
