//! Kills of a child at random moments, under callers that never stop.
//!
//! `cargo bench -p bowline --bench chaos [-- KILLS [SEED]]`. Every call has to end exactly
//! once and with its own answer, the client has to be ready again after each kill, and
//! nothing may be left: no zombie, no orphan, no descriptor, no thread, no memory. The
//! child has a grandchild, which holds its pipes.

// proves: F-CP-14

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bowline::{Client, ConnectionState, ErrorKind};
use rustix::process::{Pid, Signal, kill_process};
use support::{Usage, config, processes_of, serve_if_asked, server};
use tokio::task::JoinSet;

const CALLERS: u64 = 64;

#[derive(Debug, Default)]
struct Counts {
    made: AtomicU64,
    answered: AtomicU64,
    lost: AtomicU64,
    refused: AtomicU64,
    wrong: AtomicU64,
    stop: AtomicBool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if serve_if_asked()? {
        return Ok(ExitCode::SUCCESS);
    }
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let kills: u64 = numbers.next().unwrap_or(2000);
    let seed: u64 = numbers.next().unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let is_good = runtime.block_on(run(kills, seed))?;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn run(kills: u64, seed: u64) -> Result<bool, Box<dyn Error>> {
    let client = Client::connect(server(&["grandchild"])?, config()).await?;
    let counts = Arc::new(Counts::default());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(call_until_stopped(
            client.clone(),
            caller,
            Arc::clone(&counts),
        ));
    }
    let mut chance = Chance(seed);
    // What the first processes bring into memory stays there.
    let warm_up = (kills / 10).max(1);
    let mut before = Usage::now()?;
    let started = Instant::now();
    for kill in 0..kills {
        if kill == warm_up {
            before = Usage::now()?;
        }
        strike(&client, &mut chance).await?;
    }
    let elapsed = started.elapsed();
    counts.stop.store(true, Ordering::Relaxed);
    while callers.join_next().await.transpose()?.is_some() {}
    let ready = client.session();
    let after = Usage::now()?;
    client.stop().await;
    drop(client);
    let left = wait_for_reaper().await?;
    report(kills, ready, elapsed, &counts, [before, after, left])
}

/// Kills the server at some moment, and waits until there is another one. Now and then the
/// next one is killed as well, while it starts or greets.
async fn strike(client: &Client, chance: &mut Chance) -> Result<(), Box<dyn Error>> {
    tokio::time::sleep(Duration::from_micros(chance.below(5000))).await;
    let session = client.session();
    kill_servers()?;
    if chance.below(4) == 0 {
        tokio::time::sleep(Duration::from_micros(chance.below(20_000))).await;
        kill_servers()?;
    }
    let is_again = async {
        while client.session() == session || client.state() != ConnectionState::Ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), is_again).await;
    waited.map_err(|_| format!("not ready again: {:#?}", client.history()).into())
}

/// Kills every server that there is; not what it started, and not who watches over it.
fn kill_servers() -> Result<(), Box<dyn Error>> {
    for process in processes_of(std::process::id())? {
        let command = std::fs::read(format!("/proc/{}/cmdline", process.pid));
        let is_server =
            command.is_ok_and(|command| command.windows(5).any(|window| window == b"serve"));
        let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| is_server && process.state != 'Z') {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Calls without a pause. Each call must end, with its own answer or an error that fits.
async fn call_until_stopped(client: Client, caller: u64, counts: Arc<Counts>) {
    let mut number = 0_u64;
    while !counts.stop.load(Ordering::Relaxed) {
        number += 1;
        counts.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("{caller}/{number}");
        let call = client.call("tools/call", format!(r#"{{"name":"{name}"}}"#));
        let ended = tokio::time::timeout(Duration::from_secs(60), call).await;
        let counter = match ended {
            Ok(Ok(result)) if result.as_str().contains(&format!(r#""echo":"{name}""#)) => {
                &counts.answered
            }
            Ok(Err(error)) if error.kind() == ErrorKind::TransportDown => &counts.lost,
            Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => {
                // There is no server now; this is no busy loop.
                let _ = tokio::time::timeout(Duration::from_millis(20), client.ready()).await;
                &counts.refused
            }
            ended => {
                println!("wrong: {name}: {ended:?}");
                &counts.wrong
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until the reaper is done, and returns what is left then.
async fn wait_for_reaper() -> Result<Usage, Box<dyn Error>> {
    for _ in 0..500 {
        if Usage::now()?.descendants == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(Usage::now()?)
}

fn report(
    kills: u64,
    sessions: u64,
    elapsed: Duration,
    counts: &Counts,
    [before, after, left]: [Usage; 3],
) -> Result<bool, Box<dyn Error>> {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let ended = of(&counts.answered) + of(&counts.lost) + of(&counts.refused);
    println!("{kills} kills in {elapsed:.1?}, {sessions} sessions");
    println!(
        "{} calls: {} answered, {} lost, {} refused, {} wrong",
        of(&counts.made),
        of(&counts.answered),
        of(&counts.lost),
        of(&counts.refused),
        of(&counts.wrong)
    );
    println!("after a tenth: {before:?}");
    println!("at the end:    {after:?}");
    println!("after stop:    {left:?}");
    let checks = [
        (
            "every call ends once, and as it should",
            ended == of(&counts.made) && of(&counts.wrong) == 0,
        ),
        ("a session after each kill", sessions > kills),
        (
            "no zombie, no orphan",
            left.descendants == 0 && left.zombies == 0,
        ),
        (
            "descriptors are flat",
            after.descriptors <= before.descriptors + 8,
        ),
        ("threads are flat", after.threads <= before.threads + 2),
        ("memory is flat", after.resident <= before.resident + 4096),
    ];
    for (name, holds) in checks {
        println!("{}: {name}", if holds { "ok" } else { "FAILED" });
    }
    Ok(checks.iter().all(|(_, holds)| *holds))
}

/// Numbers that look like chance, the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
