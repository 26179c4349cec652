//! A server under hostile clients: memory, and what others notice.
//!
//! `cargo bench -p bowline --bench server`: 100,000 calls of a tool that hangs, in one
//! session, while another session goes on; clients that ask for much, in small and in large, or
//! notify, and never read; and how soon a tool that panics has answered. Each case has a process of its own.

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bowline::server::{Context, RunningServer, Server};
use bowline::transport::Stream;
use bowline::transport::memory;
use bowline::types::logging::LoggingLevel;
use bowline::{Client, ErrorKind};
use support::{Usage, config};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};

/// MiB by which the server may grow.
const MEMORY: f64 = 32.0;

/// Threads of the runtime.
const WORKERS: usize = 2;

/// Bytes of the text that the tool `largest` returns.
const LARGEST: usize = 15_000_000;

/// MiB by which the server may grow with responses of the tool `largest`. While the client reads
/// nothing, each worker may run one handler that responds, and a response exists twice while it is
/// encoded: as the text of the handler and as JSON. 8 MiB are for everything else.
const LARGEST_MEMORY: f64 = 8.0 + (WORKERS * 2 * LARGEST) as f64 / (1024.0 * 1024.0);

/// What another session's calls may take.
const LATENCY: Duration = Duration::from_millis(50);

/// What an answer to a call that panics may take.
const PANIC_LATENCY: Duration = Duration::from_millis(10);

const CALLS: usize = 100_000;
const PANICS: usize = 1_000;
const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"hostile","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let case = std::env::args().nth(1).filter(|arg| !arg.starts_with("--"));
    let Some(case) = case else {
        let mut is_good = true;
        for case in [
            "hanging",
            "small",
            "large",
            "largest",
            "logs",
            "notices",
            "panicking",
        ] {
            let status = Command::new(std::env::current_exe()?).arg(case).status()?;
            is_good &= status.success();
        }
        return Ok(if is_good {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let is_good = match case.as_str() {
        "hanging" => runtime.block_on(hanging())?,
        "panicking" => runtime.block_on(panicking())?,
        deaf => runtime.block_on(never_reads(deaf))?,
    };
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn server() -> Result<RunningServer, Box<dyn Error>> {
    let server = Server::new("victim", "1")
        .tool("hang", "Never answers", std::future::pending::<()>)
        .tool("small", "Answers", || async { "x".repeat(1_000) })
        .tool("large", "Answers", || async { "x".repeat(1_000_000) })
        .tool("largest", "Answers", || async { "x".repeat(LARGEST) })
        .tool(
            "logs",
            "Sends many log messages",
            |cx: Context| async move {
                for _ in 0..10 {
                    cx.log(LoggingLevel::Error, "x".repeat(60_000));
                }
            },
        )
        .tool("panic", "Panics", || async {
            tokio::task::yield_now().await;
            panic!("as it should");
            #[allow(unreachable_code)]
            ()
        });
    Ok(server.build()?)
}

fn serve(server: &RunningServer) -> DuplexStream {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(theirs);
    tokio::spawn(server.serve_stream(Stream::new(reader, writer)));
    ours
}

fn call(id: usize, tool: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{}}}}}}\n"
    )
}

/// A notification of 64 KB.
fn notice() -> String {
    let filling = "x".repeat(64_000);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\",\"params\":{{\"_meta\":{{\"example.com/x\":\"{filling}\"}}}}}}\n"
    )
}

