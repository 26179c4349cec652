//! Streams that nginx cuts since nothing comes on them, resumed through it with `Last-Event-ID`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore, watch};

use super::super::socket::{RawClient, RawRequest, SocketServer, patiently};
use super::{Nginx, SETTINGS, with_each_setting};

/// The newest revision with sessions. Its streams begin with an id.
const REVISION: &str = "2025-11-25";

/// How often the tool reports progress before it answers.
const STEPS: u32 = 3;

/// No comments: nginx closes each stream after some seconds.
fn cut_streams() -> HttpConfig {
    HttpConfig::new().keep_alive(Duration::from_secs(600))
}

/// What lets the tool go on, one for each of the settings.
#[derive(Debug)]
struct Pace {
    allowed: Semaphore,
    reported: watch::Sender<u32>,
}

impl Pace {
    fn of_each_setting() -> Arc<[Self]> {
        let pace = |_| Self {
            allowed: Semaphore::new(0),
            reported: watch::Sender::new(0),
        };
        SETTINGS.iter().map(pace).collect()
    }

    async fn step(&self) {
        self.allowed.acquire().await.unwrap().forget();
    }

    /// Lets the tool make so many steps more, and waits until it has reported `reported` in all.
    async fn go_on(&self, steps: usize, reported: u32) {
        self.allowed.add_permits(steps);
        let mut seen = self.reported.subscribe();
        patiently(seen.wait_for(|seen| *seen == reported))
            .await
            .unwrap();
    }
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    setting: usize,
}

/// A server whose tools make a step when the test says so. That of `poll` is made while its client
/// is away.
fn server(paces: Arc<[Pace]>) -> Server {
    let polled = Arc::clone(&paces);
    let steps = move |Steps { setting }: Steps, cx: Context| {
        let paces = Arc::clone(&paces);
        async move {
            let pace = &paces[setting];
            for step in 1..=STEPS {
                pace.step().await;
                cx.progress(step, None, None);
                pace.reported.send_replace(step);
            }
            pace.step().await;
            "done"
        }
    };
    let poll = move |Steps { setting }: Steps, cx: Context| {
        let paces = Arc::clone(&polled);
        async move {
            assert!(cx.close_stream(Duration::from_millis(700)));
            paces[setting].step().await;
            "done"
        }
    };
    Server::new("test", "1.0.0")
        .tool("steps", "Reports each step", steps)
        .tool("poll", "Lets its client poll", poll)
        .tool(
            "announce",
            "Announces other tools",
            |cx: Context| async move {
                cx.features().notify_tools_changed();
                "announced"
            },
        )
}

/// A session behind nginx.
struct Session {
    address: SocketAddr,
    id: String,
}

/// A stream of the session as the client has it: across cuts, all its events.
struct Resumable {
    client: RawClient,
    unread: String,
    last_id: Option<String>,
    retry: Option<String>,
    /// The ids of all events with a message.
    ids: BTreeSet<String>,
}

impl Session {
    async fn open(address: SocketAddr) -> Self {
        let mut client = RawClient::connect(address).await;
        let opened = client.ask(RawRequest::initialize(REVISION).bytes()).await;
        let id = opened.head.header("mcp-session-id").unwrap().to_owned();
        let session = Self { address, id };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let noted = client.ask(session.request(RawRequest::post(&note))).await;
        assert_eq!(noted.head.status, 202);
        session
    }

