//! The end of sessions, and of the requests that they serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{Context, RunningServer};
use bowline::transport::Stream;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::accept::server;
use super::blocking_handlers::{held_tool, work};
use super::raw_client::{RawClient, request, stateless};
use crate::delayed_flush::{DelayedFlush, FLUSH};

/// A server of a tool that takes a while to tidy up, and whether it has.
fn tidy() -> (RunningServer, Arc<AtomicUsize>) {
    let tidied = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&tidied);
    let server = server().tool("tidy", "", move |cx: Context| {
        let tidied = Arc::clone(&of_tool);
        async move {
            cx.cancelled().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            tidied.fetch_add(1, Ordering::SeqCst);
            "tidied up"
        }
    });
    let server = server.tool("brief", "", |cx: Context| async move {
        cx.shutting_down().await;
        assert!(!cx.is_cancelled(), "it can be answered");
        tokio::time::sleep(Duration::from_millis(50)).await;
        "as far as it went"
    });
    (server.build().expect("it can be served"), tidied)
}

// proves: SV-7, F-SD-04
#[tokio::test(start_paused = true)]
async fn a_handler_learns_of_a_shutdown_in_time_to_answer() {
    let (running, _) = tidy();
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.call(1, "brief").await;
    client.ask(2, "ping", json!({})).await;
    let started = tokio::time::Instant::now();
    running.shut_down();
    let answer = client.answer(1).await;
    assert_eq!(answer["result"]["content"][0]["text"], "as far as it went");
    let took = started.elapsed();
    let expected = Duration::from_millis(4900)..Duration::from_secs(5);
    assert!(expected.contains(&took), "{took:?}");
    assert!(client.receive().await.is_null(), "it has ended");
}

// proves: SV-7, F-SD-04
#[tokio::test(start_paused = true)]
async fn the_result_of_a_cancelled_handler_is_not_sent() {
    let (running, tidied) = tidy();
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.call(1, "tidy").await;
    client.ask(2, "ping", json!({})).await;
    let started = tokio::time::Instant::now();
    running.shut_down();
    let answer = client.answer(1).await;
    assert_eq!(answer["error"]["data"]["reason"], "shutdown", "{answer}");
    assert_eq!(started.elapsed().as_secs(), 5);
    assert!(client.receive().await.is_null(), "it has ended");
    tokio::time::sleep(Duration::from_millis(51)).await;
    assert_eq!(tidied.load(Ordering::SeqCst), 1);
}

// proves: SV-7, F-SD-04
#[tokio::test(start_paused = true)]
async fn a_session_whose_last_flush_was_pending_ends_when_it_is_done() {
    let running = server().build().expect("it can be served");
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(theirs);
    let session = running.serve_stream(Stream::new(reader, DelayedFlush::new(writer)));
    let (mut reader, mut writer) = tokio::io::split(ours);
    let ping = request(1, "ping", json!({})) + "\n";
    let written = writer.write_all(ping.as_bytes()).await;
    written.expect("it has room");
    writer.shutdown().await.expect("it has room");
    let started = tokio::time::Instant::now();
    session.await.expect("the client left, as clients do");
    assert_eq!(started.elapsed(), FLUSH);
    let mut answer = String::new();
    let read = reader.read_to_string(&mut answer).await;
    read.expect("it is text");
    assert_eq!(answer.lines().count(), 1, "{answer}");
}

/// A client that has asked for 2 MiB and left, and its server.
async fn left() -> (RawClient, RunningServer) {
    let server = server().tool("large", "", || async { "x".repeat(2 << 20) });
    let running = server.build().expect("it can be served");
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.call(1, "large").await;
    client.close_sending().await;
    (client, running)
}

const CHUNK: usize = 64 << 10;

