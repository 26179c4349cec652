//! Requests over a real socket whose heads are refused, each on a connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline::server::{AllowedOrigins, HttpConfig, Server};
use serde_json::Value;

use super::socket::{RawClient, RawRequest, SocketServer};

/// A server whose tool counts how often it runs.
async fn server(config: HttpConfig) -> (SocketServer, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::new("test", "1.0.0").tool("count", "Counts", move || {
        let counted = Arc::clone(&counted);
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            "counted"
        }
    });
    (SocketServer::start(server, config).await, count)
}

fn call() -> RawRequest {
    RawRequest::call(1, "count")
}

/// Sends each request on a connection of its own. Those that aren't answered with 200 must not run
/// the tool, and none may be followed by the answer to something that was smuggled in.
async fn check(config: HttpConfig, cases: &[(&str, RawRequest, u16)]) {
    let (server, count) = server(config).await;
    let mut expected_runs = 0;
    for (what, request, expected) in cases {
        let mut client = server.connect().await;
        let answer = client.ask(request.bytes()).await;
        assert_eq!(answer.head.status, *expected, "{what}: {answer:?}");
        expected_runs += usize::from(*expected == 200);
        assert_eq!(count.load(Ordering::Relaxed), expected_runs, "{what}");
        if *expected == 405 {
            assert_eq!(answer.head.header("allow"), Some("GET, POST, DELETE"));
        }
    }
    server.shut_down().await;
}

// proves: F-HT-09, SE-4, HS-2
#[tokio::test]
async fn hosts() {
    let host = |host: &str| call().replace("Host", host);
    let absolute = |uri: &str, host: &str| {
        let request = call().replace("Host", host);
        request.line(&format!("POST {uri} HTTP/1.1"))
    };
    let cases = [
        ("local", host("localhost:8000"), 200),
        ("loopback", host("127.0.0.1"), 200),
        ("loopback of IPv6", host("[::1]:1"), 200),
        ("foreign", host("evil.example"), 403),
        ("foreign with a port", host("evil.example:8000"), 403),
        ("public name of loopback", host("localtest.me"), 403),
        ("address in a name", host("127.0.0.1.nip.io"), 403),
        ("trailing dot", host("localhost."), 403),
        ("empty", host(""), 400),
        ("malformed", host("localhost:x"), 400),
        ("two", call().header("Host", "localhost"), 400),
        ("two different", call().header("Host", "evil.example"), 400),
        ("missing", call().without("Host"), 400),
        ("same", absolute("http://localhost/mcp", "localhost"), 200),
        (
            "the URI",
            absolute("http://evil.example/mcp", "localhost"),
            400,
        ),
        (
            "the host",
            absolute("http://localhost/mcp", "evil.example"),
            400,
        ),
        (
            "both",
            absolute("http://evil.example/mcp", "evil.example"),
            403,
        ),
    ];
    check(HttpConfig::new(), &cases).await;
}

// proves: F-HT-10, SE-1, SE-2, TR-31, TR-101, HS-2
#[tokio::test]
async fn origins() {
    let origin = |origin: &str| call().header("Origin", origin);
    let cases = [
        ("none", call(), 200),
        ("local", origin("http://localhost:5173"), 200),
        ("loopback", origin("https://127.0.0.1"), 200),
        ("foreign", origin("http://evil.example"), 403),
        (
            "a name that begins alike",
            origin("http://localhost.evil.example"),
            403,
        ),
        ("null", origin("null"), 403),
        ("empty", origin(""), 403),
        ("malformed", origin("http://"), 403),
        (
            "two",
            origin("http://localhost").header("Origin", "http://localhost"),
            400,
        ),
    ];
    check(HttpConfig::new(), &cases).await;
}

