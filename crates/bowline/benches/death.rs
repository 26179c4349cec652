//! How soon calls have their outcome when the server dies: 1,000 of them wait.
//!
//! `cargo bench -p bowline --bench death [-- RUNS]`, over the memory transport, from the end
//! of the stream, and with a child, from its kill. The promise is 10 ms after the end of the
//! stream; the second figure holds the end of the process as well.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline::client::PendingCall;
use bowline::transport::memory;
use bowline::{Client, ErrorKind};
use rustix::process::{Pid, Signal, kill_process};
use support::{config, processes_of, serve_if_asked, server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const CALLS: usize = 1000;
const PROMISE: Duration = Duration::from_millis(10);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if serve_if_asked()? {
        return Ok(ExitCode::SUCCESS);
    }
    let runs = std::env::args().find_map(|arg| arg.parse().ok());
    let runs: usize = runs.unwrap_or(100);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut is_good = true;
    for (name, is_child) in [("end of the stream", false), ("kill of the child", true)] {
        let mut took = Vec::new();
        for _ in 0..runs {
            took.push(runtime.block_on(async {
                if is_child {
                    child().await
                } else {
                    stream().await
                }
            })?);
        }
        took.sort_unstable();
        let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
        let verdict = if worst <= PROMISE { "ok" } else { "SHORT" };
        is_good &= worst <= PROMISE;
        println!(
            "{CALLS} calls, from the {name}: median {median:.2?}, worst {worst:.2?}: {verdict}"
        );
    }
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn stream() -> Result<Duration, Box<dyn Error>> {
    let (transport, mut acceptor) = memory::pair();
    let client = Client::start(transport, config());
    let mut stream = BufReader::new(acceptor.accept().await.ok_or("no client connects")?);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    stream.write_all(format!("{answer}\n").as_bytes()).await?;
    client.ready().await?;
    let calls = pending(&client);
    // The server has seen something of them.
    while !line.contains("tools/call") {
        line.clear();
        stream.read_line(&mut line).await?;
    }
    let started = Instant::now();
    drop(stream);
    all_lost(calls).await?;
    let took = started.elapsed();
    client.stop().await;
    Ok(took)
}

async fn child() -> Result<Duration, Box<dyn Error>> {
    let client = Client::connect(server(&["deaf"])?, config()).await?;
    let calls = pending(&client);
    tokio::task::yield_now().await;
    let mut found = Vec::new();
    for process in processes_of(std::process::id())? {
        let command = std::fs::read(format!("/proc/{}/cmdline", process.pid));
        if command.is_ok_and(|command| command.windows(5).any(|window| window == b"serve")) {
            found.extend(i32::try_from(process.pid).ok().and_then(Pid::from_raw));
        }
    }
    let started = Instant::now();
    for pid in found {
        // One of an earlier run may have ended meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
    all_lost(calls).await?;
    let took = started.elapsed();
    client.stop().await;
    Ok(took)
}

fn pending(client: &Client) -> Vec<PendingCall> {
    let call = || client.call("tools/call", r#"{"name":"x"}"#).send();
    (0..CALLS).map(|_| call()).collect()
}

async fn all_lost(calls: Vec<PendingCall>) -> Result<(), Box<dyn Error>> {
    for call in calls {
        let error = call.await.err().ok_or("a call was answered")?;
        if error.kind() != ErrorKind::TransportDown {
            return Err(error.into());
        }
    }
    Ok(())
}