async fn hanging() -> Result<bool, Box<dyn Error>> {
    let server = server()?;
    let (transport, mut acceptor) = memory::pair();
    let quiet = server.clone();
    tokio::spawn(async move {
        while let Some(stream) = acceptor.accept().await {
            let (reader, writer) = split(stream);
            tokio::spawn(quiet.serve_stream(Stream::new(reader, writer)));
        }
    });
    let client = Client::connect(transport, config()).await?;
    let before = Usage::now()?;
    let mut hostile = serve(&server);
    let flood = tokio::spawn(async move {
        hostile.write_all(GREETING.as_bytes()).await?;
        let (mut reader, mut writer) = split(hostile);
        let drain = tokio::spawn(async move {
            let mut chunk = vec![0; 64 * 1024];
            let mut refused = 0;
            while let Ok(length @ 1..) = reader.read(&mut chunk).await {
                let text = String::from_utf8_lossy(&chunk[..length]);
                refused += text.matches("\"busy\"").count();
                if refused >= CALLS - 1024 {
                    break;
                }
            }
            (reader, refused)
        });
        for id in 1..=CALLS {
            writer.write_all(call(id, "hang").as_bytes()).await?;
        }
        Ok::<_, std::io::Error>((writer, drain.await?))
    });
    let mut took = Vec::new();
    while !flood.is_finished() {
        let started = Instant::now();
        match client.call("tools/call", r#"{"name":"small"}"#).await {
            Ok(_) => took.push(started.elapsed()),
            Err(error) if error.kind() == ErrorKind::Timeout => took.push(started.elapsed()),
            Err(error) => return Err(error.into()),
        }
    }
    let (_writer, (_reader, refused)) = flood.await??;
    took.sort_unstable();
    let high = took[took.len() * 99 / 100];
    let grew = grown(&before)?;
    let is_good = grew <= MEMORY && high <= LATENCY;
    println!(
        "{CALLS} calls of a tool that hangs: {refused} busy, grew by {grew:.1} MiB (at most {MEMORY}); \
         99 % of {} calls of another session within {high:.2?} (at most {LATENCY:.0?}): {}",
        took.len(),
        if is_good { "ok" } else { "SHORT" }
    );
    Ok(is_good)
}

async fn never_reads(tool: &str) -> Result<bool, Box<dyn Error>> {
    let server = server()?;
    let mut hostile = serve(&server);
    hostile.write_all(GREETING.as_bytes()).await?;
    let before = Usage::now()?;
    // It asks until the server no longer reads it, and never reads.
    let mut asked = 0;
    let mut curve = Vec::new();
    let stalled = Duration::from_secs(2);
    while asked < CALLS {
        let asking = match tool {
            // Calls that fill what may wait, and then something that has no answer.
            "notices" if asked > 10 => notice(),
            "notices" => call(asked + 1, "large"),
            tool => call(asked + 1, tool),
        };
        let written = tokio::time::timeout(stalled, hostile.write_all(asking.as_bytes())).await;
        let Ok(Ok(())) = written else {
            break;
        };
        asked += 1;
        curve.push(grown(&before)?);
    }
    // A late handler has responded.
    curve.push(grown(&before)?);
    let quarters = [1, 2, 3, 4].map(|quarter| curve[(curve.len() - 1) * quarter / 4]);
    let most = curve.into_iter().fold(0.0, f64::max);
    let limit = if tool == "largest" {
        LARGEST_MEMORY
    } else {
        MEMORY
    };
    let is_good = most <= limit;
    println!(
        "a client that never reads (`{tool}`): {asked} messages, grew by {most:.1} MiB (at most {limit:.1}), \
         after each quarter of them {quarters:.1?}: {}",
        if is_good { "ok" } else { "SHORT" }
    );
    Ok(is_good)
}

/// MiB more than before.
fn grown(before: &Usage) -> Result<f64, Box<dyn Error>> {
    Ok((Usage::now()?.resident - before.resident) as f64 / 1024.0)
}

/// How soon a panic is answered. What the program's own hook does with it comes on top: that of
/// the standard library takes its time for a backtrace, where one is wanted.
async fn panicking() -> Result<bool, Box<dyn Error>> {
    std::panic::set_hook(Box::new(|_| {}));
    let server = server()?;
    let mut client = serve(&server);
    client.write_all(GREETING.as_bytes()).await?;
    let mut chunk = vec![0; 64 * 1024];
    // The greeting is answered, in one piece.
    let _ = client.read(&mut chunk).await?;
    let mut took = Vec::new();
    for id in 1..=PANICS {
        let started = Instant::now();
        client.write_all(call(id, "panic").as_bytes()).await?;
        let length = client.read(&mut chunk).await?;
        took.push(started.elapsed());
        let answer = String::from_utf8_lossy(&chunk[..length]);
        if !answer.contains("-32603") || answer.contains("should") {
            return Err(format!("not what a panic is answered with: {answer}").into());
        }
    }
    took.sort_unstable();
    let (median, high) = (took[PANICS / 2], took[PANICS * 99 / 100]);
    let is_good = high <= PANIC_LATENCY;
    println!(
        "a tool that panics: answered within {median:.2?} (median), {high:.2?} (99 % of {PANICS}; at most {PANIC_LATENCY:.0?}): {}",
        if is_good { "ok" } else { "SHORT" }
    );
    Ok(is_good)
}