// proves: F-HT-03, F-HT-06, F-HT-11, HS-2, HS-7, HS-8
#[tokio::test]
async fn media_types_and_encodings() {
    let content = |value: &str| call().replace("Content-Type", value);
    let encoded = |value: &str| call().header("Content-Encoding", value);
    let accept = |value: &str| call().replace("Accept", value);
    let cases = [
        ("JSON", content("APPLICATION/json; charset=UTF-8"), 200),
        ("text", content("text/plain"), 415),
        ("form", content("application/x-www-form-urlencoded"), 415),
        (
            "another charset",
            content("application/json; charset=latin1"),
            415,
        ),
        ("no type", call().without("Content-Type"), 415),
        (
            "two types",
            call().header("Content-Type", "application/json"),
            400,
        ),
        ("identity", encoded("identity"), 200),
        ("gzip", encoded("gzip"), 415),
        ("br", encoded("br"), 415),
        ("no Accept", call().without("Accept"), 200),
        ("anything", accept("*/*"), 200),
        ("only JSON", accept("application/json"), 406),
        ("a page", accept("text/html"), 406),
    ];
    check(HttpConfig::new(), &cases).await;
}

// proves: F-HT-13, SE-9, TR-124, TR-125, TR-126, TR-127, TR-153, HS-2
#[tokio::test]
async fn headers_that_repeat_the_body() {
    let (server, count) = server(HttpConfig::new()).await;
    let version = |value: &str| call().replace("MCP-Protocol-Version", value);
    let method = |value: &str| call().replace("Mcp-Method", value);
    let name = |value: &str| call().replace("Mcp-Name", value);
    let accepted = [
        name("=?base64?Y291bnQ=?="),
        name(" \tcount\t "),
        call().without("Mcp-Name").header("MCP-NAME", "count"),
    ];
    for request in &accepted {
        let answer = server.connect().await.ask(request.bytes()).await;
        assert_eq!(answer.head.status, 200, "{request:?}: {answer:?}");
    }
    let refused = [
        version("2025-11-25"),
        call().without("MCP-Protocol-Version"),
        call().without("Mcp-Method"),
        call().without("Mcp-Name"),
        method("TOOLS/CALL"),
        method("tools/list"),
        name("other"),
        name("Count"),
        name(""),
        name("=?base64?Y291bnQ?x?="),
        name("=?BASE64?Y291bnQ=?="),
        // The name as the sentinel of the sentinel.
        name("=?base64?PT9iYXNlNjQ/WTI5MWJuUT0/PQ==?="),
        name("c\u{f6}unt"),
    ];
    for request in &refused {
        let answer = server.connect().await.ask(request.bytes()).await;
        assert_eq!(answer.head.status, 400, "{request:?}: {answer:?}");
        let error = answer.json();
        assert_eq!(error["error"]["code"], -32020, "{request:?}");
        assert_eq!(error["id"], 1, "{request:?}");
    }
    let repeated = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "count"),
        ("Mcp-Session-Id", "a"),
    ];
    for (name, value) in repeated {
        let mut request = call().header(name, value);
        if name == "Mcp-Session-Id" {
            // A request of the stateless era has no session; one of the other era has.
            request = RawRequest::post(&serde_json::json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "count", "arguments": {}},
            }));
            request = request.header(name, value).header(name, value);
        }
        let answer = server.connect().await.ask(request.bytes()).await;
        assert_eq!(answer.head.status, 400, "two of {name}: {answer:?}");
    }
    assert_eq!(count.load(Ordering::Relaxed), accepted.len());
    server.shut_down().await;
}

