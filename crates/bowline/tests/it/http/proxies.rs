//! Behind nginx: with and without buffering, with HTTP/1.1 and HTTP/1.0 to our server.
//!
//! `scripts/proxies` gets nginx and runs these.

mod resumption;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline::server::{Context, HttpConfig, Server, TrustedProxies};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::time::sleep;

use super::socket::{RawClient, RawRequest, SocketServer, patiently};

/// The variable with the path of nginx.
const NGINX: &str = "BOWLINE_TEST_NGINX";

/// After how many seconds without a byte nginx closes a stream.
const CUT_OFF: u64 = 5;

/// Buffering of responses, and the version of HTTP to our server.
const SETTINGS: [(&str, &str); 4] = [("off", "1.1"), ("on", "1.1"), ("off", "1.0"), ("on", "1.0")];

/// nginx before a server. It ends with this value.
struct Nginx {
    _child: Child,
    folder: PathBuf,
    /// The address for each of the [`SETTINGS`].
    addresses: Vec<SocketAddr>,
}

impl Nginx {
    async fn start(server: SocketAddr) -> Self {
        let program = std::env::var_os(NGINX).expect("scripts/proxies sets the path of nginx");
        let name = format!("bowline-nginx-{}-{}", std::process::id(), server.port());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut addresses = Vec::new();
        let mut servers = String::new();
        for (buffering, version) in SETTINGS {
            let address = free_address().await;
            servers += &server_block(address, server, buffering, version);
            addresses.push(address);
        }
        let root = folder.display();
        let configuration = format!(
            "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{\n access_log off; client_max_body_size 0;\n\
             client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;\n\
             fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi;\n\
             scgi_temp_path {root}/scgi;\n{servers}}}\n"
        );
        std::fs::write(folder.join("nginx.conf"), configuration).unwrap();
        let child = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(folder.join("nginx.conf"))
            .arg("-e")
            .arg(folder.join("error.log"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        for address in &addresses {
            patiently(accepts(*address)).await;
        }
        Self {
            _child: child,
            folder,
            addresses,
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn server_block(address: SocketAddr, server: SocketAddr, buffering: &str, version: &str) -> String {
    // The default for HTTP/1.0. With HTTP/1.1 nginx would otherwise close each connection.
    let connection = if version == "1.1" {
        "proxy_set_header Connection \"\";"
    } else {
        ""
    };
    format!(
        "server {{ listen {address}; location / {{ proxy_pass http://{server};\n\
         proxy_http_version {version}; {connection} proxy_buffering {buffering};\n\
         proxy_read_timeout {CUT_OFF}s; proxy_set_header Host localhost;\n\
         proxy_set_header X-Forwarded-Host $http_host;\n\
         proxy_set_header X-Forwarded-For $remote_addr; }} }}\n"
    )
}

/// Returns an address that was free just now.
async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// Waits until something accepts connections there.
async fn accepts(address: SocketAddr) {
    while TcpStream::connect(address).await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Runs a check with each of the settings, at the same time.
async fn with_each_setting<F>(nginx: &Nginx, check: impl Fn(SocketAddr, String) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut checks = tokio::task::JoinSet::new();
    for (address, (buffering, version)) in nginx.addresses.iter().zip(SETTINGS) {
        checks.spawn(check(
            *address,
            format!("buffering {buffering}, HTTP/{version}"),
        ));
    }
    while let Some(done) = checks.join_next().await {
        done.unwrap();
    }
}

fn silent() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("silent", "Says nothing for a long time", || async {
            sleep(Duration::from_secs(2 * CUT_OFF + 2)).await;
            "done"
        })
}

// proves: F-HT-17, TR-110
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn events_arrive_one_by_one() {
    // Each turn lets the tool send one more event.
    let (turn, turns) = mpsc::channel::<()>(1);
    let turns = Arc::new(Mutex::new(turns));
    let server = Server::new("test", "1.0.0").tool("steps", "Sends steps", move |cx: Context| {
        let turns = Arc::clone(&turns);
        async move {
            for step in 1..=3 {
                cx.progress(step, None, None);
                turns.lock().await.recv().await;
            }
            "done"
        }
    });
    let server = SocketServer::start(server, HttpConfig::new()).await;
    let nginx = Nginx::start(server.address).await;
    for (address, setting) in nginx.addresses.iter().zip(SETTINGS) {
        let mut client = RawClient::connect(*address).await;
        client
            .write(RawRequest::call_with_progress(1, "steps").bytes())
            .await;
        let head = client.head().await.unwrap();
        assert!(head.is_stream(), "{setting:?}: {head:?}");
        for step in 1..=3 {
            let event = client.event().await.unwrap();
            assert_eq!(event["params"]["progress"], step, "{setting:?}");
            turn.send(()).await.unwrap();
        }
        assert_eq!(client.event().await.unwrap()["id"], 1, "{setting:?}");
        assert_eq!(client.event().await, None, "{setting:?}");
    }
    drop(nginx);
    server.shut_down().await;
}

// proves: F-HT-17, TR-111
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn comments_keep_a_silent_stream_open() {
    let config = HttpConfig::new().keep_alive(Duration::from_secs(CUT_OFF / 2));
    let server = SocketServer::start(silent(), config).await;
    let nginx = Nginx::start(server.address).await;
    with_each_setting(&nginx, |address, setting| async move {
        let begun = Instant::now();
        let mut client = RawClient::connect(address).await;
        client.write(RawRequest::call(1, "silent").bytes()).await;
        // The head comes when the response becomes a stream, not with the first event.
        assert!(client.head().await.unwrap().is_stream(), "{setting}");
        assert_eq!(client.chunk().await.unwrap(), b":\n\n", "{setting}");
        let first = begun.elapsed();
        assert!(first < Duration::from_secs(CUT_OFF), "{setting}: {first:?}");
        let response = client.event().await.unwrap();
        assert_eq!(
            response["result"]["content"][0]["text"], "done",
            "{setting}"
        );
        assert!(
            begun.elapsed() > Duration::from_secs(2 * CUT_OFF),
            "{setting}"
        );
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}

/// Without comments nginx does cut: otherwise the test before would prove nothing.
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn without_comments_a_silent_stream_is_cut() {
    let config = HttpConfig::new().keep_alive(Duration::from_secs(600));
    let server = SocketServer::start(silent(), config).await;
    let nginx = Nginx::start(server.address).await;
    with_each_setting(&nginx, |address, setting| async move {
        let mut client = RawClient::connect(address).await;
        client.write(RawRequest::call(1, "silent").bytes()).await;
        assert!(client.head().await.unwrap().is_stream(), "{setting}");
        assert!(client.is_cut().await, "{setting}");
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}

// proves: TR-112
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn a_client_that_is_gone_cancels_its_request() {
    let (sender, mut seen) = mpsc::channel(4);
    let server = Server::new("test", "1.0.0").tool("wait", "Waits", move |cx: Context| {
        let seen = sender.clone();
        async move {
            seen.send("begun").await.unwrap();
            cx.cancelled().await;
            seen.send("cancelled").await.unwrap();
        }
    });
    let server = SocketServer::start(server, HttpConfig::new()).await;
    let nginx = Nginx::start(server.address).await;
    for (address, setting) in nginx.addresses.iter().zip(SETTINGS) {
        let mut client = RawClient::connect(*address).await;
        client.write(RawRequest::call(1, "wait").bytes()).await;
        assert_eq!(patiently(seen.recv()).await, Some("begun"), "{setting:?}");
        drop(client);
        assert_eq!(
            patiently(seen.recv()).await,
            Some("cancelled"),
            "{setting:?}"
        );
    }
    drop(nginx);
    server.shut_down().await;
}

// proves: SE-4, F-HT-09
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn sessions_and_hosts_pass_through() {
    let proxies = TrustedProxies::new(["127.0.0.1"]).unwrap();
    let config = HttpConfig::new().trusted_proxies(proxies);
    let server = SocketServer::start(silent(), config).await;
    let nginx = Nginx::start(server.address).await;
    for (address, setting) in nginx.addresses.iter().zip(SETTINGS) {
        let mut client = RawClient::connect(*address).await;
        let opened = client
            .ask(RawRequest::initialize("2025-11-25").bytes())
            .await;
        assert_eq!(opened.head.status, 200, "{setting:?}: {opened:?}");
        let session = opened.head.header("mcp-session-id").unwrap().to_owned();
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {}},
        });
        let call = RawRequest::post(&call).header("Mcp-Session-Id", session.as_str());
        let answer = client.ask(call.bytes()).await;
        assert_eq!(
            answer.json()["result"]["content"][0]["text"],
            "hello",
            "{setting:?}"
        );

        // The stream of a GET begins at once with an id, though nothing is sent on it.
        let mut stream = RawClient::connect(*address).await;
        let get = RawRequest::without_body("GET /mcp HTTP/1.1").header("Mcp-Session-Id", session);
        stream.write(get.bytes()).await;
        assert!(stream.head().await.unwrap().is_stream(), "{setting:?}");
        let first = stream.chunk().await.unwrap();
        assert!(first.starts_with(b"id: "), "{setting:?}: {first:?}");

        // The host that the client has named is checked, not only the one of the proxy.
        let foreign = RawRequest::call(2, "echo").replace("Host", "evil.example");
        let mut client = RawClient::connect(*address).await;
        assert_eq!(
            client.ask(foreign.bytes()).await.head.status,
            403,
            "{setting:?}"
        );
    }
    drop(nginx);
    server.shut_down().await;
}
