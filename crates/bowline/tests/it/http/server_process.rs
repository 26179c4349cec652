//! A server in a process of its own: its memory, its descriptors, and its signals.
//!
//! The process is this test program, asked to run [`serve`].

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bowline::server::{Context, HttpConfig, Server};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::sleep;

use super::socket::{RawClient, RawRequest, patiently};

/// The most bytes of a body that the server reads.
const MAX_BODY: usize = 1024 * 1024;

/// The variable that limits the descriptors of the server.
const DESCRIPTORS: &str = "BOWLINE_TEST_DESCRIPTORS";

/// Serves until it is signalled, or this program's stdin ends.
#[test]
#[ignore = "other tests start it"]
fn serve() {
    if let Ok(count) = std::env::var(DESCRIPTORS) {
        let count = count.parse().unwrap();
        let limit = rustix::process::Rlimit {
            current: Some(count),
            maximum: Some(count),
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = server().build().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kind = tokio::signal::unix::SignalKind::terminate();
        let mut terminate = tokio::signal::unix::signal(kind).unwrap();
        let serving = tokio::spawn({
            let server = server.clone();
            let config = HttpConfig::new()
                .max_connections(2000)
                .max_body_bytes(MAX_BODY)
                .keep_alive(Duration::from_secs(60));
            async move { server.serve_http_listener(listener, config).await }
        });
        std::thread::spawn(|| {
            // It ends with the test that has started us.
            let _ = std::io::stdin().read(&mut [0]);
            std::process::exit(1);
        });
        writeln!(std::io::stdout(), "\nlistening on {address}").unwrap();
        terminate.recv().await;
        server.shut_down();
        serving.await.unwrap().unwrap();
    });
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("echo", "Answers", || async { "hello" })
        .tool("flood", "Sends progress", |cx: Context| async move {
            let text = "x".repeat(10_000);
            for step in 0_u32.. {
                cx.progress(step, None, Some(&text));
                sleep(Duration::from_millis(1)).await;
            }
        })
}

/// A server in a process of its own. It ends with this value.
struct Process {
    child: Child,
    address: SocketAddr,
    /// Waiting for the process would close it.
    _stdin: Option<ChildStdin>,
}

impl Process {
    async fn start(descriptors: Option<u64>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "http::server_process::serve",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(count) = descriptors {
            command.env(DESCRIPTORS, count.to_string());
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = patiently(lines.next_line())
                .await
                .unwrap()
                .expect("it listens");
            if let Some(address) = line.strip_prefix("listening on ") {
                break address.parse().unwrap();
            }
        };
        // Its last lines must have somewhere to go.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let stdin = child.stdin.take();
        Self {
            child,
            address,
            _stdin: stdin,
        }
    }

    async fn connect(&self) -> RawClient {
        RawClient::connect(self.address).await
    }

    async fn is_serving(&self) -> bool {
        let answer = self
            .connect()
            .await
            .ask(RawRequest::call(1, "echo").bytes())
            .await;
        answer.head.status == 200
    }

    fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    fn terminate(&self) {
        let id = i32::try_from(self.id()).unwrap();
        let process = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    async fn exit(&mut self) {
        let status = patiently(self.child.wait()).await.unwrap();
        assert!(status.success(), "{status}");
    }

    /// KiB that the process has in memory at the most, so far.
    #[cfg(target_os = "linux")]
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The processor time of the process so far.
    #[cfg(target_os = "linux")]
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
        // A tick is 10 ms on every Linux.
        Duration::from_millis(10 * ticks)
    }
}

// proves: F-HT-12, SE-12
#[cfg(target_os = "linux")]
#[tokio::test]
async fn bodies_that_are_too_large_cost_no_memory() {
    let mut server = Process::start(None).await;
    assert!(server.is_serving().await);
    let before = server.peak();
    let huge = RawRequest::call(1, "echo").replace("Content-Length", "10000000000");
    let endless = RawRequest::call(1, "echo")
        .without("Content-Length")
        .header("Transfer-Encoding", "chunked")
        .body("");
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    for _ in 0..20 {
        let mut client = server.connect().await;
        client.write(huge.bytes()).await;
        check_refused(client).await;

        let mut client = server.connect().await;
        client.write(endless.bytes()).await;
        // Until the server closes.
        let mut sent = 0;
        while client.write(&chunk).await && sent < 1024 {
            sent += 1;
        }
        assert!(sent < 1024, "64 MiB were taken");
        check_refused(client).await;
    }
    let grown = server.peak() - before;
    assert!(grown < 16 * 1024, "grown by {grown} KiB");
    server.terminate();
    server.exit().await;
}