// proves: F-HT-19, SE-12, SE-10, HS-6
#[tokio::test]
async fn framing_that_can_be_read_in_two_ways() {
    let (server, count) = server(HttpConfig::new()).await;
    let chunked = |body: &Value| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.to_string().len());
    let message: Value = serde_json::json!({"jsonrpc": "2.0", "method": "a"});
    let both = |first: &str, second: &str| {
        let request = call().without("Content-Length");
        let request = request.header(first.split(':').next().unwrap(), value_of(first));
        let request = request.header(second.split(':').next().unwrap(), value_of(second));
        request.body(chunked(&message))
    };
    let encoded = |codings: &str| {
        let request = call().without("Content-Length");
        let request = request.header("Transfer-Encoding", codings);
        request.body(chunked(&message))
    };
    let many = (0..100).fold(call(), |request, index| {
        request.header(&format!("x-{index}"), "a")
    });
    let line = call().line(&format!("POST /mcp?{} HTTP/1.1", "a".repeat(64 * 1024)));
    let cases = [
        (
            "both, length last",
            both("Transfer-Encoding:chunked", "Content-Length:3"),
            400,
        ),
        (
            "both, length first",
            both("Content-Length:3", "Transfer-Encoding:chunked"),
            400,
        ),
        (
            "both, in any case",
            both("CONTENT-LENGTH:3", "tRANSFER-eNCODING:chunked"),
            400,
        ),
        (
            "both, length 0",
            both("Content-Length:0", "Transfer-Encoding:chunked"),
            400,
        ),
        (
            "both, after blank lines",
            both("Content-Length:3", "Transfer-Encoding:chunked")
                .line("\r\n\r\nPOST /mcp HTTP/1.1"),
            400,
        ),
        ("two lengths", call().header("Content-Length", "3"), 400),
        ("no number", call().replace("Content-Length", "abc"), 400),
        ("a sign", call().replace("Content-Length", "+3"), 400),
        (
            "an unknown coding",
            call().header("Transfer-Encoding", "gzip"),
            400,
        ),
        (
            "chunked not last",
            call().header("Transfer-Encoding", "chunked, gzip"),
            400,
        ),
        ("an encoded body", encoded("gzip, chunked"), 400),
        ("chunked twice", encoded("chunked, chunked"), 400),
        (
            "chunked in two headers",
            encoded("chunked").header("Transfer-Encoding", "chunked"),
            400,
        ),
        ("folded", call().header("x-a", "b\r\n c"), 400),
        ("blank before the colon", call().header("x-a ", "b"), 400),
        ("a NUL", call().header("x-a", "b\0"), 400),
        ("a lone CR", call().header("x-a", "b\rc"), 400),
        ("101 headers and more", many, 431),
        (
            "a header of 64 KiB",
            call().header("x-a", "b".repeat(64 * 1024)),
            431,
        ),
        ("a line of 64 KiB", line, 431),
        ("an unknown version", call().line("POST /mcp HTTP/3.0"), 400),
        ("no version", call().line("POST /mcp"), 400),
    ];
    for (what, request, expected) in cases {
        let mut client = server.connect().await;
        // A second request behind it is not looked at.
        client
            .write([request.bytes(), call().bytes()].concat())
            .await;
        let answer = client.answer().await.expect(what);
        assert_eq!(answer.head.status, expected, "{what}: {answer:?}");
        assert!(client.rest().await.is_empty(), "{what}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
    server.shut_down().await;
}

// proves: F-HT-19
#[tokio::test]
async fn a_chunked_body_is_served_also_after_one_with_a_length() {
    let (server, _) = server(HttpConfig::new()).await;
    let mut client = server.connect().await;
    let message = String::from_utf8(call().bytes()).unwrap();
    let (_, message) = message.split_once("\r\n\r\n").unwrap();
    let chunked = call()
        .without("Content-Length")
        .header("Transfer-Encoding", "chunked")
        .body(format!("{:x}\r\n{message}\r\n0\r\n\r\n", message.len()));
    for request in [&call(), &chunked, &call(), &chunked] {
        let answer = client.ask(request.bytes()).await;
        assert_eq!(answer.head.status, 200, "{answer:?}");
    }
    // Also where the second is sent before the first is answered.
    let mut client = server.connect().await;
    client
        .write([call().bytes(), chunked.bytes(), call().bytes()].concat())
        .await;
    for _ in 0..3 {
        assert_eq!(client.answer().await.unwrap().head.status, 200);
    }
    server.shut_down().await;
}

fn value_of(header: &str) -> &str {
    header.split_once(':').unwrap().1
}

// proves: F-HT-18, F-SE-17, TR-116
#[tokio::test]
async fn methods() {
    let stateless =
        |line: &str| RawRequest::without_body(line).header("MCP-Protocol-Version", "2026-07-28");
    let cases = [
        ("PUT", call().line("PUT /mcp HTTP/1.1"), 405),
        ("PATCH", call().line("PATCH /mcp HTTP/1.1"), 405),
        ("TRACE", stateless("TRACE /mcp HTTP/1.1"), 405),
        ("post", call().line("post /mcp HTTP/1.1"), 405),
        ("OPTIONS", stateless("OPTIONS /mcp HTTP/1.1"), 405),
        ("GET", stateless("GET /mcp HTTP/1.1"), 405),
        ("DELETE", stateless("DELETE /mcp HTTP/1.1"), 405),
        (
            "GET with a session",
            stateless("GET /mcp HTTP/1.1")
                .header("Mcp-Session-Id", "a")
                .header("Last-Event-ID", "1"),
            405,
        ),
        (
            "POST with a session",
            call().header("Mcp-Session-Id", "a"),
            200,
        ),
        (
            "POST with an event id",
            call().header("Last-Event-ID", "1"),
            200,
        ),
        ("another path", call().line("POST / HTTP/1.1"), 404),
        ("a path below", call().line("POST /mcp/x HTTP/1.1"), 404),
        ("a slash", call().line("POST /mcp/ HTTP/1.1"), 200),
        ("a query", call().line("POST /mcp?a=b HTTP/1.1"), 200),
        ("HTTP/1.0", call().line("POST /mcp HTTP/1.0"), 200),
    ];
    check(HttpConfig::new(), &cases).await;
}

// proves: F-HT-18
#[tokio::test]
async fn head_is_answered_without_a_body() {
    let (server, _) = server(HttpConfig::new()).await;
    let mut client = server.connect().await;
    client
        .write(RawRequest::without_body("HEAD /mcp HTTP/1.1").bytes())
        .await;
    let head = client.head().await.unwrap();
    assert_eq!(head.status, 405);
    // What follows is the next response.
    assert_eq!(client.ask(call().bytes()).await.head.status, 200);
    server.shut_down().await;
}

async fn preflight(client: &mut RawClient, origin: &str) -> super::socket::Answer {
    let request = RawRequest::without_body("OPTIONS /mcp HTTP/1.1")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "content-type, mcp-method, mcp-param-region",
        );
    client.ask(request.bytes()).await
}

