//! What `bowline demo` shows. Every run starts a real server process and kills it; times and
//! process ids are replaced by what they are, since they differ from run to run.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{check, command, compare, text, transcript};

/// The demo, in a locale whose characters are known.
fn demo(args: &[&str]) -> Command {
    let mut command = command(&[&["demo"], args].concat());
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    for name in ["NO_COLOR", "TERM"] {
        command.env_remove(name);
    }
    command
}

/// Runs it, and compares all that it says with a snapshot.
fn check_demo(name: &str, args: &[&str]) {
    let output = demo(args).output().unwrap();
    let args = [&["demo"], args].concat();
    compare(name, &transcript(&args, &normal(output)));
}

// proves: CL-2
#[test]
fn a_server_is_started_called_killed_and_called_again() {
    check_demo("demo", &[]);
}

#[test]
fn the_demo_can_be_printed_in_ascii() {
    check_demo("demo_ascii", &["--ascii"]);
    let output = demo(&[]).env("LC_ALL", "C").output().unwrap();
    assert!(output.stdout.is_ascii());
}

// proves: F-CL-03
#[test]
fn programs_get_an_object_for_each_step() {
    let output = demo(&["--json"]).output().unwrap();
    let steps: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kill = steps.iter().find(|step| step["step"] == "kill").unwrap();
    let lost = steps.iter().find(|step| step["outcome"] == "lost").unwrap();
    let recover = steps.iter().find(|step| step["step"] == "recover").unwrap();
    let timeline = steps.last().unwrap();

    // The call was under way when the server was killed, and ended because of it.
    let at = |value: &Value| value.as_f64().unwrap();
    assert!(at(&lost["from_ms"]) < at(&kill["at_ms"]));
    assert!(at(&lost["to_ms"]) >= at(&kill["at_ms"]));
    // Another process took the place of the one that was killed.
    assert_ne!(kill["process"], recover["process"]);
    // The states have no gaps, and the calls are those that were reported.
    let states = timeline["states"].as_array().unwrap();
    for pair in states.windows(2) {
        assert_eq!(pair[0]["to_ms"], pair[1]["from_ms"]);
    }
    let calls = timeline["calls"].as_array().unwrap();
    for step in steps.iter().filter(|each| each["step"] == "call") {
        let is_same =
            |call: &&Value| call["name"] == step["tool"] && call["from_ms"] == step["from_ms"];
        let call = calls.iter().find(is_same).unwrap();
        assert_eq!(call["outcome"], step["outcome"]);
    }
    compare(
        "demo_json",
        &transcript(&["demo", "--json"], &normal(output)),
    );
}

