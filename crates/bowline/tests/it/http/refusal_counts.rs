//! Refused requests are counted by reason, of all services of a server.

use std::time::Duration;

use bowline::server::{AuthenticationRefusal, HttpConfig, HttpRequestHead, Principal, Server};
use http::HeaderValue;
use serde_json::json;

use super::socket::{RawRequest, SocketServer};
use super::support::HttpClient;

async fn authenticate(head: HttpRequestHead) -> Result<Principal, AuthenticationRefusal> {
    let Some(user) = head.bearer_token() else {
        let challenge = HeaderValue::from_static("Bearer");
        return Err(AuthenticationRefusal::unauthorized(challenge));
    };
    Ok(Principal::new(user))
}

#[tokio::test]
async fn each_request_over_a_socket_counts_once_by_its_reason() {
    let config = HttpConfig::new()
        .legacy_sse("/sse")
        .max_body_bytes(4096)
        .max_sessions(1)
        .body_timeout(Duration::from_millis(50))
        .authenticate(authenticate);
    let server = Server::new("test", "1.0.0").tool("any", "Does nothing", async || "done");
    let server = SocketServer::start(server, config).await;
    let call = || RawRequest::call(1, "any").header("Authorization", "Bearer ann");
    let legacy = || call().line("POST /sse HTTP/1.1");
    let initialize = || RawRequest::initialize("2025-11-25").header("Authorization", "Bearer ann");
    let requests = [
        (call(), 200),
        (call().replace("Host", "evil.example"), 403),
        (legacy().without("Host"), 400),
        (call().header("Origin", "http://evil.example"), 403),
        (call().without("Authorization"), 401),
        (legacy().without("Authorization"), 401),
        (call().line("PUT /mcp HTTP/1.1"), 405),
        (legacy().line("DELETE /sse HTTP/1.1"), 405),
        (call().line("POST /healthz HTTP/1.1"), 405),
        (call().replace("Content-Type", "text/plain"), 415),
        (call().replace("Accept", "text/plain"), 406),
        (call().replace("Content-Length", "5000"), 413),
        (call().replace("Content-Length", "4000"), 408),
        (initialize(), 200),
        (initialize(), 503),
        (call().line("POST /elsewhere HTTP/1.1"), 404),
        (call().without("Mcp-Method"), 400),
    ];
    for (request, expected) in requests {
        let answer = server.connect().await.ask(request.bytes()).await;
        assert_eq!(answer.head.status, expected, "{request:?}");
    }
    let stats = server.running.http_stats();
    assert_eq!(stats.host_rejections, 2);
    assert_eq!(stats.origin_rejections, 1);
    assert_eq!(stats.authentication_rejections, 2);
    assert_eq!(stats.method_rejections, 3);
    assert_eq!(stats.content_rejections, 2);
    assert_eq!(stats.size_rejections, 1);
    assert_eq!(stats.timeouts, 1);
    assert_eq!(stats.busy_rejections, 1);
    assert_eq!(stats.other_rejections, 2);
    server.shut_down().await;
}

#[tokio::test]
async fn a_service_has_its_own_and_its_server_all() {
    let server = Server::new("test", "1.0.0").build().unwrap();
    let services = [(); 2].map(|()| server.http_service(HttpConfig::new()));
    for (service, count) in services.iter().zip([1, 2]) {
        let client = HttpClient::of(service.clone()).header("host", "evil.example");
        for _ in 0..count {
            assert_eq!(client.post(json!({})).await.status, 403);
        }
        assert_eq!(service.stats().host_rejections, count);
    }
    assert_eq!(server.http_stats().host_rejections, 3);
}
