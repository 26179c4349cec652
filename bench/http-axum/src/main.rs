//! What the exchange costs with no MCP library: the tool `echo` behind a route of axum, over HTTP:
//! `http-axum [one-thread]`.
//!
//! It reads the text of a call into a string and writes it again, as a library with typed
//! arguments must.

use std::io;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::post;
use bytes::Bytes;
use floor::{Answer, answer};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

fn main() -> io::Result<()> {
    let mut runtime = match std::env::args().nth(1).as_deref() {
        Some("one-thread") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let router = Router::new().route("/mcp", post(echo));
    axum::serve(listener, router).await
}

async fn echo(body: Bytes) -> Response<Body> {
    let mut out = Vec::with_capacity(body.len() + 64);
    let answered = answer(&body, &mut out);
    let mut response = Response::new(Body::from(out));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    match answered {
        Ok(Answer::Other) => {}
        Ok(Answer::Initialized) => {
            let id = HeaderValue::from_static("0123456789abcdef");
            response.headers_mut().insert("mcp-session-id", id);
        }
        Ok(Answer::None) => *response.status_mut() = StatusCode::ACCEPTED,
        Err(_) => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    response
}