// proves: F-HT-18, SE-1
#[tokio::test]
async fn browsers() {
    let origins = AllowedOrigins::new(["https://app.example"]).unwrap();
    let (server, count) = server(HttpConfig::new().allowed_origins(origins)).await;
    let mut client = server.connect().await;

    let answer = preflight(&mut client, "https://app.example").await;
    assert_eq!(answer.head.status, 204);
    let header = |name: &str| answer.head.header(name).unwrap().to_ascii_lowercase();
    assert_eq!(header("access-control-allow-origin"), "https://app.example");
    assert!(header("access-control-allow-methods").contains("post"));
    let headers = header("access-control-allow-headers");
    for name in [
        "content-type",
        "mcp-method",
        "mcp-param-region",
        "authorization",
    ] {
        assert!(headers.contains(name), "{name}: {headers}");
    }
    assert_eq!(answer.head.header("access-control-allow-credentials"), None);

    let refused = preflight(&mut client, "https://evil.example").await;
    assert_eq!(refused.head.status, 403);
    assert_eq!(refused.head.header("access-control-allow-origin"), None);
    assert_eq!(refused.head.header("access-control-allow-headers"), None);

    // The page reads answers and errors alike, and nothing of a refused origin runs.
    let page = |origin: &str| call().header("Origin", origin);
    let ok = client.ask(page("https://app.example").bytes()).await;
    assert_eq!(ok.head.status, 200);
    let unacceptable = page("https://app.example").replace("Accept", "text/html");
    let error = client.ask(unacceptable.bytes()).await;
    assert_eq!(error.head.status, 406);
    for answer in [ok, error] {
        let allowed = answer.head.header("access-control-allow-origin");
        assert_eq!(allowed, Some("https://app.example"));
        assert_eq!(answer.head.header("vary"), Some("Origin"));
        let exposed = answer.head.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("Mcp-Session-Id") && exposed.contains("WWW-Authenticate"));
    }
    let foreign = client.ask(page("http://localhost").bytes()).await;
    assert_eq!(foreign.head.status, 403);
    assert_eq!(foreign.head.header("access-control-allow-origin"), None);
    assert_eq!(count.load(Ordering::Relaxed), 1);
    server.shut_down().await;
}
