//! A client and real child processes: they are started, answer, die, and leave nothing behind.
#![cfg(target_os = "linux")]

#[path = "support/example.rs"]
mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bowline::transport::ChildProcess;
use bowline::types::common::Implementation;
use bowline::{Backoff, Client, Config, ConnectionState, Error, ErrorKind, LinkConfig};

use support::example;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// What a stop may take, 100 ms, and what a busy machine adds.
const SOON: Duration = Duration::from_millis(700);

fn echo_server() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| example("echo_server"))
}

fn echo() -> ChildProcess {
    ChildProcess::new(echo_server())
}

/// A shell, for which `$0` is the echo server.
fn shell(script: &str) -> ChildProcess {
    let shell = ChildProcess::new("/bin/sh").args(["-c", script]);
    shell.args([echo_server()])
}

fn config() -> Config {
    Config::new(Implementation::new("client", "1"))
}

/// A client that tries again soon.
fn start(server: ChildProcess) -> Client {
    let mut link = LinkConfig::new(config());
    let (first, longest) = (Duration::from_millis(10), Duration::from_millis(100));
    link.backoff(Backoff::new(first, longest));
    Client::start(server, link)
}

/// Why a server can't be connected to the first time.
async fn refused(server: ChildProcess, mut config: Config) -> (Error, String) {
    config.probe_timeout(Duration::from_secs(2));
    config.handshake_timeout(Duration::from_secs(2));
    let mut link = LinkConfig::new(config);
    let mut backoff = Backoff::default();
    backoff.max_attempts(Some(1));
    link.backoff(backoff);
    let client = Client::start(server, link);
    let error = tokio::time::timeout(LONG, client.ready()).await;
    let error = error.expect("in time").expect_err("it can't");
    let causes = client.history();
    let causes: Vec<_> = causes
        .iter()
        .map(|transition| transition.cause.to_string())
        .collect();
    (error, causes.join("; "))
}

async fn ready(client: &Client) {
    let ready = tokio::time::timeout(LONG, client.ready()).await;
    ready.expect("in time").expect("it starts");
}

