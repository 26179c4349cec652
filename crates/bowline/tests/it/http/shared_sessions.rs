//! Sessions of the handshake era on several nodes, which share a `store`.

mod store;

use std::sync::Arc;
use std::time::Duration;

use bowline::server::store::{SessionStore as _, StoreKey};
use bowline::server::{Context, HttpConfig, Principal, RunningServer, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::support::{HttpClient, Reply, call, request};
use store::{CORRUPT, DOWN, NEWER, READ_ONLY, SILENT, Store, UP};

const TIMEOUT: Duration = Duration::from_secs(50);

/// After that a node knows that another one has its session.
const CHECKED: Duration = Duration::from_secs(7);

/// A server, and a client of it alone.
struct Node {
    server: RunningServer,
    client: HttpClient,
}

impl Node {
    fn new(store: &Arc<Store>) -> Self {
        let server = Server::new("test", "1.0.0")
            .tool("echo", "Answers", || async { "hello" })
            .tool("slow", "Takes long", || async {
                sleep(Duration::from_secs(20)).await;
                "done"
            })
            .tool("who", "Describes the client", |cx: Context| async move {
                let name = cx.client_info().map(|info| info.name);
                let has_roots = cx.client_capabilities().roots.is_some();
                let revision = cx.revision();
                format!("{} {has_roots} {revision}", name.unwrap_or_default())
            })
            .resource("file:///a", "a", || async { "text" });
        let server = server.build().unwrap();
        let config = HttpConfig::new()
            .session_idle_timeout(TIMEOUT)
            .session_store(Arc::clone(store));
        let client = HttpClient::of(server.http_service(config));
        Self { server, client }
    }

    /// Returns the same session, at this node.
    fn same(&self, session: &HttpClient) -> HttpClient {
        let mut session = session.clone();
        session.service = self.client.service.clone();
        session
    }

    fn change_resource(&self) {
        self.server.features().notify_resource_updated("file:///a");
    }
}

fn nodes() -> (Arc<Store>, Node, Node) {
    let store = Arc::new(Store::default());
    let (first, second) = (Node::new(&store), Node::new(&store));
    (store, first, second)
}

async fn open(node: &Node) -> HttpClient {
    let capabilities = json!({"roots": {}});
    node.client.open_session("2025-06-18", capabilities).await
}

async fn text(reply: Reply) -> Value {
    assert_eq!(reply.status, 200);
    reply.json().await["result"]["content"][0]["text"].take()
}

async fn is_unavailable(reply: Reply) {
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("retry-after").as_deref(), Some("1"));
    assert_eq!(reply.json().await["error"]["data"]["reason"], "busy");
}

fn subscribe() -> Value {
    request(1, "resources/subscribe", json!({"uri": "file:///a"}))
}

// proves: F-SE-15
#[tokio::test(start_paused = true)]
async fn a_session_outlasts_its_node() {
    let (store, first, second) = nodes();
    let session = open(&first).await;
    assert_eq!(session.post(subscribe()).await.status, 200);
    let before = text(session.post(call(2, "who", json!({}))).await).await;
    assert_eq!(before, "test true 2025-06-18");
    // At another node, while the first one has it too.
    let there = second.same(&session);
    assert_eq!(
        text(there.post(call(3, "who", json!({}))).await).await,
        before
    );
    drop(first);
    let third = Node::new(&store);
    for node in [&second, &third] {
        let session = node.same(&session);
        assert_eq!(
            text(session.post(call(4, "who", json!({}))).await).await,
            before
        );
        let mut stream = session.get().await;
        stream.next_chunk().await;
        node.change_resource();
        let event = stream.next().await.unwrap();
        assert_eq!(event["method"], "notifications/resources/updated");
    }
}

