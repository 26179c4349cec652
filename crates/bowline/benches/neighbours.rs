//! What one busy connection does to others of the same process.
//!
//! `cargo bench -p bowline --bench neighbours`: the latency of calls on ten quiet
//! connections, alone, beside one that gets answers of 16 MiB back to back, and beside one
//! that calls as fast as it can. Each has a task of its own on two threads.

// proves: F-BP-09, F-MC-05

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bowline::Client;
use bowline::transport::memory;
use support::{config, greet};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;

const QUIET: usize = 10;
const CALLS: usize = 300;
const LARGE: usize = 16 * 1024 * 1024 - 1024;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let alone = runtime.block_on(beside(None))?;
    let large = runtime.block_on(beside(Some(LARGE)))?;
    let busy = runtime.block_on(beside(Some(2)))?;
    let limit = Duration::from_millis(20);
    println!("99 % of calls on {QUIET} quiet connections, alone: {alone:.2?}");
    println!(
        "beside answers of 16 MiB: {large:.2?}, at most {limit:.0?}: {}",
        verdict(large <= limit)
    );
    // Two threads: one has the busy connection, and the other has to be shared with its peer.
    let fair = (2 * alone).max(Duration::from_millis(1));
    println!(
        "beside one that never pauses: {busy:.2?}, at most {fair:.2?}: {}",
        verdict(busy <= fair)
    );
    Ok(if large <= limit {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "SHORT" }
}

/// The latency of most calls of quiet connections, beside one whose answers are so large.
async fn beside(answers: Option<usize>) -> Result<Duration, Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let made = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    if let Some(bytes) = answers {
        let client = echo(bytes).await?;
        let (stop, made) = (Arc::clone(&stop), Arc::clone(&made));
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // A call that fails would end the measurement below as well.
                let _ = client.call("tools/call", r#"{"name":"x"}"#).await;
                made.fetch_add(1, Ordering::Relaxed);
            }
            Vec::new()
        });
    }
    for _ in 0..QUIET {
        let client = echo(2).await?;
        tasks.spawn(async move {
            let mut took = Vec::new();
            for _ in 0..CALLS {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let started = Instant::now();
                if client.call("tools/call", r#"{"name":"x"}"#).await.is_ok() {
                    took.push(started.elapsed());
                }
            }
            took
        });
    }
    let mut took = Vec::new();
    while took.len() < QUIET * CALLS {
        let Some(done) = tasks.join_next().await else {
            break;
        };
        took.extend(done?);
    }
    stop.store(true, Ordering::Relaxed);
    while tasks.join_next().await.transpose()?.is_some() {}
    assert_eq!(took.len(), QUIET * CALLS, "every call is answered");
    took.sort_unstable();
    if answers.is_some() {
        println!("  the busy one made {} calls", made.load(Ordering::Relaxed));
    }
    Ok(took[took.len() * 99 / 100])
}

/// A client whose server answers with so many bytes.
async fn echo(bytes: usize) -> Result<Client, Box<dyn Error>> {
    let (transport, mut acceptor) = memory::pair();
    let client = Client::start(transport, config());
    let stream = acceptor.accept().await.ok_or("no client connects")?;
    let mut stream = BufReader::new(greet(stream).await?);
    client.ready().await?;
    tokio::spawn(async move {
        let text = "x".repeat(bytes);
        let mut line = String::new();
        loop {
            line.clear();
            match stream.read_line(&mut line).await {
                Ok(1..) => {}
                _ => return,
            }
            let Some((_, id)) = line.split_once(r#""id":"#) else {
                continue;
            };
            let id: String = id.chars().take_while(char::is_ascii_digit).collect();
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"text\":\"");
            for part in [head.as_bytes(), text.as_bytes(), b"\"}}\n"] {
                if stream.write_all(part).await.is_err() {
                    return;
                }
            }
        }
    });
    Ok(client)
}
