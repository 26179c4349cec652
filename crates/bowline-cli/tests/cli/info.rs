//! The output of `bowline info` and `bowline ping`.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{check, text};
use crate::test_folder::{TestFolder, check_hostile, peer};

#[test]
fn a_server_is_described() {
    let test = TestFolder::new("info");
    test.check("info", &["info", "demo"]);
    test.check("info_old", &["info", "demo", "--revision", "2024-11-05"]);
    test.check("info_json", &["info", "demo", "--json"]);
}

// proves: F-CL-01
#[test]
fn hostile_words_are_escaped() {
    let test = TestFolder::new("info_hostile");
    check_hostile(&test, ["info_hostile", "info_hostile_json"], &["info"]);
}

#[test]
fn one_list_that_cannot_be_had_hides_nothing_else() {
    let test = TestFolder::new("info_partly");
    let partly = peer("partly.sh");
    let partly = partly.each_ref().map(String::as_str);
    test.check("info_partly", &[&["info"], &partly[..]].concat());
    let json = [&["info", "--json"], &partly[..]].concat();
    test.check("info_partly_json", &json);
    // The server is gone after the first list that it can't give.
    let dying = peer("wrong.sh");
    let dying = dying.each_ref().map(String::as_str);
    test.check("info_lost", &[&["info"], &dying[..]].concat());
}

#[test]
fn one_odd_tool_hides_no_other() {
    let test = TestFolder::new("info_odd");
    let partly = peer("partly.sh");
    let partly = partly.each_ref().map(String::as_str);
    for (name, args) in [
        ("tools_partly", &["tools"][..]),
        ("tools_partly_json", &["tools", "--json"]),
        ("call_partly", &["call", "good"]),
    ] {
        test.check(name, &[args, &partly].concat());
    }
}

#[test]
fn pings_are_timed() {
    let test = TestFolder::new("ping");
    test.check("ping", &["ping", "demo"]);
    let many = ["ping", "demo", "--count", "3", "--interval", "0"];
    test.check("ping_many", &many);
    test.check("ping_json", &[&many[..], &["--json"]].concat());
    let old = ["ping", "demo", "--revision", "2025-03-26"];
    test.check("ping_old", &old);
}