async fn call(client: &Client, tool: &str) -> Result<String, Error> {
    let answer = client.call("tools/call", format!(r#"{{"name":"{tool}"}}"#));
    let answer = answer.timeout(Duration::from_secs(30)).await;
    answer.map(|answer| answer.as_str().to_owned())
}

/// The process id of the server, as it says.
async fn server_of(client: &Client) -> i32 {
    let answer = call(client, "pid").await.expect("an answer");
    let (_, pid) = answer.split_once(r#""text":""#).expect("a text");
    let pid = pid.split('"').next().expect("a text");
    pid.parse().expect("a number")
}

fn group_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<_> = fields.split_ascii_whitespace().collect();
    // Zombies count if it is for us to wait for them.
    let is_ours = fields[0] != "Z" || fields[1] == std::process::id().to_string();
    is_ours.then(|| fields[2].parse().ok())?
}

fn members(group: i32) -> usize {
    let processes = fs::read_dir("/proc").expect("it is there");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| group_of(*pid) == Some(group)).count()
}

fn until_gone(group: i32) {
    let deadline = Instant::now() + LONG;
    while members(group) > 0 {
        assert!(Instant::now() < deadline, "group {group} is still there");
        std::thread::sleep(Duration::from_millis(2));
    }
}

// proves: TP-2
#[tokio::test]
async fn a_child_answers_dies_and_is_started_again() {
    let client = start(echo());
    ready(&client).await;
    let answer = call(&client, "x").await.expect("an answer");
    assert!(answer.contains(r#""name":"x""#), "{answer}");

    let error = call(&client, "die").await.expect_err("it dies");
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    let words = error.to_string();
    assert!(words.contains("I was asked to die"), "{words}");
    assert!(words.contains("exit status: 7"), "{words}");

    ready(&client).await;
    call(&client, "y").await.expect("the next one answers");
    client.stop().await;
    assert_eq!(client.state(), ConnectionState::Closed);
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_a_permanent_error() {
    let client = Client::connect(ChildProcess::new("/no/such/command"), config()).await;
    let error = client.expect_err("it doesn't exist");
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("/no/such/command"), "{error}");
}

// proves: F-LC-09
#[tokio::test]
async fn a_server_that_dies_before_it_answers_is_reported() {
    for (script, status) in [
        ("echo words >&2; exit 0", "exit status: 0"),
        ("echo words >&2; exit 1", "exit status: 1"),
        ("echo words >&2; exit 127", "exit status: 127"),
        ("echo words >&2; kill -SEGV $$", "SIGSEGV"),
        ("read _; echo words >&2; exit 1", "exit status: 1"),
    ] {
        // Who notices first, the reader or the writer, is chance.
        for _ in 0..10 {
            let (_, causes) = refused(shell(script), config()).await;
            assert!(causes.contains(status), "{causes}");
            assert!(causes.contains("words"), "{causes}");
        }
    }
}

/// A client that leaves a server half a second for the handshake.
fn hasty() -> Config {
    let mut config = config();
    config.handshake_timeout(Duration::from_millis(500));
    config
}

#[tokio::test]
async fn a_child_may_take_its_time_to_start() {
    // As long as its handshake may take twice.
    let slow = r#"sleep 1; exec "$0""#;
    let client = Client::connect(shell(slow), hasty()).await;
    let client = client.expect("it starts");
    assert_eq!(client.history().len(), 2, "at the first attempt");
    call(&client, "x").await.expect("an answer");
    client.stop().await;

    // Unless the time is set.
    let mut config = hasty();
    config.startup_timeout(Some(Duration::from_millis(100)));
    let mut link = LinkConfig::new(config);
    let mut backoff = Backoff::default();
    backoff.max_attempts(Some(1));
    link.backoff(backoff);
    let refused = Client::connect(shell(slow), link).await;
    let refused = refused.expect_err("it is too slow").to_string();
    assert!(
        refused.contains("the handshake was not finished in time"),
        "{refused}"
    );
}

// proves: F-CP-08, CN-23
#[tokio::test]
async fn a_server_that_ignores_sigterm_delays_no_stop() {
    let script = r#"trap "" TERM; "$0"; while :; do sleep 1000; done"#;
    let client = start(shell(script));
    ready(&client).await;
    let group = group_of(server_of(&client).await).expect("it runs");
    let start = Instant::now();
    client.stop().await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    until_gone(group);
}

// proves: F-CP-09
#[tokio::test]
async fn calls_to_a_stopped_child_time_out_and_it_can_be_closed() {
    let client = start(echo());
    ready(&client).await;
    let group = group_of(server_of(&client).await).expect("it runs");
    let stopped = client.call("tools/call", r#"{"name":"freeze"}"#);
    let error = stopped.timeout(Duration::from_millis(200)).await;
    assert_eq!(error.expect_err("no answer").kind(), ErrorKind::Timeout);
    let start = Instant::now();
    client.stop().await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    until_gone(group);
}

// proves: F-CP-10
#[tokio::test]
async fn a_child_that_is_killed_in_the_middle_of_an_answer_may_have_acted() {
    let client = start(echo());
    ready(&client).await;
    let error = call(&client, "half").await.expect_err("it is killed");
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    assert_eq!(error.may_have_run(), Some(true));
    assert!(error.to_string().contains("SIGKILL"), "{error}");
    ready(&client).await;
    call(&client, "x").await.expect("the next one answers");
}

// proves: F-CP-15
#[tokio::test]
async fn a_flood_before_the_handshake_is_survived() {
    let lines = r#"yes noise | head -n 1000; exec "$0""#;
    let client = start(shell(lines));
    ready(&client).await;
    call(&client, "x").await.expect("an answer");
    client.stop().await;

    // Neither has an end; the second not even of a line.
    for endless in ["exec yes", "exec cat /dev/zero"] {
        let before = resident();
        let (error, causes) = refused(shell(endless), config()).await;
        assert!(!causes.is_empty(), "{error}");
        assert!(resident() < before + 64 * 1024, "it is bounded");
    }
}

/// Our memory in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.expect("a number").parse().expect("a number")
}

// proves: F-SD-07, F-SD-11
#[test]
fn a_client_may_be_dropped_anywhere() {
    let client = |runtime: &tokio::runtime::Runtime| {
        runtime.block_on(async {
            let client = start(echo().grace(Duration::from_millis(100)));
            ready(&client).await;
            let group = group_of(server_of(&client).await).expect("it runs");
            (client, group)
        })
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (dropped, group) = client(&runtime);
    drop(dropped);
    until_gone(group);

    let (dropped, group) = client(&runtime);
    std::thread::spawn(move || drop(dropped))
        .join()
        .expect("no panic");
    until_gone(group);

    let (kept, group) = client(&runtime);
    let start = Instant::now();
    runtime.shutdown_timeout(Duration::ZERO);
    assert!(start.elapsed() < SOON);
    until_gone(group);
    drop(kept);
}

// proves: F-CP-17
#[tokio::test]
async fn a_child_sees_no_secrets_of_ours() {
    let child = shell("env >&2; exit 3").env("GIVEN", "yes");
    let (_, words) = refused(child, config()).await;
    assert!(words.contains("GIVEN=yes"), "{words}");
    assert!(words.contains("exit status: 3"), "{words}");
    assert!(!words.contains("CARGO_MANIFEST_DIR"), "{words}");
}

/// Bytes of this process in memory at most, so far.
fn most_resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.expect("a number") * 1024
}

// proves: F-FR-05, F-CP-15
#[tokio::test]
async fn a_gibibyte_without_a_line_end_is_refused_in_little_memory() {
    let before = most_resident();
    let flood = shell("head -c 1073741824 /dev/zero");
    let (error, causes) = refused(flood, config()).await;
    assert!(causes.contains("a frame of"), "{error}: {causes}");
    let grew = most_resident() - before;
    assert!(grew < 64 << 20, "{grew} bytes");
}

// proves: F-FR-15
#[tokio::test]
async fn ten_thousand_log_lines_on_stdout_are_passed_over() {
    let chatty = r#"seq 1 10000 | sed 's/^/log line /'; exec "$0""#;
    let client = start(shell(chatty));
    client.ready().await.expect("the handshake succeeds");
    call(&client, "x").await.expect("an answer");
    assert!(client.stats().malformed_frames >= 10_000);
    client.stop().await;
}

// proves: F-BP-03, F-SD-06
#[tokio::test]
async fn a_server_that_never_reads_makes_calls_time_out_and_can_be_stopped() {
    let deaf = r#"read line
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
        exec sleep 1000"#;
    let mut config = config();
    config.revisions(bowline::types::Era::Handshake.revisions());
    let client = Client::connect(shell(deaf), config)
        .await
        .expect("it greets");
    // More than a pipe holds: the first is written in part, the others wait.
    let much = format!(r#"{{"name":"{}"}}"#, "x".repeat(100_000));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let call = client.call("tools/call", much.as_str());
            call.timeout(Duration::from_millis(100)).send()
        })
        .collect();
    for call in calls {
        let error = call.await.expect_err("the reader is closed");
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert_eq!(client.state(), ConnectionState::Ready);
    let started = Instant::now();
    client.stop().await;
    assert!(started.elapsed() < SOON);
}
