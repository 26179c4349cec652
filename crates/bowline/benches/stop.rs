//! How long a stop takes, whatever the server does.
//!
//! `cargo bench -p bowline --bench stop [-- RUNS]`: twelve conditions, each so many times
//! (1,000), a new child each time. The promise is 100 ms at the 99.9th percentile; the child
//! itself is ended in the background.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline::{Client, ClientConfig, ConnectionState};
use rustix::process::{Pid, Signal, kill_process};
use support::{Usage, config, processes_of, serve_if_asked, server};
use tokio::sync::oneshot;

const PROMISE: Duration = Duration::from_millis(100);

/// A condition: its name, the behaviours of its server, and what is done before the stop.
struct Condition {
    name: &'static str,
    behaviours: &'static [&'static str],
    prepare: Prepare,
}

#[derive(Clone, Copy, PartialEq)]
enum Prepare {
    Ready,
    /// Nothing: the process is not there yet.
    AtOnce,
    /// The transport is open, and no answer comes.
    Handshake,
    Backoff,
    Suspended,
    Pending(usize),
    /// More than the pipe holds.
    FullPipe,
    /// A hundred stops at once.
    Together,
    InHandler,
}

const fn condition(
    name: &'static str,
    behaviours: &'static [&'static str],
    prepare: Prepare,
) -> Condition {
    Condition {
        name,
        behaviours,
        prepare,
    }
}

const CONDITIONS: [Condition; 12] = [
    condition("hung child", &["deaf"], Prepare::Ready),
    condition("full pipe", &["deaf"], Prepare::FullPipe),
    condition("suspended child", &[], Prepare::Suspended),
    condition("during spawn", &[], Prepare::AtOnce),
    condition("during the handshake", &["silent"], Prepare::Handshake),
    condition("in backoff", &["exit"], Prepare::Backoff),
    condition("1,000 pending", &["deaf"], Prepare::Pending(1000)),
    condition("child floods stdout", &["floods"], Prepare::Ready),
    condition("child floods stderr", &["complains"], Prepare::Ready),
    condition(
        "in the middle of a frame",
        &["half a frame"],
        Prepare::Ready,
    ),
    condition("100 stops at once", &["stays"], Prepare::Together),
    condition("inside a handler", &["notifies"], Prepare::InHandler),
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if serve_if_asked()? {
        return Ok(ExitCode::SUCCESS);
    }
    let runs = std::env::args().find_map(|arg| arg.parse().ok());
    let runs: usize = runs.unwrap_or(1000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    println!(
        "{:<28}{:>10}{:>10}{:>10}",
        "ms, of a stop", "median", "99.9 %", "worst"
    );
    let mut is_good = true;
    for condition in &CONDITIONS {
        is_good &= runtime.block_on(measure(condition, runs))?;
    }
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn measure(condition: &Condition, runs: usize) -> Result<bool, Box<dyn Error>> {
    let mut took = Vec::with_capacity(runs);
    for _ in 0..runs {
        took.push(run(condition).await?);
        // Children that have to be killed linger for two seconds each.
        while Usage::now()?.descendants > 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share).ceil() as usize];
    let (median, high, worst) = (at(0.5), at(0.999), at(1.0));
    let verdict = if high <= PROMISE { "ok" } else { "SHORT" };
    let [median, high, worst] = [median, high, worst].map(|time| time.as_secs_f64() * 1000.0);
    let name = condition.name;
    println!("{name:<28}{median:>10.2}{high:>10.2}{worst:>10.2} {verdict}");
    Ok(verdict == "ok")
}

async fn run(condition: &Condition) -> Result<Duration, Box<dyn Error>> {
    let mut config = config();
    if condition.prepare == Prepare::InHandler {
        return stop_inside_a_handler(condition, config).await;
    }
    if condition.prepare == Prepare::Backoff {
        let wait = Duration::from_secs(60);
        config.backoff(bowline::Backoff::new(wait, wait));
    }
    let client = Client::start(server(condition.behaviours)?, config);
    let calls = prepare(&client, condition.prepare).await?;
    let took = match condition.prepare {
        Prepare::Together => stop_together(&client).await?,
        _ => timed(&client).await,
    };
    for call in calls {
        // Each has its outcome.
        call.await.err().ok_or("a call was answered")?;
    }
    Ok(took)
}

async fn timed(client: &Client) -> Duration {
    let started = Instant::now();
    client.stop().await;
    let took = started.elapsed();
    assert_eq!(client.state(), ConnectionState::Closed);
    took
}

async fn prepare(
    client: &Client,
    prepare: Prepare,
) -> Result<Vec<bowline::client::PendingCall>, Box<dyn Error>> {
    let mut calls = Vec::new();
    match prepare {
        Prepare::AtOnce => {}
        Prepare::Handshake => until(client, ConnectionState::Initializing).await,
        Prepare::Backoff => until(client, ConnectionState::Backoff).await,
        Prepare::Ready | Prepare::Together | Prepare::InHandler => client.ready().await?,
        Prepare::Suspended => {
            client.ready().await?;
            for process in processes_of(std::process::id())? {
                if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                    // Those of earlier runs may have ended meanwhile.
                    let _ = kill_process(pid, Signal::STOP);
                }
            }
        }
        Prepare::Pending(count) => {
            client.ready().await?;
            for _ in 0..count {
                calls.push(client.call("tools/call", r#"{"name":"x"}"#).send());
            }
        }
        Prepare::FullPipe => {
            client.ready().await?;
            for _ in 0..16 {
                let name = "x".repeat(64 * 1024);
                let params = format!(r#"{{"name":"{name}"}}"#);
                calls.push(client.call("tools/call", params).send());
            }
            // The driver gets a chance to write.
            tokio::task::yield_now().await;
        }
    }
    Ok(calls)
}

async fn until(client: &Client, state: ConnectionState) {
    let mut changes = client.state_changes();
    while client.state() != state && changes.next().await.is_some() {}
}

async fn stop_together(client: &Client) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let mut stops = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let client = client.clone();
        stops.spawn(async move { client.stop().await });
    }
    while stops.join_next().await.transpose()?.is_some() {}
    Ok(started.elapsed())
}

async fn stop_inside_a_handler(
    condition: &Condition,
    config: ClientConfig,
) -> Result<Duration, Box<dyn Error>> {
    let slot: Arc<Mutex<Option<Client>>> = Arc::default();
    let (sender, receiver) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let of_handler = Arc::clone(&slot);
    config.router().on("notifications/message", move |_| {
        let client = of_handler.lock().ok().and_then(|mut slot| slot.take());
        let sender = sender.lock().ok().and_then(|mut sender| sender.take());
        async move {
            if let (Some(client), Some(sender)) = (client, sender) {
                // The receiver may be dropped.
                let _ = sender.send(timed(&client).await);
            }
        }
    });
    let transport = server(condition.behaviours)?;
    let client = {
        let mut slot = slot.lock().map_err(|error| error.to_string())?;
        let client = Client::start(transport, config);
        *slot = Some(client.clone());
        client
    };
    let took = receiver.await?;
    drop(client);
    Ok(took)
}
