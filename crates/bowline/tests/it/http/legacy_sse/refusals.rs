//! What is refused before a handler.

use bowline::server::HttpConfig;
use bytes::Bytes;
use http::Method;
use serde_json::json;

use super::{LegacyClient, server};
use crate::http::support::{call, request};

// proves: TR-24, F-HT-09, F-HT-10, F-HT-11
#[tokio::test]
async fn a_foreign_host_origin_or_media_type_is_refused() {
    let client = LegacyClient::new(server());
    let session = client.connect("2024-11-05", json!({})).await;
    let body = call(1, "echo", json!({})).to_string();
    for (name, value, get, post) in [
        ("host", "mcp.example", 403, 403),
        ("origin", "https://mcp.example", 403, 403),
        ("origin", "null", 403, 403),
        ("content-type", "text/plain", 200, 415),
        ("content-encoding", "gzip", 200, 415),
        ("accept", "application/json", 406, 202),
    ] {
        let client = client
            .clone()
            .header("content-type", "application/json")
            .header(name, value);
        let status = client.send(Method::GET, "/sse", Bytes::new()).await.status;
        assert_eq!(status, get, "GET, {name}: {value}");
        let reply = client.send(Method::POST, &session.uri, body.clone()).await;
        assert_eq!(reply.status, post, "POST, {name}: {value}");
    }
    let stats = client.service.stats();
    assert_eq!((stats.host_rejections, stats.origin_rejections), (2, 4));
    assert_eq!(stats.content_rejections, 3);
}

// proves: F-HT-18
#[tokio::test]
async fn only_get_and_post_are_served() {
    let client = LegacyClient::new(server());
    for method in [Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS] {
        let reply = client.send(method, "/sse", Bytes::new()).await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.header("allow").as_deref(), Some("GET, POST"));
    }
}

#[tokio::test]
async fn pages_of_an_allowed_origin_may_use_it() {
    let client = LegacyClient::new(server()).header("origin", "http://localhost:3000");
    let preflight = client
        .clone()
        .header("access-control-request-method", "POST");
    let reply = preflight.send(Method::OPTIONS, "/sse", Bytes::new()).await;
    assert_eq!(reply.status, 204);
    let session = client.open().await;
    let unknown = client.post("/sse?sessionId=x", &json!({})).await;
    for headers in [&reply.headers, &session.stream.headers, &unknown.headers] {
        let origin = &headers["access-control-allow-origin"];
        assert_eq!(origin, "http://localhost:3000");
    }
}

#[tokio::test]
async fn a_post_needs_a_session() {
    let client = LegacyClient::new(server());
    let session = client.connect("2024-11-05", json!({})).await;
    let unknown = format!("/sse?sessionId={}", "0".repeat(32));
    let longer = format!("{}0", session.uri);
    let shorter = &session.uri[..session.uri.len() - 1];
    for (uri, status) in [
        ("/sse", 400),
        ("/sse?session=1", 400),
        ("/sse?sessionId=", 400),
        (&unknown, 404),
        (&longer, 404),
        (shorter, 404),
        (&format!("{}&a=b", session.uri), 202),
    ] {
        let reply = client.post(uri, &call(1, "echo", json!({}))).await;
        assert_eq!(reply.status, status, "{uri}");
    }
}

#[tokio::test]
async fn posts_that_are_no_message_of_the_handshake_era_are_refused() {
    let client = LegacyClient::new(server());
    let mut session = client.connect("2025-06-18", json!({})).await;
    let client = session
        .client
        .clone()
        .header("content-type", "application/json");
    for body in ["", "{", "[]", "{}", "\"text\""] {
        let reply = client.send(Method::POST, &session.uri, body).await;
        assert_eq!(reply.status, 400, "{body}");
        assert!(reply.json().await["error"]["code"].is_i64());
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let stateless = request(1, "tools/list", json!({"_meta": meta}));
    let reply = session.try_post(&stateless).await;
    assert_eq!(reply.status, 400);
    let error = reply.json().await;
    assert_eq!(error["id"], 1);
    assert_eq!(error["error"]["code"], -32022, "{error}");
    session.post(&call(2, "echo", json!({}))).await;
    assert_eq!(session.next().await["id"], 2);
}

// proves: SE-22
#[tokio::test]
async fn a_session_is_that_of_its_principal() {
    let client = LegacyClient::new(server());
    let ann = client.clone().with_user("ann");
    let session = ann.connect("2024-11-05", json!({})).await;
    let echo = call(1, "echo", json!({}));
    for (client, status) in [
        (&ann, 202),
        (&client.clone().with_user("eve"), 404),
        (&client, 404),
    ] {
        assert_eq!(client.post(&session.uri, &echo).await.status, status);
    }
    let open = client.connect("2024-11-05", json!({})).await;
    assert_eq!(ann.post(&open.uri, &echo).await.status, 404);
}

// proves: F-HT-12
#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let config = HttpConfig::new().max_body_bytes(200);
    let client = LegacyClient::with_config(server(), config);
    let session = client.connect("2024-11-05", json!({})).await;
    let client = client.header("content-type", "application/json");
    let message = request(1, "ping", json!({})).to_string();
    for (size, status) in [(200, 202), (201, 413)] {
        let body = format!("{message:size$}");
        let reply = client.send(Method::POST, &session.uri, body).await;
        assert_eq!(reply.status, status, "{size}");
    }
}
