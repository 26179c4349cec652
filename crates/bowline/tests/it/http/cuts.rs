//! Event streams over real sockets whose connections are cut at any byte, and resumed.

use std::net::SocketAddr;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::socket::{RawClient, RawRequest, SocketServer};

/// How many calls are made whose connections are cut.
const RUNS: u64 = 1000;

/// How many of them are made at the same time.
const TOGETHER: u64 = 20;

/// A run is over long before as many connections.
const MAX_CONNECTIONS: usize = 500;

/// Numbers that look random, and are the same for a seed.
struct Random(u64);

impl Random {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Where a connection is cut.
enum Cut {
    /// After as many bytes of its body.
    AfterBytes(usize),
    /// After as many whole events, with or without a message.
    AfterEvents(usize),
}

/// A client that knows what it has received.
struct Run {
    seed: u64,
    random: Random,
    address: SocketAddr,
    session: String,
    /// What is received of an event that is not complete. Lost with its connection.
    partial: String,
    last_id: Option<String>,
    messages: Vec<Value>,
    connections: usize,
}

/// What a handler is to send.
#[derive(Deserialize, JsonSchema)]
struct Burst {
    count: u64,
    /// The largest part of a message, in characters.
    size: u64,
    /// After how many messages it pauses. 0 if it doesn't.
    pause: u64,
}

fn server() -> Server {
    Server::new("test", "1.0.0").tool("burst", "Sends progress", burst)
}

async fn burst(burst: Burst, cx: Context) -> String {
    for step in 1..=burst.count {
        let text = "x".repeat(usize::try_from(burst.size * (step % 3)).unwrap());
        cx.progress(step, None, Some(&text));
        if burst.pause > 0 && step % burst.pause == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    burst.count.to_string()
}

impl Run {
    async fn begin(seed: u64, address: SocketAddr) -> Self {
        let mut client = RawClient::connect(address).await;
        let initialized = client
            .ask(RawRequest::initialize("2025-11-25").bytes())
            .await;
        let session = initialized
            .head
            .header("mcp-session-id")
            .unwrap()
            .to_owned();
        Self {
            seed,
            random: Random(seed),
            address,
            session,
            partial: String::new(),
            last_id: None,
            messages: Vec::new(),
            connections: 0,
        }
    }

    fn cut(&mut self) -> Cut {
        if self.random.below(2) == 0 {
            Cut::AfterEvents(self.random.below(6) as usize)
        } else {
            Cut::AfterBytes(self.random.below(700) as usize)
        }
    }

    /// Makes a call, resumes its stream until it has ended, and checks what has arrived.
    /// Returns how many connections it took.
    async fn check(mut self) -> usize {
        let count = self.random.below(12);
        let arguments = json!({
            "count": count,
            "size": self.random.below(300),
            "pause": self.random.below(4),
        });
        let params =
            json!({"name": "burst", "arguments": arguments, "_meta": {"progressToken": 1}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut request = RawRequest::post(&call);
        loop {
            let bytes = request
                .header("Mcp-Session-Id", self.session.clone())
                .bytes();
            if self.read(&bytes).await {
                break;
            }
            assert!(self.connections < MAX_CONNECTIONS, "seed {}", self.seed);
            let last = self.last_id.clone().expect("an id to resume from");
            request = RawRequest::without_body("GET /mcp HTTP/1.1").header("Last-Event-ID", last);
        }
        let received: Vec<u64> = self
            .messages
            .iter()
            .filter_map(|message| message["params"]["progress"].as_u64())
            .collect();
        let expected: Vec<u64> = (1..=count).collect();
        assert_eq!(received, expected, "seed {}", self.seed);
        assert_eq!(self.messages.len() as u64, count + 1, "seed {}", self.seed);
        let response = self.messages.last().unwrap();
        assert_eq!(response["id"], 1, "seed {}", self.seed);
        assert_eq!(response["result"]["content"][0]["text"], count.to_string());
        self.connections
    }

    /// Reads a connection until it is cut or its stream has ended. Returns `true` if it has.
    async fn read(&mut self, request: &[u8]) -> bool {
        self.connections += 1;
        let mut client = RawClient::connect(self.address).await;
        client.write(request).await;
        let head = client.head().await.unwrap();
        assert_eq!(head.status, 200, "seed {}", self.seed);
        if !head.is_stream() {
            // It was answered at once.
            let body = client.body(&head).await;
            self.messages.push(serde_json::from_slice(&body).unwrap());
            return true;
        }
        self.partial.clear();
        let cut = self.cut();
        let (mut bytes, mut events) = (0, 0);
        while let Some(chunk) = client.chunk().await {
            for character in std::str::from_utf8(&chunk).unwrap().chars() {
                // Without an id the client can't come back: the first event is never lost.
                let is_cut = match cut {
                    Cut::AfterBytes(limit) => bytes >= limit,
                    Cut::AfterEvents(limit) => events >= limit,
                };
                if is_cut && self.last_id.is_some() {
                    return false;
                }
                bytes += 1;
                self.partial.push(character);
                if self.partial.ends_with("\n\n") {
                    events += 1;
                    self.take_event();
                }
            }
        }
        true
    }

    fn take_event(&mut self) {
        let event = std::mem::take(&mut self.partial);
        let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
        if let Some(id) = field("id: ") {
            self.last_id = Some(id.to_owned());
        }
        if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
            self.messages.push(serde_json::from_str(data).unwrap());
        }
    }
}

// proves: F-SE-10, TP-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_arrives_once_and_in_order_wherever_its_connection_is_cut() {
    let server = SocketServer::start(server(), HttpConfig::new()).await;
    let address = server.address;
    let mut connections = 0;
    for first in (0..RUNS).step_by(TOGETHER as usize) {
        let mut runs = tokio::task::JoinSet::new();
        for seed in first..first + TOGETHER {
            runs.spawn(async move {
                let run = Run::begin(seed, address).await;
                run.check().await
            });
        }
        while let Some(run) = runs.join_next().await {
            connections += run.unwrap();
        }
    }
    assert!(connections > 3 * RUNS as usize, "{connections} connections");
    server.shut_down().await;
}