#[test]
fn times_of_pings_are_numbers() {
    let output = TestFolder::new("ping_times").run(&["ping", "demo", "--json"]);
    let ping: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(ping["took_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn pings_have_their_interval() {
    let begun = Instant::now();
    let args = ["ping", "demo", "-c", "2", "-i", "0.3"];
    TestFolder::new("ping_interval").run(&args);
    assert!(begun.elapsed() > Duration::from_millis(300));
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let test = TestFolder::new("ping_silent");
    let silent = ["ping", "--timeout", "0.2", "--", "sleep", "60"];
    let begun = Instant::now();
    test.check("ping_silent", &silent);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_server_that_ignores_the_first_question_has_time_for_the_other() {
    let test = TestFolder::new("ping_deaf");
    let [.., shell, script] = peer("deaf.sh");
    let deaf = ["ping", "--timeout", "2.5", "--", &shell, &script];
    test.check("ping_deaf", &deaf);
}

// proves: CN-14
#[test]
fn a_server_that_writes_no_messages_is_an_error_with_a_sample() {
    let test = TestFolder::new("ping_garbage");
    let check = |name: &str, args: &[&str], script: &str| {
        let args = [args, &["--", "sh", "-c", script]].concat();
        test.check(name, &args);
    };
    let short = ["ping", "--timeout", "2"];
    check(
        "ping_garbage",
        &short,
        "while read -r line; do echo nope; done",
    );
    check(
        "ping_garbage_json",
        &[&short[..], &["--json"]].concat(),
        "echo nope; exec sleep 60",
    );
    check("ping_flood", &["ping"], "exec yes nope");
    check(
        "ping_wrong_program",
        &["ping"],
        "printf 'Usage: \\033[31mserver --stdio\\n'; exit 2",
    );
    let long = "printf 'a%.0s' $(seq 100); echo; exec sleep 60";
    check("ping_garbage_long", &short, long);
}

// proves: F-CL-04
#[test]
fn a_sample_of_server_output_is_redacted() {
    let test = TestFolder::new("ping_garbage_secret");
    // It is cut in the middle of the secret, and the secret is longer than what is kept.
    let script = r#"echo "got token $API_TOKEN"; exec sleep 60"#;
    let args = ["ping", "--timeout", "2", "--", "sh", "-c", script];
    for token in ["hunter2".to_owned(), "hunter2-".repeat(50)] {
        let output = test
            .command(&args)
            .env("API_TOKEN", token)
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains("is not an MCP message: `got token [redacted]`"),
            "{stderr}"
        );
        assert!(!stderr.contains("hunter"), "{stderr}");
    }
}

#[test]
fn a_normal_exit_is_no_crash_and_used_options_are_not_suggested() {
    let test = TestFolder::new("ping_verbose");
    let output = test.run(&["ping", "-v", "--timeout", "1", "--", "sleep", "60"]);
    let stderr = text(&output.stderr);
    assert!(!stderr.contains("crash"), "{stderr}");
    assert!(!stderr.contains("--verbose"), "{stderr}");
    test.check(
        "ping_no_program",
        &["ping", "--", "no-such-command-of-ours"],
    );
}

#[test]
fn an_unresponsive_server_is_an_error_with_its_stderr() {
    let test = TestFolder::new("ping_hung");
    let script = "echo 'please visit https://example.com/login' >&2; exec sleep 60";
    let hung = ["ping", "--timeout", "2", "--", "sh", "-c", script];
    test.check("ping_hung", &hung);
}

// It looks into /proc.
#[cfg(target_os = "linux")]
#[test]
fn a_server_stopped_by_the_terminal_is_explained() {
    let test = TestFolder::new("ping_stopped");
    let stopped = ["--timeout", "2", "--", "sh", "-c", "kill -STOP $$"];
    test.check("ping_stopped", &[&["ping"], &stopped[..]].concat());
}

#[test]
fn a_revision_that_the_server_does_not_speak_is_no_fault_of_its() {
    let test = TestFolder::new("ping_revision");
    let plain = peer("plain.sh");
    let plain = plain.each_ref().map(String::as_str);
    for (name, revision) in [
        ("ping_revision_old", "2024-11-05"),
        ("ping_revision_new", "2026-07-28"),
    ] {
        test.check(
            name,
            &[&["ping", "--revision", revision], &plain[2..]].concat(),
        );
    }
}

#[test]
fn a_server_that_dies_or_is_not_there_is_unreachable() {
    let test = TestFolder::new("ping_dead");
    let dying = ["--", "sh", "-c", "echo no licence >&2; exit 3"];
    test.check("ping_dead", &[&["ping"], &dying[..]].concat());
    test.check(
        "ping_dead_json",
        &[&["ping", "--json"], &dying[..]].concat(),
    );
    test.check("ping_missing", &["ping", "--", "/no/such/server"]);
}

#[test]
fn a_server_is_found_by_its_name() {
    let test = TestFolder::new("info_named");
    let program = env!("CARGO_BIN_EXE_bowline");
    let config = format!(
        r#"{{"mcpServers": {{"mine": {{"command": "{program}", "args": ["serve", "demo"]}}}}}}"#
    );
    std::fs::write(test.folder.join(".mcp.json"), &config).unwrap();
    test.check("ping_named", &["ping", "mine"]);
    test.check("ping_named_typo", &["ping", "mnie"]);
    std::fs::write(
        test.folder.join("other.json"),
        config.replace("mine", "other"),
    )
    .unwrap();
    test.check("ping_config", &["ping", "other", "--config", "other.json"]);
    test.check("ping_url", &["ping", "https://example.com/mcp"]);
}

#[test]
fn usage() {
    check("info_help", &["info", "--help"], b"");
    check("ping_help", &["ping", "--help"], b"");
    let test = TestFolder::new("ping_usage");
    test.check("ping_no_server", &["ping"]);
    test.check("ping_two", &["ping", "demo", "demo"]);
    test.check("ping_count", &["ping", "demo", "--count", "0"]);
    test.check("ping_timeout", &["ping", "demo", "--timeout", "soon"]);
    test.check("ping_log", &["ping", "demo", "--log", "loud"]);
    test.check(
        "ping_log_json",
        &["ping", "demo", "--json", "--log", "loud"],
    );
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in [&["info", "demo"][..], &["ping", "demo", "--json"]] {
        let test = TestFolder::new(&format!("info_{}", args[0]));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = test.command(args).stdout(writer).output().unwrap();
        let messages = text(&output.stderr);
        assert!(!messages.contains("error"), "{messages}");
        assert_eq!(output.status.code(), Some(0));
    }
}
