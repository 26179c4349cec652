//! Real children, most of them shells, which print their process ids on stdout. Processes that are
//! left are searched in `/proc`.
//!
//! - `spawn`: starting. `exit`: reasons of an end. `signal_escalation`: stopping and killing.
//! - `stderr`: its output. `limits`: resources that are exhausted.

mod exit;
mod limits;
mod signal_escalation;
mod spawn;
mod stderr;

use std::fs;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::*;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn shell(script: &str) -> ChildProcess {
    ChildProcess::new("/bin/sh").args(["-c", script])
}

async fn opened(mut child: ChildProcess) -> Stream {
    child.open().await.expect("it starts")
}

/// Returns the next line of a child, and the rest.
async fn line(stream: &mut Stream) -> String {
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, &mut stream.reader);
    let read = tokio::time::timeout(LONG, reader.read_line(&mut line)).await;
    read.expect("a line in time").expect("a line");
    line.trim_end().to_owned()
}

async fn number(stream: &mut Stream) -> i32 {
    line(stream).await.parse().expect("a number")
}

/// Waits for the end of a stream.
async fn end_of(reader: &mut (dyn AsyncRead + Send + Unpin)) {
    let mut sink = tokio::io::sink();
    let copied = tokio::io::copy(reader, &mut sink);
    let copied = tokio::time::timeout(LONG, copied).await;
    copied.expect("an end in time").expect("an end");
}

/// Returns how a stream ended, and how long it took to find out.
async fn transport_end(stream: &mut Stream) -> (TransportEnd, Duration) {
    end_of(&mut *stream.reader).await;
    let start = Instant::now();
    let peer = stream.peer.as_mut().expect("a child");
    let end = peer.transport_end().await.expect("a transport end");
    (end, start.elapsed())
}

/// Returns the state and the group of a process. Zombies count if it is for us to wait for them.
fn process(pid: i32) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?.to_owned();
    let parent: u32 = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    (state != "Z" || parent == std::process::id()).then_some((state, group))
}

fn group_of(pid: i32) -> i32 {
    process(pid).expect("it runs").1
}

/// Everybody in a group.
fn members(group: i32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("it is there");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let members = numbers.filter(|pid| process(*pid).is_some_and(|(_, other)| other == group));
    members.collect()
}

/// Waits until a condition holds, from any thread.
fn until(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn until_gone(group: i32, limit: Duration) {
    until(&format!("group {group} is gone"), limit, || {
        members(group).is_empty()
    });
}
