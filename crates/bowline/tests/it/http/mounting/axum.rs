//! Services in an application of axum.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use bowline::server::{HttpConfig, Principal, RunningServer};
use http::StatusCode;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use super::{Tenant, named};
use crate::http::support::request;
use crate::http::wire::{Wire, WireEvents, text};

/// Authenticates a request, and notes what it found out.
async fn authenticate(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let token = request.headers().get("authorization");
    let token = token.ok_or(StatusCode::UNAUTHORIZED)?;
    let user = match token.to_str() {
        Ok("Bearer a") => "ann",
        Ok("Bearer e") => "eve",
        _ => return Err(StatusCode::UNAUTHORIZED),
    };
    request.extensions_mut().insert(Principal::new(user));
    request.extensions_mut().insert(Tenant(7));
    Ok(next.run(request).await)
}

fn both(server: &RunningServer) -> Router {
    Router::new()
        .route_service("/mcp", server.http_service(HttpConfig::new()))
        .route_service("/sse", server.legacy_sse_service(HttpConfig::new()))
}

async fn connect(app: Router) -> impl AsyncFn() -> Wire {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    async move || Wire::http1(TcpStream::connect(address).await.unwrap()).await
}

// proves: TP-6
#[tokio::test]
async fn several_servers_have_paths_of_one_application() {
    let first = named("first").build().unwrap();
    let second = named("second").build().unwrap();
    let app = Router::new()
        .route("/", get(async || "a page"))
        .merge(both(&first))
        .nest("/deep/base", both(&second))
        .nest_service("/whole", second.http_service(HttpConfig::new()));
    let connect = connect(app).await;
    let mut wire = connect().await;
    assert_eq!(text(wire.get("/").await).await, "a page");
    assert_eq!(wire.call("/mcp", "name").await, "first");
    assert_eq!(wire.call("/deep/base/mcp", "name").await, "second");
    assert_eq!(wire.call("/whole", "name").await, "second");
    assert_eq!(wire.get("/base/mcp").await.status(), 404);
}

// proves: TP-7, TR-25
#[tokio::test]
async fn old_clients_find_where_to_post_below_any_path() {
    let server = named("old").build().unwrap();
    let app = Router::new().nest("/deep/base", both(&server));
    let connect = connect(app).await;
    let (mut stream, mut wire) = (connect().await, connect().await);
    let (mut events, uri) = WireEvents::open(&mut stream, "/deep/base/sse").await;
    assert!(uri.starts_with("/deep/base/sse?sessionId="), "{uri}");
    let params = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let initialize = request(0, "initialize", params);
    assert_eq!(wire.post(&uri, &initialize).await.status(), 202);
    assert_eq!(
        events.message().await["result"]["serverInfo"]["name"],
        "old"
    );
}

// proves: AU-65, SE-22
#[tokio::test]
async fn extensions_of_a_layer_reach_the_handler_and_credentials_do_not() {
    let server = named("guarded").build().unwrap();
    let app = both(&server).layer(from_fn(authenticate));
    let connect = connect(app).await;
    let mut wire = connect().await;
    let refused = wire.post("/mcp", &request(1, "ping", json!({}))).await;
    assert_eq!(refused.status(), 401);
    text(refused).await;
    let headers = [
        ("authorization", "Bearer a"),
        ("cookie", "session=1"),
        ("proxy-authorization", "Basic x"),
        ("x-trace", "1"),
    ];
    assert_eq!(wire.call_with("/mcp", "who", &headers).await, "ann");
    let seen = wire.call_with("/mcp", "http", &headers).await;
    assert!(seen.starts_with("HTTP/1.1 Some(Tenant(7)) "), "{seen}");
    assert!(seen.contains("x-trace"), "{seen}");
    for secret in ["authorization", "cookie"] {
        assert!(!seen.contains(secret), "{seen}");
    }
}
