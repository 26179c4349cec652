//! Children in a process that has nothing left, or has had very many of them.
//!
//! Both need a process to themselves: this one again, which runs a test that is ignored.

use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;

use super::*;

fn run_alone(test: &str, variable: (&str, &str)) {
    let status = Command::new(std::env::current_exe().expect("it is running"))
        .args(["--exact", "--ignored", "--nocapture"])
        .arg(format!("transport::child::tests::limits::{test}"))
        .env(variable.0, variable.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("it starts").success());
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("it is there").count()
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task")
        .expect("it is there")
        .count()
}

/// Children of ours, zombies included.
fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("it is there");
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let children = tasks.filter_map(|task| children(task.ok()?));
    children.map(|list| list.split_whitespace().count()).sum()
}

/// Not a test by itself: it is started by the one below.
#[tokio::test]
#[ignore = "it needs a process to itself"]
async fn without_descriptors() {
    // The reaper runs, as it does after the first child.
    let mut stream = opened(shell("echo $$")).await;
    until_gone(group_of_ended(number(&mut stream).await), LONG);
    drop(stream);
    let before = getrlimit(Resource::Nofile);
    let refuse = |more: u64| {
        let current = Some(descriptors() as u64 + more);
        let maximum = before.maximum;
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    };
    // Each may be the one that is missing.
    for more in 0..12 {
        refuse(more);
        let error = shell("read _").open().await.err();
        setrlimit(Resource::Nofile, before).unwrap();
        if let Some(error) = error {
            assert!(!error.is_permanent, "{error:?}");
        }
        until("no child is left", LONG, || children() == 0);
    }
    opened(shell("read _")).await;
}

fn group_of_ended(pid: i32) -> i32 {
    process(pid).map_or(pid, |(_, group)| group)
}

// proves: F-CP-13
#[test]
fn a_lack_of_descriptors_passes() {
    run_alone("without_descriptors", ("BOWLINE_ALONE", "yes"));
}

/// Not a test by itself: it is started by the one below, or by hand with more cycles.
#[tokio::test]
#[ignore = "it needs a process to itself"]
async fn many_cycles() {
    let cycles = std::env::var("BOWLINE_CYCLES").map_or(10_000, |cycles| cycles.parse().unwrap());
    let mut before = None;
    for cycle in 0..cycles {
        let script = ["read _", "exit 0", "sleep 1000", "trap '' TERM; sleep 1000"];
        let child = shell(script[cycle % script.len()]).grace(Duration::from_millis(1));
        let mut stream = opened(child).await;
        // At different moments after its start.
        for _ in 0..cycle % 7 {
            let _ = stream.writer.write(b"x").await;
            tokio::task::yield_now().await;
        }
        drop(stream);
        if cycle == 50 {
            until("no child is left", LONG, || children() == 0);
            before = Some((threads(), stderr::resident()));
        }
    }
    until("no child is left", LONG, || children() == 0);
    let (threads_before, memory) = before.expect("enough cycles");
    until("no thread is left", LONG, || threads() <= threads_before);
    assert!(stderr::resident() < memory + 4096, "its memory grew");
    // Those that drain a stderr have a moment to notice.
    let deadline = Instant::now() + LONG;
    while descriptors() > 32 {
        assert!(Instant::now() < deadline, "{} are open", descriptors());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// proves: F-CP-14
#[test]
fn many_children_leave_nothing_behind() {
    run_alone("many_cycles", ("BOWLINE_CYCLES", "300"));
}
