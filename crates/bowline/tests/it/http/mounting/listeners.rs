//! Our own listeners, on all kinds of streams.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bowline::server::{AllowedHosts, HttpConfig, Listener, Principal, RunningServer};
use bowline::transport::Stream;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tracing::Level;

use super::{Tenant, named};
use crate::event_collector::Collected;
use crate::http::support::request;
use crate::http::wire::{Wire, WireEvents, text};

/// A listener for streams in memory.
struct InMemory(mpsc::Receiver<DuplexStream>);

impl Listener for InMemory {
    async fn accept(&mut self) -> io::Result<Stream> {
        match self.0.recv().await {
            Some(stream) => {
                let (reader, writer) = split(stream);
                let stream = Stream::new(reader, writer);
                Ok(stream
                    .with_extension(Principal::new("peer"))
                    .with_extension(Tenant(5)))
            }
            None => std::future::pending().await,
        }
    }
}

fn serve(
    listener: impl Listener,
    config: HttpConfig,
) -> (RunningServer, JoinHandle<Result<(), bowline::Error>>) {
    let server = named("listening").build().unwrap();
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve_http_listener(listener, config).await }
    });
    (server, serving)
}

async fn check<S>(is_http2: bool, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut wire = match is_http2 {
        false => Wire::http1(stream).await,
        true => Wire::http2(stream).await,
    };
    assert_eq!(wire.call("/mcp", "name").await, "listening");
    let elsewhere = wire.get("/").await;
    assert_eq!(elsewhere.status(), 404);
    text(elsewhere).await;
    assert_eq!(wire.call("/mcp/", "name").await, "listening");
}

// proves: TP-6
#[tokio::test]
async fn streams_of_all_kinds_are_served() {
    let directory = std::env::temp_dir().join(format!("bowline-http-{}", std::process::id()));
    for is_http2 in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_server, _) = serve(listener, HttpConfig::new());
        check(is_http2, TcpStream::connect(address).await.unwrap()).await;

        // A machine may be without IPv6.
        if let Ok(listener) = TcpListener::bind("[::1]:0").await {
            let address = listener.local_addr().unwrap();
            let (_server, _) = serve(listener, HttpConfig::new());
            check(is_http2, TcpStream::connect(address).await.unwrap()).await;
        }

        #[cfg(unix)]
        {
            std::fs::create_dir_all(&directory).unwrap();
            let path = directory.join(format!("{is_http2}.sock"));
            let listener = tokio::net::UnixListener::bind(&path).unwrap();
            let (_server, _) = serve(listener, HttpConfig::new());
            let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
            check(is_http2, stream).await;
        }

        let (sender, receiver) = mpsc::channel(1);
        let (_server, _) = serve(InMemory(receiver), HttpConfig::new());
        let (ours, theirs) = duplex(1024);
        sender.send(theirs).await.unwrap();
        check(is_http2, ours).await;
    }
    let _ = std::fs::remove_dir_all(directory);
}

/// A listener at an address, without clients.
struct At(Option<SocketAddr>);

impl Listener for At {
    async fn accept(&mut self) -> io::Result<Stream> {
        std::future::pending().await
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        self.0
    }
}

// proves: SE-3
#[tokio::test]
async fn a_public_listener_without_hosts_is_warned_of() {
    let warnings = async |listener: At, config: HttpConfig| {
        let collected = Collected::up_to(Level::WARN);
        let _guard = tracing::subscriber::set_default(collected.clone());
        let server = named("listening").build().unwrap();
        server.shut_down();
        server.serve_http_listener(listener, config).await.unwrap();
        collected.messages(Level::WARN)
    };
    let at = |address: &str| At(Some(address.parse().unwrap()));
    let warning = "requests to public host names are refused: set HttpConfig::allowed_hosts";
    for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80"] {
        let hosts = AllowedHosts::new(["mcp.example"]).unwrap();
        let listed = HttpConfig::new().allowed_hosts(hosts);
        assert_eq!(warnings(at(address), HttpConfig::new()).await, [warning]);
        assert!(warnings(at(address), listed).await.is_empty(), "{address}");
    }
    for listener in [at("127.0.0.1:80"), at("[::1]:80"), At(None)] {
        assert!(warnings(listener, HttpConfig::new()).await.is_empty());
    }
    // A socket says its own.
    let public = TcpListener::bind("0.0.0.0:0").await.unwrap();
    assert!(Listener::local_addr(&public).unwrap().ip().is_unspecified());
}

