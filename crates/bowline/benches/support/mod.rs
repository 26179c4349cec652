//! A server that the benchmarks start: this program itself, asked to serve in some manner.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::io::{self, BufRead, Write, stderr, stdin, stdout};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use bowline::transport::ChildProcess;
use bowline::types::Era;
use bowline::types::common::Implementation;
use bowline::{Backoff, ClientConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// The word that makes this program a server.
const SERVE: &str = "serve";

/// The variable by which we know our descendants.
const MARK: &str = "BOWLINE_BENCH_OF";

/// A client of the handshake era that tries again soon, and as often as it takes.
pub(crate) fn config() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("bench", "1.0"));
    config.connection().revisions(Era::Handshake.revisions());
    config.link().max_crashes(u32::MAX, Duration::from_secs(5));
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(10));
    backoff.stable_after(Duration::ZERO);
    config.backoff(backoff);
    config
}

/// Returns this program as a server, with any of the behaviours below.
pub(crate) fn server(behaviours: &[&str]) -> io::Result<ChildProcess> {
    let program = std::env::current_exe()?;
    let server = ChildProcess::new(program).args([SERVE]).args(behaviours);
    Ok(server.env(MARK, std::process::id().to_string()))
}

/// Answers the handshake on a stream of the memory transport.
pub(crate) async fn greet(stream: DuplexStream) -> io::Result<DuplexStream> {
    let mut stream = BufReader::with_capacity(1024, stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let Some((_, id)) = line.split_once(r#""id":"#) else {
        return Err(io::Error::other("no handshake"));
    };
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    let server = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{server}}}\n");
    stream.write_all(answer.as_bytes()).await?;
    line.clear();
    stream.read_line(&mut line).await?;
    Ok(stream.into_inner())
}

/// Serves if this process was started for it. Returns `true` if it was.
pub(crate) fn serve_if_asked() -> io::Result<bool> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some(SERVE) {
        return Ok(false);
    }
    let behaviours: Vec<String> = args.collect();
    let has = |behaviour: &str| behaviours.iter().any(|known| known == behaviour);
    if has("grandchild") {
        // It holds our pipes, and outlives us unless it is ended.
        Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn()?;
    }
    if has("exit") {
        return Ok(true);
    }
    if has("silent") {
        hang();
    }
    for line in stdin().lock().lines() {
        answer(&line?, &has)?;
    }
    if has("stays") {
        hang();
    }
    Ok(true)
}

fn answer(line: &str, has: &impl Fn(&str) -> bool) -> io::Result<()> {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return Ok(());
    };
    let method = message["method"].as_str().unwrap_or_default();
    let result = match method {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "bench", "version": "1.0"},
        }),
        "notifications/initialized" => return after_handshake(has),
        "tools/call" => json!({"content": [], "echo": message["params"]["name"]}),
        _ => return Ok(()),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    write_line(&format!("{answer}\n"))
}

/// Does what the options of the server want after the handshake.
fn after_handshake(has: &impl Fn(&str) -> bool) -> io::Result<()> {
    if has("half a frame") {
        write_line(r#"{"jsonrpc":"2.0","id":1,"result":{"content":["#)?;
    }
    if has("notifies") {
        write_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n")?;
    }
    if has("floods") {
        let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n";
        let many = line.repeat(1000);
        // Until the reader is closed.
        while stdout().lock().write_all(many.as_bytes()).is_ok() {}
    }
    if has("complains") {
        let many = "it hurts\n".repeat(1000);
        while stderr().lock().write_all(many.as_bytes()).is_ok() {}
    }
    if has("deaf") {
        hang();
    }
    Ok(())
}

fn write_line(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Does nothing, until it is killed.
fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

/// What this process has: threads, descriptors, KiB in memory, and children that ended and
/// were not waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) threads: usize,
    pub(crate) descriptors: usize,
    pub(crate) resident: u64,
    pub(crate) zombies: usize,
    pub(crate) descendants: usize,
}

impl Usage {
    pub(crate) fn now() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let resident = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        let processes = processes_of(std::process::id())?;
        Ok(Self {
            threads: std::fs::read_dir("/proc/self/task")?.count(),
            descriptors: std::fs::read_dir("/proc/self/fd")?.count(),
            resident: resident.unwrap_or(0),
            zombies: processes
                .iter()
                .filter(|process| process.state == 'Z')
                .count(),
            descendants: processes.len(),
        })
    }
}

/// A process that belongs to us.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) state: char,
}

/// Our children, and those of theirs that lost their parents: they still have the variable
/// that we gave to ours.
pub(crate) fn processes_of(us: u32) -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    let mark = format!("{MARK}={us}\0");
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Some(process) = stat(pid) else {
            continue;
        };
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_marked = environment
            .windows(mark.len())
            .any(|window| window == mark.as_bytes());
        if process.parent == us || is_marked {
            found.push(process);
        }
    }
    Ok(found)
}

fn stat(pid: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything.
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    Some(Process {
        pid,
        state: rest.next()?.chars().next()?,
        parent: rest.next()?.parse().ok()?,
    })
}