#[cfg(target_os = "linux")]
async fn check_refused(mut client: RawClient) {
    // The answer may be lost to a client that goes on sending for so long.
    if let Some(answer) = client.answer().await {
        assert_eq!(answer.head.status, 413, "{answer:?}");
        assert_eq!(answer.head.header("connection"), Some("close"));
    }
    assert!(client.rest().await.is_empty());
}

// proves: F-BP-08
#[cfg(target_os = "linux")]
#[tokio::test]
async fn streams_that_are_not_read_cost_a_bounded_amount_of_memory() {
    const CLIENTS: u64 = 8;
    let mut server = Process::start(None).await;
    assert!(server.is_serving().await);
    let before = server.peak();
    let mut deaf = Vec::new();
    for id in 0..CLIENTS {
        let mut client = RawClient::connect_small(server.address).await;
        client
            .write(RawRequest::call_with_progress(id, "flood").bytes())
            .await;
        assert!(client.head().await.unwrap().is_stream());
        deaf.push(client);
    }
    // As long as it takes to produce far more than may be kept.
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        assert!(server.is_serving().await);
        sleep(Duration::from_millis(20)).await;
    }
    // 1 MiB wait for each, and the same again is being written at the most.
    let grown = server.peak() - before;
    assert!(
        grown < CLIENTS * 2 * 1024 + 8 * 1024,
        "grown by {grown} KiB"
    );
    drop(deaf);
    server.terminate();
    server.exit().await;
}

// proves: F-MC-06
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_without_descriptors_waits_and_recovers() {
    let mut server = Process::start(Some(64)).await;
    assert!(server.is_serving().await);
    // Streams that stay open, until no more are answered.
    let listen = |id| {
        let params = json!({"notifications": {"toolsListChanged": true}});
        RawRequest::stateless(id, "subscriptions/listen", params).bytes()
    };
    let mut open = Vec::new();
    for id in 0..80 {
        let mut client = server.connect().await;
        client.write(listen(id)).await;
        open.push(client);
    }
    for client in open.iter_mut().take(30) {
        assert!(client.head().await.unwrap().is_stream());
    }
    // It doesn't spin: one attempt takes microseconds, and the pause grows to a second.
    let (begun, before) = (Instant::now(), server.processor_time());
    sleep(Duration::from_secs(1)).await;
    let used = (server.processor_time() - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    assert!(used < 0.2, "it used {:.0} % of a processor", used * 100.0);
    drop(open);
    assert!(server.is_serving().await);
    server.terminate();
    server.exit().await;
}

// proves: F-SD-12
#[tokio::test]
async fn a_signal_completes_a_thousand_streams_within_a_second() {
    const STREAMS: u64 = 1000;
    let mut server = Process::start(None).await;
    let mut streams = Vec::new();
    let params = json!({"notifications": {"toolsListChanged": true}});
    for id in 0..STREAMS {
        let mut client = server.connect().await;
        let request = RawRequest::stateless(id, "subscriptions/listen", params.clone());
        client.write(request.bytes()).await;
        assert!(client.head().await.unwrap().is_stream());
        let acknowledged = client.event().await.unwrap();
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
        streams.push(client);
    }
    let begun = Instant::now();
    server.terminate();
    server.exit().await;
    let took = begun.elapsed();
    for (id, client) in streams.iter_mut().enumerate() {
        let result = client.event().await.expect("a result");
        assert_eq!(result["id"], id);
        assert_eq!(result["result"]["resultType"], "complete");
        assert_eq!(client.event().await, None);
        assert!(client.rest().await.is_empty());
    }
    assert!(took <= Duration::from_secs(1), "{took:?}");
}
