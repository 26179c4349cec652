//! Calls the tool `echo` of a server, and says what that costs the server:
//! `generator stdio|http REVISION CALLS WINDOW BYTES -- SERVER [ARGUMENT...]`.
//!
//! On stdio as many calls as the window is wide are open at any time. What was answered together
//! is asked again together, in one write. Over HTTP the window is the number of connections that
//! are kept alive, with one call open on each. It prints a JSON object.

mod http;
mod messages;
mod response;
mod server;
mod stdio;

use std::error::Error;
use std::time::{Duration, Instant};

use server::Server;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let load = Load::from_args()?;
    let figures = match load.transport.as_str() {
        "stdio" => stdio::measure(&load)?,
        _ => http::measure(&load)?,
    };
    figures.print(&load);
    Ok(())
}

/// What a server is asked.
struct Load {
    transport: String,
    revision: String,
    calls: usize,
    window: usize,
    bytes: usize,
    command: Vec<String>,
}

impl Load {
    fn from_args() -> Result<Self, Failure> {
        let mut args = std::env::args().skip(1);
        let transport = args.next().ok_or(USAGE)?;
        if !["stdio", "http"].contains(&transport.as_str()) {
            return Err(USAGE.into());
        }
        let revision = args.next().ok_or(USAGE)?;
        let mut number = || -> Result<usize, Failure> { Ok(args.next().ok_or(USAGE)?.parse()?) };
        let (calls, window, bytes) = (number()?, number()?, number()?);
        if window == 0 || args.next().as_deref() != Some("--") {
            return Err(USAGE.into());
        }
        Ok(Self {
            transport,
            revision,
            calls,
            window,
            bytes,
            command: args.collect(),
        })
    }

    /// Calls that are made before anything is measured.
    fn warm_up(&self) -> usize {
        self.calls / 10 + self.window
    }
}

/// What the calls cost.
struct Figures {
    wall: Duration,
    cpu: Duration,
    peak_kib: u64,
    /// From the sending of a call to its answer, where that was measured: the median, and 99 %.
    until_reply: Option<(Duration, Duration)>,
}

impl Figures {
    /// Makes the calls of a load, which `run` does, and takes what they cost.
    fn take(
        server: &mut Server,
        run: impl FnOnce(&mut Server) -> Result<Vec<Duration>, Failure>,
    ) -> Result<Self, Failure> {
        let (start, before) = (Instant::now(), server.cpu()?);
        let mut until_reply = run(server)?;
        let (wall, cpu) = (start.elapsed(), server.cpu()?.saturating_sub(before));
        until_reply.sort_unstable();
        let at = |hundredth: usize| {
            until_reply
                .get(until_reply.len() * hundredth / 100)
                .copied()
        };
        Ok(Self {
            wall,
            cpu,
            peak_kib: server.peak_kib()?,
            until_reply: at(50).zip(at(99)),
        })
    }

    fn print(&self, load: &Load) {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let per_call = |time: Duration| micros(time) / load.calls as f64;
        let until_reply = self.until_reply.map(|(median, most)| {
            let (median, most) = (micros(median), micros(most));
            format!(r#","reply_us":{median:.1},"reply_99_us":{most:.1}"#)
        });
        println!(
            r#"{{"revision":"{}","calls":{},"all_calls":{},"window":{},"bytes":{},"wall_us":{:.3},"cpu_us":{:.3},"peak_kib":{}{}}}"#,
            load.revision,
            load.calls,
            load.calls + load.warm_up(),
            load.window,
            load.bytes,
            per_call(self.wall),
            per_call(self.cpu),
            self.peak_kib,
            until_reply.unwrap_or_default(),
        );
    }
}

const USAGE: &str =
    "usage: generator stdio|http REVISION CALLS WINDOW BYTES -- SERVER [ARGUMENT...]";