// proves: SV-7, F-HD-15
#[tokio::test(start_paused = true)]
async fn a_client_that_left_may_read_as_slowly_as_it_likes() {
    let (mut client, _running) = left().await;
    let mut received = 0;
    while let more @ 1.. = client.receive_bytes(CHUNK).await {
        received += more;
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
    assert!(received > 2 << 20, "{received}");
}

// proves: SV-7, F-HD-15
#[tokio::test(start_paused = true)]
async fn a_client_that_left_and_takes_nothing_is_not_waited_for() {
    let (mut client, _running) = left().await;
    client.receive_bytes(CHUNK).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut received = 0;
    while let more @ 1.. = client.receive_bytes(CHUNK).await {
        received += more;
    }
    assert!(received <= 2 * CHUNK, "{received}");
}

// proves: SV-7, F-SD-04
#[tokio::test(start_paused = true)]
async fn a_server_that_is_shut_down_waits_no_longer_for_a_client_that_left() {
    let (mut client, running) = left().await;
    client.receive_bytes(CHUNK).await;
    running.shut_down();
    for _ in 0..3 {
        assert_eq!(client.receive_bytes(CHUNK).await, CHUNK);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let mut received = 0;
    while let more @ 1.. = client.receive_bytes(CHUNK).await {
        received += more;
    }
    assert!(received <= 2 * CHUNK, "{received}");
}

// proves: SV-7, F-SD-04
#[tokio::test(start_paused = true)]
async fn a_server_that_wakes_long_after_its_deadline_answers_before_it_ends() {
    let running = server().build().expect("it can be served");
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.call(1, "hang").await;
    client.ask(2, "ping", json!({})).await;
    running.shut_down();
    for _ in 0..10 {
        // It learns that it is to end.
        tokio::task::yield_now().await;
    }
    // As if the process had been stopped meanwhile.
    tokio::time::advance(Duration::from_secs(60)).await;
    let answer = client.answer(1).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["reason"], "shutdown", "{answer}");
    assert!(client.receive().await.is_null(), "it has ended");
}

// proves: SV-7, F-SD-04
#[tokio::test]
async fn a_handler_that_blocks_its_thread_is_answered_for_at_the_end() {
    let (tool, mut has_started, let_go) = held_tool();
    let server = server().add_tool(tool).shutdown_deadline(Duration::ZERO);
    let running = server.build().expect("it can be served");
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    client.write_line(&work(1)).await;
    has_started.recv().await.expect("it runs");
    running.shut_down();
    let answer = client.answer(1).await;
    assert_eq!(answer["error"]["data"]["reason"], "shutdown", "{answer}");
    assert!(client.receive().await.is_null(), "it has ended");
    drop(let_go);
}

// proves: SV-7
#[tokio::test(start_paused = true)]
async fn a_client_that_left_gets_results_but_no_errors_caused_by_leaving() {
    let (running, tidied) = tidy();
    let mut client = RawClient::connect(&running);
    client.initialize().await;
    for (id, tool) in [(1, "tidy"), (2, "hang"), (3, "slow")] {
        client.call(id, tool).await;
    }
    client.close_sending().await;
    let received = client.receive().await;
    assert_eq!(received["id"], 3);
    assert!(client.receive().await.is_null(), "and no more");
    assert_eq!(tidied.load(Ordering::SeqCst), 1);
}

// proves: F-HD-15, F-SD-04
#[tokio::test(start_paused = true)]
async fn serve_waits_for_handlers_that_clean_up() {
    for ends_itself in [true, false] {
        let (running, tidied) = tidy();
        let (mut ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(running.serve_stream(Stream::new(reader, writer)));
        for (id, name) in [(1, "tidy"), (2, "hang")] {
            let call = request(id, "tools/call", stateless(json!({"name": name})));
            let written = ours.write_all((call + "\n").as_bytes()).await;
            written.expect("it reads");
        }
        // Time passes when both wait.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let started = tokio::time::Instant::now();
        if ends_itself {
            running.close()
        } else {
            drop(ours)
        }
        serving.await.expect("no panic").expect("it ends");
        assert_eq!(tidied.load(Ordering::SeqCst), 1);
        let took = started.elapsed();
        // Handlers have a tenth of a second to tidy up, and after a client that left by itself
        // five seconds before to answer it.
        let most = if ends_itself { 151 } else { 5051 };
        assert!(took < Duration::from_millis(most), "{took:?}");
    }
}
