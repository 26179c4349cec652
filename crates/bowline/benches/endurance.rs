//! A client that is used for long: 10,000,000 calls, 100,000 reconnects.
//!
//! `cargo bench -p bowline --bench endurance [-- CALLS RECONNECTS]`, over the memory
//! transport. Memory, descriptors and tasks have to stay where they were after the first
//! tenth.

// proves: F-MC-08

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use bowline::transport::memory::{self, Acceptor};
use bowline::{Client, ErrorKind};
use support::{Usage, config, greet};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let calls: u64 = numbers.next().unwrap_or(10_000_000);
    let reconnects: u64 = numbers.next().unwrap_or(100_000);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let is_good = runtime.block_on(async {
        let one = call(calls).await?;
        let other = reconnect(reconnects).await?;
        Ok::<_, Box<dyn Error>>(one && other)
    })?;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn call(count: u64) -> Result<bool, Box<dyn Error>> {
    let (transport, acceptor) = memory::pair();
    tokio::spawn(echo(acceptor, u64::MAX));
    let client = Client::connect(transport, config()).await?;
    let started = Instant::now();
    let mut before = Usage::now()?;
    for number in 0..count {
        if number == count / 10 {
            before = Usage::now()?;
        }
        client.call("tools/call", r#"{"name":"x"}"#).await?;
    }
    flat(&format!("{count} calls"), started, before)
}

async fn reconnect(count: u64) -> Result<bool, Box<dyn Error>> {
    let (transport, acceptor) = memory::pair();
    // Each process serves one call, and ends with the second.
    tokio::spawn(echo(acceptor, 1));
    let mut config = config();
    config.backoff(bowline::Backoff::new(
        std::time::Duration::ZERO,
        std::time::Duration::ZERO,
    ));
    let client = Client::connect(transport, config).await?;
    let started = Instant::now();
    let mut before = Usage::now()?;
    for number in 0..count {
        if number == count / 10 {
            before = Usage::now()?;
        }
        client.ready().await?;
        client.call("tools/call", r#"{"name":"x"}"#).await?;
        let lost = client.call("tools/call", r#"{"name":"x"}"#).await;
        let error = lost.err().ok_or("it was answered twice")?;
        assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    }
    assert!(client.session() >= count);
    flat(&format!("{count} reconnects"), started, before)
}

fn flat(what: &str, started: Instant, before: Usage) -> Result<bool, Box<dyn Error>> {
    let after = Usage::now()?;
    let is_flat = after.resident <= before.resident + 1024
        && after.descriptors <= before.descriptors
        && after.threads <= before.threads;
    let verdict = if is_flat { "ok" } else { "FAILED" };
    let took = started.elapsed();
    println!(
        "{what} in {took:.1?}: {verdict}\n  after a tenth {before:?}\n  at the end    {after:?}"
    );
    Ok(is_flat)
}

/// Runs servers of so many calls each.
async fn echo(mut acceptor: Acceptor, calls: u64) {
    while let Some(stream) = acceptor.accept().await {
        // A client that is gone is no matter of this end.
        let _ = serve(stream, calls).await;
    }
}

async fn serve(stream: DuplexStream, calls: u64) -> Result<(), Box<dyn Error>> {
    let mut stream = BufReader::new(greet(stream).await?);
    let mut line = String::new();
    let mut served = 0;
    while served < calls {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let Some((_, id)) = line.split_once(r#""id":"#) else {
            continue;
        };
        let id: String = id.chars().take_while(char::is_ascii_digit).collect();
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n");
        stream.write_all(answer.as_bytes()).await?;
        served += 1;
    }
    line.clear();
    // The next call is seen, and not answered.
    stream.read_line(&mut line).await?;
    Ok(())
}
