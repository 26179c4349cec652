//! Blocking handlers: how many run at a time, and what waits for them.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bowline::server::{Server, ToolDef, tool};
use bowline::types::tools::TaskSupport;
use serde_json::json;

use super::raw_client::{RawClient, cancelled, request};
use crate::programs::example;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

// proves: F-CA-12
#[tokio::test]
async fn a_cancelled_call_keeps_its_place_until_its_thread_returns() {
    let (started, mut has_started) = tokio::sync::mpsc::channel(2);
    let (let_go, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let work = tool("work", move || {
        let (started, held) = (started.clone(), Arc::clone(&held));
        async move {
            started.send(()).await.expect("the test listens");
            held.lock().expect("no panic").recv().ok();
        }
    });
    let mut limits = bowline::Limits::server();
    limits.max_peer_requests(2);
    let server = Server::new("threads", "1").limits(limits);
    let mut client = RawClient::new(server.add_tool(work.blocking()));
    client.initialize().await;
    for id in [1, 2] {
        client.call(id, "work").await;
        has_started.recv().await.expect("it runs");
        client.write_line(&cancelled(id)).await;
    }
    // The grace of the cancelled handlers ends. The time is paused for that: it passes when all
    // tasks wait.
    tokio::time::pause();
    tokio::time::sleep(Duration::from_millis(300)).await;
    tokio::time::resume();
    let params = json!({"name": "work"});
    let refused = client.ask(3, "tools/call", params.clone()).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    drop(let_go);
    let deadline = Instant::now() + LONG;
    for id in 4.. {
        assert!(Instant::now() < deadline, "the places are never free");
        let answer = client.ask(id, "tools/call", params.clone()).await;
        if answer["result"].is_object() {
            break;
        }
        has_started.try_recv().ok();
    }
}

// proves: SV-6
#[tokio::test]
async fn threads_are_not_begun_while_answers_are_not_read() {
    let (returned, mut has_returned) = tokio::sync::mpsc::channel(500);
    let (unread, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let of_tool = (Arc::clone(&unread), Arc::clone(&most));
    let large = tool("large", move || {
        let (returned, (unread, most)) = (returned.clone(), of_tool.clone());
        async move {
            most.fetch_max(1 + unread.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            returned.send(()).await.expect("the test listens");
            "x".repeat(1 << 20)
        }
    });
    let mut limits = bowline::Limits::server();
    limits.max_queued_bytes(4 << 20);
    let server = Server::new("threads", "1").limits(limits);
    let mut client = RawClient::new(server.add_tool(large.blocking()));
    client.initialize().await;
    let calls = (1..=500).map(|id| request(id, "tools/call", json!({"name": "large"})));
    let calls: Vec<_> = calls.collect();
    client.write_line(&calls.join("\n")).await;
    // Four fill the queue although nothing is read.
    for _ in 1..=4 {
        has_returned.recv().await.expect("it runs");
    }
    // The others are late, but none is lost.
    for _ in 1..=500 {
        assert!(client.receive().await["result"].is_object());
        unread.fetch_sub(1, Ordering::SeqCst);
    }
    assert_eq!(unread.load(Ordering::SeqCst), 0);
    // Four wait to be read, and as many threads as a client has had begun before.
    let most = most.load(Ordering::SeqCst);
    assert!(most < 140, "{most} responses were held");
}

/// A tool whose handlers report their start, and return when the test allows it.
pub(super) fn held_tool() -> (ToolDef, tokio::sync::mpsc::Receiver<u64>, mpsc::Sender<()>) {
    let (started, has_started) = tokio::sync::mpsc::channel(10_000);
    let (let_go, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let work = tool("work", move |Which { number }: Which| {
        let (started, held) = (started.clone(), Arc::clone(&held));
        async move {
            started.send(number).await.expect("the test listens");
            held.lock().expect("no panic").recv().ok();
        }
    });
    (work.blocking(), has_started, let_go)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Which {
    number: u64,
}

/// A call whose handler knows the id.
pub(super) fn work(id: u64) -> String {
    let arguments = json!({"number": id});
    request(
        id,
        "tools/call",
        json!({"name": "work", "arguments": arguments}),
    )
}

// proves: SV-6
#[tokio::test]
async fn a_client_leaves_threads_to_others() {
    let (tool, mut has_started, let_go) = held_tool();
    let quick = bowline::server::tool("quick", || async { "done" }).blocking();
    let server = Server::new("threads", "1").add_tool(tool).add_tool(quick);
    let server = server.build().expect("it can be served");
    let (mut greedy, mut other) = (RawClient::connect(&server), RawClient::connect(&server));
    greedy.initialize().await;
    other.initialize().await;
    // More than there are threads.
    const CALLS: u64 = 600;
    let calls: Vec<_> = (1..=CALLS).map(work).collect();
    greedy.write_line(&calls.join("\n")).await;
    for number in 1..=64 {
        let started = has_started.recv().await;
        assert!(
            started.is_some_and(|started| started <= 64),
            "{started:?} is {number}th"
        );
    }
    let answer = other.ask(1, "tools/call", json!({"name": "quick"})).await;
    assert!(answer["result"].is_object(), "{answer}");
    assert!(has_started.try_recv().is_err(), "no more than its share");
    drop(let_go);
    let mut answered: Vec<u64> = Vec::new();
    for _ in 1..=CALLS {
        let answer = greedy.receive().await;
        assert!(answer["result"].is_object(), "{answer}");
        answered.extend(answer["id"].as_u64());
    }
    answered.sort_unstable();
    assert_eq!(answered, Vec::from_iter(1..=CALLS), "each once");
    let rest = std::iter::from_fn(|| has_started.try_recv().ok());
    let mut rest = Vec::from_iter(rest);
    rest.sort_unstable();
    assert_eq!(rest, Vec::from_iter(65..=CALLS), "each once");
}

// proves: SV-6
#[tokio::test]
async fn a_call_that_waits_for_a_thread_and_is_cancelled_never_runs() {
    let (tool, mut has_started, let_go) = held_tool();
    let mut limits = bowline::Limits::server();
    limits.max_peer_requests(3);
    let server = Server::new("threads", "1").limits(limits).max_blocking(1);
    let mut client = RawClient::new(server.add_tool(tool));
    client.initialize().await;
    for id in [1, 2, 3] {
        client.write_line(&work(id)).await;
    }
    assert_eq!(has_started.recv().await, Some(1));
    client.write_line(&cancelled(2)).await;
    // Its place is free although all threads of this client are kept.
    let deadline = Instant::now() + LONG;
    let mut last = 3;
    loop {
        last += 1;
        assert!(Instant::now() < deadline, "its place is never free");
        client.write_line(&work(last)).await;
        client.send(last + 10_000, "ping", json!({})).await;
        let received = client.receive().await;
        match received["error"]["data"]["reason"].as_str() {
            Some("busy") => client.answer(last + 10_000).await,
            _ => break,
        };
    }
    drop(let_go);
    for id in [1, 3, last] {
        let answer = client.receive().await;
        assert_eq!(answer["id"], id, "in the order in which they came");
        assert!(answer["result"].is_object(), "{answer}");
    }
    let ran = Vec::from_iter(std::iter::from_fn(|| has_started.try_recv().ok()));
    assert_eq!(ran, [3, last]);
}

// proves: SV-6
#[tokio::test]
async fn a_task_that_waits_for_a_thread_outlives_its_client() {
    let (tool, mut has_started, let_go) = held_tool();
    let tool = tool.task_support(TaskSupport::Required);
    let server = Server::new("threads", "1").max_blocking(1).add_tool(tool);
    let server = server.build().expect("it can be served");
    let mut client = RawClient::connect(&server);
    client.initialize().await;
    for id in [1, 2] {
        let params = json!({"name": "work", "arguments": {"number": id}, "task": {}});
        let answer = client.ask(id, "tools/call", params).await;
        assert!(answer["result"]["task"].is_object(), "{answer}");
    }
    assert_eq!(has_started.recv().await, Some(1));
    drop(client);
    drop(let_go);
    assert_eq!(has_started.recv().await, Some(2));
}

// proves: F-HD-15, F-SD-04
#[test]
fn a_process_does_not_wait_for_threads_of_handlers() {
    let mut server = Command::new(example("blocking_server"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = server.stdin.take().expect("a pipe");
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    });
    let work = json!({"name": "work", "arguments": {"seconds": 600}});
    let lines = [
        request(0, "initialize", hello),
        request(1, "tools/call", work),
    ];
    std::io::Write::write_all(&mut stdin, (lines.join("\n") + "\n").as_bytes()).expect("it reads");
    drop(stdin);
    let started = Instant::now();
    let status = server.wait().expect("it ends");
    assert!(status.success(), "{status}");
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}
