//! A client and a server within one process: calls end, whatever the server does.

use std::time::Duration;

use bowline::client::Retry;
use bowline::transport::memory::{Acceptor, pair};
use bowline::types::common::Implementation;
use bowline::types::{Era, Method, Revision, Revisions};
use bowline::{Backoff, Client, Config, ErrorKind, LinkConfig, Payload, State};
use bowline_proto::Instant;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::lifecycle::DiscoverResult;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What a server does with a request.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Answers,
    Hangs,
    Dies,
}

fn config() -> Config {
    Config::new(Implementation::new("client", "1"))
}

/// Serves one stream until it ends.
async fn serve(mut stream: DuplexStream, manner: Manner) {
    let config = SessionConfig::new(Implementation::new("server", "1"));
    let mut session = Session::new(Instant::START, config);
    let mut chunk = vec![0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        session.read_buffer().extend_from_slice(&chunk[..length]);
        session.handle_read(Instant::START);
        while let Some(event) = session.poll_event() {
            let SessionEvent::Request {
                request,
                method,
                params,
                ..
            } = event
            else {
                continue;
            };
            let result = match (method, manner) {
                (Method::Discover, _) => discovered(),
                (_, Manner::Answers) => params.unwrap_or(Payload::EMPTY),
                (_, Manner::Hangs) => continue,
                (_, Manner::Dies) => return,
            };
            let responded = session.respond(Instant::START, request, result);
            responded.expect("it is open");
        }
        while let Some(transmit) = session.poll_transmit() {
            if stream.write_all(&transmit.to_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn discovered() -> Payload {
    let versions: Vec<String> = Revisions::ALL.iter().map(String::from).collect();
    let result = DiscoverResult::new(versions, ServerCapabilities::new());
    Payload::encode(&result, Revision::LATEST).expect("it can be said")
}

/// Serves every stream in the same manner.
fn serve_all(mut acceptor: Acceptor, manner: Manner) {
    tokio::spawn(async move {
        while let Some(stream) = acceptor.accept().await {
            tokio::spawn(serve(stream, manner));
        }
    });
}

async fn connected(manner: Manner) -> Client {
    let (transport, acceptor) = pair();
    serve_all(acceptor, manner);
    let client = Client::connect(transport, config()).await;
    client.expect("the server answers")
}

#[tokio::test]
async fn calls_are_answered_in_both_eras() {
    for era in [Era::Handshake, Era::Stateless] {
        let (transport, acceptor) = pair();
        serve_all(acceptor, Manner::Answers);
        let mut config = config();
        config.revisions(era.revisions());
        let client = Client::connect(transport, config)
            .await
            .expect("it answers");
        assert_eq!(client.state(), State::Ready);
        let agreement = client.agreement().expect("it is ready");
        assert_eq!(agreement.revision.era(), era);
        let echo = client.call("tools/call", r#"{"name":"x"}"#).await;
        assert!(echo.expect("a result").as_str().contains(r#""name":"x""#));
        client.stop().await;
        assert_eq!(client.state(), State::Closed);
        let after = client
            .call("tools/list", ())
            .await
            .expect_err("it is stopped");
        assert_eq!(after.kind(), ErrorKind::Shutdown);
    }
}

#[tokio::test]
async fn many_calls_at_once_each_have_their_answer() {
    let client = connected(Manner::Answers).await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..500 {
        let client = client.clone();
        calls.spawn(async move {
            let params = format!(r#""name":"{number}""#);
            let answer = client.call("tools/call", format!("{{{params}}}")).await;
            assert!(answer.expect("a result").as_str().contains(&params));
        });
    }
    while let Some(done) = calls.join_next().await {
        done.expect("no panic");
    }
    assert_eq!(client.state(), State::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_times_out() {
    let client = connected(Manner::Hangs).await;
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let error = call
        .timeout(Duration::from_secs(5))
        .await
        .expect_err("it hangs");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.operation(), Some("tools/call"));
    assert!(error.elapsed() >= Some(Duration::from_secs(5)));
    assert_eq!(client.state(), State::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_fails_its_calls_and_is_connected_again() {
    let client = connected(Manner::Dies).await;
    let error = client.call("tools/call", r#"{"name":"x"}"#).await;
    let error = error.expect_err("it died");
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    assert_eq!(error.may_have_run(), Some(true));
    let error = client.call("tools/list", ()).await.expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.next_attempt() > Some(Duration::ZERO));
    client.ready().await.expect("it comes back");
    let states: Vec<_> = client.history().iter().map(|change| change.to).collect();
    let tail = [
        State::Backoff,
        State::Starting,
        State::Initializing,
        State::Ready,
    ];
    assert!(states.ends_with(&tail), "{states:?}");
}

#[tokio::test(start_paused = true)]
async fn a_patient_call_outlives_a_server() {
    let (transport, mut acceptor) = pair();
    tokio::spawn(async move {
        let mut manner = Manner::Dies;
        while let Some(stream) = acceptor.accept().await {
            tokio::spawn(serve(stream, manner));
            manner = Manner::Answers;
        }
    });
    let client = Client::connect(transport, config())
        .await
        .expect("it answers");
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let answer = call.retry(Retry::Idempotent).await;
    answer.expect("the second server answers");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_and_nothing_is_left() {
    let (transport, mut acceptor) = pair();
    let client = Client::start(transport, LinkConfig::new(config()));
    let mut stream = acceptor.accept().await.expect("a stream");
    let mut line = vec![0; 4096];
    let length = stream.read(&mut line).await.expect("the probe");
    assert!(length > 0);
    let answer = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n",
        discovered().as_str()
    );
    stream.write_all(answer.as_bytes()).await.expect("it reads");
    client.ready().await.expect("it is answered");
    {
        let call = client.call("tools/call", r#"{"name":"x"}"#);
        let waited = tokio::time::timeout(Duration::from_secs(1), call).await;
        assert!(waited.is_err());
    }
    let mut said = String::new();
    while !said.contains("notifications/cancelled") {
        let length = stream.read(&mut line).await.expect("it speaks");
        said += std::str::from_utf8(&line[..length]).expect("UTF-8");
    }
    assert_eq!(said.matches("notifications/cancelled").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_what_waits() {
    let client = connected(Manner::Hangs).await;
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.call("tools/call", r#"{"name":"x"}"#).await });
    while client.history().is_empty() || !call.is_finished() && client.state() == State::Ready {
        tokio::task::yield_now().await;
        if tokio::time::timeout(Duration::from_millis(1), client.stop())
            .await
            .is_ok()
        {
            break;
        }
    }
    client.stop().await;
    let error = call.await.expect("no panic").expect_err("it was stopped");
    assert_eq!(error.kind(), ErrorKind::Shutdown);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_tried_again_and_again() {
    let (transport, acceptor) = pair();
    drop(acceptor);
    let mut link = LinkConfig::new(config());
    let mut backoff = Backoff::default();
    backoff.max_attempts(Some(4));
    link.backoff(backoff);
    let client = Client::start(transport, link);
    let error = client.ready().await.expect_err("nobody accepts");
    assert_eq!(error.kind(), ErrorKind::Transport);
    let starts = client
        .history()
        .iter()
        .filter(|change| change.to == State::Starting)
        .count();
    assert_eq!(starts, 3);
}