#[test]
fn every_revision_can_be_shown() {
    for revision in [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ] {
        let output = demo(&["--revision", revision]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let stdout = text(&output.stdout);
        assert!(
            stdout.contains(&format!("revision     {revision} (")),
            "{stdout}"
        );
        assert!(stdout.contains("a=20 b=22 → 42 ("), "{stdout}");
    }
}

#[test]
fn a_revision_that_does_not_exist_is_refused() {
    check(
        "demo_unknown_revision",
        &["demo", "--revision", "2025-06-17"],
        b"",
    );
    check(
        "demo_json_unknown_revision",
        &["demo", "--json", "--revision", "2025-06-17"],
        b"",
    );
}

#[test]
fn its_help_documents_the_output() {
    check("demo_help", &["demo", "--help"], b"");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let is_coloured = |command: &mut Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stdout).contains('\u{1b}')
    };
    assert!(!is_coloured(&mut demo(&[])));
    assert!(!is_coloured(demo(&[]).env("NO_COLOR", "1")));
    // What was asked for by name counts more than a variable.
    assert!(is_coloured(
        demo(&["--color", "always"]).env("NO_COLOR", "1")
    ));
    assert!(!is_coloured(&mut demo(&["--json", "--color=always"])));
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_ends_it() {
    for args in [&[][..], &["--json"]] {
        let mut command = demo(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        // Like `head -1`.
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert!(!line.is_empty());
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let output = demo(&[]).stdout(full.unwrap()).output().unwrap();
    let error = text(&output.stderr);
    assert!(
        error.starts_with("error: cannot write the output: "),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_can_not_be_started_is_unreachable() {
    // The server is this program, whose file is gone by the time that it is to be started.
    let folder = std::env::temp_dir().join(format!("bowline-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("bowline");
    let script = r#"exec 3<"$0"; rm "$0"; exec /proc/self/fd/3 demo "$@""#;
    for (arguments, begins) in [
        (&[][..], "error: cannot connect: "),
        (&["--json"], r#"{"error":"cannot connect: "#),
    ] {
        std::fs::copy(env!("CARGO_BIN_EXE_bowline"), &program).unwrap();
        let output = Command::new("sh")
            .args(["-c", script])
            .arg(&program)
            .args(arguments)
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert!(error.starts_with(begins), "{error}");
        // The error says itself what to do.
        assert!(error.contains("check the path"), "{error}");
        assert_eq!(output.status.code(), Some(4));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_demo_takes_a_few_seconds() {
    let begun = Instant::now();
    demo(&[]).output().unwrap();
    // Two seconds, and what a busy machine adds.
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn verbose_shows_what_the_library_does_and_no_more() {
    let secret = "hunter2-of-the-sea";
    let output = demo(&["-v"]).env("SECRET_TOKEN", secret).output().unwrap();
    let stderr = text(&output.stderr);
    for words in [
        "info  [server=demo transport=",
        " session=1] connected to the server server_name=bowline-demo",
        " session=2] connected to the server server_name=bowline-demo",
        "] connection state changed side=client from=starting to=initializing reason=opened",
        "] request started side=client direction=out request=",
        "outcome=lost",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    // Neither what was asked, nor what was answered, nor what the environment holds.
    for words in ["counted down", "it holds", "no such file", secret] {
        assert!(!stderr.contains(words), "{words}: {stderr}");
    }
    assert!(!stderr.contains("bytes transferred"));
    let output = demo(&["-vv"]).output().unwrap();
    assert!(text(&output.stderr).contains("] bytes transferred side=client"));
    let output = demo(&[]).output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

/// What is the same in every run: numbers that are times or process ids become `N`, and of
/// the chart each stretch one character.
fn normal(mut output: Output) -> Output {
    let stdout = text(&output.stdout);
    let (steps, chart) = stdout.split_once(CHART).unwrap_or((stdout, ""));
    let mut lines: Vec<_> = steps.lines().map(without_numbers).collect();
    if !chart.is_empty() {
        lines.push(CHART.trim_end().to_owned());
        // How many moments the axis has depends on how long it took.
        lines.push("  (axis)".to_owned());
        lines.extend(normal_chart(chart));
    }
    output.stdout = (lines.join("\n") + "\n").into_bytes();
    output
}

fn normal_chart(chart: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut was_below = false;
    for line in chart.lines().skip(1) {
        let is_below = line.starts_with("    ");
        let line = without_lengths(&without_numbers(line));
        match lines.last_mut() {
            // Where the legend is broken depends on the times in it.
            Some(last) if is_below && was_below => last.push_str(&line),
            _ => lines.push(line),
        }
        was_below = is_below;
    }
    lines
}

/// The heading of the chart.
const CHART: &str = "Timeline\n";

/// `line` with `N` for each time and process id.
pub(crate) fn without_numbers(line: &str) -> String {
    const BEFORE: [&str; 3] = ["process ", "_ms\":", "\"process\":"];
    const BEHIND: [&str; 4] = [" ms", " s", "ms", "s"];
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let length = from
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(from.len());
        let (number, behind) = from.split_at(length);
        let is_one = |behind: &str, unit: &str| {
            let next = behind.strip_prefix(unit).map(|rest| rest.chars().next());
            next.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric()))
        };
        let varies = BEFORE.iter().any(|unit| out.ends_with(unit))
            || BEHIND.iter().any(|unit| is_one(behind, unit));
        if varies {
            out.push('N')
        } else {
            out.push_str(number)
        }
        rest = behind;
    }
    out.push_str(rest);
    out = out.replace("N ms", "N s").replace("Nms", "Ns");
    while out.contains("N s   ") {
        out = out.replace("N s   ", "N s  ");
    }
    out
}

/// `line` of a chart: of each stretch and each gap one character, and each call the same.
fn without_lengths(line: &str) -> String {
    const DRAWN: &str = " ░▒█·▁─-=.sic";
    let mut out = String::new();
    for character in line.chars() {
        let is_more = DRAWN.contains(character) && out.ends_with(character);
        if !is_more {
            out.push(character);
        }
    }
    // A short call is a stroke, or two halves where it happens to cross a column.
    for (drawn, shown) in [
        ("├─┤", "│"),
        ("├┤", "│"),
        ("├─╳", "├╳"),
        ("[-]", "|"),
        ("[]", "|"),
        ("[-x", "[x"),
        ("SIGKILL ▲", "▲ SIGKILL"),
        ("SIGKILL ^", "^ SIGKILL"),
    ] {
        out = out.replace(drawn, shown);
    }
    out
}
