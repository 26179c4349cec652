//! Many clients in one process: 500 real children, and 10,000 that close at once.
//!
//! `cargo bench -p bowline --bench fleet [-- CHILDREN CLIENTS]`. All have to be ready, and
//! all have to be gone in time: 5 s for the children, whatever their number, 2 s for the
//! others.

// proves: F-MC-02, F-SD-14

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline::Client;
use bowline::transport::memory;
use support::{Usage, config, greet, serve_if_asked, server};
use tokio::task::JoinSet;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if serve_if_asked()? {
        return Ok(ExitCode::SUCCESS);
    }
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let children: usize = numbers.next().unwrap_or(500);
    let clients: usize = numbers.next().unwrap_or(10_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let is_good = runtime.block_on(async {
        let one = real_children(children).await?;
        let other = at_once(clients).await?;
        Ok::<_, Box<dyn Error>>(one && other)
    })?;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn real_children(count: usize) -> Result<bool, Box<dyn Error>> {
    let started = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut config = config();
        // Two cores start them one after the other.
        config.connect_timeout(Some(Duration::from_secs(120)));
        config
            .connection()
            .handshake_timeout(Duration::from_secs(120));
        clients.push(Client::start(server(&["grandchild"])?, config));
    }
    for client in &clients {
        client.ready().await?;
    }
    let took = started.elapsed();
    let usage = Usage::now()?;
    println!("{count} children ready in {took:.1?}: {usage:?}");
    let started = Instant::now();
    stop_all(clients).await?;
    let stopped = started.elapsed();
    while Usage::now()?.descendants > 0 && started.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let gone = started.elapsed();
    println!("stopped in {stopped:.1?}, all processes gone after {gone:.1?}");
    Ok(verdict(
        "children are gone within 5 s",
        gone <= Duration::from_secs(5),
    ))
}

async fn at_once(count: usize) -> Result<bool, Box<dyn Error>> {
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for _ in 0..count {
        let (transport, mut acceptor) = memory::pair();
        let client = Client::start(transport, config());
        let stream = acceptor.accept().await.ok_or("no client connects")?;
        servers.push(greet(stream).await?);
        client.ready().await?;
        clients.push(client);
    }
    let started = Instant::now();
    stop_all(clients).await?;
    let took = started.elapsed();
    println!("{count} clients stopped in {took:.1?}");
    Ok(verdict(
        "all are closed within 2 s",
        took <= Duration::from_secs(2),
    ))
}

async fn stop_all(clients: Vec<Client>) -> Result<(), Box<dyn Error>> {
    let mut stops = JoinSet::new();
    for client in clients {
        stops.spawn(async move { client.stop().await });
    }
    while stops.join_next().await.transpose()?.is_some() {}
    Ok(())
}

fn verdict(name: &str, holds: bool) -> bool {
    println!("{}: {name}", if holds { "ok" } else { "FAILED" });
    holds
}
