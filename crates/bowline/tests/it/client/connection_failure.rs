//! What callers learn while there is no connection, and after the client has given up.

use std::time::Duration;

use bowline::testing;
use bowline::transport::{ChildProcess, OpenError, Stream, Tcp, Transport};
use bowline::types::subscriptions::SubscriptionFilter;
use bowline::types::{Era, ErrorObject};
use bowline::{
    Backoff, Cause, Client, ClientConfig, ConnectionState, Error, ErrorKind, NegotiationError,
    Recovery,
};

use crate::client::support::{OLD, Test, able, config, connected};

fn shell(script: &str) -> ChildProcess {
    ChildProcess::new("/bin/sh").args(["-c", script])
}

/// A client that tries again soon, and so often.
fn attempts(most: Option<u32>) -> ClientConfig {
    let mut config = config();
    let mut backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(1));
    backoff.max_attempts(most);
    config.backoff(backoff);
    // Without the probe: each attempt starts one process.
    config.connection().revisions(Era::Handshake.revisions());
    config
}

/// A client that waits long after the first failure.
fn patient() -> ClientConfig {
    let mut config = attempts(None);
    config.backoff(Backoff::new(
        Duration::from_secs(3600),
        Duration::from_secs(3600),
    ));
    config
}

async fn until(client: &Client, state: ConnectionState) {
    let mut changes = client.state_changes();
    while client.state() != state {
        changes.next().await.expect("it gets there");
    }
}

/// The error of each kind of call.
async fn errors(client: &Client) -> Vec<Error> {
    let filter = || SubscriptionFilter::new().tools_list_changed(true);
    vec![
        client
            .call("tools/list", ())
            .await
            .expect_err("it is refused"),
        client
            .call("tools/list", ())
            .wait_for_ready()
            .await
            .expect_err("it is refused"),
        client.ping().await.expect_err("it is refused"),
        client
            .notify("notifications/x", ())
            .expect_err("it is refused"),
        client.tools().list().await.expect_err("it is refused"),
        client.tools().list_all().await.expect_err("it is refused"),
        client
            .tools()
            .call("add", ())
            .await
            .expect_err("it is refused"),
        client
            .tools()
            .call("add", ())
            .wait_for_ready()
            .await
            .expect_err("it is refused"),
        client.subscribe(filter()).await.expect_err("it is refused"),
        client
            .subscribe(filter())
            .wait_for_ready()
            .await
            .expect_err("it is refused"),
        client.ready().await.expect_err("it is refused"),
    ]
}

// proves: ER-1
#[tokio::test(start_paused = true)]
async fn an_answer_that_can_not_be_read_is_described_once() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let listing = client.tools().list().send();
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":3}"#).await?;
    let unread = listing.await.unwrap_err();
    let calling = client.tools().call("sum", ()).send();
    let request = server.expect("tools/call").await?;
    let result = r#"{"content":[],"structuredContent":{"sum":"3"}}"#;
    server.reply(&request, result).await?;
    let unfit = calling.await?.structured::<Sum>().unwrap_err();
    for error in [unread, unfit] {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert_eq!(chain(&error), error.to_string(), "nothing is left to say");
    }
    Ok(())
}

#[derive(Debug, serde::Deserialize)]
struct Sum {
    #[expect(dead_code, reason = "it can't be read")]
    sum: i64,
}

/// The message with those of its sources, as `{:#}` of anyhow prints them.
fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        words += ": ";
        words += &error.to_string();
        source = error.source();
    }
    words
}

