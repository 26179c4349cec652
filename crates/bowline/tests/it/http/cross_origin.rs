//! What pages of another origin can read, of what the listener answers itself.

use std::sync::Arc;

use bowline::server::{HttpConfig, Server};
use tokio::sync::Notify;

use super::socket::{Answer, RawRequest, SocketServer};

const ORIGIN: &str = "http://localhost:3000";

fn get(path: &str) -> RawRequest {
    RawRequest::without_body(&format!("GET {path} HTTP/1.1")).header("Origin", ORIGIN)
}

fn assert_readable(answer: &Answer, expected: u16) {
    assert_eq!(answer.head.status, expected);
    let header = |name| answer.head.header(name).unwrap_or_default();
    assert_eq!(header("access-control-allow-origin"), ORIGIN);
    assert_eq!(header("vary"), "Origin");
    assert!(header("access-control-expose-headers").contains("Retry-After"));
}

/// A server with room for one connection, which its slow handler keeps.
async fn full() -> (SocketServer, RawRequest, Arc<Notify>, Arc<Notify>) {
    let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_handler = (Arc::clone(&began), Arc::clone(&go));
    let server = Server::new("test", "1.0.0").tool("slow", "Waits", move || {
        let (began, go) = of_handler.clone();
        async move {
            began.notify_one();
            go.notified().await;
            "done"
        }
    });
    let server = SocketServer::start(server, HttpConfig::new().max_connections(1)).await;
    (server, RawRequest::call(1, "slow"), began, go)
}

// proves: F-HT-18, HS-15
#[tokio::test]
async fn a_page_can_read_that_a_path_is_unknown() {
    let server = Server::new("test", "1.0.0");
    let server = SocketServer::start(server, HttpConfig::new()).await;
    let answer = server.connect().await.ask(get("/other").bytes()).await;
    assert_readable(&answer, 404);
    let foreign = get("/other").replace("Origin", "http://evil.example");
    for request in [foreign, get("/other").without("Origin")] {
        let answer = server.connect().await.ask(request.bytes()).await;
        assert_eq!(answer.head.status, 404);
        assert_eq!(answer.head.header("access-control-allow-origin"), None);
    }
    server.shut_down().await;
}

// proves: F-HT-18, HS-12, HS-15
#[tokio::test]
async fn a_page_can_read_that_there_is_no_room() {
    let (server, slow, began, go) = full().await;
    let mut busy = server.connect().await;
    busy.write(slow.bytes()).await;
    began.notified().await;

    let preflight = get("/mcp")
        .line("OPTIONS /mcp HTTP/1.1")
        .header("Access-Control-Request-Method", "POST");
    let answer = server.connect().await.ask(preflight.bytes()).await;
    assert_eq!(answer.head.status, 204);
    let request = RawRequest::call(2, "slow").header("Origin", ORIGIN);
    let answer = server.connect().await.ask(request.bytes()).await;
    assert_readable(&answer, 503);
    assert_eq!(answer.head.header("retry-after"), Some("1"));

    go.notify_one();
    assert_eq!(busy.answer().await.unwrap().head.status, 200);
    server.shut_down().await;
}

// proves: F-HT-18, HS-15
#[tokio::test]
async fn a_page_can_read_that_the_server_shuts_down() {
    let (server, slow, began, go) = full().await;
    let mut busy = server.connect().await;
    busy.write(slow.bytes()).await;
    began.notified().await;
    server.running.shut_down();
    let request = RawRequest::call(2, "slow").header("Origin", ORIGIN);
    let answer = server.connect().await.ask(request.bytes()).await;
    assert_readable(&answer, 503);
    go.notify_one();
    assert_eq!(busy.answer().await.unwrap().head.status, 200);
    server.shut_down().await;
}
