//! Calls the tool `echo` of a server on stdio, and says what that costs the server:
//! `generator REVISION CALLS WINDOW BYTES -- SERVER [ARGUMENT...]`.
//!
//! As many calls as the window is wide are open at any time. What was answered together is
//! asked again together, in one write. It prints a JSON object.

mod messages;
mod server;

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use messages::{Messages, Reply};
use server::Server;

type Failure = Box<dyn Error + Send + Sync>;

/// What a pipe holds by default. All open calls fit into it, and so do their answers, so that
/// neither side waits for the other one to read.
const PIPE: usize = 64 * 1024;

fn main() -> Result<(), Failure> {
    let load = Load::from_args()?;
    let mut server = Server::start(&load.command)?;
    let mut pump = Pump::new(&load)?;
    pump.shake_hands(&mut server)?;
    let warm_up = load.calls / 10 + load.window;
    pump.run(&mut server, warm_up, Check::Text)?;
    let (start, before) = (Instant::now(), server.cpu()?);
    pump.run(&mut server, load.calls, Check::Length)?;
    let (wall, cpu) = (start.elapsed(), server.cpu()?.saturating_sub(before));
    let peak_kib = server.peak_kib()?;
    server.end()?;
    let per_call = |time: Duration| time.as_secs_f64() * 1e6 / load.calls as f64;
    println!(
        r#"{{"revision":"{}","calls":{},"all_calls":{},"window":{},"bytes":{},"wall_us":{:.3},"cpu_us":{:.3},"peak_kib":{peak_kib}}}"#,
        load.revision,
        load.calls,
        load.calls + warm_up,
        load.window,
        load.bytes,
        per_call(wall),
        per_call(cpu),
    );
    Ok(())
}

struct Load {
    revision: String,
    calls: usize,
    window: usize,
    bytes: usize,
    command: Vec<String>,
}

impl Load {
    fn from_args() -> Result<Self, Failure> {
        let mut args = std::env::args().skip(1);
        let revision = args.next().ok_or(USAGE)?;
        let mut number = || -> Result<usize, Failure> { Ok(args.next().ok_or(USAGE)?.parse()?) };
        let (calls, window, bytes) = (number()?, number()?, number()?);
        if window == 0 || args.next().as_deref() != Some("--") {
            return Err(USAGE.into());
        }
        // Around the text of a stateless call and its answer there are less than 512 bytes.
        if window * (bytes + 512) > PIPE {
            return Err("more than fits into a pipe".into());
        }
        Ok(Self {
            revision,
            calls,
            window,
            bytes,
            command: args.collect(),
        })
    }
}

/// How closely an answer is looked at.
#[derive(Clone, Copy)]
enum Check {
    /// It is what was said.
    Text,
    /// It is a result that is long enough: while it counts, the server shall not wait for us.
    Length,
}

struct Pump {
    messages: Messages,
    window: usize,
    out: Vec<u8>,
    /// Of which the first `filled` bytes were read and not used yet.
    input: Vec<u8>,
    filled: usize,
}

impl Pump {
    fn new(load: &Load) -> Result<Self, Failure> {
        Ok(Self {
            messages: Messages::new(&load.revision, load.bytes)?,
            window: load.window,
            out: Vec::new(),
            input: vec![0; PIPE],
            filled: 0,
        })
    }

    fn shake_hands(&mut self, server: &mut Server) -> Result<(), Failure> {
        self.messages.first(&mut self.out);
        let mut is_agreed = false;
        while !is_agreed {
            self.exchange(server, |_, line| {
                is_agreed |= Reply::read(line)?.is_result();
                Ok(())
            })?;
        }
        self.messages.second(&mut self.out);
        Ok(())
    }

    fn run(&mut self, server: &mut Server, calls: usize, check: Check) -> Result<(), Failure> {
        let mut asked = 0;
        // What is open, by its number: an answer that comes twice or to nothing is found.
        let mut open = vec![false; calls];
        let mut answered = 0;
        let first = self.messages.next_id();
        while answered < calls {
            while asked < calls && asked - answered < self.window {
                self.messages.call(&mut self.out);
                open[asked] = true;
                asked += 1;
            }
            self.exchange(server, |messages, line| {
                let reply = Reply::read(line)?;
                let Some(id) = reply.id() else {
                    return Ok(());
                };
                match check {
                    Check::Text => messages.check(&reply)?,
                    Check::Length => messages.check_length(&reply)?,
                }
                let number = id
                    .checked_sub(first)
                    .and_then(|at| usize::try_from(at).ok());
                let place = number.and_then(|number| open.get_mut(number));
                match place.map(std::mem::take) {
                    Some(true) => answered += 1,
                    _ => return Err(format!("an answer to nothing: {id}").into()),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes what is queued, and looks at each line of what comes then.
    fn exchange(
        &mut self,
        server: &mut Server,
        mut look: impl FnMut(&Messages, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        server.stdin()?.write_all(&self.out)?;
        self.out.clear();
        if self.filled == self.input.len() {
            return Err("a line that is too long".into());
        }
        let read = server.stdout()?.read(&mut self.input[self.filled..])?;
        if read == 0 {
            return Err("the server has ended".into());
        }
        self.filled += read;
        let mut start = 0;
        for line in self.input[..self.filled].split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            look(&self.messages, line)?;
            start += line.len();
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }
}

const USAGE: &str = "usage: generator REVISION CALLS WINDOW BYTES -- SERVER [ARGUMENT...]";
