//! Services on plain hyper, which serves one stream of bytes.

use std::convert::Infallible;

use bowline::server::{HttpConfig, HttpService};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, duplex};
use tower_service::Service as _;

use super::{Tenant, named};
use crate::http::wire::Wire;

/// Serves a stream, and adds an extension to each request.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: HttpService) {
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(Tenant(3));
        let mut service = service.clone();
        async move { Ok::<_, Infallible>(service.call(request).await.unwrap()) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let served = builder.serve_connection(TokioIo::new(stream), service);
    // The client ends the connection at some point.
    let _ = served.await;
}

fn service() -> HttpService {
    named("hyper")
        .build()
        .unwrap()
        .http_service(HttpConfig::new())
}

// proves: TP-6
#[tokio::test]
async fn hyper_serves_a_stream_in_memory() {
    for is_http2 in [false, true] {
        let (ours, theirs) = duplex(1024);
        tokio::spawn(serve(theirs, service()));
        let mut wire = match is_http2 {
            false => Wire::http1(ours).await,
            true => Wire::http2(ours).await,
        };
        assert_eq!(wire.call("/any/path", "name").await, "hyper");
        let seen = wire.call("/", "http").await;
        let version = if is_http2 { "HTTP/2.0" } else { "HTTP/1.1" };
        let expected = format!("{version} Some(Tenant(3)) ");
        assert!(seen.starts_with(&expected), "{seen}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn hyper_serves_a_unix_socket() {
    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    tokio::spawn(serve(theirs, service()));
    let mut wire = Wire::http2(ours).await;
    assert_eq!(wire.call("/mcp", "name").await, "hyper");
}
