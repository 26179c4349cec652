//! Two servers in one application of axum, which authenticate their clients.
//!
//! The servers ask a function who sends each request. Its principal reaches the handlers, the token
//! itself never does. A layer of axum around the servers would refuse CORS preflights too, which
//! have no credentials: pages of other origins couldn't use them. One of the servers also has clients that know only the transport
//! of 2024-11-05.
//!
//! `cargo run -p bowline --features http-server --example axum_application`, then
//!
//! ```text
//! curl -s http://127.0.0.1:8000/greeter/mcp -H 'authorization: Bearer open-sesame' \
//!   -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
//!   -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
//!        "capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
//! ```

use std::io::{Write as _, stdout};

use axum::Router;
use axum::routing::get;
use bowline::server::{
    AuthenticationRefusal, HttpConfig, HttpRequestHead, Principal, RunningServer, Server,
};
use http::HeaderValue;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    writeln!(stdout(), "http://{}/greeter/mcp", listener.local_addr()?)?;
    let (greeter, counter) = (greeter()?, counter()?);
    let app = application(&greeter, &counter);
    let ending = async move {
        // Streams end with their server; axum waits for them.
        let _ = tokio::signal::ctrl_c().await;
        greeter.shut_down();
        counter.shut_down();
    };
    axum::serve(listener, app)
        .with_graceful_shutdown(ending)
        .await?;
    Ok(())
}

fn greeter() -> Result<RunningServer, bowline::Error> {
    Server::new("greeter", "1.0.0")
        .tool("greet", "Greets the caller", |who: Principal| async move {
            format!("Hello {}", who.id())
        })
        .build()
}

fn counter() -> Result<RunningServer, bowline::Error> {
    Server::new("counter", "1.0.0")
        .tool("count", "Counts to three", || async { "1 2 3" })
        .build()
}

fn application(greeter: &RunningServer, counter: &RunningServer) -> Router {
    let config = HttpConfig::new().authenticate(authenticate);
    let servers = Router::new()
        .route_service("/greeter/mcp", greeter.http_service(config.clone()))
        .route_service("/greeter/sse", greeter.legacy_sse_service(config.clone()))
        .route_service("/counter/mcp", counter.http_service(config));
    Router::new()
        .route(
            "/",
            get(async || "two servers: /greeter/mcp and /counter/mcp"),
        )
        .merge(servers)
}

/// Finds out who sends a request. A real one asks a store, and compares in constant time.
async fn authenticate(head: HttpRequestHead) -> Result<Principal, AuthenticationRefusal> {
    match head.bearer_token() {
        Some("open-sesame") => Ok(Principal::new("ali")),
        _ => {
            let challenge = HeaderValue::from_static(r#"Bearer realm="greeter""#);
            Err(AuthenticationRefusal::unauthorized(challenge))
        }
    }
}
