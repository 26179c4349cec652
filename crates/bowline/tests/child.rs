//! Real child processes: they are started, answer, die, and leave nothing behind.

use std::time::Duration;

use bowline::transport::ChildProcess;
use bowline::types::common::Implementation;
use bowline::{Backoff, Client, Config, ErrorKind, LinkConfig, State};

/// The echo server, through cargo, since a test run doesn't always build examples as
/// programs. Its process is a grandchild of ours.
fn echo() -> ChildProcess {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    ChildProcess::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "echo_server"])
        .args(["--manifest-path", manifest])
        .inherit_env()
}

fn config() -> Config {
    let mut config = Config::new(Implementation::new("client", "1"));
    // The example may have to be built first.
    config.startup_timeout(Some(Duration::from_secs(300)));
    config.probe_timeout(Duration::from_secs(300));
    config
}

#[tokio::test]
async fn a_child_answers_dies_and_is_started_again() {
    let mut link = LinkConfig::new(config());
    link.backoff(Backoff::new(
        Duration::from_millis(10),
        Duration::from_millis(100),
    ));
    let client = Client::start(echo(), link);
    client.ready().await.expect("it starts");
    let answer = client.call("tools/call", r#"{"name":"x"}"#).await;
    assert!(
        answer
            .expect("an answer")
            .as_str()
            .contains(r#""name":"x""#)
    );

    let error = client.call("tools/call", r#"{"name":"die"}"#).await;
    let error = error.expect_err("it dies");
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    let words = error.to_string();
    assert!(words.contains("I was told to die"), "{words}");

    client.ready().await.expect("it is started again");
    let answer = client.call("tools/call", r#"{"name":"y"}"#).await;
    answer.expect("the next one answers");
    client.stop().await;
    assert_eq!(client.state(), State::Closed);
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_a_permanent_error() {
    let client = Client::connect(ChildProcess::new("/no/such/command"), config()).await;
    let error = client.expect_err("it doesn't exist");
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("/no/such/command"), "{error}");
}

#[tokio::test]
async fn a_child_sees_no_secrets_of_ours() {
    let listing = "env >&2; exit 3";
    let child = ChildProcess::new("sh")
        .args(["-c", listing])
        .env("GIVEN", "yes");
    let mut link = LinkConfig::new(config());
    let mut backoff = Backoff::default();
    backoff.max_attempts(Some(1));
    link.backoff(backoff);
    let client = Client::start(child, link);
    let error = client.ready().await.expect_err("it exits");
    let causes: Vec<_> = client
        .history()
        .iter()
        .map(|it| it.cause.to_string())
        .collect();
    let words = causes.join("; ");
    assert!(words.contains("GIVEN=yes"), "{error}: {words}");
    assert!(words.contains("exit status: 3"), "{words}");
    assert!(!words.contains("CARGO_MANIFEST_DIR"), "{words}");
}
