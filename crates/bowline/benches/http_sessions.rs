//! 100,000 clients that open a session over HTTP and never end it.
//!
//! `cargo bench -p bowline --features http-server --bench http_sessions [-- CLIENTS]`. There are
//! never more sessions than allowed, further clients learn when to come back, an idle session
//! costs at most 1 KiB, and after the sessions have expired nothing is left of them. Requests go to
//! the service without a socket, and time is simulated: what is measured is memory, counted by the
//! allocator.

// proves: F-SE-06

#![allow(clippy::print_stdout, reason = "that is what it is for")]

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use bowline::server::{HttpConfig, HttpService, Server};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use support::Usage;
use tokio::runtime::Runtime;
use tower_service::Service as _;

const CLIENTS: usize = 100_000;

/// The most sessions.
const LIMIT: usize = 10_000;

/// KiB that an idle session may cost.
const IDLE_KIB: f64 = 1.0;

/// MiB that may be left, or missing, when all sessions have expired.
const LEFT_MIB: f64 = 2.0;

/// What one refusal may take: a refused client must not cost more than one that is served.
const REFUSAL: Duration = Duration::from_micros(200);

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{"roots":{"listChanged":true},"sampling":{}},"#,
    r#""clientInfo":{"name":"bench client","version":"1.0.0","title":"A client"}}}"#,
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let count = std::env::args().nth(1).filter(|arg| !arg.starts_with("--"));
    let count = count.map_or(Ok(CLIENTS), |count| count.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    let server = Server::new("bench", "1.0.0").tool("echo", "Answers", || async { "hello" });
    let config = HttpConfig::new().max_sessions(LIMIT);
    let service = {
        let _entered = runtime.enter();
        server.build()?.http_service(config)
    };
    // What a first session brings into memory is not what each one costs.
    runtime.block_on(open(&service))?;
    runtime.block_on(pass(Duration::from_secs(3600)));
    Ok(match measure_all(&runtime, &service, count)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn measure_all(
    runtime: &Runtime,
    service: &HttpService,
    count: usize,
) -> Result<bool, Box<dyn Error>> {
    let begun = Instant::now();
    let before = Usage::now()?;
    let opened = count.min(LIMIT);
    let (_, full) = counted(|| {
        runtime.block_on(async {
            for _ in 0..opened {
                open(service).await?;
            }
            // Those that nothing uses are reduced to their records.
            pass(Duration::from_secs(3)).await;
            Ok(())
        })
    })?;
    let idle = full / 1024.0 / opened as f64;
    let resident = Usage::now()?.resident.saturating_sub(before.resident);
    let is_small = idle <= IDLE_KIB;
    println!(
        "{opened} idle sessions: {idle:.2} KiB each (at most {IDLE_KIB}), \
         {:.2} KiB each of the process: {}",
        resident as f64 / opened as f64,
        verdict(is_small)
    );

    let refused = count - opened;
    let (took, _) = counted(|| runtime.block_on(refuse(service, refused)))?;
    let each = took.checked_div(refused as u32).unwrap_or_default();
    let is_quick = each <= REFUSAL;
    println!(
        "{refused} more: 503 with Retry-After, never more than {LIMIT} sessions, \
         {each:.1?} each (at most {REFUSAL:.0?}): {}",
        verdict(is_quick)
    );

    let (_, freed) = counted(|| {
        runtime.block_on(pass(Duration::from_secs(3600)));
        Ok(())
    })?;
    let left = (full + freed) / (1024.0 * 1024.0);
    let sessions = service.session_count();
    let is_free = left.abs() <= LEFT_MIB && sessions == 0;
    let resident = Usage::now()?.resident as f64 / 1024.0;
    println!(
        "expired: {sessions} sessions, {left:.2} MiB are left (at most {LEFT_MIB}), \
         {resident:.1} MiB are resident (before {:.1}): {}",
        before.resident as f64 / 1024.0,
        verdict(is_free)
    );
    println!("{:.1?} in all", begun.elapsed());
    Ok(is_small && is_quick && is_free)
}

/// Lets the simulated time pass.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

fn verdict(is_good: bool) -> &'static str {
    if is_good { "ok" } else { "SHORT" }
}

/// Runs `work`. Returns how long it took, and how many bytes more are allocated after it.
fn counted(
    work: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(Duration, f64), Box<dyn Error>> {
    let begun = Instant::now();
    let mut outcome = Ok(());
    let info = measure(|| outcome = work());
    outcome?;
    Ok((begun.elapsed(), info.bytes_current as f64))
}

async fn open(service: &HttpService) -> Result<(), Box<dyn Error>> {
    let response = post(service, INITIALIZE, None).await?;
    let id = response.headers().get("mcp-session-id").ok_or("no id")?;
    let id = id.to_str()?.to_owned();
    drop(response);
    let response = post(service, INITIALIZED, Some(&id)).await?;
    if response.status() != StatusCode::ACCEPTED {
        return Err(format!("not accepted: {response:?}").into());
    }
    Ok(())
}

async fn refuse(service: &HttpService, count: usize) -> Result<(), Box<dyn Error>> {
    for _ in 0..count {
        let response = post(service, INITIALIZE, None).await?;
        let says_when = response.headers().contains_key("retry-after");
        let sessions = service.session_count();
        if response.status() != StatusCode::SERVICE_UNAVAILABLE || !says_when || sessions > LIMIT {
            return Err(format!("with {sessions} sessions: {response:?}").into());
        }
    }
    Ok(())
}

async fn post(
    service: &HttpService,
    message: &'static str,
    session: Option<&str>,
) -> Result<Response<Bytes>, Box<dyn Error>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let body = Full::new(Bytes::from_static(message.as_bytes()));
    let response = service.clone().call(request.body(body)?).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, body))
}
