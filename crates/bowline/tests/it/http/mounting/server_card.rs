//! The server card.

use bowline::server::{HttpConfig, PublicUrl, Server, ServerCard};
use bowline::types::common::Implementation;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service as _;

use crate::http::wire::{Wire, text};

fn card() -> ServerCard {
    ServerCard::new("com.example/weather", "The weather of all places").unwrap()
}

fn server() -> Server {
    let mut info = Implementation::new("weather", "1.2.0");
    info.title = Some("Weather".to_owned());
    Server::with_info(info).tool("now", "Returns the weather", || async { "rain" })
}

/// Sends a request for the card. Returns the status, the headers and the body.
async fn fetch(
    config: HttpConfig,
    request: http::request::Builder,
) -> (u16, http::HeaderMap, Value) {
    let mut service = server().build().unwrap().http_service(config);
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    let response = service.call(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap();
    (parts.status.as_u16(), parts.headers, body)
}

fn get(path: &str) -> http::request::Builder {
    Request::get(path).header("host", "localhost")
}

#[tokio::test]
async fn a_server_card_names_the_server() {
    let config = HttpConfig::new().server_card(card());
    let request = get("/server-card").header("origin", "https://any.example");
    let (status, headers, body) = fetch(config, request).await;
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "application/mcp-server-card+json");
    assert_eq!(headers["cache-control"], "public, max-age=3600");
    assert_eq!(headers["access-control-allow-origin"], "*");
    let expected = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
        "name": "com.example/weather",
        "version": "1.2.0",
        "title": "Weather",
        "description": "The weather of all places",
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_server_card_has_the_urls_of_the_endpoints() {
    let url = PublicUrl::new("https://example.com/base").unwrap();
    let config = HttpConfig::new()
        .public_url(url)
        .legacy_sse("/sse")
        .server_card(card());
    let (_, _, body) = fetch(config, get("/mcp/server-card")).await;
    let [http, sse] = [&body["remotes"][0], &body["remotes"][1]];
    assert_eq!(http["type"], "streamable-http");
    assert_eq!(http["url"], "https://example.com/base/mcp");
    assert_eq!(
        http["supportedProtocolVersions"].as_array().unwrap().len(),
        5
    );
    assert_eq!(sse["type"], "sse");
    assert_eq!(sse["url"], "https://example.com/base/sse");
    assert_eq!(
        sse["supportedProtocolVersions"].as_array().unwrap().len(),
        4
    );
}

#[tokio::test]
async fn a_foreign_host_and_other_methods_are_refused() {
    let config = HttpConfig::new().server_card(card());
    let foreign = Request::get("/server-card").header("host", "mcp.example");
    assert_eq!(fetch(config.clone(), foreign).await.0, 403);
    let post = get("/server-card").method(Method::POST);
    let (status, headers, _) = fetch(config, post).await;
    assert_eq!(
        (status, &headers["allow"]),
        (405, &"GET, HEAD".parse().unwrap())
    );
}

#[tokio::test]
async fn a_listener_serves_it_where_it_is_switched_on() {
    for (is_on, status) in [(true, 200), (false, 404)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = HttpConfig::new();
        if is_on {
            config = config.server_card(card());
        }
        let server = server().build().unwrap();
        tokio::spawn(async move { server.serve_http_listener(listener, config).await });
        let mut wire = Wire::http1(TcpStream::connect(address).await.unwrap()).await;
        let response = wire.get("/mcp/server-card").await;
        assert_eq!(response.status(), status);
        text(response).await;
    }
}
