//! Real sockets and streams in memory, with a small service.

mod half_close;
mod http2;
mod limits;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;

use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower_service::Service;

use super::message_bodies::RequestBody;
use super::*;
use crate::transport::{BoxFuture, PeerAddr};

const GET: &[u8] = b"GET /mcp HTTP/1.1\r\nhost: a\r\n\r\n";
const GET_SLOW: &[u8] = b"GET /mcp?slow HTTP/1.1\r\nhost: a\r\n\r\n";

/// Answers with the request's body, and its query. `slow` waits for a permit.
#[derive(Clone)]
struct Echo(Arc<EchoState>);

struct EchoState {
    permits: Semaphore,
    began: Semaphore,
    cancelled: Notify,
    peers: mpsc::Sender<Option<PeerAddr>>,
}

struct Cancelled(Option<Arc<EchoState>>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(state) = self.0.take() {
            state.cancelled.notify_one();
        }
    }
}

impl Service<Request<RequestBody>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            let mut guard = Cancelled(Some(Arc::clone(&state)));
            state.began.add_permits(1);
            let _ = state.peers.try_send(request.extensions().get().copied());
            let is_slow = request.uri().query() == Some("slow");
            let body = request.into_body().collect().await;
            if is_slow {
                state.permits.acquire().await.unwrap().forget();
            }
            guard.0 = None;
            let body = body.map_or_else(|_| "broken".into(), |body| body.to_bytes());
            Ok(Response::new(Full::new(body)))
        })
    }
}

/// A server on a socket.
struct Server {
    address: std::net::SocketAddr,
    end: watch::Sender<bool>,
    state: Arc<EchoState>,
    peers: mpsc::Receiver<Option<PeerAddr>>,
    serving: JoinHandle<Result<(), Error>>,
}

fn echo() -> (Echo, mpsc::Receiver<Option<PeerAddr>>) {
    let (sender, peers) = mpsc::channel(16);
    let state = EchoState {
        permits: Semaphore::new(0),
        began: Semaphore::new(0),
        cancelled: Notify::new(),
        peers: sender,
    };
    (Echo(Arc::new(state)), peers)
}

fn shutdown() -> (watch::Sender<bool>, Shutdown) {
    let (end, signal) = watch::channel(false);
    let deadline = Duration::from_secs(5);
    (end, Shutdown { signal, deadline })
}

fn endpoint(service: Echo, config: &HttpConfig, shutdown: &Shutdown) -> Endpoint<Echo> {
    Endpoint::new(service, config, shutdown.signal.clone(), Arc::default())
}

impl Server {
    async fn start(config: HttpConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, shutdown) = shutdown();
        let (service, peers) = echo();
        let state = Arc::clone(&service.0);
        let endpoint = endpoint(service, &config, &shutdown);
        let serving =
            tokio::spawn(
                async move { serve_listener(listener, endpoint, &config, shutdown).await },
            );
        Self {
            address,
            end,
            state,
            peers,
            serving,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request that is being served until there is a permit.
    async fn slow_request(&self) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(GET_SLOW).await.unwrap();
        self.began().await;
        stream
    }

    async fn began(&self) {
        self.state.began.acquire().await.unwrap().forget();
    }

    async fn shut_down(self) {
        self.end.send_replace(true);
        self.serving.await.unwrap().unwrap();
    }
}

/// Reads a response with a length.
async fn response(stream: &mut (impl AsyncRead + Unpin)) -> (u16, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return (0, String::new()),
        }
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .split_once("content-length: ")
        .map_or("0", |(_, rest)| rest);
    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (head[9..12].parse().unwrap(), head)
}

async fn get(stream: &mut TcpStream) -> u16 {
    stream.write_all(GET).await.unwrap();
    response(stream).await.0
}

/// Waits until the server has closed the stream.
async fn closed(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    rest
}

/// Serves a stream in memory.
fn in_memory() -> (
    DuplexStream,
    Arc<EchoState>,
    watch::Sender<bool>,
    JoinHandle<()>,
) {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(theirs);
    let (end, shutdown) = shutdown();
    let (service, _) = echo();
    let state = Arc::clone(&service.0);
    let endpoint = endpoint(service, &HttpConfig::new(), &shutdown);
    let serving = tokio::spawn(async move {
        let stream = Stream::new(reader, writer);
        serve_stream(stream, endpoint, shutdown).await;
    });
    (ours, state, end, serving)
}

