//! The processes of a server: which they are, stopping and killing them, and their end.

use std::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bowline::{Client, ConnectionState};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};

use crate::ecosystem::support::LONG;

/// What a stop may take, 100 ms, and what a busy machine adds.
const SOON: Duration = Duration::from_millis(700);

/// What a server that doesn't end by itself may take: twice the grace of a child, and what a
/// busy machine adds.
const GRACE: Duration = Duration::from_secs(5);

/// A variable that only the processes of one server have.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) const VARIABLE: &str = "BOWLINE_MARK";

    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{number}", process::id()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// The processes that have it.
    fn processes(&self) -> Vec<i32> {
        let variable = format!("{}={}", Self::VARIABLE, self.0);
        let is_marked = |pid: &i32| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = variables.split(|byte| *byte == 0);
            variables.any(|found| found == variable.as_bytes())
        };
        all().into_iter().filter(is_marked).collect()
    }

    /// The server itself: our child, and none of its own.
    pub(crate) async fn server(&self) -> i32 {
        let ours = process::id().to_string();
        let is_ours = |pid: &i32| stat(*pid).is_some_and(|stat| stat[1] == ours);
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(pid) = self.processes().into_iter().find(is_ours) {
                return pid;
            }
            assert!(Instant::now() < deadline, "no process has {self:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Everybody's processes.
fn all() -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("Linux");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.collect()
}

/// The state, the parent and the group of a process, as they stand in its `stat`.
fn stat(pid: i32) -> Option<Vec<String>> {
    stat_in(format!("/proc/{pid}"))
}

/// The same of a process or a thread, which has this folder.
fn stat_in(folder: impl AsRef<Path>) -> Option<Vec<String>> {
    let stat = fs::read_to_string(folder.as_ref().join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields = fields.split_ascii_whitespace().take(3);
    Some(fields.map(str::to_owned).collect())
}

/// The members of a group. Zombies count if it is for us to wait for them.
fn members(group: &str) -> usize {
    let ours = process::id().to_string();
    let is_member = |stat: &Vec<String>| stat[2] == group && (stat[0] != "Z" || stat[1] == ours);
    all().into_iter().filter_map(stat).filter(is_member).count()
}

fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, signal).expect("it is ours");
}

/// Stops a process: what is sent to it stays where it is.
///
/// All its threads: one that waits in a read takes what comes until it has stopped itself.
pub(crate) async fn freeze(pid: i32) {
    signal(pid, Signal::STOP);
    let is_frozen = || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
        let mut states = threads.filter_map(|thread| stat_in(thread.ok()?.path()));
        states.all(|stat| stat[0] == "T")
    };
    until(is_frozen, "it stops").await;
}

/// Lets a process that was stopped go on.
pub(crate) fn thaw(pid: i32) {
    signal(pid, Signal::CONT);
}

/// Waits until there is something for a process that it doesn't read.
pub(crate) async fn until_it_is_sent(pid: i32) {
    let from_us = from_us(pid);
    let has_unread = || {
        let pipe = File::open(&from_us).expect("it is open");
        ioctl_fionread(pipe).expect("a pipe has a count") > 0
    };
    until(has_unread, "something is sent").await;
}

/// The pipe from us to a process. It may have made another one of its stdin.
fn from_us(pid: i32) -> PathBuf {
    let reads = |pipe: &PathBuf| {
        let info = pipe.display().to_string().replace("/fd/", "/fdinfo/");
        let info = fs::read_to_string(info).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| flags.ends_with('0'))
    };
    let ours: Vec<_> = pipes(process::id()).map(|(_, name)| name).collect();
    let mut theirs = pipes(pid).filter(|(pipe, name)| ours.contains(name) && reads(pipe));
    theirs.next().expect("it reads from us").0
}

/// The pipes of a process: where they are, and their names.
fn pipes(pid: impl Display) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let files = files.filter_map(|entry| {
        let file = entry.ok()?.path();
        let name = fs::read_link(&file).ok()?;
        Some((file, name))
    });
    files.filter(|(_, name)| name.display().to_string().starts_with("pipe:"))
}

pub(crate) fn kill(pid: i32) {
    signal(pid, Signal::KILL);
}

async fn until(condition: impl Fn() -> bool, what: &str) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Stops a client, and sees that nothing is left of its server.
pub(crate) async fn stop(client: &Client, mark: &Mark) {
    let server = mark.server().await;
    let group = stat(server).expect("it runs")[2].clone();
    assert!(members(&group) > 0, "it is in its group");
    let start = Instant::now();
    client.stop().await;
    assert_eq!(client.state(), ConnectionState::Closed);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    until(
        || members(&group) == 0 && mark.processes().is_empty(),
        "nothing is left",
    )
    .await;
    assert!(start.elapsed() < GRACE, "{:?}", start.elapsed());
}
