//! Makes calls with a client and reports what they cost, the same way for every client.
//!
//! As many tasks as the window is wide make one call after the other, all on one thread. Each
//! makes its parameters from a text and decodes the answer back into one, with the types of
//! its library. The server is a process of its own, so that the CPU time of this one is the
//! client's.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use tokio::runtime::{Builder, Runtime};

/// What anything fails with.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A client of the library that is measured.
pub trait Client: Clone + Send + 'static {
    /// The library.
    const NAME: &'static str;

    /// Starts the server, and agrees on 2025-11-25.
    fn connect(server: &[String]) -> impl Future<Output = Result<Self, Failure>>;

    /// Calls the tool `echo`. Returns its text.
    fn echo(&self, text: &str) -> impl Future<Output = Result<String, Failure>> + Send;
}

/// Runs `CLIENT CALLS WINDOW BYTES -- SERVER [ARGUMENT...]` and prints a JSON object.
///
/// # Errors
///
/// When the arguments make no sense, or a call fails.
pub fn main<C: Client>() -> Result<(), Failure> {
    let load = Load::from_args()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(C::connect(&load.server))?;
    let warm_up = load.calls / 10 + load.window;
    runtime.block_on(load.make::<C>(&client, warm_up))?;
    let cost = Cost::of(|| runtime.block_on(load.make::<C>(&client, load.calls)))?;
    print(C::NAME, &load, warm_up, &cost);
    end(runtime, client);
    Ok(())
}

/// Drops the client, and gives it the time to end the session.
fn end(runtime: Runtime, client: impl Client) {
    runtime.block_on(async {
        drop(client);
        tokio::time::sleep(Duration::from_millis(20)).await;
    });
}

struct Load {
    calls: usize,
    window: usize,
    text: String,
    server: Vec<String>,
}

impl Load {
    fn from_args() -> Result<Self, Failure> {
        let mut args = std::env::args().skip(1);
        let mut number = || -> Result<usize, Failure> { Ok(args.next().ok_or(USAGE)?.parse()?) };
        let (calls, window, bytes) = (number()?, number()?, number()?);
        if window == 0 || args.next().as_deref() != Some("--") {
            return Err(USAGE.into());
        }
        Ok(Self {
            calls,
            window,
            text: text(bytes),
            server: args.collect(),
        })
    }

    async fn make<C: Client>(&self, client: &C, calls: usize) -> Result<(), Failure> {
        let one_after_the_other = |caller| {
            let mine = calls / self.window + usize::from(caller < calls % self.window);
            let (client, text) = (client.clone(), self.text.clone());
            async move {
                for _ in 0..mine {
                    if client.echo(&text).await? != text {
                        return Err("the response has another text".into());
                    }
                }
                Ok::<(), Failure>(())
            }
        };
        let callers = (0..self.window).map(one_after_the_other);
        let callers: Vec<_> = callers.map(tokio::spawn).collect();
        for caller in callers {
            caller.await??;
        }
        Ok(())
    }
}

/// Prose without anything to escape.
fn text(bytes: usize) -> String {
    let words = "The quick brown fox jumps over the lazy dog 0123456789 ";
    words.chars().cycle().take(bytes).collect()
}

/// What calls cost this process.
struct Cost {
    wall: Duration,
    user: Duration,
    system: Duration,
    allocations: Option<u64>,
}

impl Cost {
    fn of(work: impl FnOnce() -> Result<(), Failure>) -> Result<Self, Failure> {
        let (start, before) = (Instant::now(), getrusage(UsageWho::RUSAGE_SELF)?);
        let allocations = counted(work)?;
        let (wall, after) = (start.elapsed(), getrusage(UsageWho::RUSAGE_SELF)?);
        Ok(Self {
            wall,
            user: between(before.user_time(), after.user_time()),
            system: between(before.system_time(), after.system_time()),
            allocations,
        })
    }
}

fn between(before: TimeVal, after: TimeVal) -> Duration {
    let of = |time: TimeVal| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
        let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    of(after).saturating_sub(of(before))
}

#[cfg(not(feature = "count"))]
fn counted(work: impl FnOnce() -> Result<(), Failure>) -> Result<Option<u64>, Failure> {
    work().map(|()| None)
}

#[cfg(feature = "count")]
fn counted(work: impl FnOnce() -> Result<(), Failure>) -> Result<Option<u64>, Failure> {
    let mut result = Ok(());
    let info = allocation_counter::measure(|| result = work());
    result.map(|()| Some(info.count_total))
}

fn print(name: &str, load: &Load, warm_up: usize, cost: &Cost) {
    let per_call = |time: Duration| Micros(time.as_secs_f64() * 1e6 / load.calls as f64);
    let (calls, window, bytes) = (load.calls, load.window, load.text.len());
    let all_calls = calls + warm_up;
    let (wall, cpu) = (per_call(cost.wall), per_call(cost.user + cost.system));
    let system = per_call(cost.system);
    let allocations = match cost.allocations {
        Some(count) => format!("{:.2}", count as f64 / calls as f64),
        None => "null".to_owned(),
    };
    println!(
        r#"{{"client":"{name}","calls":{calls},"all_calls":{all_calls},"window":{window},"bytes":{bytes},"wall_us":{wall},"cpu_us":{cpu},"system_us":{system},"allocations":{allocations}}}"#
    );
}

struct Micros(f64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

const USAGE: &str = "usage: CLIENT CALLS WINDOW BYTES -- SERVER [ARGUMENT...]";