    fn request(&self, request: RawRequest) -> Vec<u8> {
        request
            .header("Mcp-Session-Id", self.id.as_str())
            .header("MCP-Protocol-Version", REVISION)
            .bytes()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Vec<u8> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 7}});
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        self.request(RawRequest::post(&call))
    }

    fn get(&self, last_id: Option<&str>) -> Vec<u8> {
        let get = RawRequest::without_body("GET /mcp HTTP/1.1");
        self.request(match last_id {
            Some(id) => get.header("Last-Event-ID", id),
            None => get,
        })
    }

    /// Sends a request that a stream answers.
    async fn stream(&self, request: Vec<u8>) -> Resumable {
        Resumable {
            client: self.begin(request).await,
            unread: String::new(),
            last_id: None,
            retry: None,
            ids: BTreeSet::new(),
        }
    }

    async fn begin(&self, request: Vec<u8>) -> RawClient {
        let mut client = RawClient::connect(self.address).await;
        client.write(request).await;
        let head = client.head().await.unwrap();
        assert!(head.is_stream(), "{head:?}");
        client
    }

    /// Waits until nginx cuts the stream, and resumes it after the last event.
    async fn resume_after_cut(&self, stream: &mut Resumable) {
        stream.until_cut().await;
        let last_id = stream.last_id.as_deref();
        assert!(last_id.is_some(), "nothing to resume from");
        stream.client = self.begin(self.get(last_id)).await;
    }
}

impl Resumable {
    /// Returns the next message, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let Some((event, rest)) = self.unread.split_once("\n\n") else {
                let chunk = self.client.chunk().await?;
                self.unread += std::str::from_utf8(&chunk).unwrap();
                continue;
            };
            let (event, rest) = (event.to_owned(), rest.to_owned());
            self.unread = rest;
            if let Some(message) = self.take(&event) {
                return Some(message);
            }
        }
    }

    /// Reads the event with which a stream begins: an id, and no data.
    async fn priming_event(&mut self) {
        while self.last_id.is_none() {
            let chunk = self.client.chunk().await.expect("a priming event");
            self.unread += std::str::from_utf8(&chunk).unwrap();
            while let Some((event, rest)) = self.unread.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.unread = rest;
                assert_eq!(self.take(&event), None);
            }
        }
    }

    /// Notes the id of an event, and returns its message if it has one.
    fn take(&mut self, event: &str) -> Option<Value> {
        let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
        let id = field("id:").map(|id| id.trim().to_owned());
        let data = field("data:")
            .map(str::trim)
            .filter(|data| !data.is_empty());
        if data.is_some() {
            let id = id.clone().expect("an event with an id");
            assert!(self.ids.insert(id), "twice: {event}");
        }
        self.last_id = id.or_else(|| self.last_id.take());
        let retry = field("retry:").map(|retry| retry.trim().to_owned());
        self.retry = retry.or_else(|| self.retry.take());
        data.map(|data| serde_json::from_str(data).unwrap())
    }

    /// Reads until nginx cuts the stream, on which no message comes.
    async fn until_cut(&mut self) {
        let rest = self.client.rest().await;
        let rest = String::from_utf8(rest).unwrap();
        assert!(!rest.ends_with("0\r\n\r\n"), "it has ended: {rest}");
        assert!(!rest.contains("data: {"), "{rest}");
        self.unread.clear();
    }
}

/// Reads the progress of these steps, and nothing else.
async fn expect_steps(stream: &mut Resumable, steps: impl IntoIterator<Item = u32>) {
    for step in steps {
        let event = stream.next().await.unwrap();
        assert_eq!(event["params"]["progress"], step, "{event}");
    }
}

