//! What an idle client costs: 10,000 of them in one process, on the memory transport.
//!
//! `cargo bench -p bowline --bench idle [-- CLIENTS]`. The figure holds both ends of the
//! transport, and everything that the runtime keeps for a client. Each era has a process of
//! its own, since freed memory stays with a process.

// proves: F-MC-01

#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::Duration;

use bowline::transport::memory;
use bowline::types::common::Implementation;
use bowline::types::{Era, Revision};
use bowline::{Client, ClientConfig};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// F-MC-01 wants 32, this is what we aim at.
const AIM: f64 = 16.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"));
    match args.next().as_deref() {
        Some("handshake") => measure(Era::Handshake, args.next()),
        Some("stateless") => measure(Era::Stateless, args.next()),
        clients => {
            for era in ["handshake", "stateless"] {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg(era).args(clients);
                command.status()?;
            }
            Ok(())
        }
    }
}

fn measure(era: Era, clients: Option<String>) -> Result<(), Box<dyn Error>> {
    let clients: usize = clients.map_or(Ok(10_000), |clients| clients.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let each = runtime.block_on(idle(clients, era))?;
    let verdict = if each <= AIM { "ok" } else { "SHORT" };
    println!("{clients} idle clients, {era:?}: {each:.1} KiB each, aim {AIM}: {verdict}");
    Ok(())
}

async fn idle(count: usize, era: Era) -> Result<f64, Box<dyn Error>> {
    // What a first client brings into memory is not what each one costs.
    let first = connected(era).await?;
    let before = resident()?;
    let mut kept = Vec::with_capacity(count);
    for _ in 0..count {
        kept.push(connected(era).await?);
    }
    // A client that has had nothing to do for two seconds gives back memory.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let each = (resident()? - before) / count as f64;
    assert!(kept.iter().all(|(client, _)| client.revision().is_some()));
    drop(first);
    Ok(each)
}

async fn connected(era: Era) -> Result<(Client, DuplexStream), Box<dyn Error>> {
    let (transport, mut acceptor) = memory::pair();
    let mut config = ClientConfig::new(Implementation::new("idle", "1.0"));
    config.connection().revisions(era.revisions());
    let client = Client::start(transport, config);
    let stream = acceptor.accept().await.ok_or("no client connects")?;
    let mut stream = BufReader::with_capacity(1024, stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let result = match era {
        Era::Handshake => format!(
            r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#,
            Revision::V2025_11_25
        ),
        Era::Stateless => format!(
            r#"{{"resultType":"complete","supportedVersions":["{}"],"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}"#,
            Revision::LATEST
        ),
    };
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n");
    stream.write_all(answer.as_bytes()).await?;
    client.ready().await?;
    if era == Era::Handshake {
        line.clear();
        stream.read_line(&mut line).await?;
    }
    Ok((client, stream.into_inner()))
}

/// KiB of this process in memory.
fn resident() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let size = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(size.ok_or("no VmRSS")?.parse()?)
}
