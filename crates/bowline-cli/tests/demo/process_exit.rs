//! How the process of the demo exits.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::raw_client::{RawClient, stateless_meta};

/// What an end may take, and what a busy machine adds.
const SOON: Duration = Duration::from_millis(700);

fn call(id: u32, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Calls a tool that doesn't answer, and makes sure that it runs.
fn make_busy(raw: &mut RawClient, name: &str) {
    let arguments = match name {
        "hang" => json!({}),
        _ => json!({"ms": 600_000}),
    };
    raw.send(&call(1, name, &arguments));
    raw.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    let heard = raw.hear();
    assert_eq!(heard["id"], 2, "{heard}");
}

fn send_signal(raw: &RawClient, signal: &str) {
    let pid = raw.child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(sent.success());
}

// proves: F-HD-15
#[test]
fn the_demo_exits_when_its_client_leaves() {
    let mut raw = RawClient::initialized();
    let begun = Instant::now();
    raw.hang_up();
    let (rest, status) = raw.end();
    assert!(rest.is_empty() && status.success(), "{rest:?} {status}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn requests_from_before_the_client_left_are_answered() {
    let mut raw = RawClient::initialized();
    raw.send(&call(1, "slow", &json!({"ms": 50})));
    raw.hang_up();
    let (rest, status) = raw.end();
    assert!(rest.len() == 1 && rest[0].contains("waited"), "{rest:?}");
    assert!(status.success());
}

// proves: SV-7, F-HD-15
#[test]
fn a_tool_that_never_ends_does_not_keep_it() {
    for name in ["hang", "slow", "blocking"] {
        let mut raw = RawClient::initialized();
        make_busy(&mut raw, name);
        let begun = Instant::now();
        raw.hang_up();
        raw.silence();
        // It waits for half a second without doing anything.
        let cpu_time = raw.cpu_time();
        assert!(
            cpu_time < Duration::from_millis(300),
            "{name}: {cpu_time:?}"
        );
        let (_, status) = raw.end();
        assert!(status.success(), "{name}: {status}");
        let patience = Duration::from_millis(500) + SOON;
        assert!(begun.elapsed() < patience, "{name}: {:?}", begun.elapsed());
    }
}

// proves: F-HD-15
#[test]
fn the_demo_exits_when_a_socket_hangs_up() {
    // Of the stateless era, which needs no handshake.
    let mut hang = call(1, "hang", &json!({}));
    hang["params"]["_meta"] = stateless_meta();
    let ping = json!({"jsonrpc": "2.0", "id": 0, "method": "ping"});
    for (request, patience) in [(&ping, SOON), (&hang, Duration::from_millis(500) + SOON)] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["serve", "demo"])
            .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
            .stdout(OwnedFd::from(theirs))
            .spawn()
            .unwrap();
        // The response to the second one shows that the first one is being served.
        ours.write_all(format!("{request}\n{ping}\n").as_bytes())
            .unwrap();
        ours.read_exact(&mut [0]).unwrap();
        let begun = Instant::now();
        drop(ours);
        // It can write no more, and exits without an error.
        assert!(child.wait().unwrap().success());
        assert!(begun.elapsed() < patience, "{:?}", begun.elapsed());
    }
}

// proves: SV-7
#[test]
fn a_signal_lets_it_finish_what_it_does() {
    for signal in ["-TERM", "-INT"] {
        let raw = RawClient::initialized();
        let begun = Instant::now();
        send_signal(&raw, signal);
        let (rest, status) = raw.end();
        assert!(rest.is_empty() && status.success(), "{rest:?} {status}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());

        let mut raw = RawClient::initialized();
        raw.send(&call(1, "slow", &json!({"ms": 200})));
        raw.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
        assert_eq!(raw.hear()["id"], 2);
        send_signal(&raw, signal);
        let (rest, status) = raw.end();
        assert!(rest.len() == 1 && rest[0].contains("waited"), "{rest:?}");
        assert!(status.success());
    }
}

// proves: SV-7
#[test]
fn a_signal_ends_what_does_not_finish() {
    let mut raw = RawClient::initialized();
    make_busy(&mut raw, "hang");
    let begun = Instant::now();
    send_signal(&raw, "-TERM");
    let (_, status) = raw.end();
    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < Duration::from_millis(500) + SOON);
}
