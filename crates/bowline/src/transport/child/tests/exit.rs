//! How the end of a child is reported, and what happens to children when our process ends.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use tokio::io::AsyncWriteExt as _;

use super::*;

// proves: F-LC-09, TP-2
#[tokio::test]
async fn how_a_child_ended_is_known_at_once() {
    for (script, code, signal) in [
        ("echo words >&2; exit 0", Some(0), None),
        ("echo words >&2; exit 1", Some(1), None),
        ("echo words >&2; no-such-command; exit 127", Some(127), None),
        ("echo words >&2; kill -SEGV $$", None, Some(11)),
    ] {
        let mut fastest = LONG;
        for _ in 0..5 {
            let mut stream = opened(shell(script)).await;
            let (end, took) = transport_end(&mut stream).await;
            let status = end.status.expect("a status");
            assert_eq!((status.code(), status.signal()), (code, signal));
            assert!(end.stderr.starts_with("words\n"), "{end:?}");
            assert!(end.reason.contains("stderr: words"));
            fastest = fastest.min(took);
        }
        // Others may keep the machine busy, but not all the time.
        assert!(fastest < Duration::from_millis(100), "{fastest:?}");
    }
}

// proves: F-CP-03
#[tokio::test]
async fn a_child_that_only_closes_its_output_is_not_waited_for() {
    let script = "echo $$; echo words >&2; exec >/dev/null; sleep 1000";
    let mut fastest = LONG;
    for _ in 0..5 {
        let mut stream = opened(shell(script).grace(Duration::from_millis(10))).await;
        let group = group_of(number(&mut stream).await);
        let (end, took) = transport_end(&mut stream).await;
        assert_eq!(end.status, None);
        assert!(end.reason.starts_with("the server closed its output"));
        fastest = fastest.min(took);
        drop(stream);
        until_gone(group, LONG);
    }
    assert!(
        fastest < super::super::exit_witness::UNKNOWN_STATE_TIMEOUT,
        "{fastest:?}"
    );
}

// proves: F-CP-10
#[tokio::test]
async fn a_failed_write_to_a_dead_child_is_explained() {
    let mut stream = opened(shell("echo words >&2; exit 5")).await;
    end_of(&mut *stream.reader).await;
    // More than a pipe holds: its stdin may be closed a moment later than its stdout.
    let error = stream.writer.write_all(&[b'x'; 128 * 1024]).await;
    let error = error.expect_err("the reader is closed");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    let words = transport_end(&mut stream).await.0.reason;
    assert!(
        words.contains("exit status: 5") && words.contains("words"),
        "{words}"
    );
}

// proves: F-CP-10
#[tokio::test]
async fn a_child_is_killed_while_it_is_written_to() {
    let mut stream = opened(shell("echo $$; kill -STOP $$")).await;
    let pid = number(&mut stream).await;
    let killed = tokio::task::spawn_blocking(move || {
        until("it is stopped", LONG, || {
            process(pid).is_some_and(|(state, _)| state == "T")
        });
        let pid = Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    // More than a pipe holds.
    let much = vec![b'x'; 1 << 20];
    let written = stream.writer.write_all(&much);
    let written = tokio::time::timeout(LONG, written).await.expect("in time");
    assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert!(
        transport_end(&mut stream)
            .await
            .0
            .reason
            .contains("SIGKILL")
    );
    killed.await.unwrap();
}

/// Not a test by itself: the process that is killed by the one below.
#[tokio::test]
#[ignore = "it never ends"]
async fn a_client_that_is_to_be_killed() {
    let script = r#"
        trap "" TERM HUP INT
        sh -c 'echo $$; while :; do sleep 1000; done' </dev/null &
        while :; do sleep 1000; done
    "#;
    let Some(path) = std::env::var_os("BOWLINE_GROUP") else {
        return;
    };
    let mut stream = opened(shell(script)).await;
    let group = group_of(number(&mut stream).await);
    fs::write(path, format!("{group}\n")).unwrap();
    if std::env::var_os("BOWLINE_EXIT").is_some() {
        std::thread::spawn(|| std::process::exit(0));
    }
    std::future::pending().await
}

// proves: F-CP-11
#[test]
fn nothing_survives_when_our_own_process_is_killed() {
    let (mut client, path, group) = client_with_a_child("killed", None);
    assert!(members(group).len() >= 3);
    client.kill().unwrap();
    client.wait().unwrap();
    until_gone(group, Duration::from_secs(5));
    fs::remove_file(&path).unwrap();
}

// proves: F-SD-11
#[test]
fn nothing_survives_when_our_own_process_exits_anywhere() {
    let (mut client, path, group) = client_with_a_child("exit", Some(("BOWLINE_EXIT", "yes")));
    assert!(client.wait().unwrap().success());
    until_gone(group, Duration::from_secs(5));
    fs::remove_file(&path).unwrap();
}

fn client_with_a_child(name: &str, variable: Option<(&str, &str)>) -> (Child, PathBuf, i32) {
    let path = format!("bowline-group-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(path);
    let client = Command::new(std::env::current_exe().expect("it is running"))
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("transport::child::tests::exit::a_client_that_is_to_be_killed")
        .env("BOWLINE_GROUP", &path)
        .envs(variable)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let group = || fs::read_to_string(&path).ok()?.trim().parse::<i32>().ok();
    until("it says its group", LONG, || group().is_some());
    let group = group().expect("it printed its group");
    (client, path, group)
}

/// A program that stops a client and exits at once leaves the server its time to end.
#[test]
fn a_child_has_its_time_when_our_own_process_ends_first() {
    let path = std::env::temp_dir().join(format!("bowline-late-{}", std::process::id()));
    let mut command = Command::new("/bin/sh");
    // A part of the time that it has.
    command.args(["-c", r#"read _; sleep 0.3; echo done > "$0""#]);
    command.arg(&path).stdin(Stdio::piped());
    let mut group = ProcessGroup::spawn(&mut command, Some(SHELL), Duration::from_secs(5)).unwrap();
    let group_id = group_of(group.pid().as_raw_pid());
    // What the kernel does for a process that ends.
    drop(group.take_streams());
    group.abandon_watchdog();
    until("it has ended", LONG, || fs::read_to_string(&path).is_ok());
    until("it is noticed", LONG, || group.has_ended());
    group.reap();
    drop(group);
    until_gone(group_id, LONG);
    fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn the_end_of_a_child_can_be_waited_for() {
    let child = shell("echo $$; cat; sleep 0.05");
    let mut processes = child.processes();
    processes.wait_all().await;
    let mut streams = [opened(child.clone()).await, opened(child).await];
    assert_eq!(processes.count(), 2);
    let mut pids = Vec::new();
    for stream in &mut streams {
        pids.push(number(stream).await);
    }
    drop(streams);
    let ended = tokio::time::timeout(LONG, processes.wait_all()).await;
    ended.expect("they end");
    assert_eq!(processes.count(), 0);
    for pid in pids {
        assert!(process(pid).is_none(), "not even a zombie is left");
    }
    let mut missing = ChildProcess::new("/no/such/command");
    missing.open().await.expect_err("it doesn't exist");
    assert_eq!(missing.processes().count(), 0);
}