// proves: CN-4, ER-1
#[tokio::test]
async fn every_later_call_has_the_reason_why_the_client_gave_up() {
    let client = Client::start(ChildProcess::new("/no/such/server"), config());
    let waiting = client.call("tools/list", ()).wait_for_ready().send();
    let mut all = vec![waiting.await.unwrap_err()];
    all.extend(errors(&client).await);
    for error in all {
        let words = chain(&error);
        assert_eq!(error.kind(), ErrorKind::Transport, "{words}");
        assert!(words.contains("the client gave up"), "{words}");
        assert!(words.contains("/no/such/server: no such file"), "{words}");
        assert!(!words.contains("stopped"), "{words}");
        assert_eq!(words.matches("could not be opened").count(), 1, "{words}");
        assert_eq!(error.recovery(), Recovery::Abort, "{words}");
        let failure = error.connection_failure().expect("it is known");
        assert!(failure.has_given_up(), "{failure}");
        assert!(matches!(failure.cause, Cause::OpenFailed(_)), "{failure:?}");
        assert_eq!((failure.attempts, failure.next_attempt), (1, None));
        assert_eq!(error.state(), Some(ConnectionState::Closed));
    }
    // Of the client itself, too, and a stop afterwards changes nothing.
    client.stop().await;
    let failure = client.connection_failure().expect("it is known");
    let words = failure.to_string();
    assert!(words.ends_with("(os error 2)); gave up"), "{words}");
    let after = client.call("tools/list", ()).await.unwrap_err();
    assert_eq!(after.connection_failure(), Some(&failure));
}

// proves: CN-4, ER-1
#[tokio::test]
async fn a_client_without_attempts_left_reports_how_the_last_one_failed() {
    let server = shell("echo no licence >&2; exit 3");
    let client = Client::start(server, attempts(Some(2)));
    client.ready().await.unwrap_err();
    for error in errors(&client).await {
        let words = chain(&error);
        assert!(
            words.contains("the client gave up after 2 attempts"),
            "{words}"
        );
        assert!(words.contains("exit status: 3"), "{words}");
        assert_eq!(words.matches("no licence").count(), 1, "{words}");
        check_ending(&error);
        assert_eq!((error.attempts(), error.next_attempt()), (Some(2), None));
    }
}

/// The structured account of `echo no licence >&2; exit 3`.
fn check_ending(error: &Error) {
    let failure = error.connection_failure().expect("it is known");
    assert!(matches!(failure.cause, Cause::Ended(_)), "{failure:?}");
    assert_eq!(error.negotiation_error(), None);
    assert_eq!(failure.stderr_tail(), Some("no licence"));
    assert_eq!(error.stderr_tail(), Some("no licence"));
    let status = error
        .transport_end()
        .and_then(|transport_end| transport_end.status);
    assert_eq!(status.and_then(|status| status.code()), Some(3));
}

// proves: PV-2, ER-1
#[tokio::test(start_paused = true)]
async fn every_later_call_reports_that_no_revision_is_common() -> Test {
    let (transport, mut peer) = testing::peer();
    let mut config = config();
    config.connection().revisions(Era::Stateless.revisions());
    let client = Client::start(transport, config);
    let mut server = peer.accept().await?;
    let request = server.expect("server/discover").await?;
    let result =
        r#"{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{}}"#;
    server.reply(&request, result).await?;
    client.ready().await.unwrap_err();
    for error in errors(&client).await {
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let words = error.to_string();
        assert!(words.contains("no common protocol version"), "{words}");
        assert!(!words.contains("violated the protocol"), "{words}");
        let Some(NegotiationError::NoCommonRevision { theirs, .. }) = error.negotiation_error()
        else {
            panic!("{error:#?}");
        };
        assert_eq!(*theirs, ["2025-06-18"]);
    }
    Ok(())
}

// proves: ER-1
#[tokio::test(start_paused = true)]
async fn a_refused_handshake_is_not_taken_for_the_answer_to_a_later_call() -> Test {
    for most in [1, 2] {
        let (transport, mut peer) = testing::peer();
        let client = Client::start(transport, attempts(Some(most)));
        let mut server = peer.accept().await?;
        let request = server.expect("initialize").await?;
        let refusal = ErrorObject::new(-32042, "no licence");
        server.reply_error(&request, &refusal).await?;
        // After one attempt it has given up, and after the first of two it waits.
        let state = match most {
            1 => ConnectionState::Closed,
            _ => ConnectionState::Backoff,
        };
        until(&client, state).await;
        let error = client.call("tools/call", ()).await.unwrap_err();
        let words = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{words}");
        assert!(words.contains("no licence"), "{words}");
        assert_eq!(error.server_error(), None, "{words}");
        let refused = NegotiationError::Refused(refusal);
        assert_eq!(error.negotiation_error(), Some(&refused));
        if most == 1 {
            let error = client.ready().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::JsonRpc);
            assert_eq!(error.server_error().map(|error| error.code), Some(-32042));
        }
    }
    Ok(())
}

