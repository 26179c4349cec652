//! Servers that accept many clients, on real sockets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{Context, Listener, RunningServer, Server};
use bowline::transport::{Stream, Tcp, UnixSocket};
use bowline::types::common::Implementation;
use bowline::{Backoff, Client, ClientConfig, ConnectionState};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::timeout;

use super::raw_client::{RawClient, request, stateless};
use super::support::tool as called;

pub(super) fn server() -> Server {
    Server::new("shared", "1")
        .tool("fine", "", || async { "fine" })
        .tool("hang", "", std::future::pending::<()>)
        .tool("slow", "", || async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            "slow"
        })
}

fn config() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    let (first, longest) = (Duration::from_millis(10), Duration::from_millis(100));
    config.backoff(Backoff::new(first, longest));
    config
}

async fn tcp(
    running: &RunningServer,
) -> (String, tokio::task::JoinHandle<Result<(), bowline::Error>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let running = running.clone();
    (
        address,
        tokio::spawn(async move { running.serve_listener(listener).await }),
    )
}

// proves: TP-8
#[tokio::test]
async fn many_clients_reach_one_server_over_tcp_and_unix_sockets() {
    let running = server().build().expect("it can be served");
    let (address, listening) = tcp(&running).await;
    let folder = std::env::temp_dir().join(format!("bowline-listen-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("socket");
    let unix = UnixListener::bind(&path).expect("a socket");
    let of_unix = running.clone();
    let on_unix = tokio::spawn(async move { of_unix.serve_listener(unix).await });
    for _ in 0..8 {
        let client = Client::connect(Tcp::new(&address), config())
            .await
            .expect("it is there");
        assert_eq!(called(&client, "fine", "{}").await, "fine");
    }
    let client = Client::connect(UnixSocket::new(&path), config())
        .await
        .expect("it is there");
    assert_eq!(called(&client, "fine", "{}").await, "fine");
    running.shut_down();
    listening.await.expect("no panic").expect("it ends");
    on_unix.await.expect("no panic").expect("it ends");
    std::fs::remove_dir_all(folder).expect("it is ours");
}

// proves: SV-7, F-SD-04
#[tokio::test]
async fn a_server_that_is_shut_down_finishes_what_it_can() {
    let server = server().tool("brief", "", |cx: Context| async move {
        cx.shutting_down().await;
        "as far as it went"
    });
    let server = server.shutdown_deadline(Duration::from_millis(500));
    let running = server.build().expect("it can be served");
    let (address, listening) = tcp(&running).await;
    let client = Client::connect(Tcp::new(&address), config())
        .await
        .expect("it is there");
    let send = |name: &str| {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        client.call("tools/call", params).send()
    };
    let (brief, hang) = (send("brief"), send("hang"));
    client.ping().await.expect("both are being served");
    running.shut_down();
    let brief = brief.await.expect("it is finished");
    assert!(brief.as_str().contains("as far as it went"));
    let error = hang.await.expect_err("it is not");
    let code = error.server_error().map(|error| error.code);
    assert_eq!(code, Some(-32603), "{error}");
    listening.await.expect("no panic").expect("it ends");
    let again = TcpListener::bind(&address).await;
    drop(again.expect("the port is free"));
}

// proves: SV-7
#[tokio::test(start_paused = true)]
async fn a_client_that_comes_while_the_server_ends_is_not_served() {
    for end in [RunningServer::shut_down, RunningServer::close] {
        let running = server().build().expect("it can be served");
        end(&running);
        // As a listener does with a client that it accepted a moment before.
        let (_ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(theirs);
        let served = running.serve_stream(Stream::new(reader, writer));
        let served = timeout(Duration::from_secs(60), served).await;
        served.expect("it ends").expect("without an error");
    }
}

// proves: SV-7
#[tokio::test]
async fn a_server_that_ends_leaves_the_clients_of_its_twin_alone() {
    let one = server();
    let two = Server::with_shared_features("two", "1", &one.features());
    let features = one.features();
    let (one, two) = (one.build().expect("fine"), two.build().expect("fine"));
    let (mut first, mut second) = (RawClient::connect(&one), RawClient::connect(&two));
    first.initialize().await;
    second.initialize().await;
    one.shut_down();
    assert!(first.receive().await.is_null(), "it has ended");
    // It is served, and notified of changes of the shared features.
    second.call(1, "fine").await;
    assert!(second.answer(1).await["result"].is_object());
    features.remove_tool("fine");
    let notification = second.receive().await;
    assert_eq!(notification["method"], "notifications/tools/list_changed");
}

/// Out of descriptors at first.
struct Exhausted(TcpListener, Arc<AtomicUsize>);

impl Listener for Exhausted {
    async fn accept(&mut self) -> io::Result<Stream> {
        if self.1.fetch_add(1, Ordering::SeqCst) < 3 {
            return Err(io::Error::from_raw_os_error(24));
        }
        Listener::accept(&mut self.0).await
    }
}

// proves: F-MC-06
#[tokio::test]
async fn a_listener_without_descriptors_waits_and_continues() {
    let running = server().build().expect("it can be served");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let tries = Arc::new(AtomicUsize::new(0));
    let listener = Exhausted(listener, Arc::clone(&tries));
    let of_listener = running.clone();
    let listening = tokio::spawn(async move { of_listener.serve_listener(listener).await });
    let client = Client::connect(Tcp::new(&address), config())
        .await
        .expect("it goes on");
    assert_eq!(called(&client, "fine", "{}").await, "fine");
    let tries = tries.load(Ordering::SeqCst);
    assert!((4..=6).contains(&tries), "it doesn't spin: {tries}");
    running.close();
    listening.await.expect("no panic").expect("it ends");
}

/// Sends bytes of a client that never sends `initialize`. Returns `true` if it is disconnected.
async fn is_closed_after(sent: &str) -> bool {
    let running = server().max_sessions(1).build().expect("it can be served");
    let (address, listening) = tcp(&running).await;
    let mut silent = TcpStream::connect(&address).await.expect("it listens");
    silent.write_all(sent.as_bytes()).await.expect("it reads");
    let mut received = Vec::new();
    let hour = Duration::from_secs(3600);
    let closed = timeout(hour, silent.read_to_end(&mut received)).await;
    running.close();
    listening.await.expect("no panic").expect("it ends");
    closed.is_ok()
}

// proves: SV-2, SV-6
#[tokio::test(start_paused = true)]
async fn a_silent_client_is_disconnected() {
    assert!(is_closed_after("").await);
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    assert!(is_closed_after(ping).await);
}

// proves: SV-6
#[tokio::test(start_paused = true)]
async fn a_client_that_sends_half_a_message_is_disconnected() {
    let discover = request(1, "server/discover", stateless(json!({})));
    // It needs no handshake, so that time alone would not end it.
    assert!(!is_closed_after(&format!("{discover}\n")).await);
    assert!(is_closed_after(&format!("{discover}\n{{\"jsonrpc\":")).await);
}

// proves: SV-2
#[tokio::test(start_paused = true)]
async fn a_client_that_owns_the_stream_may_be_silent() {
    let mut client = RawClient::new(server());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    client.initialize().await;
}

// proves: SV-6
#[tokio::test]
async fn clients_beyond_the_limit_wait_for_a_place() {
    let running = server().max_sessions(1).build().expect("it can be served");
    let (address, listening) = tcp(&running).await;
    let first = Client::connect(Tcp::new(&address), config())
        .await
        .expect("it is there");
    let second = Client::start(Tcp::new(&address), config());
    assert_eq!(called(&first, "fine", "{}").await, "fine");
    assert_ne!(second.state(), ConnectionState::Ready);
    first.stop().await;
    second.ready().await.expect("there is a place");
    assert_eq!(called(&second, "fine", "{}").await, "fine");
    running.close();
    listening.await.expect("no panic").expect("it ends");
}
