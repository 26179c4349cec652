//! Servers that many reach, on real sockets, and how they end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{Listener, Running, Server};
use bowline::transport::{Stream, Tcp, UnixSocket};
use bowline::types::common::Implementation;
use bowline::{Backoff, Client, ClientConfig, ErrorKind, State};
use tokio::net::{TcpListener, UnixListener};

use super::support::tool as called;

fn server() -> Server {
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

async fn tcp(running: &Running) -> (String, tokio::task::JoinHandle<Result<(), bowline::Error>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let running = running.clone();
    (
        address,
        tokio::spawn(async move { running.listen(listener).await }),
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
    let on_unix = tokio::spawn(async move { of_unix.listen(unix).await });
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
    let server = server().shutdown_deadline(Duration::from_millis(500));
    let running = server.build().expect("it can be served");
    let (address, listening) = tcp(&running).await;
    let client = Client::connect(Tcp::new(&address), config())
        .await
        .expect("it is there");
    let send = |name: &str| {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        client.call("tools/call", params).send()
    };
    let (slow, hang) = (send("slow"), send("hang"));
    client.ping().await.expect("both are being served");
    running.shut_down();
    let slow = slow.await.expect("it is finished");
    assert!(slow.as_str().contains("slow"));
    let error = hang.await.expect_err("it is not");
    assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    listening.await.expect("no panic").expect("it ends");
    let again = TcpListener::bind(&address).await;
    drop(again.expect("the port is free"));
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
async fn a_listener_without_descriptors_waits_and_goes_on() {
    let running = server().build().expect("it can be served");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let tries = Arc::new(AtomicUsize::new(0));
    let listener = Exhausted(listener, Arc::clone(&tries));
    let of_listener = running.clone();
    let listening = tokio::spawn(async move { of_listener.listen(listener).await });
    let client = Client::connect(Tcp::new(&address), config())
        .await
        .expect("it goes on");
    assert_eq!(called(&client, "fine", "{}").await, "fine");
    let tries = tries.load(Ordering::SeqCst);
    assert!((4..=6).contains(&tries), "it doesn't spin: {tries}");
    running.close();
    listening.await.expect("no panic").expect("it ends");
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
    assert_ne!(second.state(), State::Ready);
    first.stop().await;
    second.ready().await.expect("there is a place");
    assert_eq!(called(&second, "fine", "{}").await, "fine");
    running.close();
    listening.await.expect("no panic").expect("it ends");
}