// proves: CN-29
#[tokio::test(start_paused = true)]
async fn only_a_client_that_was_stopped_reports_shutdown() -> Test {
    let (client, _server, _peer) = connected(OLD).await?;
    client.stop().await;
    let waiting = Client::start(Missing, config());
    until(&waiting, ConnectionState::Backoff).await;
    waiting.stop().await;
    for client in [client, waiting] {
        for error in errors(&client).await {
            assert_eq!(error.kind(), ErrorKind::Shutdown);
            let words = error.to_string();
            assert!(words.ends_with("the client is stopped"), "{words}");
            assert_eq!(error.connection_failure(), None);
        }
    }
    Ok(())
}

/// A transport that is never there.
struct Missing;

impl Transport for Missing {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        Err(OpenError::transient("not there"))
    }
}

// proves: CN-6, ER-1
#[tokio::test]
async fn a_call_in_backoff_learns_what_failed_and_when_it_is_tried_again() {
    let client = Client::start(shell("echo no licence >&2; exit 3"), patient());
    until(&client, ConnectionState::Backoff).await;
    let calls = [
        client.call("tools/list", ()).await.unwrap_err(),
        client.ping().await.unwrap_err(),
        client.notify("notifications/x", ()).unwrap_err(),
        client.tools().call("add", ()).await.unwrap_err(),
        client
            .subscribe(SubscriptionFilter::new().tools_list_changed(true))
            .await
            .unwrap_err(),
    ];
    for error in calls {
        let words = chain(&error);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{words}");
        assert!(words.contains("exit status: 3"), "{words}");
        assert_eq!(words.matches("no licence").count(), 1, "{words}");
        assert!(words.contains("attempt 2 in "), "{words}");
        assert!(!words.contains("while backoff"), "{words}");
        check_waiting(&error);
        assert_eq!(error.recovery(), Recovery::Reconnect);
    }
}

/// A client that waits for its second attempt.
fn check_waiting(error: &Error) {
    check_ending(error);
    let failure = error.connection_failure().expect("it is known");
    assert!(!failure.has_given_up());
    assert_eq!(failure.state, ConnectionState::Backoff);
    assert_eq!(
        (error.state(), error.attempts()),
        (Some(failure.state), Some(1))
    );
    assert_eq!(failure.next_attempt, error.next_attempt());
    assert!(error.next_attempt() > Some(Duration::from_secs(60)));
}

/// A process the first time, and a server of a test after that.
struct FailsOnce<T> {
    first: Option<ChildProcess>,
    then: T,
}

impl<T: Transport> Transport for FailsOnce<T> {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        match self.first.take() {
            Some(mut first) => first.open().await,
            None => self.then.open().await,
        }
    }
}

// proves: CN-6, ER-1
#[tokio::test]
async fn the_last_failure_is_known_until_calls_are_served() -> Test {
    let (then, mut peer) = testing::peer();
    let first = Some(shell("echo no licence >&2; exit 3"));
    let client = Client::start(FailsOnce { first, then }, attempts(None));
    assert_eq!(client.connection_failure(), None, "nothing has failed yet");
    let mut server = peer.accept().await?;
    until(&client, ConnectionState::Initializing).await;
    let error = client.call("tools/list", ()).await.unwrap_err();
    let words = error.to_string();
    assert!(words.contains("attempt 2 is under way"), "{words}");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_ending(&error);
    server.handshake(OLD).await?;
    client.ready().await?;
    assert_eq!(client.connection_failure(), None);
    // What is lost then has nothing to do with it.
    server.hang_up();
    until(&client, ConnectionState::Backoff).await;
    let failure = client.connection_failure().expect("it is lost");
    assert_eq!(failure.stderr_tail(), None, "{failure}");
    Ok(())
}

