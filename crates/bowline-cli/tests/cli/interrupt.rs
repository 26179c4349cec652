//! Ctrl-C while a server is called.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::run::text;
use crate::terminal::TerminalSession;
use crate::test_folder::TestFolder;

/// The demo server, which writes its process id and every received message to stderr.
const NOTED: &str = r#"echo $$ > pid; tee heard /dev/stderr | "$0" serve demo"#;

/// A server that hears nothing and doesn't end when it should.
const STUBBORN: &str = r#"trap "" TERM INT; echo $$ > pid; "$0" serve demo; exec sleep 600"#;

/// `bowline`, in the middle of a call of `hang`.
fn hanging(test: &TestFolder, script: &str, args: &[&str]) -> Child {
    let program = env!("CARGO_BIN_EXE_bowline");
    let server = ["-v", "--", "sh", "-c", script, program];
    let mut command = test.command(&[&["call", "hang"], args, &server].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // That it was begun doesn't mean that the server has heard of it.
    while !(line.contains("jsonrpc") && line.contains("tools/call")) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "there was no call");
    }
    child.stderr = Some(stderr.into_inner());
    child
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Returns the end of the run, without the lines of `--verbose`.
fn end(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let lines = text(&output.stderr).lines();
    let own = lines.filter(|line| line.starts_with(['e', 'h', '{']));
    let own = own.collect::<Vec<_>>().join("\n");
    (output, own)
}

/// Waits for the end of the process that a server has noted, which may have come already.
fn wait_for_server(test: &TestFolder) {
    let pid = fs::read_to_string(test.folder.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let soon = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&soon));
    assert_eq!(ended, Ok(1), "the server is still there");
}

// proves: FT-10, F-SD-13
#[test]
fn the_first_ctrl_c_cancels_the_call_and_notifies_the_server() {
    for (era, name) in [(&[][..], "new"), (&["--revision", "2025-06-18"], "old")] {
        let test = TestFolder::new(&format!("interrupt_call_{name}"));
        let child = hanging(&test, NOTED, era);
        interrupt(&child);
        let (output, own) = end(child);
        assert_eq!(output.status.code(), Some(1), "{own}");
        assert_eq!(text(&output.stdout), "");
        assert_eq!(own, "error: interrupted: the call was cancelled");
        wait_for_server(&test);
        let heard = fs::read_to_string(test.folder.join("heard")).unwrap();
        assert!(heard.contains("notifications/cancelled"), "{heard}");
    }
}

#[test]
fn an_interruption_is_an_object_for_programs() {
    let test = TestFolder::new("interrupt_json");
    let child = hanging(&test, NOTED, &["--json"]);
    interrupt(&child);
    let (output, own) = end(child);
    assert_eq!(output.status.code(), Some(1));
    let object: serde_json::Value = serde_json::from_str(own.lines().last().unwrap()).unwrap();
    assert_eq!(object["exit_code"], 1);
}

#[test]
fn the_statistics_of_pings_are_printed_after_ctrl_c() {
    let test = TestFolder::new("interrupt_ping");
    let mut command = test.command(&["ping", "demo", "--count", "1000", "--interval", "600"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut answered = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut answered).unwrap();
    assert!(answered.starts_with("answered in "), "{answered}");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = text(&output.stderr).lines().collect();
    let [connected, tally, error] = lines[..] else {
        panic!("{lines:?}");
    };
    assert!(connected.starts_with("connected to "), "{connected}");
    assert!(tally.starts_with("1 ping: "), "{tally}");
    assert_eq!(error, "error: interrupted");
}

#[test]
fn ctrl_c_while_the_server_exits_is_a_success() {
    let test = TestFolder::new("interrupt_end");
    let program = env!("CARGO_BIN_EXE_bowline");
    let mut command = test.command(&["ping", "--", "sh", "-c", STUBBORN, program]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting for sh to exit") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it has ended");
    }
    interrupt(&child);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    wait_for_server(&test);
}

/// `command` as the program that owns its terminal, which is where keys become signals. None
/// where there is nothing to start it so.
fn owning_its_terminal(command: &Command) -> Option<Command> {
    Command::new("setsid").arg("--version").output().ok()?;
    let mut owner = Command::new("setsid");
    owner.arg("--ctty").arg(command.get_program());
    owner.args(command.get_args());
    owner.current_dir(command.get_current_dir()?);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => owner.env(name, value),
            None => owner.env_remove(name),
        };
    }
    Some(owner)
}

// proves: F-SD-13
#[test]
fn the_ctrl_c_key_cancels_the_call_and_restores_the_terminal() {
    let test = TestFolder::new("interrupt_key");
    let program = env!("CARGO_BIN_EXE_bowline");
    let line = ["call", "hang", "-v", "--", "sh", "-c", NOTED, program];
    let Some(command) = owning_its_terminal(&test.command(&line)) else {
        return;
    };
    let mut session = TerminalSession::start(command);
    let modes = session.modes();
    // That it was begun doesn't mean that the server has heard of it.
    session.wait_for(r#"\"method\":\"tools/call"#);
    session.hit("\u{3}");
    session.wait_for("error: interrupted: the call was cancelled");
    assert_eq!(session.modes(), modes);
    let (seen, stdout, code) = session.finish();
    assert_eq!((stdout.as_str(), code), ("", Some(1)), "{seen}");
    wait_for_server(&test);
}

// The terminal is never put into another mode, so there is nothing to restore.
//
// proves: F-SD-13
#[test]
fn the_second_leaves_at_once_and_no_server_stays() {
    let test = TestFolder::new("interrupt_twice");
    let program = env!("CARGO_BIN_EXE_bowline");
    let large = ["call", "large", "bytes=1000000", "--"];
    let mut command = test.command(&[&large[..], &["sh", "-c", STUBBORN, program]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // After the first byte it is busy writing, and stays so, since the rest is not read. It
    // can't end in good order.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    // Two simultaneous signals count as one, and the first has no visible effect.
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    let begun = Instant::now();
    while poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&moment)) == Ok(0) {
        assert!(begun.elapsed() < Duration::from_secs(30), "it stays");
        interrupt(&child);
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_for_server(&test);
}
