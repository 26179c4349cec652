//! As many clients as a process has at most, each with a connection of its own.
//!
//! Their connections are in memory: a process may not have as many sockets.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline::server::{HttpConfig, Listener, Server};
use bowline::transport::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::{Barrier, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::socket::RawRequest;

const CLIENTS: usize = 10_000;

/// What 99 of 100 calls may take at most while all clients call at once: without optimization, and
/// on a machine that has other things to do.
const P99: Duration = Duration::from_secs(30);

/// No run takes as long.
const PATIENCE: Duration = Duration::from_secs(180);

/// A listener for streams in memory.
struct InMemory(mpsc::Receiver<DuplexStream>);

impl Listener for InMemory {
    async fn accept(&mut self) -> io::Result<Stream> {
        match self.0.recv().await {
            Some(stream) => {
                let (reader, writer) = split(stream);
                Ok(Stream::new(reader, writer))
            }
            None => std::future::pending().await,
        }
    }
}

// proves: F-MC-03
// One thread: other tests run meanwhile.
#[tokio::test]
async fn ten_thousand_clients_are_served_at_once() {
    let server = Server::new("test", "1.0.0").tool("hello", "Greets", async || "hello");
    let server = server.build().unwrap();
    let (connect, accepted) = mpsc::channel(64);
    let serving = tokio::spawn({
        let server = server.clone();
        let config = HttpConfig::new()
            .max_connections(CLIENTS)
            .head_timeout(PATIENCE);
        async move { server.serve_http_listener(InMemory(accepted), config).await }
    });
    let all_are_connected = Arc::new(Barrier::new(CLIENTS));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (ours, theirs) = duplex(2048);
        connect.send(theirs).await.unwrap();
        clients.spawn(run_client(ours, Arc::clone(&all_are_connected)));
    }
    let mut times = timeout(PATIENCE, clients.join_all()).await.unwrap();
    times.sort_unstable();
    assert_eq!(times.len(), CLIENTS);
    let p99 = times[times.len() * 99 / 100];
    assert!(p99 <= P99, "99 of 100 calls take up to {p99:?}");
    assert_eq!(server.http_stats(), Default::default());
    server.shut_down();
    serving.await.unwrap().unwrap();
}

/// Calls when all clients are connected. Returns how long it took.
async fn run_client(mut stream: DuplexStream, all_are_connected: Arc<Barrier>) -> Duration {
    let request = RawRequest::call(1, "hello").bytes();
    let mut answer = Vec::new();
    all_are_connected.wait().await;
    let begun = Instant::now();
    stream.write_all(&request).await.unwrap();
    while !answer.ends_with(b"}}") {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
    begun.elapsed()
}