// proves: CN-3, ER-1
#[tokio::test]
async fn a_connect_timeout_names_the_attempt_under_way_and_the_one_before() {
    let (then, _peer) = testing::peer();
    let first = Some(shell("echo no licence >&2; exit 3"));
    let mut config = attempts(None);
    config.connect_timeout(Some(Duration::from_millis(500)));
    let connecting = Client::connect(FailsOnce { first, then }, config);
    let error = connecting.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let words = error.to_string();
    let hung = "after 500ms, while initializing; the previous attempt: ";
    assert!(words.contains(hung), "{words}");
    check_ending(&error);
    assert_eq!(error.next_attempt(), None, "the client is gone");
}

// proves: CN-6, ER-1
#[tokio::test]
async fn a_call_that_waited_in_vain_learns_what_it_waited_for() {
    let client = Client::start(shell("echo no licence >&2; exit 3"), patient());
    until(&client, ConnectionState::Backoff).await;
    let patience = Duration::from_millis(20);
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let waited = [
        client
            .call("tools/list", ())
            .wait_for_ready()
            .timeout(patience)
            .await
            .unwrap_err(),
        client
            .tools()
            .call("add", ())
            .wait_for_ready()
            .timeout(patience)
            .await
            .unwrap_err(),
        client
            .subscribe(filter)
            .wait_for_ready()
            .timeout(patience)
            .await
            .unwrap_err(),
    ];
    for error in waited {
        let words = chain(&error);
        assert_eq!(error.kind(), ErrorKind::Timeout, "{words}");
        assert!(words.contains("not connected"), "{words}");
        assert!(words.contains("exit status: 3"), "{words}");
        assert_eq!(words.matches("no licence").count(), 1, "{words}");
        assert!(words.contains("attempt 2 in "), "{words}");
        check_waiting(&error);
    }
}

fn runtime(has_io: bool, has_time: bool) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if has_io {
        builder.enable_io();
    }
    if has_time {
        builder.enable_time();
    }
    builder.build().expect("a runtime")
}

// proves: CN-4, CN-24
#[test]
fn a_runtime_without_io_is_named_as_the_reason_and_not_tried_again() {
    async fn check(transport: impl Transport) {
        let client = Client::start(transport, config());
        client.ready().await.unwrap_err();
        for error in errors(&client).await {
            let words = chain(&error);
            assert!(words.contains("no I/O driver"), "{words}");
            assert!(words.contains("enable_all()"), "{words}");
            assert!(words.contains("enable_io()"), "{words}");
            assert_eq!(error.kind(), ErrorKind::Config, "{words}");
        }
        let crashes = client.history().into_iter();
        let crashes = crashes.filter(|change| change.cause == Cause::DriverCrash);
        assert_eq!(crashes.count(), 0);
    }
    runtime(false, true).block_on(async {
        check(shell("cat")).await;
        check(Tcp::new("127.0.0.1:9")).await;
    });
}

// proves: CN-4
#[test]
fn a_runtime_without_time_is_named_as_the_reason() {
    runtime(true, false).block_on(async {
        let client = Client::start(shell("cat"), config());
        for error in errors(&client).await {
            let words = chain(&error);
            assert!(words.contains("no time driver"), "{words}");
            assert!(words.contains("enable_time()"), "{words}");
            assert_eq!(error.kind(), ErrorKind::Config, "{words}");
        }
        let error = Client::connect(shell("cat"), config()).await.unwrap_err();
        assert!(error.to_string().contains("no time driver"), "{error}");
    });
}

// proves: CN-24
#[test]
fn a_runtime_without_io_serves_what_needs_none() {
    runtime(false, true).block_on(async {
        let (client, _server, _peer) = connected(OLD).await.expect("a script");
        client.stop().await;
    });
}