#[tokio::test]
async fn requests_have_the_address_of_their_peer() {
    let mut server = Server::start(HttpConfig::new()).await;
    let mut stream = server.connect().await;
    assert_eq!(get(&mut stream).await, 200);
    let address = stream.local_addr().unwrap();
    assert_eq!(server.peers.recv().await.unwrap(), Some(address.into()));
    server.shut_down().await;
}

// proves: SE-5
#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_served() {
    let path = std::env::temp_dir().join(format!("bowline-http-{}", std::process::id()));
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let (end, shutdown) = shutdown();
    let (service, _peers) = echo();
    let endpoint = endpoint(service, &HttpConfig::new(), &shutdown);
    let serving = tokio::spawn(async move {
        serve_listener(listener, endpoint, &HttpConfig::new(), shutdown).await
    });
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(GET).await.unwrap();
    assert_eq!(response(&mut stream).await.0, 200);
    http2::check_two_requests(tokio::net::UnixStream::connect(&path).await.unwrap()).await;
    end.send_replace(true);
    serving.await.unwrap().unwrap();
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_shutdown_finishes_what_is_being_served() {
    let server = Server::start(HttpConfig::new()).await;
    let mut busy = server.slow_request().await;
    let mut idle = server.connect().await;
    assert_eq!(get(&mut idle).await, 200);
    server.end.send_replace(true);
    assert!(closed(&mut idle).await.is_empty());
    server.state.permits.add_permits(1);
    let (status, head) = response(&mut busy).await;
    assert_eq!(status, 200);
    assert!(head.contains("connection: close"), "{head}");
    assert!(closed(&mut busy).await.is_empty());
    let address = server.address;
    server.shut_down().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_shutdown_is_seen_by_new_connections_while_requests_are_finished() {
    let server = Server::start(HttpConfig::new()).await;
    let mut busy = server.slow_request().await;
    server.end.send_replace(true);
    for (path, expected) in [("/readyz", 503), ("/healthz", 200), ("/mcp", 200)] {
        let mut late = server.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        late.write_all(request.as_bytes()).await.unwrap();
        let (status, head) = response(&mut late).await;
        assert_eq!(status, expected, "{path}");
        assert!(head.contains("connection: close"), "{head}");
        assert!(closed(&mut late).await.is_empty());
    }
    // One that says nothing doesn't hold up the end.
    let mut silent = server.connect().await;
    server.state.permits.add_permits(1);
    assert_eq!(response(&mut busy).await.0, 200);
    server.shut_down().await;
    assert!(closed(&mut silent).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_drops_what_takes_too_long() {
    let (mut stream, state, end, serving) = in_memory();
    stream.write_all(GET_SLOW).await.unwrap();
    state.began.acquire().await.unwrap().forget();
    let start = Instant::now();
    end.send_replace(true);
    serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 5);
    state.cancelled.notified().await;
}

#[tokio::test]
async fn dropping_the_future_ends_everything() {
    let server = Server::start(HttpConfig::new()).await;
    let mut stream = server.slow_request().await;
    server.serving.abort();
    server.state.cancelled.notified().await;
    assert!(closed(&mut stream).await.is_empty());
}

/// Counts the writes to a stream.
struct CountWrites<W>(W, mpsc::Sender<usize>, bool);

impl<W: tokio::io::AsyncWrite + Unpin> tokio::io::AsyncWrite for CountWrites<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let _ = self.1.try_send(bytes.len());
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        chunks: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.to_vec()).collect();
        self.poll_write(cx, &bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.2
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn a_small_response_is_one_write() {
    for is_vectored in [false, true] {
        let (mut ours, theirs) = duplex(64 * 1024);
        let (reader, writer) = split(theirs);
        let (count, mut counts) = mpsc::channel(16);
        let (_end, shutdown) = shutdown();
        let (service, _peers) = echo();
        let stream = Stream::new(reader, CountWrites(writer, count, is_vectored));
        let endpoint = endpoint(service, &HttpConfig::new(), &shutdown);
        let serving = tokio::spawn(async move {
            serve_stream(stream, endpoint, shutdown).await;
        });
        let request = b"POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";
        ours.write_all(request).await.unwrap();
        assert_eq!(response(&mut ours).await.0, 200);
        drop(ours);
        serving.await.unwrap();
        counts.recv().await.expect("the response");
        assert_eq!(counts.recv().await, None, "it is one write");
    }
}