async fn expect_answer(stream: &mut Resumable) {
    let answer = stream.next().await.unwrap();
    assert_eq!(answer["id"], 7, "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    assert_eq!(stream.next().await, None, "nothing follows the answer");
}

/// Returns the place of a setting in the list.
fn number_of(setting: &str) -> usize {
    let is_it = |(buffering, version): &(&str, &str)| {
        setting == format!("buffering {buffering}, HTTP/{version}")
    };
    SETTINGS.iter().position(is_it).unwrap()
}

// proves: TR-63, TR-65
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn an_answer_is_fetched_after_two_cuts() {
    let paces = Pace::of_each_setting();
    let server = SocketServer::start(server(Arc::clone(&paces)), cut_streams()).await;
    let nginx = Nginx::start(server.address).await;
    with_each_setting(&nginx, |address, setting| {
        let paces = Arc::clone(&paces);
        async move {
            let number = number_of(&setting);
            let session = Session::open(address).await;
            let call = session.call("steps", &json!({"setting": number}));
            let mut stream = session.stream(call).await;
            // There is an id before there is an event, and it survives a cut without one.
            stream.priming_event().await;
            session.resume_after_cut(&mut stream).await;
            session.resume_after_cut(&mut stream).await;
            paces[number].go_on(STEPS as usize + 1, STEPS).await;
            expect_steps(&mut stream, 1..=STEPS).await;
            expect_answer(&mut stream).await;
        }
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}

// proves: TR-42, TR-63
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn events_around_a_cut_arrive_once_and_in_order() {
    let paces = Pace::of_each_setting();
    let server = SocketServer::start(server(Arc::clone(&paces)), cut_streams()).await;
    let nginx = Nginx::start(server.address).await;
    with_each_setting(&nginx, |address, setting| {
        let paces = Arc::clone(&paces);
        async move {
            let number = number_of(&setting);
            let pace = &paces[number];
            let session = Session::open(address).await;
            let call = session.call("steps", &json!({"setting": number}));
            pace.allowed.add_permits(1);
            let mut stream = session.stream(call).await;
            expect_steps(&mut stream, 1..=1).await;
            stream.until_cut().await;
            // The call goes on without its client.
            pace.go_on(1, 2).await;
            stream.client = session.begin(session.get(stream.last_id.as_deref())).await;
            expect_steps(&mut stream, 2..=2).await;
            // From what was missed to what is new.
            pace.go_on(1, 3).await;
            expect_steps(&mut stream, 3..=STEPS).await;
            session.resume_after_cut(&mut stream).await;
            pace.allowed.add_permits(1);
            expect_answer(&mut stream).await;
        }
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}

// proves: TR-66
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn a_client_that_is_told_to_poll_fetches_its_answer() {
    let paces = Pace::of_each_setting();
    let server = SocketServer::start(server(Arc::clone(&paces)), cut_streams()).await;
    let nginx = Nginx::start(server.address).await;
    with_each_setting(&nginx, |address, setting| {
        let paces = Arc::clone(&paces);
        async move {
            let number = number_of(&setting);
            let session = Session::open(address).await;
            let call = session.call("poll", &json!({"setting": number}));
            let mut stream = session.stream(call).await;
            // It ends, and isn't cut.
            assert_eq!(stream.next().await, None, "{setting}");
            assert_eq!(stream.retry.as_deref(), Some("700"), "{setting}");
            paces[number].allowed.add_permits(1);
            stream.client = session.begin(session.get(stream.last_id.as_deref())).await;
            expect_answer(&mut stream).await;
        }
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}

// proves: TR-52, TR-63
#[tokio::test]
#[ignore = "scripts/proxies runs it"]
async fn a_stream_of_a_get_is_resumed() {
    let server = SocketServer::start(server(Pace::of_each_setting()), cut_streams()).await;
    let nginx = Nginx::start(server.address).await;
    // What one session announces, all are told.
    let all_cut = Arc::new(Barrier::new(SETTINGS.len()));
    with_each_setting(&nginx, |address, setting| {
        let all_cut = Arc::clone(&all_cut);
        async move {
            let session = Session::open(address).await;
            let mut stream = session.stream(session.get(None)).await;
            stream.priming_event().await;
            stream.until_cut().await;
            patiently(all_cut.wait()).await;
            // What is announced meanwhile waits for the client.
            let mut client = RawClient::connect(address).await;
            let announced = client.ask(session.call("announce", &json!({}))).await;
            assert_eq!(announced.head.status, 200, "{setting}");
            stream.client = session.begin(session.get(stream.last_id.as_deref())).await;
            let changed = stream.next().await.unwrap();
            let method = &changed["method"];
            assert_eq!(method, "notifications/tools/list_changed", "{setting}");
        }
    })
    .await;
    drop(nginx);
    server.shut_down().await;
}
