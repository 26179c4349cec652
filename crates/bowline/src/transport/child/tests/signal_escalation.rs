//! How children end when they are no longer wanted.
//!
//! F-CP-19 (pid reuse) is so by construction: all signals are sent before the process that
//! owns the number is waited for, in `ProcessGroup::reap` and nowhere else.

use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Signal, kill_process};

use super::*;

/// A child that prints its number, starts a grandchild that prints its own, and ignores
/// everything that can be ignored.
const STUBBORN: &str = r#"
    trap "" TERM HUP INT
    echo $$
    sh -c 'echo $$; while :; do sleep 1000; done' </dev/null &
    while :; do sleep 1000; done
"#;

async fn stubborn(grace: Duration) -> (Stream, i32) {
    let mut stream = opened(shell(STUBBORN).grace(grace)).await;
    let child = number(&mut stream).await;
    let grandchild = number(&mut stream).await;
    let group = group_of(child);
    assert_eq!(group_of(grandchild), group);
    assert!(members(group).len() >= 3, "the watchdog is in it");
    (stream, group)
}

// proves: F-CP-08, CN-23
#[tokio::test]
async fn a_child_that_ignores_everything_is_killed_and_waited_for() {
    let grace = Duration::from_secs(1);
    let (stream, group) = stubborn(grace).await;
    let start = Instant::now();
    drop(stream);
    assert!(
        start.elapsed() < grace,
        "the grace period is not waited for"
    );
    until("it is killed", LONG, || members(group).is_empty());
    assert!(start.elapsed() > Duration::from_millis(1900), "it had time");
}

#[tokio::test]
async fn patience_is_a_choice() {
    let (stream, group) = stubborn(Duration::from_millis(10)).await;
    let start = Instant::now();
    drop(stream);
    until_gone(group, LONG);
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn no_patience_is_too_much() {
    let mut stream = opened(shell("echo $$; read _").grace(Duration::MAX)).await;
    let group = group_of(number(&mut stream).await);
    drop(stream);
    until_gone(group, LONG);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_gets_sigterm_once_and_may_exit_by_itself() {
    let script = r#"trap 'echo TERM >&2; exit 3' TERM; echo $$; while :; do sleep 0.01; done"#;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let callback = move |line: &str| sink.lock().unwrap().push(line.to_owned());
    let child = shell(script).stderr(StderrTo::Callback(Arc::new(callback)));
    let mut stream = opened(child).await;
    let group = group_of(number(&mut stream).await);
    drop(stream);
    until_gone(group, LONG);
    let count = || {
        let lines = lines.lock().unwrap();
        lines.iter().filter(|line| *line == "TERM").count()
    };
    until("it is heard", LONG, || count() > 0);
    // Once, though it is in the group and could be signalled by itself too.
    assert_eq!(count(), 1);
}

// proves: F-CP-06
#[tokio::test]
async fn wrappers_die_with_what_they_wrap() {
    let script = r#"sh -c 'echo $$; cat; sleep 1000' <&3 & echo $$; wait"#;
    let mut stream = opened(shell(&format!("exec 3<&0; {script}"))).await;
    let group = group_of(number(&mut stream).await);
    let start = Instant::now();
    drop(stream);
    until_gone(group, LONG);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn processes_that_a_child_leaves_behind_are_killed_at_once() {
    let mut stream = opened(shell("echo $$; read _; sleep 1000 & exit 0")).await;
    let group = group_of(number(&mut stream).await);
    let start = Instant::now();
    drop(stream);
    until_gone(group, LONG);
    assert!(start.elapsed() < Duration::from_millis(900));
}

// proves: F-CP-09
#[tokio::test]
async fn a_stopped_child_is_ended_too() {
    let (stream, group) = stubborn(Duration::from_millis(10)).await;
    for pid in members(group) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = kill_process(pid, Signal::STOP);
    }
    drop(stream);
    until_gone(group, LONG);
}

/// A documented limit: a grandchild that leaves the group is not found. The child itself is.
// proves: F-CP-07
#[tokio::test]
async fn a_grandchild_with_a_session_of_its_own_survives() {
    let script = r#"echo $$; setsid sh -c 'echo $$; sleep 1000' & wait"#;
    let mut stream = opened(shell(script).grace(Duration::from_millis(10))).await;
    let group = group_of(number(&mut stream).await);
    let survivor = number(&mut stream).await;
    drop(stream);
    until_gone(group, LONG);
    assert!(process(survivor).is_some_and(|(state, _)| state != "Z"));
    let survivor = rustix::process::Pid::from_raw(survivor).unwrap();
    let _ = rustix::process::kill_process_group(survivor, Signal::KILL);
}

#[tokio::test]
async fn a_child_that_leaves_its_group_is_ended_nevertheless() {
    let script = r#"trap "" TERM; echo $$; while :; do sleep 1000; done"#;
    let child = ChildProcess::new("setsid").args(["sh", "-c", script]);
    let mut stream = opened(child.grace(Duration::from_millis(10))).await;
    let pid = number(&mut stream).await;
    assert_eq!(group_of(pid), pid);
    drop(stream);
    until("it is gone", LONG, || process(pid).is_none());
    // Its `sleep` is what the limit is about.
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
}

// proves: F-SD-07
#[test]
fn a_handle_may_be_dropped_anywhere() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let start = || runtime.block_on(stubborn(Duration::from_millis(10)));

    let (stream, group) = start();
    drop(stream);
    until_gone(group, LONG);

    let (stream, group) = start();
    thread::spawn(move || drop(stream)).join().unwrap();
    until_gone(group, LONG);

    let (stream, group) = start();
    let panicked = thread::spawn(move || {
        let _stream = stream;
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    until_gone(group, LONG);
}

// proves: F-SD-11
#[test]
fn a_runtime_that_is_torn_down_takes_its_children_along() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (stream, group) = runtime.block_on(stubborn(Duration::from_millis(10)));
    runtime.spawn(async move {
        let _stream = stream;
        std::future::pending::<()>().await;
    });
    let start = Instant::now();
    runtime.shutdown_timeout(Duration::ZERO);
    assert!(start.elapsed() < Duration::from_secs(1));
    until_gone(group, LONG);
}

#[tokio::test]
async fn a_child_is_ended_when_its_open_future_is_dropped() {
    let folder = std::env::temp_dir().join(format!("bowline-unwanted-{}", std::process::id()));
    let script = r#"trap "" TERM; echo $$ > "$0"; while :; do sleep 1000; done"#;
    let mut child = shell(script)
        .args([&folder])
        .grace(Duration::from_millis(500));
    {
        let mut opening = std::pin::pin!(child.open());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(opening.as_mut().poll(&mut cx).is_pending());
    }
    let pid = || fs::read_to_string(&folder).ok()?.trim().parse::<i32>().ok();
    until("it says its number", LONG, || pid().is_some());
    let child = pid().unwrap();
    until("it is gone", LONG, || process(child).is_none());
    fs::remove_file(&folder).unwrap();
}
