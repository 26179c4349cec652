//! The output of `bowline watch`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::text;
use crate::test_folder::{TestFolder, peer};

/// Arguments for a server that is one of the scripts.
fn watching(args: &[&str], script: &str) -> Vec<String> {
    let args = [&["watch"], args].concat();
    let args = args.into_iter().map(str::to_owned);
    args.chain(peer(script)).collect()
}

fn spawn(test: &TestFolder, args: &[String]) -> Child {
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let mut command = test.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

// proves: FT-1, FT-2, FT-6, F-CL-03
#[test]
fn changes_are_reported_across_a_restart_of_the_server() {
    let test = TestFolder::new("watch_restart");
    let args = watching(
        &["--json", "--resource", "x:a", "--count", "13"],
        "watched.sh",
    );
    let output = spawn(&test, &args).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let events = text(&output.stdout).lines();
    let events: Vec<Value> = events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // What comes from one source has its order.
    let of = |kinds: &[&str], name: &str| -> Vec<String> {
        let of_kind = events.iter().filter(|event| {
            let kind = event["event"].as_str().unwrap();
            kinds.contains(&kind)
        });
        of_kind.map(|event| event[name].to_string()).collect()
    };
    let states = [
        "initializing",
        "ready",
        "backoff",
        "starting",
        "initializing",
        "ready",
    ];
    assert_eq!(
        of(&["state"], "to"),
        states.map(|state| format!("\"{state}\""))
    );
    let log = ["starts", "", "starts", "lives again"].map(|text| format!("\"{text}\""));
    let logged = of(&["log"], "data");
    assert_eq!(logged[1], "{\"disk\":1.0}");
    assert_eq!((&logged[0], &logged[2..]), (&log[0], &log[2..]));
    let changes = of(&["changed", "updated", "unknown"], "event");
    assert_eq!(changes, ["\"changed\"", "\"updated\"", "\"unknown\""]);
    assert_eq!(of(&["changed"], "list"), ["\"tools\""]);
    assert_eq!(of(&["updated"], "uri"), ["\"x:a\""]);
    let times: Vec<_> = events
        .iter()
        .map(|event| event["time"].as_str().unwrap())
        .collect();
    assert!(
        times
            .iter()
            .all(|time| time.starts_with("20") && time.ends_with('Z'))
    );
}

#[test]
fn log_messages_below_the_level_are_left_out() {
    let test = TestFolder::new("watch_level");
    let wanted = [
        "--json",
        "--resource",
        "x:a",
        "--log",
        "error",
        "--count",
        "8",
    ];
    let args = watching(&wanted, "watched.sh");
    let output = spawn(&test, &args).wait_with_output().unwrap();
    let stdout = text(&output.stdout);
    assert!(
        stdout.contains("\"error\"") && !stdout.contains("starts"),
        "{stdout}"
    );
}

#[test]
fn watch_ends_after_a_time_or_a_number_of_events() {
    let test = TestFolder::new("watch_end");
    test.check("watch_count", &["watch", "demo", "--count", "2"]);
    test.check(
        "watch_for",
        &["watch", "demo", "--for", "2", "-r", "demo://counter"],
    );
    let args = watching(&["--for", "2"], "plain.sh");
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    test.check("watch_plain", &args);
}

#[test]
fn connecting_is_a_part_of_the_time() {
    let test = TestFolder::new("watch_connecting");
    let begun = Instant::now();
    test.check(
        "watch_connecting",
        &["watch", "--for", "0.5", "--", "sleep", "60"],
    );
    // It would be tried for 30 s.
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_server_that_confirms_nothing_is_not_waited_for() {
    let test = TestFolder::new("watch_unconfirmed");
    for (args, code) in [(["--for", "2"], 0), (["--timeout", "2"], 1)] {
        let mut args = watching(&args, "unconfirmed.sh");
        let revision = args.iter_mut().find(|arg| *arg == "2025-06-18");
        *revision.unwrap() = "2026-07-28".to_owned();
        let output = spawn(&test, &args);
        let output = output.wait_with_output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert_eq!(
            text(&output.stdout).contains("ready"),
            code == 0,
            "{stderr}"
        );
        assert_eq!(
            stderr.contains("subscriptions/listen"),
            code == 1,
            "{stderr}"
        );
    }
}

#[test]
fn ctrl_c_is_how_it_ends() {
    let test = TestFolder::new("watch_interrupt");
    let mut child = spawn(&test, &["watch", "demo"].map(str::to_owned));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "watching demo; Ctrl-C stops\n");
}

// proves: F-CL-01, F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let test = TestFolder::new("watch_pipe");
    for json in [&[][..], &["--json"]] {
        let mut child = spawn(&test, &watching(json, "chatty.sh"));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("la la") {
            line.clear();
            stdout.read_line(&mut line).unwrap();
            assert!(!line.contains('\u{1b}'), "{line:?}");
        }
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("error"));
    }
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_missed_though_nothing_happens() {
    let test = TestFolder::new("watch_quiet");
    let mut child = spawn(&test, &watching(&[], "plain.sh"));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0);
    }
    drop(stdout);
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let output = ended.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("error"));
}

#[test]
fn unsupported_subscriptions_are_errors() {
    let test = TestFolder::new("watch_wrong");
    let args = watching(&["--resource", "x:a"], "plain.sh");
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    test.check("watch_undeclared", &args);
    test.check(
        "watch_undeclared_json",
        &[&args[..1], &["--json"], &args[1..]].concat(),
    );
    test.check("watch_no_server", &["watch"]);
    test.check("watch_two", &["watch", "demo", "tools"]);
    test.check("watch_no_count", &["watch", "demo", "--count", "0"]);
    test.check("watch_no_time", &["watch", "demo", "--for", "soon"]);
    test.check("watch_missing", &["watch", "--", "/no/such/server"]);
    test.check("watch_help", &["watch", "--help"]);
}