// proves: SE-28
#[tokio::test(start_paused = true)]
async fn a_session_is_written_when_it_is_reduced_to_its_record() {
    let (store, first, _second) = nodes();
    let opened = first.client.initialize("2025-06-18", json!({})).await;
    let id = opened.header("mcp-session-id").unwrap();
    // The id is a secret: it stands neither in the key nor in the record.
    let key = StoreKey::digest("session", &id);
    let stored = async || {
        let stored = store.sessions.load(&key).await.unwrap().unwrap();
        let record = String::from_utf8(stored.record.to_vec()).unwrap();
        assert!(
            !record.contains(&id) && record.starts_with(r#"{"v":1,"#),
            "{record}"
        );
        (record, stored.stamp)
    };
    let begun = stored().await;
    let session = first.client.clone().header("mcp-session-id", &*id);
    for number in 1..=3 {
        assert_eq!(
            session.post(call(number, "echo", json!({}))).await.status,
            200
        );
    }
    assert_eq!(stored().await, begun, "a plain call is not written");
    sleep(Duration::from_secs(3)).await;
    let idle = stored().await;
    assert!(idle.0 != begun.0, "{}", idle.0);
    assert_eq!(idle.1.fence, begun.1.fence);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(stored().await, idle, "it is written once");
    assert_eq!(session.post(call(4, "echo", json!({}))).await.status, 200);
}

// proves: HS-30
#[tokio::test(start_paused = true)]
async fn without_the_store_a_session_is_not_said_to_be_gone() {
    let (store, first, second) = nodes();
    let session = open(&first).await;
    let there = second.same(&session);
    for (state, most) in [(DOWN, 0), (SILENT, 2)] {
        store.set(state);
        let started = Instant::now();
        is_unavailable(first.client.initialize("2025-06-18", json!({})).await).await;
        let took = started.elapsed().as_secs();
        assert!(took <= most, "{took} s");
        for session in [&session, &there] {
            is_unavailable(session.post(call(1, "echo", json!({}))).await).await;
            is_unavailable(session.get().await).await;
            is_unavailable(session.delete().await).await;
        }
        let reply = first.client.stateless(1, "tools/list", json!({})).await;
        assert_eq!(reply.status, 200);
        store.set(UP);
        for session in [&session, &there] {
            assert_eq!(session.post(call(2, "echo", json!({}))).await.status, 200);
        }
    }
    assert_eq!(first.client.service.session_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_operation_can_be_set() {
    let store = Arc::new(Store::default());
    store.set(SILENT);
    let config = HttpConfig::new()
        .store_timeout(Duration::from_secs(7))
        .session_store(store);
    let client = HttpClient::with_config(Server::new("test", "1.0.0"), config);
    let started = Instant::now();
    is_unavailable(client.initialize("2025-06-18", json!({})).await).await;
    assert_eq!(started.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_stored_is_not_confirmed() {
    let (store, first, second) = nodes();
    let session = open(&first).await;
    let there = second.same(&session);
    for session in [&session, &there] {
        store.set(READ_ONLY);
        // A plain call needs no write.
        assert_eq!(session.post(call(1, "echo", json!({}))).await.status, 200);
        is_unavailable(session.post(subscribe()).await).await;
        store.set(UP);
        assert_eq!(session.post(subscribe()).await.status, 200);
        // It is in the store: a node that did not see it knows of it.
        let third = Node::new(&store);
        let mut stream = third.same(session).get().await;
        stream.next_chunk().await;
        third.change_resource();
        let event = stream.next().await.unwrap();
        assert_eq!(event["method"], "notifications/resources/updated");
        let unsubscribe = request(2, "resources/unsubscribe", json!({"uri": "file:///a"}));
        assert_eq!(there.post(unsubscribe).await.status, 200);
    }
}

// proves: HS-31
#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_understood_is_no_session() {
    let (store, first, second) = nodes();
    let session = second.same(&open(&first).await);
    for state in [NEWER, CORRUPT] {
        store.set(state);
        for reply in [
            session.post(call(1, "echo", json!({}))).await,
            session.get().await,
            session.delete().await,
        ] {
            assert_eq!(reply.status, 404);
        }
    }
    store.set(UP);
    assert_eq!(session.post(call(2, "echo", json!({}))).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_at_all_nodes() {
    let (_store, first, second) = nodes();
    let session = open(&first).await;
    let there = second.same(&session);
    let mut stream = session.get().await;
    stream.next_chunk().await;
    assert_eq!(there.delete().await.status, 204);
    assert_eq!(there.delete().await.status, 404);
    assert_eq!(there.post(call(1, "echo", json!({}))).await.status, 404);
    // The other node finds out by itself.
    let ended = async { while stream.next_chunk().await.is_some() {} };
    let ended = timeout(CHECKED, ended).await;
    assert!(ended.is_ok(), "the stream goes on");
    assert_eq!(session.post(call(2, "echo", json!({}))).await.status, 404);
    assert_eq!(session.get().await.status, 404);
}

// proves: F-RD-10, HS-32
#[tokio::test(start_paused = true)]
async fn one_node_delivers_the_messages_of_a_session() {
    let (_store, first, second) = nodes();
    let session = open(&first).await;
    assert_eq!(session.post(subscribe()).await.status, 200);
    let there = second.same(&session);
    let mut stream = session.get().await;
    stream.next_chunk().await;
    // A call at the other node leaves the stream where it is.
    assert_eq!(there.post(call(2, "echo", json!({}))).await.status, 200);
    sleep(CHECKED).await;
    first.change_resource();
    let event = stream.next().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated");
    // A call that goes on here is answered here, though the stream moves.
    let mut running = session.post(call(3, "slow", json!({}))).await;
    let mut moved = there.get().await;
    moved.next_chunk().await;
    let ended = async { while stream.next_chunk().await.is_some() {} };
    assert!(timeout(CHECKED, ended).await.is_ok());
    first.change_resource();
    second.change_resource();
    let event = moved.next().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated");
    assert_eq!(running.next().await.unwrap()["id"], 3);
}

/// The node with the stream does not know of a change that another node has made: it gives the
/// session up, and the client opens its stream anew.
#[tokio::test(start_paused = true)]
async fn a_change_of_a_session_takes_it_from_its_node() {
    let (_store, first, second) = nodes();
    let session = open(&first).await;
    let mut stream = session.get().await;
    stream.next_chunk().await;
    let there = second.same(&session);
    assert_eq!(there.post(subscribe()).await.status, 200);
    let ended = async { while stream.next_chunk().await.is_some() {} };
    assert!(timeout(CHECKED, ended).await.is_ok());
    let mut stream = session.get().await;
    stream.next_chunk().await;
    first.change_resource();
    let event = stream.next().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated");
}

#[tokio::test(start_paused = true)]
async fn use_at_one_node_keeps_a_session_at_all() {
    let (_store, first, second) = nodes();
    let session = open(&first).await;
    let there = second.same(&session);
    for _ in 0..3 {
        sleep(TIMEOUT - Duration::from_secs(1)).await;
        assert_eq!(there.post(call(1, "echo", json!({}))).await.status, 200);
    }
    assert_eq!(session.post(call(2, "echo", json!({}))).await.status, 200);
    // An open stream keeps it too.
    let stream = session.get().await;
    sleep(TIMEOUT * 3).await;
    assert_eq!(there.post(call(3, "echo", json!({}))).await.status, 200);
    drop(stream);
    sleep(TIMEOUT + CHECKED).await;
    for session in [&session, &there] {
        assert_eq!(session.post(call(4, "echo", json!({}))).await.status, 404);
    }
    assert_eq!(first.client.service.session_count(), 0);
}

// proves: F-SE-07
#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_finished_expires_in_the_store() {
    let store = Arc::new(Store::default());
    let server = || Server::new("test", "1.0.0").build().unwrap();
    let config = || HttpConfig::new().session_store(Arc::clone(&store));
    let first = HttpClient::of(server().http_service(config()));
    let second = HttpClient::of(server().http_service(config()));
    let opened = first.initialize("2025-06-18", json!({})).await;
    let id = opened.header("mcp-session-id").unwrap();
    let there = second.header("mcp-session-id", id);
    let ping = || request(1, "ping", json!({}));
    assert_eq!(there.post(ping()).await.status, 200);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(there.post(ping()).await.status, 404);
}

// proves: SE-22
#[tokio::test(start_paused = true)]
async fn a_stored_session_is_that_of_its_principal() {
    let (_store, first, second) = nodes();
    let as_ann = Node {
        client: first.client.clone().extension(Principal::new("ann")),
        ..first
    };
    let session = second.same(&open(&as_ann).await);
    assert_eq!(session.post(call(1, "echo", json!({}))).await.status, 200);
    let eve = session.clone().extension(Principal::new("eve"));
    for reply in [
        eve.post(call(2, "echo", json!({}))).await,
        eve.get().await,
        eve.delete().await,
    ] {
        assert_eq!(reply.status, 404);
    }
    assert_eq!(session.post(call(3, "echo", json!({}))).await.status, 200);
}