#[tokio::test]
async fn an_ipv6_host_is_named_with_brackets() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        return;
    };
    let address = listener.local_addr().unwrap();
    let (_server, _) = serve(listener, HttpConfig::new());
    let mut wire = Wire::http1(TcpStream::connect(address).await.unwrap()).await;
    let Wire::Http1(sender) = &mut wire else {
        unreachable!("it is HTTP/1");
    };
    for (host, status) in [
        (address.to_string(), 406),
        ("[::1]".to_owned(), 406),
        ("[::2]".to_owned(), 403),
        ("::1".to_owned(), 400),
    ] {
        let request = http::Request::get("/mcp")
            .header("host", &host)
            .header("accept", "text/plain");
        let request = request.body(http_body_util::Full::default()).unwrap();
        sender.ready().await.unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{host}");
        text(response).await;
    }
}

/// HTTP/2 on one stream, as between a process and its child.
#[tokio::test]
async fn one_stream_is_served_until_it_ends() {
    let server = named("listening").build().unwrap();
    let (ours, theirs) = duplex(1024);
    let serving = tokio::spawn(async move {
        let (reader, writer) = split(theirs);
        let stream = Stream::new(reader, writer);
        server.serve_http_stream(stream, HttpConfig::new()).await;
    });
    check(true, ours).await;
    serving.await.unwrap();
}

#[tokio::test]
async fn extensions_of_a_connection_reach_each_request() {
    let (sender, receiver) = mpsc::channel(1);
    let (_server, _) = serve(InMemory(receiver), HttpConfig::new());
    let (ours, theirs) = duplex(1024);
    sender.send(theirs).await.unwrap();
    let mut wire = Wire::http1(ours).await;
    for _ in 0..2 {
        assert_eq!(wire.call("/mcp", "who").await, "peer");
        let seen = wire.call("/mcp", "http").await;
        assert!(seen.starts_with("HTTP/1.1 Some(Tenant(5)) "), "{seen}");
    }
}

// proves: TR-25, F-SE-18
#[tokio::test]
async fn old_and_new_clients_are_served_by_one_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = HttpConfig::new().path("/base/mcp").legacy_sse("/base/sse");
    let (server, serving) = serve(listener, config);
    let connect = async || Wire::http1(TcpStream::connect(address).await.unwrap()).await;
    let (mut stream, mut wire) = (connect().await, connect().await);
    let (mut events, uri) = WireEvents::open(&mut stream, "/base/sse/").await;
    assert!(uri.starts_with("/base/sse?sessionId="), "{uri}");
    let params = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let initialize = request(0, "initialize", params);
    let accepted = wire.post(&uri, &initialize).await;
    assert_eq!(accepted.status(), 202);
    text(accepted).await;
    assert_eq!(events.message().await["id"], 0);
    assert_eq!(wire.call("/base/mcp", "name").await, "listening");

    // A client that leaves ends its session: a POST finds it gone.
    drop((events, stream));
    loop {
        let response = wire.post(&uri, &request(1, "ping", json!({}))).await;
        let status = response.status();
        text(response).await;
        if status == 404 {
            break;
        }
        assert_eq!(status, 202);
        tokio::task::yield_now().await;
    }

    let mut stream = connect().await;
    let (mut events, _) = WireEvents::open(&mut stream, "/base/sse").await;
    server.shut_down();
    assert!(events.next().await.is_none());
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn old_clients_are_only_served_where_it_is_switched_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_server, _) = serve(listener, HttpConfig::new());
    let mut wire = Wire::http1(TcpStream::connect(address).await.unwrap()).await;
    assert_eq!(wire.get("/sse").await.status(), 404);
}

#[tokio::test]
async fn a_server_that_shuts_down_refuses_what_is_new() {
    let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_handler = (Arc::clone(&began), Arc::clone(&go));
    let server = named("ending").tool("slow", "Waits", move || {
        let (began, go) = of_handler.clone();
        async move {
            began.notify_one();
            go.notified().await;
            "finished"
        }
    });
    let server = server.build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connect = async || Wire::http1(TcpStream::connect(address).await.unwrap()).await;
    let serving = tokio::spawn({
        let server = server.clone();
        async move {
            server
                .serve_http_listener(listener, HttpConfig::new())
                .await
        }
    });
    assert_eq!(connect().await.get("/readyz").await.status(), 200);
    let mut wire = connect().await;
    let slow = tokio::spawn(async move { wire.call("/mcp", "slow").await });
    began.notified().await;
    server.shut_down();
    assert_eq!(connect().await.get("/readyz").await.status(), 503);
    assert_eq!(connect().await.get("/healthz").await.status(), 200);
    let mut late = connect().await;
    let refused = late.post("/mcp", &request(1, "ping", json!({}))).await;
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    go.notify_one();
    assert_eq!(slow.await.unwrap(), "finished");
    serving.await.unwrap().unwrap();
}
